package glibc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// A follower is a program of which the library of testdata/ledger.c knows the live blocks.
type follower struct {
	t      testing.TB
	cmd    *exec.Cmd
	ledger string
}

// ledger fields of testdata/ledger.c.
const (
	ledgerThreads = 4096
	ledgerSlots   = 1 << 21
	ledgerHead    = 64
	ledgerSlot    = ledgerHead + 16*ledgerThreads
)

// compiled is the path of what the compiler makes of testdata/name.
func compiled(t testing.TB, name string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(name, filepath.Ext(name)))
	cmd := exec.Command(testprogs.Tool(t, "g++"), append([]string{"-O1", "-g", "-pthread", "-Wall", "-o", out}, args...)...)
	if filepath.Ext(name) == ".c" {
		cmd.Args[0], cmd.Path = "gcc", testprogs.Tool(t, "gcc")
	}
	cmd.Args = append(cmd.Args, filepath.Join("testdata", name))
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, b)
	}
	return out
}

// follow starts a program with the ledger.
func follow(t testing.TB, library string, stop int, args ...string) *follower {
	t.Helper()
	f := &follower{t: t, ledger: filepath.Join(t.TempDir(), "ledger")}
	f.cmd = exec.Command(args[0], args[1:]...)
	f.cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "LEDGER="+f.ledger, "LEDGER_STOP="+strconv.Itoa(stop))
	f.cmd.Stderr = os.Stderr
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.cmd.Process.Kill()
		f.cmd.Wait()
	})
	return f
}

// stopped waits until all threads are stopped. With calm none is inside malloc then, nor ends.
func (f *follower) stopped(by, calm bool) []byte {
	f.t.Helper()
	for range 1000 {
		if by && calm {
			f.pause(1)
			f.wait("a thread stays inside malloc", func() bool { return binary.LittleEndian.Uint64(f.read(8)) == 0 })
		}
		if by {
			f.cmd.Process.Signal(syscall.SIGSTOP)
		}
		f.wait("it does not stop", func() bool { return f.state() == "T" })
		ledger := f.read(-1)
		if !by || !calm || !slices.ContainsFunc(f.source(ledger).Threads, func(t resident.Thread) bool { return t.FS == 0 }) {
			return ledger
		}
		f.resume()
		time.Sleep(time.Millisecond)
	}
	f.t.Fatal("whenever it stops, a thread ends")
	return nil
}

// warm is how many blocks are made before the heap is looked at: the threads' arenas have several heaps, and some threads have ended.
const warm = 300_000

// makes waits until n more blocks have been made.
func (f *follower) makes(n uint64) {
	f.t.Helper()
	f.wait("no ledger", f.opened)
	made := func() uint64 { return binary.LittleEndian.Uint64(f.read(32)[24:]) }
	end := made() + n
	f.wait("it makes no blocks", func() bool { return made() >= end })
}

// opened tells whether the library has made the ledger.
func (f *follower) opened() bool {
	info, err := os.Stat(f.ledger)
	return err == nil && info.Size() > ledgerSlot
}

// resume has it run on.
func (f *follower) resume() {
	f.pause(0)
	f.cmd.Process.Signal(syscall.SIGCONT)
}

// pause says whether threads wait in front of malloc.
func (f *follower) pause(v byte) {
	f.t.Helper()
	f.wait("no ledger", f.opened)
	file, err := os.OpenFile(f.ledger, os.O_WRONLY, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{v}, 32); err != nil {
		f.t.Fatal(err)
	}
}

// read reads the first n bytes of the ledger, or all.
func (f *follower) read(n int) []byte {
	f.t.Helper()
	if n < 0 {
		n = ledgerSlot + 16*ledgerSlots
	}
	b := make([]byte, n)
	file, err := os.Open(f.ledger)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.ReadFull(file, b); err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *follower) wait(what string, done func() bool) {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatal(what)
		}
	}
}

// state is that of all threads, T if every one is stopped.
func (f *follower) state() string {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", f.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		f.t.Fatal("the process is gone")
	}
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		_, rest, ok := strings.Cut(string(b), ") ")
		if !ok || rest[0] == 'Z' {
			f.t.Fatalf("%s: %s", path, b)
		}
		if rest[0] != 'T' {
			return rest[:1]
		}
	}
	return "T"
}

// procMemory reads /proc/PID/mem.
func procSource(t testing.TB, pid int) Source {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	src := Source{Source: resident.Source{Memory: mem}}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		var m resident.Mapping
		var perm, dev string
		var offset, inode uint64
		f := strings.Fields(s.Text())
		fmt.Sscanf(s.Text(), "%x-%x %s %x %s %d", &m.Start, &m.End, &perm, &offset, &dev, &inode)
		if len(f) > 5 {
			m.Path = strings.Join(f[5:], " ")
		}
		m.Readable, m.Writable, m.Executable, m.Shared = perm[0] == 'r', perm[1] == 'w', perm[2] == 'x', perm[3] == 's'
		if base := filepath.Base(m.Path); base == "libc.so.6" || strings.HasPrefix(base, "libc-2.") {
			src.Libcs = []string{m.Path}
		}
		src.Mappings = append(src.Mappings, m)
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pagemap.Close() })
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

// source is the process with the threads that the ledger knows and that live.
func (f *follower) source(ledger []byte) Source {
	pid := f.cmd.Process.Pid
	src := procSource(f.t, pid)
	n := int(binary.LittleEndian.Uint64(ledger[8:]))
	last := map[uint64]uint64{} // TIDs are used again
	for i := range min(n, ledgerThreads) {
		b := ledger[ledgerHead+16*i:]
		last[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	for tid, fs := range last {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, tid)); err == nil {
			src.Threads = append(src.Threads, resident.Thread{TID: int(tid), FS: addr.Run(fs)})
		}
	}
	return src
}

// blocks are the live ones of a ledger: address and usable size.
func (f *follower) blocks(ledger []byte) map[addr.Run]uint64 {
	if lost := binary.LittleEndian.Uint64(ledger[16:]); lost != 0 {
		f.t.Fatalf("the ledger lost %d blocks", lost)
	}
	all := map[addr.Run]uint64{}
	for i := range ledgerSlots {
		b := ledger[ledgerSlot+16*i:]
		if a := binary.LittleEndian.Uint64(b); a > 1 {
			all[addr.Run(a)] = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return all
}

// compare tells the differences of the walk and the ledger.
func (f *follower) compare(ledger []byte) *Heap {
	f.t.Helper()
	h, err := Open(f.t.Context(), f.source(ledger))
	if err != nil {
		f.t.Fatal(err)
	}
	f.same(h, f.blocks(ledger))
	return h
}

// same compares a walk with the blocks that it should have.
func (f *follower) same(h *Heap, want map[addr.Run]uint64) {
	f.t.Helper()
	told, all := 0, len(want)
	tell := func(format string, args ...any) {
		if told++; told < 10 {
			f.t.Errorf(format, args...)
		}
	}
	last := addr.Run(0)
	for b := range h.Blocks() {
		if b.Addr <= last {
			tell("block %v does not ascend", b.Addr)
		}
		last = b.Addr
		size, ok := want[b.Addr]
		switch {
		case !ok:
			tell("block %v of %d bytes is not live", b.Addr, b.Size)
		case size != b.Size:
			tell("block %v has %d bytes, want %d", b.Addr, b.Size, size)
		}
		delete(want, b.Addr)
	}
	for a, size := range want {
		c, ok := h.Find(a)
		tell("block %v of %d bytes was not found: %v %v", a, size, c, ok)
	}
	for _, d := range h.Damage() {
		tell("%v", d)
	}
	n, _ := h.Len()
	f.t.Logf("%d blocks, %d differences; %d chunks, %d arenas, %d tcaches, %d mmapped of %d", all, told, n, len(h.arenas), len(h.tcaches), h.Sums(-1).Chunks[Mmapped], h.params.mmaps)
}

// older are the folders with other versions of glibc, if scripts/glibc has brought them.
func older(t testing.TB) map[string]string {
	dir, err := testprogs.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, version := range []string{"2.31", "2.41", "2.43"} {
		libs, _ := filepath.Glob(filepath.Join(dir, "glibc", version, "*", "x86_64-linux-gnu", "libc.so.6"))
		more, _ := filepath.Glob(filepath.Join(dir, "glibc", version, "usr", "lib", "x86_64-linux-gnu", "libc.so.6"))
		for _, lib := range append(libs, more...) {
			found[version] = filepath.Dir(lib)
		}
	}
	return found
}

// linkedWith is testdata/name linked with the C library of a folder, and started by its linker.
func linkedWith(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(name, filepath.Ext(name)))
	object := out + ".o"
	compile := exec.Command(testprogs.Tool(t, "g++"), append(args, "-O1", "-g", "-pthread", "-Wall", "-c", "-o", object, filepath.Join("testdata", name))...)
	if filepath.Ext(name) == ".c" {
		compile.Args[0], compile.Path = "gcc", testprogs.Tool(t, "gcc")
	}
	link := exec.Command(testprogs.Tool(t, "gcc"), append(args, "-o", out, object, "-nodefaultlibs", "-Wl,--dynamic-linker="+filepath.Join(dir, "ld-linux-x86-64.so.2"),
		"-Wl,-rpath,"+dir, filepath.Join(dir, "libc.so.6"), filepath.Join(dir, "libpthread.so.0"), "-lgcc", "-lgcc_s")...)
	for _, cmd := range []*exec.Cmd{compile, link} {
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, b)
		}
	}
	return out
}

// TestOtherVersions does what TestLiveBlocks does with the C library of other releases of Debian.
func TestOtherVersions(t *testing.T) {
	have := older(t)
	for _, version := range []string{"2.31", "2.41", "2.43"} {
		dir := have[version]
		for _, mode := range []string{"plain", "sbrk", "nobrk"} {
			t.Run(version+"/"+mode, func(t *testing.T) {
				if dir == "" {
					t.Skipf("glibc %s is not here: scripts/glibc brings it", version)
				}
				otherVersion(t, dir, mode)
			})
		}
	}
}

// otherVersion compares walks of the program, linked with the C library of a folder. The result is the last walk.
func otherVersion(t *testing.T, dir, mode string) (h *Heap) {
	ledger := linkedWith(t, dir, "ledger.c", "-shared", "-fPIC")
	churn := linkedWith(t, dir, "churn.cc")
	f := follow(t, ledger, 0, churn, "5", mode)
	for range testprogs.Rounds(1, 20) {
		f.makes(warm)
		h = f.compare(f.stopped(true, true))
		f.resume()
	}
	return h
}

// TestLargeTCaches raises the limit of tcaches, so that they have chunks of many sizes in one list, and mappings.
func TestLargeTCaches(t *testing.T) {
	dir := older(t)["2.43"]
	if dir == "" {
		t.Skip("glibc 2.43 is not here: scripts/glibc brings it")
	}
	t.Setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_max=4000000")
	h := otherVersion(t, dir, "plain")
	large, mapped := uint64(0), h.Sums(-1).Chunks[TCache]
	for _, c := range h.TCaches() {
		for _, b := range c.Bins {
			if b.Index >= tcacheBins {
				large += b.Count
			}
		}
	}
	if large == 0 || mapped == 0 {
		t.Errorf("%d chunks in lists of many sizes, %d mappings in tcaches", large, mapped)
	}
}

// TestNoTCaches switches tcaches off: the pointers to them lead to a constant.
func TestNoTCaches(t *testing.T) {
	dir := older(t)["2.43"]
	if dir == "" {
		t.Skip("glibc 2.43 is not here: scripts/glibc brings it")
	}
	t.Setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")
	if h := otherVersion(t, dir, "plain"); len(h.TCaches()) != 0 {
		t.Errorf("%d tcaches", len(h.TCaches()))
	}
}

func TestLiveBlocks(t *testing.T) {
	ledger := compiled(t, "ledger.c", "-shared", "-fPIC", "-O2")
	churn := compiled(t, "churn.cc", "-O2")
	for _, c := range []struct {
		name string
		stop int
		args []string
	}{
		{"one", 0, []string{churn, "1"}},
		{"threads", 0, []string{churn, "9"}},
		{"sbrk", 0, []string{churn, "3", "sbrk"}},
		{"nobrk", 0, []string{churn, "3", "nobrk"}},
		{"mappings", 0, []string{churn, "3"}},
		{"perl", 300_000, []string{"perl", "-e", `my %h; for my $i (0..400000) { $h{$i % 150000} = "x" x ($i % 500); } sleep 100`}},
		{"python3", 60_000, []string{"/usr/bin/python3", "-c", `import json, re, collections
a = ["x" * (i % 3000) for i in range(60000)]
b = [bytearray(i % 5000) for i in range(60000)]
import time; time.sleep(100)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "mappings" { // of which the main arena consists, too
				t.Setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")
			}
			f := follow(t, ledger, c.stop, c.args...)
			if c.stop > 0 { // it stops itself
				f.compare(f.stopped(false, true))
				return
			}
			for range testprogs.Rounds(2, 40) {
				f.makes(warm)
				f.compare(f.stopped(true, true))
				f.resume()
			}
		})
	}
}
