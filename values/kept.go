package values

import (
	"bytes"

	"hdb/symbols/dwarf"
)

// maxKept bounds the number of calls across which a variable is followed in a register.
const maxKept = 64

// overCalls is the frame with caller-saved registers as the called functions left them,
// for a variable that stays in such a register across the call. It is nil if that is not
// certain.
//
// gcc -fipa-ra keeps a variable in a caller-saved register across a call if neither the
// called function nor those that it calls overwrite it. Three conditions have to hold:
//
//   - No CFI rule says where the register was saved; see unwind.Regs.Left.
//   - The entry of the variable's location list includes the return address. For a
//     register that the call overwrites, gcc ends the entry one byte before the return
//     address, and LLVM at it.
//   - Each call is a call site in the debug information. Assembly code may save registers
//     in other ways.
func (f *Frame) overCalls(u *dwarf.Unit, v dwarf.Value, m *modState, expr []byte) *Frame {
	if f == nil || !f.PC.IsReturn() || f.Regs.Left == 0 {
		return nil
	}
	if same, ok := u.LocationOver(v, m.sections(), f.pc()); !ok || !bytes.Equal(same, expr) {
		return nil
	}
	if !f.overRun {
		f.overRun = true
		if f.compiledCalls() {
			kept := *f
			regs, vectors := f.Regs.AsLeft()
			kept.Regs = regs
			if vectors {
				kept.Wide = f.sseLeft
			}
			f.asLeft = &kept
		}
	}
	return f.asLeft
}

// sseLeft is the low half of a vector register. Compilers do not say whether a call
// preserves the upper half.
func (f *Frame) sseLeft(reg uint64) []byte {
	if f.WideLeft == nil || reg < regXMM0 || reg >= regXMM0+16 {
		return nil
	}
	b := f.WideLeft(reg)
	return b[:min(len(b), 16)]
}

// compiledCalls reports whether all calls from the frame to the innermost are call
// sites of DWARF.
func (f *Frame) compiledCalls() bool {
	g := f
	for range maxKept {
		if g == nil {
			return false
		}
		if g.Callee == nil {
			return !g.PC.IsReturn() // else what it called is not shown
		}
		s, err := g.scope()
		if err != nil || !g.PC.IsReturn() {
			return false
		}
		if _, ok := callSiteAt(s.Physical, uint64(g.PC.Addr().File(g.Module.Bias))); !ok {
			return false
		}
		g = g.Callee()
	}
	return false
}
