package jemalloc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/heap/resident"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// Where testdata/churn.c has its book.
const (
	bookThreads = 64
	bookSlots   = 64 * 1024
	bookHead    = 16
	bookSlot    = bookHead + 16*bookThreads
)

// churned is testdata/churn.c, linked with jemalloc.
func churned(t testing.TB, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "churn")
	cmd := exec.Command(testprogs.Tool(t, "gcc"), append([]string{"-O1", "-g", "-pthread", "-Wall", "-fno-builtin", "-o", out, filepath.Join("testdata", "churn.c")}, args...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (apt-get install libjemalloc-dev)\n%s", cmd, err, b)
	}
	return out
}

// A churner is a program that goes rounds.
type churner struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Reader
	book string
	tls  uint64 // bytes of static thread-local storage, 0: not known
}

func churn(t testing.TB, env []string, program string, args ...string) *churner {
	t.Helper()
	c := &churner{t: t, book: filepath.Join(t.TempDir(), "book")}
	c.cmd = exec.Command(program, append([]string{c.book}, args...)...)
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

// round has it go a round, and returns its book.
func (c *churner) round() []byte {
	c.t.Helper()
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.out.ReadString('\n'); err != nil {
		c.t.Fatal(err)
	}
	b, err := os.ReadFile(c.book)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// source is the process, with its threads.
func (c *churner) source(book []byte) Source {
	src := procSource(c.t, c.cmd.Process.Pid)
	for i := range bookThreads {
		b := book[bookHead+16*i:]
		if tid := binary.LittleEndian.Uint64(b); tid != 0 {
			src.Threads = append(src.Threads, resident.Thread{TID: int(tid), FS: addr.Run(binary.LittleEndian.Uint64(b[8:]))})
			if c.tls > 0 {
				t := &src.Threads[len(src.Threads)-1]
				t.Low = t.FS - addr.Run(c.tls)
			}
		}
	}
	return src
}

// procSource is a process as /proc has it.
func procSource(t testing.TB, pid int) Source {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	src := Source{Source: resident.Source{Memory: open("mem")}}
	for s := bufio.NewScanner(open("maps")); s.Scan(); {
		var m resident.Mapping
		var perm string
		f := strings.Fields(s.Text())
		fmt.Sscanf(s.Text(), "%x-%x %s", &m.Start, &m.End, &perm)
		if len(f) > 5 {
			m.Path = strings.Join(f[5:], " ")
		}
		m.Readable, m.Writable = perm[0] == 'r', perm[1] == 'w'
		m.Shared = perm[3] == 's'
		src.Mappings = append(src.Mappings, m)
	}
	pagemap := open("pagemap")
	src.Resident = func(r addr.Range) (parts []addr.Range, err error) {
		first := r.Start / pageSize
		b := make([]byte, 8*((r.End+pageSize-1)/pageSize-first))
		if _, err := pagemap.ReadAt(b, int64(8*first)); err != nil {
			return nil, err
		}
		for i := 0; i < len(b); i += 8 {
			if e := binary.LittleEndian.Uint64(b[i:]); e>>62 == 0 || e&(1<<58) != 0 { // neither present nor swapped, or a guard
				continue
			}
			at := (first + addr.Run(i/8)) * pageSize
			if n := len(parts); n > 0 && parts[n-1].End == at {
				parts[n-1].End += pageSize
			} else {
				parts = append(parts, addr.Range{Start: at, End: at + pageSize})
			}
		}
		return parts, nil
	}
	return src
}

// inBook are the blocks of a book: address and usable size.
func inBook(book []byte) map[addr.Run]uint64 {
	all := map[addr.Run]uint64{}
	for i := range bookSlots {
		b := book[bookSlot+16*i:]
		if a := binary.LittleEndian.Uint64(b); a != 0 {
			all[addr.Run(a)] = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return all
}

// compare tells the differences of a heap and a book. In no book are a block of libstdc++ (the emergency pool)
// and the thread vectors of the threads, also of ended ones whose stacks the C library keeps.
func compare(t testing.TB, src Source, book []byte, flushed bool) *Heap {
	t.Helper()
	start := time.Now()
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	want := inBook(book)
	told, all, others := 0, len(want), 0
	tell := func(format string, args ...any) {
		if told++; told < 10 {
			t.Errorf(format, args...)
		}
	}
	last, sum := addr.Run(0), uint64(0)
	var word [8]byte
	if _, err := src.Memory.ReadAt(word[:], int64(src.Threads[0].FS+8)); err != nil {
		t.Fatal(err)
	}
	vector, _ := h.Find(addr.Run(binary.LittleEndian.Uint64(word[:])) - 16)
	for b := range h.Blocks() {
		if b.Addr <= last {
			tell("block %v does not ascend", b.Addr)
		}
		last = b.Addr
		sum += b.Size
		size, ok := want[b.Addr]
		switch {
		case !ok && (b.Size == vector.Size || b.Size == 81920 || b.Size == 73728) && others < 32:
			others++
		case !ok:
			r, _ := h.Find(b.Addr)
			tell("block %v of %d bytes is not live: %+v", b.Addr, b.Size, r)
		case size != b.Size:
			tell("block %v has %d bytes, want %d", b.Addr, b.Size, size)
		}
		delete(want, b.Addr)
	}
	for a, size := range want {
		r, ok := h.Find(a)
		tell("block %v of %d bytes was not found: %+v %v", a, size, r, ok)
	}
	odd, cached := 0, 0
	internal := uint64(0)
	for _, c := range h.Caches() {
		odd += c.Odd
		cached += c.Regions
	}
	for _, a := range h.Arenas() {
		internal += a.Internal
	}
	allocated := binary.LittleEndian.Uint64(book[8:])
	t.Logf("version %s: %d blocks and %d others, %d differences; %d extents, %d arenas, %d caches with %d regions, %d odd, torn %d, lost %d, %v; %d bytes with %d internal ones; stats.allocated %d", h.Version(), all, others, told, len(h.extents), len(h.Arenas()), len(h.caches), cached, odd, h.torn, h.lost, took, sum+internal, internal, allocated)
	if flushed && sum+internal != allocated {
		t.Errorf("%d bytes, %d of them internal; stats.allocated is %d", sum+internal, internal, allocated)
	}
	if odd != 0 || h.torn != 0 || h.lost != 0 {
		t.Errorf("%d odd words, %d extents torn, %d structs in no base block", odd, h.torn, h.lost)
	}
	return h
}

func TestLiveBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		link []string
		env  []string
		args []string
	}{
		{"one", []string{"-ljemalloc"}, nil, []string{"0"}},
		{"threads", []string{"-ljemalloc"}, nil, []string{"9"}},
		{"flush", []string{"-ljemalloc"}, nil, []string{"5", "flush"}},
		{"static", []string{"-l:libjemalloc.a", "-lm", "-lstdc++"}, nil, []string{"5"}},
		{"percpu", []string{"-ljemalloc"}, []string{"MALLOC_CONF=percpu_arena:percpu,muzzy_decay_ms:5000,dirty_decay_ms:1"}, []string{"5"}},
		{"no tcache", []string{"-ljemalloc"}, []string{"MALLOC_CONF=tcache:false"}, []string{"3"}},
		{"large tcache", []string{"-ljemalloc"}, []string{"MALLOC_CONF=tcache_max:1048576,lg_tcache_nslots_mul:3"}, []string{"3"}},
		{"no retain", []string{"-ljemalloc"}, []string{"MALLOC_CONF=retain:false"}, []string{"3"}},
		{"slabs", []string{"-ljemalloc"}, []string{"MALLOC_CONF=slab_sizes:1-128:7|129-512:5,bin_shards:1-160:16"}, []string{"3"}},
		{"junk", []string{"-ljemalloc"}, []string{"MALLOC_CONF=junk:true,metadata_thp:always,narenas:1"}, []string{"3"}},
		{"dss", []string{"-ljemalloc"}, []string{"MALLOC_CONF=dss:primary,thp:always"}, []string{"3"}},
		{"guards", []string{"-ljemalloc"}, []string{"MALLOC_CONF=san_guard_small:2,san_guard_large:2"}, []string{"3"}},
		{"hugepages", []string{"-ljemalloc"}, []string{"MALLOC_CONF=hpa:true,metadata_thp:auto"}, []string{"3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := churn(t, c.env, churned(t, c.link...), c.args...)
			for range 2 {
				book := p.round()
				compare(t, p.source(book), book, len(c.args) > 1)
			}
		})
	}
}

// newer are the libraries of forky, if scripts/glibc has brought them: of jemalloc 5.3.1, and of the C library that it needs.
func newer(t testing.TB) (library, libc string) {
	t.Helper()
	dir, err := testprogs.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	library = filepath.Join(dir, "jemalloc", "5.3.1", "usr", "lib", "x86_64-linux-gnu")
	libc = filepath.Join(dir, "glibc", "2.43", "usr", "lib", "x86_64-linux-gnu")
	for _, path := range []string{filepath.Join(library, "libjemalloc.so.2"), filepath.Join(libc, "libc.so.6")} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%v: scripts/glibc brings it", err)
		}
	}
	return library, libc
}

// TestNewer does what TestLiveBlocks does with jemalloc 5.3.1.
func TestNewer(t *testing.T) {
	library, libc := newer(t)
	program := churned(t, "-nodefaultlibs", "-Wl,--allow-shlib-undefined", "-Wl,--dynamic-linker="+filepath.Join(libc, "ld-linux-x86-64.so.2"),
		"-Wl,-rpath,"+strings.Join([]string{libc, library, "/usr/lib/x86_64-linux-gnu"}, ":"), filepath.Join(library, "libjemalloc.so.2"), filepath.Join(libc, "libc.so.6"), "-lgcc", "-lgcc_s")
	for _, c := range []struct {
		name, conf string
		args       []string
	}{
		{"one", "", []string{"0"}},
		{"threads", "", []string{"9"}},
		{"flush", "", []string{"5", "flush"}},
		{"size classes", "disable_large_size_classes:false", []string{"5"}},
		{"no size classes", "disable_large_size_classes:true", []string{"5"}},
		{"no tcache", "tcache:false", []string{"3"}},
		{"large tcache", "tcache_max:1048576,lg_tcache_nslots_mul:3", []string{"3"}},
		{"bins without cache", "tcache_ncached_max:33-256:0|4096-8192:7", []string{"3"}},
		{"no gc", "experimental_tcache_gc:false,retain:false", []string{"3"}},
		{"slabs", "slab_sizes:1-128:7|129-512:5,bin_shards:1-160:16", []string{"3"}},
		{"hugepages", "hpa:true,metadata_thp:auto", []string{"3"}},
		{"not oblivious", "cache_oblivious:false", []string{"3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := churn(t, []string{"MALLOC_CONF=" + c.conf}, program, c.args...)
			for range 2 {
				book := p.round()
				compare(t, p.source(book), book, len(c.args) > 1)
			}
		})
	}
}

// TestMuchThreadLocal has the caches behind 70,000 bytes of thread-local variables of the program.
func TestMuchThreadLocal(t *testing.T) {
	p := churn(t, nil, churned(t, "-DPAD=70000", "-ljemalloc"), "3")
	p.tls = 80_000
	book := p.round()
	if h := compare(t, p.source(book), book, false); len(h.Caches()) == 0 {
		t.Error("no cache was found")
	}
}

// stop stops all threads wherever they are.
func (c *churner) stop() {
	c.t.Helper()
	c.cmd.Process.Signal(syscall.SIGSTOP)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.cmd.Process.Pid))
		if err != nil || len(tasks) == 0 || time.Now().After(end) {
			c.t.Fatalf("it does not stop: %v, %v", tasks, err)
		}
		runs := func(path string) bool {
			b, err := os.ReadFile(path)
			_, rest, ok := strings.Cut(string(b), ") ")
			return err == nil && ok && rest[0] != 'T'
		}
		if !slices.ContainsFunc(tasks, runs) {
			return
		}
	}
}

// TestStoppedAnywhere reads the heap while threads stand inside malloc and free. What they work on may be wrong,
// and nothing else.
func TestStoppedAnywhere(t *testing.T) {
	const threads, fill = 5, 200 // that many regions move between a slab and a cache at once
	p := churn(t, nil, churned(t, "-ljemalloc"), strconv.Itoa(threads-1))
	p.round()
	go func() {
		for err := error(nil); err == nil; _, err = p.out.ReadString('\n') {
			if _, err := io.WriteString(p.in, "\n"); err != nil {
				return
			}
		}
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	most, missing := 0, 0
	for range testprogs.Rounds(10, 1000) {
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		p.stop()
		book, err := os.ReadFile(p.book)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Open(t.Context(), p.source(book))
		if err != nil {
			t.Fatal(err)
		}
		use(t, h)
		want := inBook(book)
		extra := 0
		for b := range h.Blocks() {
			if _, ok := want[b.Addr]; !ok {
				extra++
			}
			delete(want, b.Addr)
		}
		most, missing = max(most, extra), max(missing, len(want))
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
	t.Logf("at most %d blocks that are not in the book, and %d that are only there", most, missing)
	if most > 32+threads*fill || missing > threads*fill { // 32 are the C library's and libstdc++'s
		t.Errorf("%d blocks that are not in the book, %d that are only there", most, missing)
	}
}
