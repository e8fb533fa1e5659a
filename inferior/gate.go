package inferior

import (
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// A gate is a trap without an int3: code of ours in the inferior that sends its own thread a
// signal, and continues unless the debugger has moved the thread meanwhile. The signal is one that
// does nothing unless it is traced or handled. So a thread that comes to a gate when the debugger
// has been killed continues, where an int3 would kill it.
type gate struct {
	site   *site    // at the first instruction
	high   addr.Run // behind the last
	signal unix.Signal
}

// PlantGate makes the code in [low, high) a gate: a thread that gets the signal there
// has arrived at the trap, and so has one that is stepped there (see Arrive). The
// signal is dropped. The handler has to move the thread; else it sends the signal
// again. Nothing is written to memory.
func (ts *traps) PlantGate(low, high addr.Run, signal int, h Handler) *Trap {
	ts.p.check()
	s := &site{p: ts.p, addr: low}
	s.gate = &gate{site: s, high: high, signal: unix.Signal(signal)}
	t := &Trap{site: s, handler: h}
	s.traps = []*Trap{t}
	ts.gates = append(ts.gates, s.gate)
	return t
}

// gateAt is the gate with that instruction, or nil.
func (ts *traps) gateAt(a addr.Run) *gate {
	for _, g := range ts.gates {
		if g.site.addr <= a && a < g.high {
			return g
		}
	}
	return nil
}

// onGate handles a signal that a thread may have sent itself at a gate. False: it
// has not. While threads are being stopped nothing is asked: the thread sends it
// again when it is released.
func (ts *traps) onGate(t *Thread, sig unix.Signal) bool {
	if !slices.ContainsFunc(ts.gates, func(g *gate) bool { return g.signal == sig }) {
		return false
	}
	if t.load() != nil {
		t.state = running // killed
		return true
	}
	g := ts.gateAt(t.pc())
	if g == nil || g.signal != sig {
		return false
	}
	if ts.p.stopping && !t.guest {
		ts.p.proceed(t)
		return true
	}
	if stops := ts.hit(t, g.site); len(stops) > 0 {
		ts.p.stop = trapStop(t, stops)
		return true
	}
	ts.p.release(t)
	return true
}

// removeGate is unplant for a gate.
func (ts *traps) removeGate(g *gate) {
	ts.gates = slices.DeleteFunc(ts.gates, func(x *gate) bool { return x == g })
}

// Handles reports whether the process has a handler for a signal. It is so said where proc(5) does
// not tell.
func (tg *target) Handles(signal int) bool {
	s, _ := procfs.Status(tg.pid, "SigCgt")
	mask, err := strconv.ParseUint(s, 16, 64)
	return err != nil || mask&(1<<(signal-1)) != 0
}

// Block adds a signal to those that the thread blocks.
func (t *Thread) Block(signal int) error {
	const getMask, setMask = 0x420a, 0x420b // PTRACE_GETSIGMASK, PTRACE_SETSIGMASK
	var mask uint64
	err := ptraceData(getMask, t.TID, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
	if err == nil {
		mask |= 1 << (signal - 1)
		err = ptraceData(setMask, t.TID, unsafe.Sizeof(mask), unsafe.Pointer(&mask))
	}
	if err != nil {
		return fmt.Errorf("signal mask of thread %d: %w", t.TID, err)
	}
	return nil
}
