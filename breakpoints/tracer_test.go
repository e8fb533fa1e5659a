package breakpoints

import (
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

// Return addresses in the modules.
const (
	here   = program + 0x101
	there  = program + 0x202
	inLibc = libc + 0x5003
	inCXX  = libcxx + 0x6004
	inJIT  = addr.Run(0x90000)
)

func TestShadowStack(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(m *machine, th *stackThread)
		want []string
	}{
		{"a call and its result", func(m *machine, th *stackThread) {
			th.call(here, "malloc", 16)
			th.ret(0x5000)
			th.call(here, "free", 0x5000)
			th.ret(0)
		}, []string{"malloc(16) = 0x5000", "free(0x5000)"}},
		{"nothing for free(NULL), sbrk(0)", func(m *machine, th *stackThread) {
			th.call(here, "free", 0)
			th.ret(0)
			th.call(here, "sbrk", 0)
			th.ret(0x8000)
		}, nil},
		{"operator new calls malloc, malloc maps", func(m *machine, th *stackThread) {
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
		{"new[] jumps to new", func(m *machine, th *stackThread) {
			th.call(here, "_Znam", 72)
			th.jump("_Znwm", 72)
			th.frame(8)
			th.call(inCXX, "malloc", 72)
			th.ret(0x5000)
			th.frame(^addr.Run(8 - 1))
			th.ret(0x5000)
		}, []string{"operator new[](72) = 0x5000"}},
		{"realloc(NULL) jumps to malloc", func(m *machine, th *stackThread) {
			th.call(here, "realloc", 0, 10)
			th.jump("malloc", 10)
			th.ret(0x5000)
		}, []string{"realloc(0x0, 10) = 0x5000"}},
		{"realloc moves with malloc and free", func(m *machine, th *stackThread) {
			th.call(here, "realloc", 0x5000, 10)
			th.call(inLibc, "malloc", 10)
			th.ret(0x6000)
			th.call(inLibc, "free", 0x5000)
			th.ret(0)
			th.ret(0x6000)
		}, []string{"realloc(0x5000, 10) = 0x6000"}},
		{"delete jumps to free, free unmaps", func(m *machine, th *stackThread) {
			th.call(here, "_ZdlPvm", 0x5000, 8)
			th.jump("_ZdlPv", 0x5000)
			th.jump("free", 0x5000)
			th.frame(0x20)
			th.call(inLibc, "munmap", 0x4ff0, 0x1000)
			th.ret(0)
			th.frame(^addr.Run(0x20 - 1))
			th.ret(0)
		}, []string{"operator delete(0x5000, 8)"}},
		{"a double free is two", func(m *machine, th *stackThread) {
			th.call(here, "free", 0x5000)
			th.ret(0)
			th.call(here, "free", 0x5000)
			th.ret(0)
		}, []string{"free(0x5000)", "free(0x5000)"}},
		{"the user unmaps after a free", func(m *machine, th *stackThread) {
			th.call(here, "free", 0x5000)
			th.ret(0)
			th.frame(0x100) // leaves the old return address where it was
			th.call(there, "munmap", 0x10000, 0x1000)
			th.ret(0)
		}, []string{"free(0x5000)", "munmap(0x10000, 4096)"}},
		{"longjmp to a shallower frame", func(m *machine, th *stackThread) {
			top := th.sp
			th.frame(0x200)
			th.call(here, "malloc", 1)
			th.sp = top
			th.call(there, "malloc", 2)
			th.ret(0x5000)
		}, []string{"malloc(1) did not return", "malloc(2) = 0x5000"}},
		{"longjmp, then a deeper frame over the old one", func(m *machine, th *stackThread) {
			top := th.sp
			th.call(here, "malloc", 1)
			th.sp = top
			th.call(there, "")
			th.frame(0x200)
			th.call(there, "malloc", 2)
			th.ret(0x5000)
		}, []string{"malloc(1) did not return", "malloc(2) = 0x5000"}},
		{"longjmp, then the same call again", func(m *machine, th *stackThread) {
			top := th.sp
			for range 3 {
				th.sp = top
				th.call(here, "malloc", 1)
			}
			th.ret(0x5000)
		}, []string{"malloc(1) did not return", "malloc(1) did not return", "malloc(1) = 0x5000"}},
		{"operator new throws", func(m *machine, th *stackThread) {
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
		{"nothrow new catches what new throws", func(m *machine, th *stackThread) {
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
		{"a new-handler frees its reserve", func(m *machine, th *stackThread) {
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
		{"threads do not mix", func(m *machine, th *stackThread) {
			other := m.thread(2)
			th.call(here, "malloc", 1)
			other.call(here, "malloc", 2)
			th.ret(0x5000)
			other.ret(0x6000)
		}, []string{"malloc(1) = 0x5000", "2: malloc(2) = 0x6000"}},
		{"a thread ends inside a call, its number is used again", func(m *machine, th *stackThread) {
			th.call(here, "malloc", 1)
			m.tracer.ThreadExited(1)
			th = m.thread(1)
			th.frame(8)
			th.call(here, "malloc", 2)
			th.ret(0x5000)
		}, []string{"malloc(2) = 0x5000"}},
		{"another thread is handed the block that realloc left", func(m *machine, th *stackThread) {
			other := m.thread(2)
			th.call(here, "realloc", 0x5000, 64)
			other.call(there, "malloc", 8)
			other.ret(0x5000)
			th.ret(0x6000)
			other.call(there, "free", 0x5000)
			other.ret(0)
		}, []string{"realloc(0x5000, 64)", "2: malloc(8) = 0x5000", "realloc(0x5000, 64) = 0x6000", "2: free(0x5000)"}},
		{"the code after a call is reached by a jump", func(m *machine, th *stackThread) {
			th.call(here, "malloc", 1)
			th.ret(0x5000)
			th.call(here, "") // something else that returns there
			th.ret(0)
			th.call(here, "malloc", 2)
			th.ret(0x6000)
		}, []string{"malloc(1) = 0x5000", "malloc(2) = 0x6000"}},
		{"failures", func(m *machine, th *stackThread) {
			th.call(here, "malloc", 1<<62)
			th.ret(0)
			th.call(here, "mmap", 0, 1)
			th.ret(^uint64(0))
			th.call(here, "posix_memalign", 0x1000, 3, 8)
			th.ret(22)
		}, []string{"malloc(4611686018427387904) = NULL", "mmap(1) = -1", "posix_memalign(3, 8) = NULL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			c.play(m, m.thread(1))
			m.expect(c.want...)
			for a, r := range m.tracer.returns {
				if r.users != 0 {
					t.Errorf("return trap at %s has %d users left", a, r.users)
				}
			}
			if len(m.tracer.resizes) != 0 || m.tracer.stats.Lost != 0 {
				t.Errorf("%d resizes left, %d lost: %v", len(m.tracer.resizes), m.tracer.stats.Lost, m.tracer.stats.LostCause)
			}
		})
	}
}

// What the allocator frees to give the cache of a thread that ends back is no event, nor
// what it unmaps for it. Any other free is one, whoever makes it and of whatever block.
func TestReleases(t *testing.T) {
	m := newMachine(t)
	th := m.thread(2)
	const release = libc + 0x2000
	for _, s := range m.tracer.sites {
		if s.Function.Symbol == "free" {
			s.Release = Extent{release, release + 0x100}
		}
	}
	free := func(from addr.Run, block uint64) {
		th.call(from, "free", block)
		th.ret(0)
	}
	free(release+0x10, 0x5000)
	free(release+0xff, 0x6000)
	th.call(release+0x20, "free", 0x7000)
	th.call(inLibc, "munmap", 0x7000, 4096)
	th.ret(0)
	th.ret(0)
	m.expect()
	free(release-1, 0x5000)
	free(release+0x100, 0x5000)
	free(inLibc, 0x7000)
	m.expect("2: free(0x5000)", "2: free(0x5000)", "2: free(0x7000)")
}

// TestRestarts has the first free of a thread jump to its own entry, as that of glibc 2.43 does once it has made the thread's
// cache. A second such call is a double free.
func TestRestarts(t *testing.T) {
	for _, restarts := range []bool{true, false} {
		m := newMachine(t)
		th := m.thread(2)
		for _, s := range m.tracer.sites {
			s.Restarts = restarts && s.Function.Symbol == "free"
		}
		th.call(here, "free", 0x5000)
		th.jump("free", 0x5000)
		th.ret(0)
		want := []string{"2: free(0x5000)", "2: free(0x5000)"}
		if restarts {
			want = want[:1]
		}
		m.expect(want...)
		for range 2 {
			th.call(here, "free", 0x6000)
			th.ret(0)
		}
		m.expect("2: free(0x6000)", "2: free(0x6000)")
	}
}

// An exception is no operator new's work, though it is large enough.
func TestExceptionInside(t *testing.T) {
	m := newMachine(t)
	const allocates = libcxx + 0x3000
	for _, s := range m.tracer.sites {
		if s.Module == "libstdc++" {
			s.Exceptions = Extent{allocates, allocates + 0x40}
		}
	}
	th := m.thread(1)
	top := th.sp
	th.call(here, "_Znam", 64)
	th.call(allocates+8, "malloc", 144)
	th.ret(0x5000)
	th.sp = top
	th.call(there, "")
	th.call(inCXX, "free", 0x5000)
	th.ret(0)
	m.expect("malloc(144) = 0x5000", "operator new[](64) did not return", "free(0x5000)")
}

func TestInnerNames(t *testing.T) {
	m := newMachine(t)
	var got Call
	m.tracer.sink = sinkFunc(func(c Call) inferior.Action { got = c; return inferior.Resume })
	th := m.thread(1)
	th.call(here, "_Znam", 72)
	th.jump("_Znwm", 72)
	th.call(inCXX, "malloc", 72)
	th.ret(0x5000)
	th.ret(0x5000)
	if !slices.Equal(got.Inner, []string{"operator new", "malloc"}) {
		t.Errorf("Inner = %q", got.Inner)
	}
	for pattern, want := range map[string]bool{"malloc": true, "operator new[]": true, "operator new": true, "calloc": false, "alloc": true, "free": false} {
		if got.Is(pattern) != want {
			t.Errorf("Is(%q) = %v", pattern, !want)
		}
	}
}

type sinkFunc func(Call) inferior.Action

func (f sinkFunc) Alloc(_ *inferior.Thread, c Call) inferior.Action { return f(c) }

func (sinkFunc) Begin(*inferior.Thread, Call) inferior.Action { return inferior.Resume }

func (f sinkFunc) Keep(*inferior.Thread, Call) any { return nil }

// Where the thread is decides how its stack is walked.
func TestNow(t *testing.T) {
	m := newMachine(t)
	var got []string
	m.tracer.sink = sinkFunc(func(c Call) inferior.Action {
		where := "at"
		if c.Now.IsReturn() {
			where = "behind"
		}
		if c.Regs.PC() != c.Now.Addr() {
			t.Errorf("%s: registers at %v, now %v", c, c.Regs.PC(), c.Now.Addr())
		}
		got = append(got, c.String()+" "+where+" "+c.Now.Addr().String())
		return inferior.Resume
	})
	th := m.thread(1)
	top := th.sp
	th.frame(0x100)
	th.call(here, "malloc", 1)
	th.sp = top
	th.call(there, "calloc", 2, 3)
	th.ret(0x5000)
	th.call(here, "free", 0x5000)
	want := []string{"malloc(1) did not return at 0x20010", "calloc(2, 3) = 0x5000 behind 0x10202", "free(0x5000) at 0x20030"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStopAction(t *testing.T) {
	m := newMachine(t)
	m.stopAt = "malloc(7)"
	th := m.thread(1)
	if a := th.call(here, "malloc", 7); a != inferior.Resume {
		t.Error("stopped at the entry of malloc")
	}
	if a := th.ret(0x5000); a != inferior.StopHere {
		t.Error("did not stop at the return of malloc")
	}
	m.stopAt = "free"
	if a := th.call(here, "free", 0x5000); a != inferior.StopHere {
		t.Error("did not stop at the entry of free")
	}
}

func TestSitesAndAliases(t *testing.T) {
	m := newMachine(t)
	var got []string
	for _, s := range m.tracer.Sites() {
		line := s.Module + " " + s.Function.Symbol + " " + strings.Join(s.Function.Also, " ")
		if s.Err != nil {
			line += "refused"
		}
		got = append(got, line)
	}
	for _, want := range []string{"libc malloc __libc_malloc", "libc free cfree", "libc valloc refused", "libstdc++ _Znwm "} {
		if !slices.Contains(got, want) {
			t.Errorf("no site %q among %q", want, got)
		}
	}
	if len(got) != 14 {
		t.Errorf("%d sites: %q", len(got), got)
	}
	// A stop at either name sees the call.
	f := m.site("malloc").Function
	if !f.Is("malloc") || !f.Is("__libc_*") || f.Is("calloc") {
		t.Errorf("names of %+v", f)
	}
}

// live counts the traps in the fake process.
func (p *fakeProcess) live() int {
	n := 0
	for _, c := range p.planted {
		n += c
	}
	return n
}

// TestArmedInAFree: what a free calls stays its work when the tracer is disarmed and armed again while
// no thread runs. If one has run, the free may be over.
func TestArmedInAFree(t *testing.T) {
	for _, ran := range []bool{false, true} {
		m := newMachine(t)
		th := m.thread(1)
		th.call(program+1, "_ZdlPvm", 0x5000, 8)
		m.expect("operator delete(0x5000, 8)")
		m.tracer.Disarm()
		if ran {
			m.proc.runs++
		}
		_ = m.tracer.Arm(func(Function) bool { return true })
		th.frame(16)
		th.call(libcxx+1, "_ZdlPv", 0x5000)
		th.call(libcxx+2, "free", 0x5000)
		if ran {
			m.expect("operator delete(0x5000)")
		} else {
			m.expect()
		}
	}
}

func TestArmDisarm(t *testing.T) {
	m := newMachine(t)
	if n := m.proc.live(); n != 13 {
		t.Errorf("%d traps, want 13", n)
	}
	th := m.thread(1)
	th.call(here, "malloc", 1)
	if err := m.tracer.Arm(func(f Function) bool { return f.Symbol == "malloc" }); err != nil {
		t.Error(err)
	}
	th.ret(0x5000)
	m.expect("malloc(1) = 0x5000")
	if n := len(m.tracer.Sites()); n != 1 {
		t.Errorf("%d sites after a narrower Arm", n)
	}
	m.tracer.Disarm()
	if n := m.proc.live(); n != 0 || m.tracer.Armed() {
		t.Errorf("%d traps after Disarm", n)
	}
}

func TestModulesComeAndGo(t *testing.T) {
	m := newMachine(t)
	plugin := inferior.Module{Name: "plugin", Path: "/plugin", Low: 0x60000, High: 0x70000}
	bare := inferior.Module{Name: "bare", Path: "/bare", Low: 0x80000, High: 0x90000}
	fakeLibraries := fakeSymbols{"plugin": {{Name: "je_malloc", Addr: 0x60010}}}
	m.tracer.syms = fakeLibraries
	before := m.proc.live()
	err := m.tracer.ModulesChanged([]inferior.Module{plugin, bare}, nil)
	if err == nil || !strings.Contains(err.Error(), "bare: not an ELF file") {
		t.Errorf("ModulesChanged = %v, want the unreadable module named", err)
	}
	th := m.thread(1)
	th.call(0x60500, "je_malloc", 3)
	th.ret(0x5000)
	m.expect("je_malloc(3) = 0x5000")
	if err := m.tracer.ModulesChanged(nil, []inferior.Module{plugin}); err != nil {
		t.Error(err)
	}
	if n := m.proc.live(); n != before {
		t.Errorf("%d traps after unloading, %d before loading", n, before)
	}
	if err := m.tracer.ModulesChanged([]inferior.Module{plugin}, nil); err != nil {
		t.Error(err)
	}
	m.site("je_malloc")
	if err := m.tracer.ModulesChanged([]inferior.Module{plugin}, nil); err != nil || m.proc.planted[0x60010] != 1 {
		t.Errorf("loaded twice: %d traps, %v", m.proc.planted[0x60010], err)
	}
}

func TestReset(t *testing.T) {
	m := newMachine(t)
	th := m.thread(1)
	th.call(here, "malloc", 1)
	m.tracer.Reset()
	if len(m.tracer.Sites()) != 0 || len(m.tracer.shadows) != 0 {
		t.Error("Reset kept something")
	}
	m.proc.planted = map[addr.Run]int{} // exec took them
	if err := m.tracer.ModulesChanged(fakeModules(), nil); err == nil {
		t.Error("the IFUNC is not refused after Reset")
	}
	th.call(here, "malloc", 2)
	th.ret(0x5000)
	m.expect("malloc(2) = 0x5000")
}

func TestUserFunction(t *testing.T) {
	m := newMachine(t)
	m.tracer.syms = fakeSymbols{"program": {{Name: "pool_get", Addr: program + 8}, {Name: "pool_put", Addr: program + 16}},
		"libc": fakeLibraries["libc"], "libstdc++": {}}
	for _, text := range []string{"pool_get size=64", "pool_put free=ARG2"} {
		f, err := ParseFunction(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.tracer.Add(f); err != nil && !strings.Contains(err.Error(), "IFUNC") {
			t.Fatal(err)
		}
	}
	th := m.thread(1)
	th.call(here, "pool_get")
	th.call(there, "malloc", 4096)
	th.ret(0x5000)
	th.ret(0x5040)
	th.call(here, "pool_put", 0, 0x5040)
	th.ret(0)
	m.expect("pool_get(64) = 0x5040", "pool_put(0x5040)")
}

func TestLostCalls(t *testing.T) {
	m := newMachine(t)
	m.proc.refuse[here] = true
	th := m.thread(1)
	th.call(here, "malloc", 1)
	th.ret(0x5000)
	th.sp = 0x40 // unreadable
	th.jump("malloc", 1)
	if s := m.tracer.Stats(); s.Lost != 2 || s.LostCause == nil {
		t.Errorf("stats %+v, want 2 lost with a cause", s)
	}
	m.expect()
}

// A return trap in code written at run time must not outlive the call.
func TestReturnIntoJIT(t *testing.T) {
	m := newMachine(t)
	th := m.thread(1)
	th.call(inJIT, "malloc", 1)
	if m.proc.planted[inJIT] != 1 {
		t.Error("no return trap")
	}
	th.ret(0x5000)
	if m.proc.planted[inJIT] != 0 {
		t.Error("the return trap stays in code that may be overwritten")
	}
	m.expect("malloc(1) = 0x5000")
}

// The price of a call is counted, because each item is a system call.
func TestPriceOfACall(t *testing.T) {
	m := newMachine(t)
	th := m.thread(1)
	play := func() (reads, plants int) {
		r, p := m.proc.reads, m.proc.plants
		th.call(here, "_Znwm", 72)
		th.call(inCXX, "malloc", 72)
		th.ret(0x5000)
		th.ret(0x5000)
		th.call(there, "_ZdlPv", 0x5000)
		th.jump("free", 0x5000)
		th.sp += 8
		// ret reads the stack of the machine itself, once each.
		return m.proc.reads - r - 2, m.proc.plants - p
	}
	play()
	if reads, plants := play(); reads != 4 || plants != 0 {
		t.Errorf("new and delete: %d reads and %d traps planted, want 4 and 0", reads, plants)
	}
}

func TestIdleReturnsAreBounded(t *testing.T) {
	m := newMachine(t)
	th := m.thread(1)
	for i := range addr.Run(maxIdleReturns + 100) {
		th.call(program+0x300+i%0xf000, "malloc", 1)
		th.ret(0x5000)
	}
	if n := len(m.tracer.returns); n > maxIdleReturns {
		t.Errorf("%d return traps", n)
	}
}

func TestForgottenThreadsAreBounded(t *testing.T) {
	m := newMachine(t)
	busy := m.thread(1)
	busy.call(here, "malloc", 1)
	for tid := range int32(maxShadows + 100) {
		th := &stackThread{m, tid + 2, stackTop}
		th.call(here, "malloc", 2)
		th.ret(0x5000)
	}
	if n := len(m.tracer.shadows); n > maxShadows {
		t.Errorf("%d threads remembered", n)
	}
	m.events = nil
	busy.ret(0x6000)
	m.expect("malloc(1) = 0x6000")
}

// BenchmarkCall is what a call costs beside the system calls.
func BenchmarkCall(b *testing.B) {
	m := &machine{proc: newFakeProcess()}
	m.proc.modules = fakeModules()
	m.tracer = newTracer(m.proc, fakeLibraries, sinkFunc(func(Call) inferior.Action { return inferior.Resume }))
	if err := m.tracer.Arm(func(f Function) bool { return f.Symbol == "malloc" }); err != nil {
		b.Fatal(err)
	}
	s := m.tracer.sites[0]
	sp := stackTop - 8
	m.proc.poke(sp, uint64(here))
	b.ReportAllocs()
	for b.Loop() {
		m.tracer.enter(s, nil, 1, inferior.Registers{Rsp: uint64(sp), Rdi: 16})
		m.tracer.leave(here, nil, 1, inferior.Registers{Rsp: uint64(sp + 8), Rax: 0x5000})
	}
}
