package probe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/cond"
	"hdb/probe/filter"
)

// verdict is what a program does, in a word.
func verdict(p filter.Program) string {
	words := ""
	switch {
	case p.Never:
		return "never"
	case p.Always:
		words = "always"
	default:
		words = "some"
	}
	if !p.Exact {
		words += "+" // to be asked again
	}
	return words
}

// What comes through to a trap, at the core and in quick thunks.
func TestNarrowing(t *testing.T) {
	for _, c := range []struct {
		specs, symbol string
		core, quick   string // "" no quick thunk
	}{
		{"alloc", "malloc", "always", "always"},
		{"alloc", "free", "never", "never"},
		{"alloc", "mmap", "never", ""},
		{"free", "free", "always", "always"},
		{"free", "_ZdlPvm", "always", "always"},
		{"free", "munmap", "never", ""},
		{"munmap", "munmap", "always", ""},
		{"free if size > 10", "free", "always+", "always+"},
		{"malloc", "malloc", "always", "always"},
		{"malloc", "_Znwm", "always+", "always+"}, // it may call malloc
		{"malloc", "realloc", "always+", ""},
		{"malloc", "mmap", "never", ""},
		{"operator new", "_Znwm", "always", "always"},
		{"alloc if size >= 100", "malloc", "some", "some"},
		{"alloc if size >= 100", "realloc", "some", ""},
		{"alloc if size >= 100", "posix_memalign", "some", ""},
		{"alloc if old != 0", "malloc", "never", "never"},
		{"alloc if old == 0x5000", "realloc", "some", ""},
		{"alloc if addr == 0x5000", "malloc", "some", "always+"}, // not known at the entry
		{"mmap if addr == 0", "mmap", "always+", ""},             // -1 means 0
		{"sbrk if size == 4096", "sbrk", "always+", ""},
		{"alloc if align == 64", "malloc", "never", "never"},
		{"alloc if align == 64", "aligned_alloc", "some", "some"},
		{"alloc if count == 3", "calloc", "some", "some"},
		{`alloc if func("f")`, "malloc", "always+", "always+"},
		{`alloc if size > 8 && func("f")`, "malloc", "some+", "some+"},
		{`alloc if kind == "malloc"`, "malloc", "always", "always"},
		{`alloc if kind == "realloc"`, "free", "never", "never"},
		{"alloc if thread == 2", "malloc", "some", "some"},
		{"alloc if live > 1000", "malloc", "some+", ""},
		{"alloc #7", "malloc", "some+", ""},
		{"alloc #7", "free", "some+", ""},
		{"alloc #7", "munmap", "some+", ""},
		{"alloc #3", "malloc", "never", ""}, // it has been
		{"alloc if size == 1; alloc if size == 2", "malloc", "some", "some"},
		{"alloc if size == 1; alloc", "malloc", "always", "always"},
		{`alloc if size == 1; alloc if func("f")`, "malloc", "always+", "always+"},
		{"alloc thread 2 if size == 1", "malloc", "some", "some"},
	} {
		t.Run(c.specs+" "+c.symbol, func(t *testing.T) {
			r := newRing(t)
			r.ownerThread()
			r.request = stopsAt(t, strings.Split(c.specs, "; ")...)
			r.request.Seq = 5
			s := r.site(c.symbol)
			prog, err := r.request.program(s.Function, r.atCore(s))
			if err != nil {
				t.Fatal(err)
			}
			if got := verdict(prog); got != c.core {
				t.Errorf("core: %s, want %s", got, c.core)
			}
			got := ""
			if _, ok := r.quickFilter(s); ok {
				prog, err := r.request.program(s.Function, r.atEntry(s))
				if err != nil {
					t.Fatal(err)
				}
				got = verdict(prog)
			}
			if got != c.quick {
				t.Errorf("quick: %q, want %q", got, c.quick)
			}
		})
	}
}

// next-alloc and next-free are stops of their own.
func TestNextNarrows(t *testing.T) {
	r := newRing(t)
	c, err := cond.Parse("size >= 100")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []struct {
		next   Next
		symbol string
		want   string
	}{
		{Next{}, "malloc", "always"}, {Next{}, "free", "never"}, {Next{}, "mmap", "always"},
		{Next{Frees: true}, "free", "always"}, {Next{Frees: true}, "malloc", "never"}, {Next{Frees: true}, "munmap", "always"},
		{Next{Cond: c}, "malloc", "some"},
	} {
		r.request = Request{Next: &n.next}
		s := r.site(n.symbol)
		prog, err := r.request.program(s.Function, r.atCore(s))
		if err != nil || verdict(prog) != n.want {
			t.Errorf("%+v at %s: %s, want %s; %v", n.next, n.symbol, verdict(prog), n.want, err)
		}
	}
}

func TestMode(t *testing.T) {
	for _, c := range []struct {
		specs  string
		record bool
		want   uint64
	}{
		{"alloc", false, 0}, {"alloc", true, modeRecord}, {"alloc #3", false, modeNumber}, {"alloc if nth > 3", false, modeNumber},
		{"free if live > 3", false, modeLive}, {"alloc if blocks > 3", true, modeRecord | modeLive},
	} {
		r := stopsAt(t, c.specs)
		r.Record = c.record
		if got := (&conditions{request: r}).mode(); got != c.want {
			t.Errorf("%s: mode %#x, want %#x", c.specs, got, c.want)
		}
	}
}

// The console tells what is decided where.
func TestDescribe(t *testing.T) {
	r := newRing(t)
	r.ownerThread()
	for _, c := range []struct {
		spec        string
		in, outside []string
	}{
		{"alloc if size >= 100", []string{"size"}, nil},
		{`alloc if size >= 100 && func("f")`, []string{"size"}, []string{"func()"}},
		{"free if size >= 100", nil, []string{"size"}},
		{"alloc if live > 5", []string{"live"}, []string{"live"}},
		{"alloc thread 2", []string{"thread"}, nil},
		{"alloc", nil, nil},
	} {
		st := stopsAt(t, c.spec).Stops[0]
		in, outside, err := r.Describe(st)
		if err != nil || !slices.Equal(in, c.in) || !slices.Equal(outside, c.outside) {
			t.Errorf("%s: %q in the process, %q outside, want %q and %q; %v", c.spec, in, outside, c.in, c.outside, err)
		}
	}
}

// Each thread that a condition names gets a cell; when there are no more the
// question is left to the evaluation outside.
func TestCells(t *testing.T) {
	r := newRing(t)
	p := r.ownerThread()
	first := p.Threads()[0]
	at, ok := r.threadCell(uint64(first.Num))
	if again, _ := r.threadCell(uint64(first.Num)); !ok || again != at {
		t.Errorf("cell at %#x, then %#x", at, again)
	}
	if got := r.shared.half(hdThreads).Load(); int(got) != first.TID {
		t.Errorf("TID %d, want %d", got, first.TID)
	}
	for n := range uint64(maxThreadCells - 1) {
		at, ok := r.threadCell(n + 100)
		if !ok || at != uint64(fileHeader+hdThreads)+4*(n+1) {
			t.Fatalf("cell %d at %#x %v", n+1, at, ok)
		}
	}
	if _, ok := r.threadCell(9999); ok {
		t.Error("more cells than there are")
	}
	r.shared.half(hdThreads).Store(0)
	r.ThreadsChanged()
	if got := r.shared.half(hdThreads).Load(); int(got) != first.TID {
		t.Errorf("TID %d after a change, want %d", got, first.TID)
	}
}

// What the core reads of a function.
func TestDescriptor(t *testing.T) {
	r := newRing(t)
	for _, text := range []string{"pool_get size=64", "pool_put free=ARG2", "sized size=ARG3 count=ARG2 align=ARG1 old=ARG4"} {
		r.addSite(userFunction(t, text), programAt)
	}
	r.addSite(catalogued(t, "mi_strdup"), libcAt)
	for _, fn := range breakpoints.PythonFunctions()[:4] {
		r.addPointer(fn, programAt)
	}
	for _, c := range []struct {
		symbol                       string
		flags                        uint32
		size, count, align, old, ptr byte
		result                       byte
		constant                     uint64
		long                         bool
	}{
		{"malloc", siteSized, 0, operandNone, operandNone, operandNone, ptrReturned, 0, 0, false},
		{"calloc", siteSized, 1, 0, operandNone, operandNone, ptrReturned, 0, 0, true},
		{"realloc", siteSized | kindRealloc, 1, operandNone, operandNone, 0, ptrReturned, 0, 0, true},
		{"posix_memalign", siteSized, 2, operandNone, 1, operandNone, ptrPointed, 1, 0, true},
		{"free", kindFree, operandNone, operandNone, operandNone, operandNone, 0, 0, 0, false},
		{"_ZdlPvm", siteSized | kindFree, 1, operandNone, operandNone, operandNone, 0, 0, 0, false},
		{"mmap", siteSized | siteVM | uint32(capture.Map), 1, operandNone, 2, 3, ptrReturned, 0, 0, true},
		{"mremap", siteSized | siteVM | uint32(capture.Map), 2, operandNone, 1, 0, ptrReturned, 0, 0, true},
		{"mprotect", siteSized | siteVM | siteZero | siteOwners | uint32(capture.Protect), 1, operandNone, 2, operandNone, 0, 1, 0, true},
		{"munmap", siteSized | siteVM | kindUnmap, 1, operandNone, operandNone, operandNone, 0, 0, 0, false},
		{"sbrk", siteSized | siteVM | siteZero | uint32(capture.Map), 0, operandNone, operandNone, operandNone, ptrReturned, 0, 0, false},
		{"brk", siteVM | uint32(capture.Map), operandNone, operandNone, operandNone, operandNone, 0, 1, 0, false},
		{"pool_get", siteSized | siteUser | siteWide, operandNone, operandNone, operandNone, operandNone, ptrReturned, 0, 64, false},
		{"pool_put", siteUser | siteWide | kindFree, operandNone, operandNone, operandNone, operandNone, 1, 0, 0, false},
		{"sized", siteSized | siteUser | siteWide | kindRealloc, 2, 1, 0, 3, ptrReturned, 0, 0, true},
		{"PyMem_RawMalloc", siteSized | siteUser, 0, operandNone, operandNone, operandNone, ptrReturned, 0, 0, false},
		{"PyMem_RawCalloc", siteSized | siteUser, 2, 1, operandNone, operandNone, ptrReturned, 0, 0, true},
		{"PyMem_RawRealloc", siteSized | siteUser | kindRealloc, 2, operandNone, operandNone, 1, ptrReturned, 0, 0, true},
		{"PyMem_RawFree", siteUser | kindFree, operandNone, operandNone, operandNone, operandNone, 0, 0, 0, false},
		{"mi_strdup", siteText, operandNone, operandNone, operandNone, operandNone, ptrReturned, 0, 0, false},
	} {
		s := r.site(c.symbol)
		s.relocated, s.bit = 0x111, 33
		flags := c.flags
		if c.long {
			flags |= siteLong
		}
		b := r.descriptor(s, 0x222, 0x333)
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
		head := uint64(s.index) << siteShift
		if c.long {
			head |= flagLong
		}
		got := fmt.Sprint(b[siSize], b[siCount], b[siAlign], b[siOld], b[siPtr], b[siResult], b[siBit], word(siConst), word(siHead),
			word(siReloc), word(siFilter), word(siTail), word(siModLow), word(siModLen), uint32(word(siFlags))&(1<<24-1))
		want := fmt.Sprint(c.size, c.count, c.align, c.old, c.ptr, c.result, 33, c.constant, head,
			0x111, 0x222, 0x333, uint64(s.In.Low), moduleSize, flags)
		if got != want {
			t.Errorf("%s: %s, want %s", c.symbol, got, want)
		}
	}
}

// Functions that free and others are numbered apart, and begin anew after 64.
func TestBits(t *testing.T) {
	p := &Probe{}
	malloc, free := catalogued(t, "malloc"), catalogued(t, "free")
	for i := range 130 {
		if got := p.siteTable.nextBit(malloc); int(got) != i%64 {
			t.Fatalf("bit %d of function %d", got, i)
		}
	}
	if got := p.siteTable.nextBit(free); got != 0 {
		t.Errorf("bit %d of the first that frees", got)
	}
}

// Stop kinds that are not about allocator calls want nothing.
func TestWants(t *testing.T) {
	malloc := catalogued(t, "malloc")
	for spec, want := range map[string]filter.Verdict{
		"alloc": filter.Yes, "malloc": filter.Yes, "free": filter.No, "calloc": filter.Unknown, "realloc": filter.Unknown, "alloc #5": filter.Yes,
	} {
		if got := wants(stopsAt(t, spec).Stops[0], malloc); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
	if got := wants(stopsAt(t, "malloc").Stops[0], catalogued(t, "realloc")); got != filter.Unknown {
		t.Errorf("malloc in realloc: %v", got)
	}
	if got := wants(stopsAt(t, "mmap").Stops[0], catalogued(t, "mmap")); got != filter.Yes {
		t.Errorf("mmap: %v", got)
	}
}

// TestPassed: only what was still to come and is not any more has passed.
func TestPassed(t *testing.T) {
	for _, c := range []struct {
		spec string
		seq  uint64
		want bool
	}{
		{"alloc #50", 49, false}, {"alloc #50", 50, true}, {"alloc #9", 50, false}, {"alloc", 50, false},
		{"alloc if nth == 50", 49, false}, {"alloc if nth == 50", 50, true}, {"alloc if nth >= 20", 50, false},
		{"alloc if size > 8 && (live > 9 || !(nth > 20))", 19, false}, {"alloc if size > 8 && (live > 9 || !(nth > 20))", 20, true},
		{"alloc if nth < 5", 50, false},
	} {
		r := stopsAt(t, c.spec)
		r.Seq = 10
		if got := r.passed(c.seq); got != c.want {
			t.Errorf("%s: passed by event %d: %v", c.spec, c.seq, got)
		}
	}
}
