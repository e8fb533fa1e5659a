package session

import (
	"math/bits"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stepping"
	"hdb/session/target"
)

// A landing is where a thread continues after it has left frames without returning from them.
type landing struct{ pc, sp addr.Run }

// exitFunctions are the functions that a thread calls to leave frames, with how to find the
// landing from its registers at the entry.
var exitFunctions = map[string]func(*target.Target, inferior.Registers) (landing, bool){
	"__cxa_begin_catch": handlerOf, // the first thing that a handler of C++ calls
	"longjmp":           longjmpTo,
	"_longjmp":          longjmpTo,
	"siglongjmp":        longjmpTo,
	"__longjmp_chk":     longjmpTo,
}

// exits are the exit functions of all modules, by their entries. Each tells where the thread
// that is at its entry will land.
func exits(c *target.Target) map[addr.Run]func(*inferior.Thread) (landing, bool) {
	all := map[addr.Run]func(*inferior.Thread) (landing, bool){}
	for _, m := range c.Names.Images() {
		for name, find := range exitFunctions {
			sym, ok := m.Object.Symtab.Symbol(name)
			if !ok || !sym.Defined || !sym.IsCode() {
				continue
			}
			all[sym.Addr.Run(m.Bias)] = func(t *inferior.Thread) (landing, bool) {
				regs, err := t.Regs()
				if err != nil {
					return landing{}, false
				}
				return find(c, regs)
			}
		}
	}
	return all
}

// RunOut is runToTargets. It also stops at the landing of an exception or a longjmp that
// leaves the frame with that CFA; left tells that this happened.
func (x *Execution) RunOut(t *inferior.Thread, cfa addr.Run, targets []stepping.RunTarget) (reached, left bool, stop inferior.Stop, err error) {
	var to landing
	for at, find := range exits(x.target) {
		targets = append(targets, stepping.RunTarget{At: at, When: func(now *inferior.Thread) bool {
			if now != t {
				return false
			}
			l, ok := find(now)
			if left = ok && l.sp >= cfa; left {
				to = l
			}
			return left
		}})
	}
	reached, stop, err = x.RunToTargets(targets)
	if err != nil || !reached || !left {
		return reached, false, stop, err
	}
	reached, stop, err = x.RunToTargets([]stepping.RunTarget{{At: to.pc, When: stepping.FrameLeft(t, to.sp)}})
	return reached, reached, stop, err
}

// handlerOf is the exception handler that calls the function at whose entry the thread is.
func handlerOf(c *target.Target, r inferior.Registers) (landing, bool) {
	pc, err := c.ReadPointer(r.SP())
	return landing{pc, r.SP() + 8}, err == nil
}

// longjmpTo is the landing of a longjmp at whose entry the thread is. glibc keeps the addresses in
// its jmp_buf rotated and mixed with the thread's pointer guard; musl keeps them plain.
func longjmpTo(c *target.Target, r inferior.Registers) (landing, bool) {
	const rsp, rip, pointerGuard = 48, 56, 0x30
	env := addr.Run(r.Arg(0))
	sp, err1 := c.ReadPointer(env + rsp)
	pc, err2 := c.ReadPointer(env + rip)
	guard, err3 := c.ReadPointer(addr.Run(r.FsBase) + pointerGuard)
	if err1 != nil || err2 != nil || err3 != nil {
		return landing{}, false
	}
	plain := func(a addr.Run) addr.Run { return addr.Run(bits.RotateLeft64(uint64(a), -17)) ^ guard }
	for _, l := range []landing{{plain(pc), plain(sp)}, {pc, sp}} {
		if c.Names.Modules.At(l.pc) != nil {
			return l, true
		}
	}
	return landing{}, false
}
