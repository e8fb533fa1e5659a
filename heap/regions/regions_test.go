package regions

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// sparse is memory that has some words.
type sparse map[addr.Run]uint64

func (m sparse) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], m[addr.Run(off)+addr.Run(i)])
	}
	return len(b), nil
}

// pthread puts a struct pthread of glibc into memory.
func (m sparse) pthread(at, stack addr.Run, size, guard uint64, next addr.Run) {
	m[at], m[at+16] = uint64(at), uint64(at)
	m[at+listAt] = uint64(next)
	m[at+1600], m[at+1608], m[at+1616] = uint64(stack), size, guard
}

const (
	pthreadSize = 2368
	listAt      = 704
	tidAt       = 720
)

// example is a program with a library, two threads, one that has ended and one that nobody has joined.
func example() *Source {
	const k = 1 << 10
	mem := sparse{}
	src := &Source{PID: 100, Memory: mem, Pthread: Pthread{Size: pthreadSize, List: listAt, TID: tidAt, Used: 0x7f0000021000, Cache: 0x7f0000021020}}
	add := func(start, end addr.Run, perm, path string) {
		src.Mappings = append(src.Mappings, Mapping{Start: start, End: end, Perm: perm, Path: path, Known: true, Usage: Usage{Resident: uint64(end - start), Dirty: uint64(end-start) / 2}})
	}
	add(0x400000, 0x401000, "r--p", "/bin/p")
	add(0x401000, 0x402000, "r-xp", "/bin/p")
	add(0x402000, 0x403000, "r--p", "/bin/p")
	add(0x403000, 0x405000, "rw-p", "/bin/p")
	add(0x405000, 0x440000, "rw-p", "[heap]") // which bss has grown together with
	add(0x551000000000, 0x551000010000, "rw-s", "/memfd:hdb probe")
	add(0x7f0000000000, 0x7f0000001000, "r--p", "/lib/libc.so.6")
	add(0x7f0000021000, 0x7f0000023000, "rw-p", "/lib/ld.so")
	mem[0x7f0000021000], mem[0x7f0000021020] = 0x7f0000133640+listAt, 0x7f0000143640+listAt
	add(0x7f0000100000, 0x7f0000101000, "---p", "")
	add(0x7f0000101000, 0x7f0000112000, "rw-p", "") // and an arena, which the kernel has joined with the stack
	mem.pthread(0x7f000010f640, 0x7f0000100000, 64*k, 4*k, 0)
	add(0x7f0000130000, 0x7f0000131000, "---p", "")
	add(0x7f0000131000, 0x7f0000134000, "rw-p", "")
	mem.pthread(0x7f0000133640, 0x7f0000130000, 16*k, 4*k, 0x7f0000021000)
	add(0x7f0000140000, 0x7f0000141000, "---p", "")
	add(0x7f0000141000, 0x7f0000144000, "rw-p", "")
	mem.pthread(0x7f0000143640, 0x7f0000140000, 16*k, 4*k, 0x7f0000021020)
	add(0x7f0000150000, 0x7f0000151000, "rw-s", "/dev/zero")
	add(0x7f0000152000, 0x7f0000153000, "r--s", "/etc/data")
	add(0x7f0000154000, 0x7f0000155000, "rwxp", "")
	add(0x7f0000156000, 0x7f0000158000, "rw-p", "") // of the dynamic linker
	add(0x7ffffffde000, 0x7ffffffff000, "rw-p", "[stack]")
	add(0xffffffffff600000, 0xffffffffff601000, "--xp", "[vsyscall]")
	src.Modules = []Module{{Name: "/bin/p", Low: 0x400000, High: 0x406000, Segments: []Segment{
		{Start: 0x400000, End: 0x400800, FileEnd: 0x400800}, {Start: 0x401000, End: 0x401500, FileEnd: 0x401500},
		{Start: 0x402e00, End: 0x405800, FileEnd: 0x404100, Write: true},
	}}, {Name: "/lib/libc.so.6", Low: 0x7f0000000000, High: 0x7f0000001000}}
	src.Threads = []Thread{
		{TID: 100, Stacks: []addr.Run{0x7fffffffe000}, FS: 0x7f0000156740},
		{TID: 101, Stacks: []addr.Run{0x7f000010e000}, FS: 0x7f000010f640, SignalStack: Range{0x430000, 0x432000, ""}},
	}
	src.TLS = []TLSBlock{{100, "/bin/p", 0x7f0000156700, 0x7f0000156740, true}, {101, "/bin/p", 0x7f000010f600, 0x7f000010f640, true}, {101, "/lib/x.so", 0x420000, 0x420100, false}}
	src.Arenas = []Range{{0x406000, 0x440000, "main arena"}, {0x7f0000110000, 0x7f0000112000, "arena 1"}}
	src.Internal = []Range{{0x403800, 0x403900, "main_arena"}}
	src.Own = []Range{{0x551000000000, 0x551000010000, "probe"}}
	return src
}

func TestDivide(t *testing.T) {
	s := Divide(example())
	var b strings.Builder
	for _, r := range s.Regions {
		fmt.Fprintf(&b, "%x-%x %s", uint64(r.Start), uint64(r.End), r.Kind)
		if r.Root() {
			b.WriteString(" root")
		}
		if r.TID != 0 {
			fmt.Fprintf(&b, " thread %d", r.TID)
		}
		for _, s := range []string{r.Module, r.Label} {
			if s != "" {
				b.WriteString(", " + s)
			}
		}
		b.WriteString("\n")
	}
	const want = `400000-401000 rodata, /bin/p
401000-402000 code, /bin/p
402000-403000 rodata root, /bin/p
403000-403800 data root, /bin/p
403800-403900 heap, main_arena
403900-404100 data root, /bin/p
404100-405000 bss root, /bin/p
405000-406000 bss root, /bin/p
406000-430000 heap, main arena
430000-432000 stack-unused thread 101, alternate signal stack
432000-440000 heap, main arena
551000000000-551000010000 hdb, probe
7f0000000000-7f0000001000 rodata, /lib/libc.so.6
7f0000021000-7f0000023000 file root
7f0000100000-7f0000101000 guard thread 101
7f0000101000-7f000010df80 stack-unused thread 101
7f000010df80-7f000010f600 stack root thread 101
7f000010f600-7f000010ff80 tls root thread 101
7f000010ff80-7f0000110000 stack root thread 101
7f0000110000-7f0000112000 heap, arena 1
7f0000130000-7f0000131000 guard
7f0000131000-7f0000133600 stack-ended, of a thread that has ended and was not joined
7f0000133600-7f0000133f80 tls root, of a thread that has ended and was not joined
7f0000133f80-7f0000134000 stack-ended, of a thread that has ended and was not joined
7f0000140000-7f0000141000 guard
7f0000141000-7f0000144000 stack-ended, of a thread that has ended, kept for the next one
7f0000150000-7f0000151000 shared root
7f0000152000-7f0000153000 file
7f0000154000-7f0000155000 runtime root, code made at run time
7f0000156000-7f0000156700 anonymous root
7f0000156700-7f0000157080 tls root thread 100
7f0000157080-7f0000158000 anonymous root
7ffffffde000-7fffffffdf80 stack-unused thread 100
7fffffffdf80-7ffffffff000 stack root thread 100
ffffffffff600000-ffffffffff601000 kernel
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if len(s.Notes) > 0 {
		t.Errorf("notes: %q", s.Notes)
	}
	if r := s.At(0x403850); r == nil || r.Label != "main_arena" {
		t.Errorf("At main_arena: %+v", r)
	}
	if below, above := s.Around(0x300000); s.At(0x300000) != nil || below != nil || above != &s.Regions[0] {
		t.Error("below the first region")
	}
	if below, above := s.Around(0x500000); s.At(0x500000) != nil || below.End != 0x440000 || above.Kind != Debugger {
		t.Error("between regions")
	}
	if block, ok := s.TLSAt(0x4200ff); !ok || block.Module != "/lib/x.so" {
		t.Error("variables of a library are not found")
	}
}

// TestWithoutLists finds the stacks of ended threads by what stands in their ends.
func TestWithoutLists(t *testing.T) {
	src := example()
	src.Pthread = Pthread{}
	s := Divide(src)
	for _, c := range []struct {
		at   addr.Run
		kind Kind
	}{{0x7f0000131000, StackEnded}, {0x7f0000141000, StackEnded}, {0x7f0000140000, StackGuard}, {0x7f000010f650, TLS}, {0x7f0000110000, Heap}, {0x7f0000101000, StackUnused}} {
		if r := s.At(c.at); r == nil || r.Kind != c.kind {
			t.Errorf("%v is %+v, not %v", c.at, r, c.kind)
		}
	}
}

// TestOtherStack has a thread run in a mapping that is not its stack, and come there by a signal.
func TestOtherStack(t *testing.T) {
	src := example()
	src.Threads[1].Stacks = []addr.Run{0x431000, 0x7f000010e000}
	s := Divide(src)
	for _, c := range []struct {
		at   addr.Run
		kind Kind
	}{{0x430000, StackUnused}, {0x430f80, SignalStack}, {0x431fff, SignalStack}, {0x7f000010df80, Stack}, {0x7f000010df7f, StackUnused}} {
		if r := s.At(c.at); r == nil || r.Kind != c.kind {
			t.Errorf("signal: %v is %+v, not %v", c.at, r, c.kind)
		}
	}
	src.Threads[1].Stacks = []addr.Run{0x7f0000150800}
	s = Divide(src)
	if r := s.At(0x7f0000150000); r.Kind != Shared || r.TID != 101 || r.Label != "a thread runs on it" {
		t.Errorf("the stack that it has switched to is %+v", r)
	}
	if r := s.At(0x7f0000101000); r.Kind != Stack || !r.Root() || !strings.Contains(r.Label, "not known") {
		t.Errorf("its own stack is %+v", r)
	}
}

// TestUsage shares what mappings use.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name  string
		runs  []PageRun
		usage Usage
		guess bool
		want  []uint64 // resident bytes of code to the end: unused, used
	}{
		{"exact", []PageRun{{0x2000, 0x4000, true, true}}, Usage{0x2000, 0x2000, 0}, false, []uint64{0x1800, 0x800}},
		{"swap", []PageRun{{0x2000, 0x3000, true, true}, {0x3000, 0x4000, false, true}}, Usage{0x1000, 0x1000, 0x1000}, false, []uint64{0x1000, 0}},
		{"pages of zeros", []PageRun{{0x0, 0x4000, true, true}}, Usage{0x2000, 0x2000, 0}, true, []uint64{0x1c00, 0x400}},
		{"missing", nil, Usage{0x1000, 0x1000, 0}, true, []uint64{0xe00, 0x200}},
		{"more than there is room", nil, Usage{0x10000, 0, 0}, true, []uint64{0xf800, 0x800}},
	} {
		src := &Source{
			Mappings: []Mapping{{Start: 0x0, End: 0x4000, Perm: "rw-p", Known: true, Usage: c.usage}},
			Arenas:   []Range{{0x3800, 0x4000, ""}},
			Pages: func(_, _ addr.Run, yield func(PageRun)) error {
				for _, r := range c.runs {
					yield(r)
				}
				return nil
			},
		}
		s := Divide(src)
		total, unknown := s.Total()
		if total != c.usage || unknown != 0 {
			t.Errorf("%s: the sum is %+v, of the mapping %+v", c.name, total, c.usage)
		}
		var got []uint64
		for _, r := range s.Regions {
			got = append(got, r.Resident)
			if r.Guess != c.guess {
				t.Errorf("%s: %v is a guess: %v", c.name, r.Start, r.Guess)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %#x, not %#x", c.name, got, c.want)
		}
	}
}

// TestHostile divides what is made up: all of the mappings is covered once, and the sums are theirs.
func TestHostile(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		at := func() addr.Run {
			switch rng.IntN(20) {
			case 0:
				return addr.Run(rng.Uint64())
			case 1:
				return ^addr.Run(0) - addr.Run(rng.IntN(9000))
			}
			return addr.Run(rng.IntN(64)) * (PageSize / 2)
		}
		mem := sparse{}
		for range 40 {
			p := at() &^ 15
			mem[p], mem[p+16], mem[p+listAt] = uint64(p), uint64(p), uint64(at())
			mem[p+800], mem[p+808], mem[p+816] = uint64(at()), uint64(rng.IntN(1<<17)), uint64(at())
		}
		src := &Source{PID: 1, Memory: mem, Pthread: Pthread{Size: uint64(rng.IntN(4000)), List: uint64(rng.IntN(2)) * listAt, TID: 8, Used: at(), User: at(), Cache: at()}}
		for range rng.IntN(20) {
			m := Mapping{Start: at(), End: at(), Perm: []string{"rw-p", "---p", "r-xp", "rw-s", "", "r"}[rng.IntN(6)], Path: []string{"", "[stack]", "/x", "[heap]", "["}[rng.IntN(5)], Known: rng.IntN(2) > 0}
			if m.Known {
				m.Usage = Usage{uint64(rng.IntN(1 << 16)), uint64(rng.IntN(1 << 16)), uint64(rng.IntN(1 << 16))}
			}
			src.Mappings = append(src.Mappings, m)
		}
		some := func() (list []Range) {
			for range rng.IntN(6) {
				list = append(list, Range{at(), at(), "x"})
			}
			return list
		}
		src.Arenas, src.Internal, src.Runtimes, src.Own = some(), some(), some(), some()
		for range rng.IntN(4) {
			m := Module{Name: "/x", Low: at(), High: at()}
			for range rng.IntN(3) {
				m.Segments = append(m.Segments, Segment{at(), at(), at(), rng.IntN(2) > 0})
			}
			src.Modules = append(src.Modules, m)
			src.Threads = append(src.Threads, Thread{TID: rng.IntN(3), Stacks: []addr.Run{at(), at()}, FS: at() &^ 15, SignalStack: Range{at(), at(), ""}})
			src.TLS = append(src.TLS, TLSBlock{rng.IntN(3), "/x", at(), at(), rng.IntN(2) > 0})
		}
		if rng.IntN(2) > 0 {
			src.Pages = func(start, end addr.Run, yield func(PageRun)) error {
				for range rng.IntN(4) {
					yield(PageRun{at(), at(), rng.IntN(2) > 0, rng.IntN(2) > 0})
				}
				return []error{nil, io.EOF}[rng.IntN(2)]
			}
		}
		checkSpace(t, seed, src, Divide(src))
	}
}

func checkSpace(t *testing.T, seed uint64, src *Source, s *Space) {
	t.Helper()
	d := &divider{src: src, space: &Space{}}
	d.sortMappings()
	k, at := 0, addr.Run(0)
	var want, got Usage
	for i, m := range d.maps {
		if m.Known {
			want = want.Plus(m.Usage)
		}
		for at = m.Start; at < m.End; k++ {
			if k == len(s.Regions) || s.Regions[k].Start != at || s.Regions[k].End <= at || s.Regions[k].End > m.End {
				t.Fatalf("seed %d: mapping %d, %v-%v: at %v there is %+v", seed, i, m.Start, m.End, at, s.Regions[k:])
			}
			got = got.Plus(s.Regions[k].Usage)
			at = s.Regions[k].End
		}
	}
	if k != len(s.Regions) || got != want {
		t.Fatalf("seed %d: %d of %d regions; the sum is %+v, not %+v", seed, k, len(s.Regions), got, want)
	}
}

func BenchmarkDivide(b *testing.B) {
	src := example()
	for i := range addr.Run(50_000) {
		src.Mappings = append(src.Mappings, Mapping{Start: 0x600000000000 + i*0x3000, End: 0x600000001000 + i*0x3000, Perm: "rw-p", Known: true})
		src.Runtimes = append(src.Runtimes, Range{0x600000000000 + i*0x3000, 0x600000000800 + i*0x3000, ""})
	}
	for b.Loop() {
		Divide(src)
	}
}
