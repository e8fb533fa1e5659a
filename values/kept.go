package values

import (
	"bytes"

	"hdb/symbols/dwarf"
)

// maxKept bounds the calls over which a variable is followed in a register.
const maxKept = 64

// over is the frame with its registers as called functions left them, for a variable
// that is in one of them over the call; nil where that is not sure.
//
// gcc -fipa-ra keeps a variable in a register that functions may overwrite, over a call
// of one that does not, nor does any that it calls. Three things have to hold. No CFI
// rule on the way says where the register was saved: that is Regs.Left. The entry of
// the variable's location list holds at the return address, as it does before it: gcc
// ends the entry of a register that the call overwrites one byte before the return
// address, LLVM at it. And each call on the way is one that the compiler knew of, a
// call site of DWARF: code in assembly that calls saves registers as it likes.
func (f *Frame) over(u *dwarf.Unit, v dwarf.Value, m *modState, expr []byte) *Frame {
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

// sseLeft is the low half of a vector register: of the upper one compilers do not tell
// whether a call keeps it.
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
