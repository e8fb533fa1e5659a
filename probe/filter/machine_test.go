package filter

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"hdb/internal/cond"
	"hdb/probe/filter/internal/native"
)

// edges are the numbers at which compares and products change their minds.
var edges = []uint64{
	0, 1, 2, 3, 127, 128, 255, 256, 1<<20 - 1, 1 << 20, 1<<20 + 1,
	1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 5 << 32, 5<<32 + 7,
	1<<62 - 1, 1 << 62, 3 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 1,
	math.MaxUint64 - 1<<31, math.MaxUint64 - 1<<31 + 1, math.MaxUint64 - 1, math.MaxUint64,
}

// tb is what testing.T and rapid.T share.
type tb interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

// A machine runs programs for real.
type machine struct {
	page *native.Page
	heap []byte // what Mem and Abs read
}

// middle is the offset in a machine's heap where base registers point.
const middle = 1 << 15

func newMachine(t testing.TB) *machine {
	t.Helper()
	page, err := native.NewPage(2 * maxCode)
	if err != nil {
		t.Fatal(err)
	}
	heap, err := unix.Mmap(-1, 0, 2*middle, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		page.Close()
		unix.Munmap(heap)
	})
	return &machine{page, heap}
}

// put makes the program the one that run runs.
func (m *machine) put(t tb, p Program) {
	t.Helper()
	room, match := m.page.Put(len(p.Code))
	code, err := p.Link(m.page.Address(), match)
	if err != nil {
		t.Fatalf("%v", err)
	}
	copy(room, code)
}

// run reports whether the program matches, and fails the test if it has changed
// what is not its own.
func (m *machine) run(t tb, r native.Registers) bool {
	t.Helper()
	before := r
	m.page.Run(&r)
	match := r.Match
	r.R[scratch], r.R[RSP], r.Match = before.R[scratch], before.R[RSP], before.Match
	if r != before {
		t.Errorf("registers were %x, %x and are %x, %x", before.R, before.Stack, r.R, r.Stack)
	}
	return match
}

// A choice is a source of choices: rapid's, or random numbers.
type choice func(n int) int

func random(seed uint64) choice {
	r := rand.New(rand.NewPCG(seed, 1))
	return r.IntN
}

func pick[T any](choose choice, from []T) T { return from[choose(len(from))] }

// A slot is a place that a test can write.
type slot struct {
	place Place
	write func(r *native.Registers, v uint64) // also what lies beside a narrow one
}

// read is what a program should find there after write(v).
func (s slot) read(v uint64) uint64 {
	if s.place.form == constant {
		return s.place.n
	}
	return v & s.place.width.max()
}

// bases are the registers that point into a machine's heap, such that all forms
// of addresses occur; free are those that hold values. rax is among them,
// because it has the result where a function returns.
var (
	bases = []Register{R10, RBP, R12, R13, RBX}
	free  = []Register{RDI, RSI, RDX, RCX, R8, R9, RAX, R14, R15}
)

// A layout is a way to hand a program its operands.
type layout struct {
	m         *machine
	free      []Register
	used      int  // bytes of cells
	stack     bool // rsp+8 is taken
	constants []uint64
}

func (m *machine) newLayout() *layout { return &layout{m: m, free: free, constants: edges} }

// slot makes a place of any form and width.
func (l *layout) slot(choose choice) slot {
	s := l.wide(choose)
	switch choose(6) {
	case 0:
		s.place = s.place.U32()
	case 1:
		s.place = s.place.U8()
	}
	return s
}

func (l *layout) wide(choose choice) slot {
	form := choose(8)
	switch {
	case form < 4 && len(l.free) > 0:
		r := l.free[0]
		l.free = l.free[1:]
		return slot{Reg(r), func(regs *native.Registers, v uint64) { regs.R[r] = v }}
	case form == 4 && !l.stack:
		l.stack = true
		return slot{Mem(RSP, 8), func(regs *native.Registers, v uint64) { regs.Stack = v }}
	case form == 5:
		return slot{Const(pick(choose, l.constants)), func(*native.Registers, uint64) {}}
	}
	at := l.cell(choose)
	write := func(_ *native.Registers, v uint64) { l.m.store(at, v) }
	if form == 6 {
		return slot{Abs(l.m.address(at)), write}
	}
	return slot{Mem(pick(choose, bases), int32(at-middle)), write}
}

// cell takes 8 bytes of the heap, behind or before the bases, near or far.
func (l *layout) cell(choose choice) int {
	l.used += 16
	switch choose(4) {
	case 0:
		return middle - l.used // disp8 at first
	case 1:
		return middle + 4096 + l.used
	case 2:
		return middle - 4096 - l.used
	}
	return middle + l.used - 16 // 0 at first
}

func (m *machine) address(at int) uint64 { return native.Address(m.heap) + uint64(at) }

func (m *machine) store(at int, v uint64) { binary.LittleEndian.PutUint64(m.heap[at:], v) }

// registers are random, but for the bases.
func (m *machine) registers(choose choice) native.Registers {
	var r native.Registers
	for i := range r.R {
		r.R[i] = pick(choose, edges) + uint64(choose(1<<30))
	}
	for _, b := range bases {
		r.R[b] = m.address(middle)
	}
	return r
}

// holds is cond's evaluation of a comparison.
func holds(t tb, op cond.Op, v, n uint64) bool {
	t.Helper()
	switch op {
	case cond.EQ:
		return v == n
	case cond.NE:
		return v != n
	case cond.LT:
		return v < n
	case cond.LE:
		return v <= n
	case cond.GT:
		return v > n
	case cond.GE:
		return v >= n
	}
	t.Fatalf("operator %d", op)
	return false
}
