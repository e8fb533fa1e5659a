package probe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/internal/addr"
)

// A coreCase is calls of allocators by threads, and the events that they make.
// breakpoints.TestShadowStack plays the same against plain breakpoints.
type coreCase struct {
	name string
	play func(l *lab, th *labThread)
	want []string
}

var coreCases = []coreCase{
	{"a call and its result", func(l *lab, th *labThread) {
		th.call(here, "malloc", 16)
		th.ret(0x5000)
		th.call(here, "free", 0x5000)
		th.ret(0)
	}, []string{"malloc(16) = 0x5000", "free(0x5000)"}},
	{"nothing for free(NULL), sbrk(0)", func(l *lab, th *labThread) {
		th.call(here, "free", 0)
		th.ret(0)
		th.call(here, "sbrk", 0)
		th.ret(0x8000)
	}, nil},
	{"operator new calls malloc, malloc maps", func(l *lab, th *labThread) {
		th.call(here, "_Znwm", 72)
		th.frame(8)
		th.call(inCXX, "malloc", 72)
		th.frame(0x100)
		th.call(inLibc, "mmap", 0, 4096)
		th.ret(0x6000)
		th.frame(^addr.Run(0x100 - 1))
		th.ret(0x5000)
		th.frame(^addr.Run(8 - 1))
		th.ret(0x5000)
	}, []string{"operator new(72) = 0x5000"}},
	{"new[] jumps to new", func(l *lab, th *labThread) {
		th.call(here, "_Znam", 72)
		th.jump("_Znwm", 72)
		th.frame(8)
		th.call(inCXX, "malloc", 72)
		th.ret(0x5000)
		th.frame(^addr.Run(8 - 1))
		th.ret(0x5000)
	}, []string{"operator new[](72) = 0x5000"}},
	{"realloc(NULL) jumps to malloc", func(l *lab, th *labThread) {
		th.call(here, "realloc", 0, 10)
		th.jump("malloc", 10)
		th.ret(0x5000)
	}, []string{"realloc(0x0, 10) = 0x5000"}},
	{"realloc moves with malloc and free", func(l *lab, th *labThread) {
		th.call(here, "realloc", 0x5000, 10)
		th.call(inLibc, "malloc", 10)
		th.ret(0x6000)
		th.call(inLibc, "free", 0x5000)
		th.ret(0)
		th.ret(0x6000)
	}, []string{"realloc(0x5000, 10) = 0x6000"}},
	{"delete jumps to free, free unmaps", func(l *lab, th *labThread) {
		th.call(here, "_ZdlPvm", 0x5000, 8)
		th.jump("_ZdlPv", 0x5000)
		th.jump("free", 0x5000)
		th.frame(0x20)
		th.call(inLibc, "munmap", 0x4ff0, 0x1000)
		th.ret(0)
		th.frame(^addr.Run(0x20 - 1))
		th.ret(0)
	}, []string{"operator delete(0x5000, 8)"}},
	{"a double free is two", func(l *lab, th *labThread) {
		th.call(here, "free", 0x5000)
		th.ret(0)
		th.call(here, "free", 0x5000)
		th.ret(0)
	}, []string{"free(0x5000)", "free(0x5000)"}},
	{"the user unmaps after a free", func(l *lab, th *labThread) {
		th.call(here, "free", 0x5000)
		th.ret(0)
		th.frame(0x100) // leaves the old return address where it was
		th.call(there, "munmap", 0x10000, 0x1000)
		th.ret(0)
	}, []string{"free(0x5000)", "munmap(0x10000, 4096)"}},
	{"longjmp to a shallower frame", func(l *lab, th *labThread) {
		top := th.sp
		th.frame(0x200)
		th.call(here, "malloc", 1)
		th.sp = top
		th.call(there, "malloc", 2)
		th.ret(0x5000)
	}, []string{"malloc(1) did not return", "malloc(2) = 0x5000"}},
	{"longjmp, then a deeper frame over the old one", func(l *lab, th *labThread) {
		top := th.sp
		th.call(here, "malloc", 1)
		th.sp = top
		th.call(there, "")
		th.frame(0x200)
		th.call(there, "malloc", 2)
		th.ret(0x5000)
	}, []string{"malloc(1) did not return", "malloc(2) = 0x5000"}},
	{"longjmp, then the same call again", func(l *lab, th *labThread) {
		top := th.sp
		for range 3 {
			th.sp = top
			th.call(here, "malloc", 1)
		}
		th.ret(0x5000)
	}, []string{"malloc(1) did not return", "malloc(1) did not return", "malloc(1) = 0x5000"}},
	{"operator new throws", func(l *lab, th *labThread) {
		top := th.sp
		th.call(here, "_Znwm", 1<<60)
		th.frame(8)
		th.call(inCXX, "malloc", 1<<60)
		th.ret(0)
		th.call(inCXX, "") // __cxa_allocate_exception
		th.call(inCXX+1, "malloc", 144)
		th.ret(0x5000)
		th.sp = top // in the handler
		th.call(there, "")
		th.call(inCXX+2, "free", 0x5000)
		th.ret(0)
	}, []string{"malloc(144) = 0x5000", "operator new(1152921504606846976) did not return", "free(0x5000)"}},
	{"nothrow new catches what new throws", func(l *lab, th *labThread) {
		th.call(here, "_ZnwmRKSt9nothrow_t", 1<<60)
		top := th.sp
		th.call(inCXX+8, "_Znwm", 1<<60)
		th.call(inCXX, "malloc", 1<<60)
		th.ret(0)
		th.call(inCXX+1, "malloc", 144)
		th.ret(0x5000)
		th.sp = top
		th.call(inCXX+2, "free", 0x5000)
		th.ret(0)
		th.ret(0)
	}, []string{"malloc(144) = 0x5000", "free(0x5000)", "operator new(1152921504606846976) = NULL"}},
	{"a new-handler frees its reserve", func(l *lab, th *labThread) {
		th.call(here, "_Znwm", 64)
		th.call(inCXX, "malloc", 64)
		th.ret(0)
		th.call(inCXX+1, "")
		th.call(there, "free", 0x7000)
		th.ret(0)
		th.ret(0)
		th.call(inCXX, "malloc", 64)
		th.ret(0x5000)
		th.ret(0x5000)
	}, []string{"free(0x7000)", "operator new(64) = 0x5000"}},
	{"threads do not mix", func(l *lab, th *labThread) {
		other := l.thread(2)
		th.call(here, "malloc", 1)
		other.call(here, "malloc", 2)
		th.ret(0x5000)
		other.ret(0x6000)
	}, []string{"malloc(1) = 0x5000", "2: malloc(2) = 0x6000"}},
	{"a thread ends inside a call, its number is used again", func(l *lab, th *labThread) {
		th.call(here, "malloc", 1)
		l.ThreadExited(1)
		th = l.thread(1)
		th.frame(8)
		th.call(here, "malloc", 2)
		th.ret(0x5000)
	}, []string{"malloc(2) = 0x5000"}},
	{"the code after a call is reached by a jump", func(l *lab, th *labThread) {
		th.call(here, "malloc", 1)
		th.ret(0x5000)
		th.call(here, "") // something else that returns there
		th.ret(0)
		th.call(here, "malloc", 2)
		th.ret(0x6000)
	}, []string{"malloc(1) = 0x5000", "malloc(2) = 0x6000"}},
	{"failures", func(l *lab, th *labThread) {
		th.call(here, "malloc", 1<<62)
		th.ret(0)
		th.call(here, "mmap", 0, 1)
		th.ret(^uint64(0))
		th.call(here, "posix_memalign", 0x1000, 3, 8)
		th.ret(22)
	}, []string{"malloc(4611686018427387904) = NULL", "mmap(1) = -1", "posix_memalign(3, 8) = NULL"}},
}

// What threads do makes the same events in the core as with plain breakpoints.
func TestCore(t *testing.T) {
	checkCore(t, coreCases)
}

func checkCore(t *testing.T, cases []coreCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			c.play(l, l.thread(1))
			l.Drain()
			l.expect(t, c.want...)
			if len(l.resizes) != 0 || l.stats.Torn != 0 {
				t.Errorf("%d reallocs are still to end, %d torn", len(l.resizes), l.stats.Torn)
			}
			if l.Unreported() != 0 {
				t.Errorf("%d recorded events are counted as unreported", l.Unreported())
			}
		})
		for _, spec := range []string{"alloc if size == 4711", "mmap if size == 4711"} { // the second asks nothing of those that are left
			t.Run(c.name+", counted beside "+spec, func(t *testing.T) {
				l := newLab(t, stopsAt(t, spec))
				c.play(l, l.thread(1))
				want := 0
				for _, line := range c.want {
					if !strings.Contains(line, " free ") { // which only the records of two threads tell
						want++
					}
				}
				if n := l.total(); n != uint64(want) && l.state[stEnabled] != 0 && l.shared.half(hdAlive).Load() == 0 {
					t.Errorf("%d events counted, want %d", n, want)
				}
			})
		}
	}
}

// What plain breakpoints cannot be made to do by a script, or do otherwise.
func TestCoreMore(t *testing.T) {
	checkCore(t, []coreCase{
		{"a signal handler allocates inside malloc", func(l *lab, th *labThread) {
			th.call(here, "malloc", 16)
			before := *th
			th.frame(0x200)
			th.call(there, "malloc", 8)
			th.ret(0x6000)
			th.call(there, "free", 0x7000)
			th.ret(0)
			*th = before
			th.ret(0x5000)
		}, []string{"malloc(8) = 0x6000", "free(0x7000)", "malloc(16) = 0x5000"}},
		{"a handler on a stack of its own", func(l *lab, th *labThread) {
			th.call(here, "malloc", 16)
			before := *th
			th.sp = labAt + labFar
			th.call(there, "malloc", 8)
			th.ret(0x6000)
			th.call(there, "free", 0x6000)
			th.ret(0)
			*th = before
			th.ret(0x5000)
		}, []string{"malloc(8) = 0x6000", "free(0x6000)", "malloc(16) = 0x5000"}},
		{"a handler leaves two calls by longjmp", func(l *lab, th *labThread) {
			top := th.sp
			th.call(here, "malloc", 16)
			th.frame(0x200)
			th.call(there, "malloc", 8)
			th.sp = top
			th.call(there, "malloc", 9)
			th.ret(0x6000)
		}, []string{"malloc(16) did not return", "malloc(9) = 0x6000"}},
		{"more calls inside one another than there is room for", func(l *lab, th *labThread) {
			var outer []labThread
			for i := range uint64(shadowDepth + 2) {
				th.call(there, "malloc", i)
				outer = append(outer, *th)
				th.frame(0x40)
			}
			for i := uint64(shadowDepth + 2); i > 0; i-- {
				*th = outer[i-1]
				th.ret(0x5000 + 16*i)
			}
		}, []string{"malloc(8) = 0x5090", "malloc(7) = 0x5080", "malloc(6) = 0x5070", "malloc(5) = 0x5060",
			"malloc(4) = 0x5050", "malloc(3) = 0x5040", "malloc(2) = 0x5030", "malloc(1) = 0x5020", "malloc(0) = 0x5010"}},
		{"calls with more than a size are left", func(l *lab, th *labThread) {
			for _, call := range []struct {
				symbol string
				args   []uint64
			}{{"calloc", []uint64{3, 16}}, {"aligned_alloc", []uint64{64, 128}}, {"posix_memalign", []uint64{0x1000, 64, 128}}} {
				before := *th
				th.frame(0x200)
				th.call(here, call.symbol, call.args...)
				*th = before
			}
			th.call(there, "free", 0x5000)
			th.ret(0)
		}, []string{"calloc(3, 16) did not return", "aligned_alloc(64, 128) did not return", "posix_memalign(64, 128) did not return", "free(0x5000)"}},
		{"brk, mmap and mremap", func(l *lab, th *labThread) {
			th.call(here, "brk", 0x9000)
			th.ret(0)
			th.call(here, "brk", 0xa000)
			th.ret(^uint64(0))
			th.call(here, "mmap", 0, 4096)
			th.ret(0x8000)
			th.call(here, "mremap", 0x8000, 4096, 8192, 1)
			th.ret(0xa000)
			th.call(here, "sbrk", ^uint64(4095))
			th.ret(0xb000)
			th.call(here, "munmap", 0xa000, 8192)
			th.ret(0)
		}, []string{"brk(0x9000)", "brk(0x0) = -1", "mmap(4096) = 0x8000", "mremap(0x8000, 8192) = 0xa000",
			"sbrk(-4096) = 0xb000 unmap 0xa000", "munmap(0xa000, 8192)"}},
		{"mprotect, which is the C library's own affair if it calls it itself", func(l *lab, th *labThread) {
			th.call(here, "mprotect", 0x8000, 4096, 3)
			th.ret(0)
			th.call(here, "mprotect", 0x8000, 4096, 0)
			th.ret(^uint64(0))
			th.call(here, "mprotect", 0x8000, 0, 3)
			th.ret(0)
			th.call(libcAt+0x100, "mprotect", 0x8000, 4096, 3)
			th.ret(0)
			th.call(here, "malloc", 1<<20)
			th.call(here, "mprotect", 0x8000, 4096, 1) // not libc's: a signal handler's
			th.ret(0)
			th.ret(0x5000)
		}, []string{"mprotect(0x8000, 4096, PROT_READ|PROT_WRITE)", "mprotect(0x0, 4096, PROT_NONE) = -1", "mprotect(0x8000, 4096, PROT_READ)", "malloc(1048576) = 0x5000"}},
		{"calloc whose product is too large", func(l *lab, th *labThread) {
			th.call(here, "calloc", 1<<33, 1<<33)
			th.ret(0)
		}, []string{"calloc(8589934592, 2147483647) = NULL"}},
		{"posix_memalign", func(l *lab, th *labThread) {
			result := th.sp - 0x1000
			l.poke(result, 0x5000)
			th.call(here, "posix_memalign", uint64(result), 64, 100)
			th.ret(0)
			th.call(here, "posix_memalign", uint64(result), 3, 100)
			th.ret(22)
			th.call(here, "posix_memalign", uint64(result), 32, 100)
			th.ret(1 << 32) // an int, which is 0
		}, []string{"posix_memalign(64, 100) = 0x5000", "posix_memalign(3, 100) = NULL", "posix_memalign(32, 100) = 0x5000"}},
		{"malloc inside realloc by another allocator", func(l *lab, th *labThread) {
			th.call(here, "realloc", 0x5000, 10)
			th.call(here+16, "malloc", 10) // another module: no work of libc's
			th.ret(0x7000)
			th.ret(0x6000)
		}, []string{"malloc(10) = 0x7000", "realloc(0x5000, 10) = 0x6000"}},
		{"realloc of a block that is freed while it runs", func(l *lab, th *labThread) {
			th.call(here, "realloc", 0x5000, 10)
			th.call(there, "free", 0x7000) // a handler
			th.ret(0)
			th.ret(0)
			th.call(here, "free", 0x5000)
			th.ret(0)
		}, []string{"free(0x7000)", "realloc(0x5000, 10) = NULL", "free(0x5000)"}},
		{"another thread is handed the block that realloc left", func(l *lab, th *labThread) {
			other := l.thread(2)
			th.call(here, "realloc", 0x5000, 64)
			other.call(there, "malloc", 8)
			other.ret(0x5000)
			th.ret(0x6000)
			other.call(there, "free", 0x5000)
			other.ret(0)
		}, []string{"realloc(0x0, 0) free 0x5000", "2: malloc(8) = 0x5000", "realloc(0x0, 64) = 0x6000", "2: free(0x5000)"}},
		{"switched off", func(l *lab, th *labThread) {
			l.setState(stEnabled, 0)
			th.call(here, "malloc", 16)
			th.ret(0x5000)
			th.call(here, "free", 0x5000)
			th.ret(0)
		}, nil},
		{"switched off while it runs", func(l *lab, th *labThread) {
			th.call(here, "malloc", 16)
			l.setState(stEnabled, 0)
			th.ret(0x5000)
		}, nil},
		{"hdb dies while it runs", func(l *lab, th *labThread) {
			th.call(here, "malloc", 16)
			l.shared.half(hdAlive).Store(ownerDied | 77)
			th.ret(0x5000)
			if e := l.state[stEnabled]; e != 0 && l.request.Record { // only what is recorded looks
				t.Error("still enabled")
			}
			th.call(here, "malloc", 17)
			th.ret(0x6000)
		}, nil},
		{"hdb dies, then a free", func(l *lab, th *labThread) {
			l.shared.half(hdAlive).Store(ownerDied | 77)
			th.call(here, "free", 0x5000)
			th.ret(0)
			if e := l.state[stEnabled]; e != 0 && l.request.Record { // only what is recorded looks
				t.Error("still enabled")
			}
		}, nil},
	})
}

// What the allocator frees to give the cache of a thread that ends back is no event, nor
// what it unmaps for it: whether calls are recorded, the long way or the short one, or
// counted by a quick thunk.
func TestReleases(t *testing.T) {
	const release = libcAt + callsFrom + 0x1000
	for _, c := range []struct {
		name    string
		request Request
		enabled uint64
	}{
		{"recorded", Request{Record: true}, enabled},
		{"recorded by the short way", Request{Record: true}, quickEnabled},
		{"counted", stopsAt(t, "alloc if size == 4711"), enabled},
		{"counted, with a stop at a free", stopsAt(t, "free if addr == 0x5000"), enabled},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			l.site("free").Release = breakpoints.Extent{Low: release, High: release + 0x100}
			l.restart(c.request)
			l.setState(stEnabled, c.enabled)
			l.quick = !c.request.Record
			th := l.thread(1)
			free := func(from addr.Run, block uint64) {
				th.call(from, "free", block)
				th.ret(0)
			}
			free(release, 0x5000)
			free(release+0xf0, 0x6000)
			th.call(release+0x20, "free", 0x7000)
			th.call(inLibc, "munmap", 0x7000, 4096)
			th.ret(0)
			th.ret(0)
			l.Drain()
			if n := l.total(); n != 0 {
				t.Errorf("%d events", n)
			}
			free(release-0x10, 0x8000)
			free(release+0x100, 0x8000)
			free(inLibc, 0x9000)
			l.Drain()
			if n := l.total(); n != 3 || len(l.stops) != 0 {
				t.Errorf("%d events, want 3; stops %q", n, l.stops)
			}
			if c.request.Record {
				l.expect(t, "free(0x8000)", "free(0x8000)", "free(0x9000)")
			}
		})
	}
}

// TestRestarts has the first free of a thread jump to its own entry, as that of glibc 2.43 does once it has made the thread's
// cache, from operator delete, too. A second such call is a double free.
func TestRestarts(t *testing.T) {
	for name, enabled := range map[string]uint64{"the long way": enabled, "the short way": quickEnabled} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			l.site("free").Restarts = true
			l.restart(Request{Record: true})
			l.setState(stEnabled, enabled)
			for n, first := range []string{"free", "_ZdlPv"} {
				th := l.thread(uint32(n + 1))
				th.call(here, first, 0x5000)
				for range 1 + n {
					th.jump("free", 0x5000)
				}
				th.ret(0)
				for range 2 {
					th.call(here, "free", 0x6000)
					th.ret(0)
				}
			}
			l.Drain()
			l.expect(t, "free(0x5000)", "free(0x6000)", "free(0x6000)", "2: operator delete(0x5000)", "2: free(0x6000)", "2: free(0x6000)")
		})
	}
}

// allocateExceptions has code of the C++ runtime do so.
func (l *lab) allocateExceptions(code breakpoints.Extent) {
	for _, s := range l.siteTable.list {
		if s.In.Low == libcxxAt {
			s.Exceptions = code
		}
	}
}

// An exception is no operator new's work, though it is large enough.
func TestExceptionInside(t *testing.T) {
	const allocates = libcxxAt + callsFrom + 0x1000
	l := newLab(t, Request{Record: true})
	l.allocateExceptions(breakpoints.Extent{Low: allocates, High: allocates + 0x40})
	for _, way := range []uint64{enabled, quickEnabled} {
		l.restart(l.request)
		l.setState(stEnabled, way)
		th := l.thread(1)
		top := th.sp
		th.call(here, "_Znam", 64)
		th.call(allocates+0x10, "malloc", 144)
		th.ret(0x5000)
		th.sp = top
		th.call(there, "")
		th.call(inCXX, "free", 0x5000)
		th.ret(0)
		l.Drain()
		l.expect(t, "malloc(144) = 0x5000", "operator new[](64) did not return", "free(0x5000)")
	}
}

// Functions that the user has named: with arguments on the stack, and results of
// other kinds.
func TestUserFunctions(t *testing.T) {
	l := newLab(t, Request{Record: true}, "pool_get size=64", "pool_put free=ARG2", "obstack_get size=ARG6")
	text := l.addTextSite()
	l.restart(l.request)
	th := l.thread(1)
	th.call(here, "pool_get")
	th.call(there, "malloc", 4096) // its own affair, wherever it calls from
	th.ret(0x5000)
	th.call(there, "free", 0x7000)
	th.ret(0)
	th.ret(0x5040)
	th.call(here, "pool_put", 0, 0x5040)
	th.ret(0)
	l.Drain()
	l.expect(t, "pool_get(64) = 0x5040", "pool_put(0x5040)")

	// The original finds its stack arguments where it expects them.
	for i := range addr.Run(wideSize / 8) {
		l.poke(th.sp+8*i, uint64(0x111*i))
	}
	th.call(here, "obstack_get", 1, 2, 3, 4, 5, 48)
	for i := range addr.Run(wideSize / 8) {
		if got := l.peek(th.sp + 8 + 8*i); got != uint64(0x111*i) {
			t.Fatalf("stack argument %d is %#x", i, got)
		}
	}
	if (th.sp+8)%16 != 0 {
		t.Errorf("stack pointer %v at the original's entry", th.sp)
	}
	th.ret(0x5080)

	copy(l.at(labAt+labStacks), "duplicate\x00")
	th.call(here, text, 0)
	th.ret(uint64(labAt + labStacks))
	th.call(here, text, 0)
	th.ret(0)
	l.Drain()
	l.expect(t, "obstack_get(48) = 0x5080", fmt.Sprintf("mi_strdup(10) = %#x", uint64(labAt+labStacks)), "mi_strdup(0) = NULL")
}

// addTextSite adds a function whose block is as long as the text in it.
func (l *lab) addTextSite() string {
	s := l.addSite(catalogued(l.t, "mi_strdup"), libcAt)
	l.stubs()
	return s.Function.Symbol
}

// Constants and products are what breakpoints.Call makes of them.
func TestUserOperands(t *testing.T) {
	l := newLab(t, Request{Record: true}, "nodes size=64 count=ARG1", "quads size=ARG1 count=4", "into size=ARG2 ptr=*ARG3", "aligned size=ARG1 align=64")
	th := l.thread(1)
	th.call(here, "nodes", 3)
	th.ret(0x5000)
	th.call(here, "quads", 10)
	th.ret(0x6000)
	result := th.sp - 0x1000
	l.poke(result, 0x7000)
	th.call(here, "into", uint64(result)+8, 24, uint64(result))
	th.ret(0)
	th.call(here, "aligned", 24)
	th.ret(0x8000)
	l.Drain()
	sizes := []uint64{}
	for _, e := range l.events {
		sizes = append(sizes, e.Size, e.Addr, e.Aux)
	}
	want := []uint64{192, 0x5000, 3, 40, 0x6000, 4, 24, 0x7000, 0, 24, 0x8000, 64}
	if !slices.Equal(sizes, want) {
		t.Errorf("size, address, count or alignment: %#x, want %#x", sizes, want)
	}
}
