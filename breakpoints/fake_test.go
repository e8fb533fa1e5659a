package breakpoints

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

// fakeProcess is memory and a list of planted traps.
type fakeProcess struct {
	runs    uint64
	mem     map[int64]byte
	planted map[addr.Run]int
	plants  int
	reads   int
	refuse  map[addr.Run]bool
	modules []inferior.Module
}

func newFakeProcess() *fakeProcess {
	return &fakeProcess{mem: map[int64]byte{}, planted: map[addr.Run]int{}, refuse: map[addr.Run]bool{}}
}

func (p *fakeProcess) ReadAt(b []byte, off int64) (int, error) {
	p.reads++
	if off < 0x100 {
		return 0, errors.New("input/output error")
	}
	for i := range b {
		b[i] = p.mem[off+int64(i)]
	}
	return len(b), nil
}

func (p *fakeProcess) poke(a addr.Run, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	p.write(a, b[:])
}

func (p *fakeProcess) write(a addr.Run, b []byte) {
	for i, c := range b {
		p.mem[int64(a)+int64(i)] = c
	}
}

func (p *fakeProcess) Modules() []inferior.Module { return p.modules }

func (p *fakeProcess) Runs() uint64 { return p.runs }

type fakeTrap struct {
	p *fakeProcess
	a addr.Run
}

func (t *fakeTrap) Remove() error { t.p.planted[t.a]--; return nil }

func (p *fakeProcess) Plant(a addr.Run, _ inferior.Handler) (trap, error) {
	if p.refuse[a] {
		return nil, errors.New("input/output error")
	}
	p.planted[a]++
	p.plants++
	return &fakeTrap{p, a}, nil
}

// fakeSymbols maps module names to their functions.
type fakeSymbols map[string][]Symbol

func (s fakeSymbols) Defined(m inferior.Module, names []string) ([]Symbol, error) {
	if s[m.Name] == nil {
		return nil, errors.New("not an ELF file")
	}
	return slices.DeleteFunc(slices.Clone(s[m.Name]), func(y Symbol) bool { return !slices.Contains(names, y.Name) }), nil
}

func (s fakeSymbols) Extent(inferior.Module, addr.Run) (low, high addr.Run, ok bool) {
	return 0, 0, false
}

// A machine plays threads against a tracer: calls push a return address, ret pops it.
type machine struct {
	t      *testing.T
	proc   *fakeProcess
	tracer *Tracer
	events []string
	stopAt string
}

// Addresses of the fake modules: the program, its allocator, and the C++ library.
const (
	program, libc, libcxx = addr.Run(0x10000), addr.Run(0x20000), addr.Run(0x30000)
	moduleSize            = 0x10000
	stackTop              = addr.Run(0x7f0000)
)

func fakeModules() []inferior.Module {
	var list []inferior.Module
	for name, low := range map[string]addr.Run{"program": program, "libc": libc, "libstdc++": libcxx} {
		list = append(list, inferior.Module{Name: name, Path: "/" + name, Low: low, High: low + moduleSize})
	}
	slices.SortFunc(list, func(a, b inferior.Module) int { return int(a.Low) - int(b.Low) })
	return list
}

var fakeLibraries = fakeSymbols{
	"program": {},
	"libc": {
		{Name: "malloc", Addr: libc}, {Name: "__libc_malloc", Addr: libc}, {Name: "calloc", Addr: libc + 0x10},
		{Name: "realloc", Addr: libc + 0x20}, {Name: "free", Addr: libc + 0x30}, {Name: "cfree", Addr: libc + 0x30},
		{Name: "mmap", Addr: libc + 0x40}, {Name: "munmap", Addr: libc + 0x50}, {Name: "sbrk", Addr: libc + 0x60},
		{Name: "posix_memalign", Addr: libc + 0x70}, {Name: "valloc", Addr: libc + 0x80, IFunc: true},
	},
	"libstdc++": {
		{Name: "_Znwm", Addr: libcxx}, {Name: "_Znam", Addr: libcxx + 0x10},
		{Name: "_ZdlPv", Addr: libcxx + 0x20}, {Name: "_ZdlPvm", Addr: libcxx + 0x30},
		{Name: "_ZnwmRKSt9nothrow_t", Addr: libcxx + 0x40},
	},
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, proc: newFakeProcess()}
	m.proc.modules = fakeModules()
	m.tracer = newTracer(m.proc, fakeLibraries, m)
	err := m.tracer.Arm(func(Function) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "IFUNC") {
		t.Fatalf("Arm = %v, want the IFUNC refused", err)
	}
	return m
}

// Alloc writes the call down as the tests spell it.
func (m *machine) Begin(*inferior.Thread, Call) inferior.Action { return inferior.Resume }

func (m *machine) Keep(*inferior.Thread, Call) any { return nil }

func (m *machine) Alloc(_ *inferior.Thread, c Call) inferior.Action {
	text := c.String()
	if c.Event.TID != 1 {
		text = fmt.Sprintf("%d: %s", c.Event.TID, text)
	}
	m.events = append(m.events, text)
	if m.stopAt != "" && strings.HasPrefix(text, m.stopAt) {
		return inferior.StopHere
	}
	return inferior.Resume
}

// A stackThread is a thread of the machine.
type stackThread struct {
	m   *machine
	tid int32
	sp  addr.Run
}

func (m *machine) thread(tid int32) *stackThread {
	return &stackThread{m, tid, stackTop - addr.Run(tid)*0x10000}
}

func (m *machine) site(symbol string) *site {
	for _, s := range m.tracer.sites {
		if s.Function.Symbol == symbol {
			return s
		}
	}
	m.t.Fatalf("no site %s", symbol)
	return nil
}

// call pushes the return address and enters the function of that symbol; an
// empty symbol is a function that is no allocator.
func (th *stackThread) call(ret addr.Run, symbol string, args ...uint64) inferior.Action {
	th.sp -= 8
	th.m.proc.poke(th.sp, uint64(ret))
	return th.jump(symbol, args...)
}

// jump enters a function without pushing, as a tail call does.
func (th *stackThread) jump(symbol string, args ...uint64) inferior.Action {
	if symbol == "" {
		return inferior.Resume
	}
	args = append(args, 0, 0, 0)
	s := th.m.site(symbol)
	if th.m.proc.planted[s.Addr] != 1 {
		th.m.t.Fatalf("%d traps at %s", th.m.proc.planted[s.Addr], symbol)
	}
	return th.m.tracer.enter(s, nil, th.tid, inferior.Registers{
		Rsp: uint64(th.sp), Rip: uint64(s.Addr), Rdi: args[0], Rsi: args[1], Rdx: args[2]})
}

// frame makes room for local variables.
func (th *stackThread) frame(size addr.Run) { th.sp -= size }

// ret pops the return address and runs into the trap there, if there is one.
func (th *stackThread) ret(result uint64) inferior.Action {
	a, err := reader{th.m.proc}.word(th.sp)
	if err != nil {
		th.m.t.Fatal(err)
	}
	th.sp += 8
	if th.m.proc.planted[addr.Run(a)] == 0 {
		return inferior.Resume
	}
	return th.m.tracer.leave(addr.Run(a), nil, th.tid, inferior.Registers{Rsp: uint64(th.sp), Rip: a, Rax: result})
}

// expect compares the events since the last time.
func (m *machine) expect(want ...string) {
	m.t.Helper()
	if !slices.Equal(m.events, want) {
		m.t.Errorf("events\n got %s\nwant %s", strings.Join(m.events, "; "), strings.Join(want, "; "))
	}
	m.events = nil
}
