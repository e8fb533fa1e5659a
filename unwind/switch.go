package unwind

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// A Switch says how the caller of a frame is found that has another stack. Runtimes of Go run C
// on the stack of the thread, and goroutines on stacks of their own (Go's
// src/runtime/asm_amd64.s).
type Switch struct {
	Kind SwitchKind
	// Slot is where, above the stack pointer, the word is that Kind names.
	Slot int64
	// Pushed says that the function has pushed rbp before it left its stack.
	Pushed bool
	// Creator is where a goroutine has the return address of the go statement that made it, and
	// ID its number; 0 if that is not known.
	Creator, ID int64
}

// A SwitchKind is a place where stacks change.
type SwitchKind uint8

// The places where stacks change.
const (
	NoSwitch SwitchKind = iota
	// ToGoroutine is a call of C on the stack of the thread. At Slot is the goroutine that it is
	// made for, and in the word below how far from the end of its stack the stack pointer was.
	// Without a goroutine, as on a thread that has none, the word below is the stack pointer.
	ToGoroutine
	// FromGoroutine is a call of Go on the stack of a goroutine, of a function that was called on
	// the thread's stack. The called function has saved rbp below its return address: it points to
	// where the caller of the switching function has rbp, with the return address above.
	FromGoroutine
	// GoroutineEnd is where functions of go statements return to.
	GoroutineEnd
)

// A goroutine is what a walk knows the goroutine whose stack it is on.
type goroutine struct {
	at        addr.Run // 0: not known
	low, high addr.Run // of its stack
}

// In runtime.g the bounds of the stack come first.
const (
	goStackLow  = 0
	goStackHigh = 8
)

// bySwitch finds the caller of frame i on another stack.
func (w *Walker) bySwitch(i int, row *Row) (Frame, *ending) {
	f := &w.frames[i]
	sp, ok := f.Regs.Get(RSP)
	if !ok {
		return Frame{}, truncated(fmt.Errorf("frame at %v needs %v, which is lost", f.PC.Addr(), RSP))
	}
	var cfa uint64
	var err error
	switch row.Switch.Kind {
	case ToGoroutine:
		cfa, err = w.toGoroutine(sp, row)
	case FromGoroutine:
		cfa, err = w.word(sp - 16)
		cfa += 16
	default:
		f.CFA = addr.Run(sp) + 8
		return w.madeBy(sp, row)
	}
	if err != nil {
		return Frame{}, truncated(err)
	}
	caller := Frame{How: CFI, Regs: f.Regs}
	caller.Regs.leave(calleeSaved)
	if row.Switch.Kind == FromGoroutine {
		caller.Regs.forget(0) // Go saves none but rbp
	}
	if row.Switch.Kind == FromGoroutine || row.Switch.Pushed {
		rbp, err := w.word(cfa - 16)
		if err != nil {
			return Frame{}, truncated(err)
		}
		caller.Regs.Set(RBP, rbp)
	}
	ra, err := w.word(cfa - 8)
	if err != nil {
		return Frame{}, truncated(err)
	}
	caller.Regs.Set(RSP, cfa)
	caller.Regs.Set(RIP, ra)
	return w.link(i, addr.Run(cfa), caller)
}

// toGoroutine is the CFA on the stack that a call of C was made from.
func (w *Walker) toGoroutine(sp uint64, row *Row) (uint64, error) {
	g, err := w.word(sp + uint64(row.Switch.Slot))
	if err != nil {
		return 0, err
	}
	from, err := w.word(sp + uint64(row.Switch.Slot) - 8)
	if err != nil {
		return 0, err
	}
	w.stack = goroutine{}
	if g != 0 {
		low, err := w.word(g + goStackLow)
		if err != nil {
			return 0, err
		}
		high, err := w.word(g + goStackHigh)
		if err != nil {
			return 0, err
		}
		if from > high-low || high < low {
			return 0, errors.New("the stack of the goroutine is not where it should be")
		}
		w.stack = goroutine{addr.Run(g), addr.Run(low), addr.Run(high)}
		from = high - from
	}
	if row.Switch.Pushed {
		from += 8
	}
	return from + 8, nil
}

// madeBy is the go statement that made the goroutine whose stack ends at sp. It is no
// caller, and nothing comes behind it.
func (w *Walker) madeBy(sp uint64, row *Row) (Frame, *ending) {
	g, s := w.stack, row.Switch
	if g.at == 0 || s.Creator == 0 || addr.Run(sp) <= g.low || addr.Run(sp) > g.high {
		return Frame{}, complete
	}
	id, err := w.word(uint64(g.at) + uint64(s.ID))
	if err != nil || id == 1 { // the first has no maker
		return Frame{}, complete
	}
	pc, err := w.word(uint64(g.at) + uint64(s.Creator))
	if err != nil || pc == 0 || !w.isCode(addr.Return(addr.Run(pc))) {
		return Frame{}, complete
	}
	return Frame{PC: addr.Return(addr.Run(pc)), How: CFI, Made: true}, nil
}

// word is a word of memory.
func (w *Walker) word(at uint64) (uint64, error) {
	v, ok := w.mem.word(addr.Run(at))
	if !ok {
		return 0, unreadable(at)
	}
	return v, nil
}
