package unwind

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// A switchedStack is memory with stacks of a thread and of a goroutine, and a module with
// rows for the places where they change.
type switchedStack struct {
	memory [64 << 10]byte
	table  *Table
}

const (
	switchModule = 0x400000
	switchMemory = 0x700000
	switchG      = switchMemory + 0x100  // the goroutine
	switchHigh   = switchMemory + 0x2000 // the end of its stack, below the thread's
	switchThread = switchMemory + 0x8000 // where the thread has its
)

// ReadAt reads the memory.
func (s *switchedStack) ReadAt(b []byte, at int64) (int, error) {
	if at < switchMemory || at >= switchMemory+int64(len(s.memory)) {
		return 0, fmt.Errorf("nothing at %#x", at)
	}
	return copy(b, s.memory[at-switchMemory:]), nil
}

// ModuleAt has one module.
func (s *switchedStack) ModuleAt(pc addr.Run) (*Table, addr.Bias, bool) {
	return s.table, 0, pc >= switchModule && pc < switchModule+0x1000
}

// put writes words from an address on.
func (s *switchedStack) put(at uint64, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(s.memory[at-switchMemory+8*uint64(i):], w)
	}
}

// Return addresses of the functions in the module. Those without a row of their own are found by
// the frame pointer.
const (
	switchC       = switchModule + 0x10 // called by asmcgocall
	switchCalls   = switchModule + 0x20 // asmcgocall's call
	switchCaller  = switchModule + 0x30 // Go's
	switchGoexit  = switchModule + 0x41
	switchCreator = switchModule + 0x50
	switchBack    = switchModule + 0x60 // cgocallback's call
	switchFromC   = switchModule + 0x70 // crosscall2's
	switchOuter   = switchModule + 0x80 // C that has called it, the first of its thread
)

func newSwitchedStack(t *testing.T, pushed bool) *switchedStack {
	t.Helper()
	s := &switchedStack{}
	row := func(at addr.File, size int64, k Switch) Row {
		r := Row{Low: at - 1, High: at, Function: Range{Low: at - 8, High: at + 8}, Switch: k}
		r.CFA = Rule{Kind: Register, Reg: RSP, Offset: size}
		r.SetRule(RA, Rule{Kind: Offset, Offset: -8})
		return r
	}
	first := row(switchOuter, 8, Switch{})
	first.SetRule(RA, Rule{Kind: Undefined})
	var err error
	s.table, err = NewTable(Sections{Name: "test", Switches: []Row{
		row(switchC, 16, Switch{}), first, row(switchCaller, 32, Switch{}), row(switchFromC, 24, Switch{}),
		row(switchCalls, 0, Switch{Kind: ToGoroutine, Slot: 48, Pushed: pushed}),
		row(switchBack, 0, Switch{Kind: FromGoroutine}),
		row(switchGoexit, 0, Switch{Kind: GoroutineEnd, Creator: 280, ID: 152}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.put(switchG, switchMemory+0x1000, switchHigh)
	s.put(switchG+152, 7)
	s.put(switchG+280, switchCreator)
	return s
}

// walk walks from a return address with this stack pointer, and writes the frames' addresses.
func (s *switchedStack) walk(pc, sp uint64) string {
	var r Regs
	r.Set(RIP, pc)
	r.Set(RSP, sp)
	r.Set(RBP, 0x1234)
	st := NewWalker(s).Walk(s, r, 20)
	var all []string
	for _, f := range st.Frames {
		all = append(all, fmt.Sprintf("%#x", uint64(f.PC.Addr()-switchModule)))
	}
	return strings.TrimSpace(strings.Join(all, " ") + " " + st.Truncated)
}

// TestSwitches walks from C that Go has called to the go statement, with both kinds of
// asmcgocall, with and without what is needed for it.
func TestSwitches(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		s := newSwitchedStack(t, pushed)
		sp := uint64(switchHigh - 0x100) // asmcgocall's on the stack of the goroutine
		s.put(switchThread+8, switchCalls)
		s.put(switchThread+16+40, 0x100, switchG)
		words := []uint64{switchCaller, 0, 0, 0, switchGoexit}
		if pushed {
			words = append([]uint64{0xabc}, words...)
		}
		s.put(sp, words...)
		const pc = switchC - 1 // of a thread that stands there
		if got, want := s.walk(pc, switchThread), "0xf 0x20 0x30 0x41 0x50"; got != want {
			t.Errorf("pushed %t: walked %s, want %s", pushed, got, want)
		}
		s.put(switchG+152, 1)
		if got, want := s.walk(pc, switchThread), "0xf 0x20 0x30 0x41"; got != want {
			t.Errorf("the first goroutine: walked %s, want %s", got, want)
		}
		s.put(switchG+152, 7)
		s.put(switchThread+16+40, sp, 0) // on a stack of the system's: the word is the stack pointer
		if got, want := s.walk(pc, switchThread), "0xf 0x20 0x30 0x41"; got != want {
			t.Errorf("without a goroutine: walked %s, want %s", got, want)
		}
		for _, c := range []struct{ depth, g uint64 }{{0x1001, switchG}, {0x100, 0x10}, {1 << 63, switchG}} {
			s.put(switchThread+16+40, c.depth, c.g)
			if got := s.walk(pc, switchThread); !strings.HasPrefix(got, "0xf 0x20 ") || strings.Contains(got, "0x30") {
				t.Errorf("depth %#x of goroutine %#x: walked %s", c.depth, c.g, got)
			}
		}
	}
}

// TestSwitchBack walks from Go that C has called to the C.
func TestSwitchBack(t *testing.T) {
	s := newSwitchedStack(t, false)
	sp := uint64(switchHigh - 0x200)
	s.put(sp, 0, 0, 0, switchBack)         // the frame of what cgocallback calls,
	s.put(sp+16, switchThread+0x100)       // with cgocallback's rbp
	s.put(switchThread+0x100, 0x5678)      // where it has its caller's,
	s.put(switchThread+0x108, switchFromC) // and the return address
	s.put(switchThread+0x110+16, switchOuter)
	if got, want := s.walk(switchCaller-1, sp), "0x2f 0x60 0x70 0x80"; got != want {
		t.Errorf("walked %s, want %s", got, want)
	}
	s.put(sp+16, 0x10)
	if got, want := s.walk(switchCaller-1, sp), "0x2f 0x60 unreadable stack at 0x10"; got != want {
		t.Errorf("walked %s, want %s", got, want)
	}
}
