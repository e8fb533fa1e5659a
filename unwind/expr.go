package unwind

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
)

const (
	maxExprSteps = 4096 // a branch back makes a loop; compilers emit none
	maxExprStack = 64
)

// An evaluator computes expressions over one frame's registers and memory. Its
// machine is kept from one to the next, so that a walk does not allocate.
type evaluator struct {
	mem     *memory
	regs    *Regs
	bias    addr.Bias
	machine dwop.Machine
	steps   int
}

// eval is the value left on top of the stack. With pushCFA the stack begins with
// the CFA, as it does for the rules of registers.
func (e *evaluator) eval(expr []byte, cfa addr.Run, pushCFA bool) (uint64, error) {
	m := &e.machine
	if m.Context == nil {
		m.Context, m.Steps, m.MaxSteps, m.MaxStack = e, &e.steps, maxExprSteps, maxExprStack
		m.Unit.AddrSize = 8
	}
	m.Unit.Bias, e.steps = uint64(e.bias), 0
	m.Regs, m.Known = e.regs.V[:], e.regs.Known
	m.Reset()
	if pushCFA {
		m.Push(uint64(cfa))
	}
	n, err := m.Value(expr)
	return n.V, err
}

// Register implements dwop.Context.
func (e *evaluator) Register(n uint64) (uint64, error) {
	if n >= numRegs {
		return 0, fmt.Errorf("expression needs register %d", n)
	}
	v, ok := e.regs.Get(Reg(n))
	if !ok {
		return 0, fmt.Errorf("expression needs %v, which is lost", Reg(n))
	}
	return v, nil
}

// Load implements dwop.Context.
func (e *evaluator) Load(at addr.Run, size int) (uint64, error) {
	b := e.mem.bytes(at, size)
	if b == nil {
		return 0, unreadable(at)
	}
	v := uint64(0)
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, nil
}
