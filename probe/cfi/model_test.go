package cfi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"
)

// A model of the walker in the inferior, and what holds it against unwind.Walker.

// A state is what the walker knows of a frame: the registers, and whether rbp and
// rbx are lost.
type state struct {
	pc, sp, bp, bx uint64
	bpLost, bxLost bool
}

// An outcome is where a frame's rule leads.
type outcome uint8

const (
	toCaller    outcome = iota
	toEnd               // the first function of the thread
	toGuess             // no CFI
	toTruncated         // CFI that cannot be followed
)

// caller applies a rule to a frame, over memory of words.
func (s state) caller(r Rule, word func(uint64) uint64) (state, uint64, outcome) {
	var cfa uint64
	needsBP := r.Form() == BP || r.Form() == DerefBP || r.Flags()&(RBPAtRBP|RBXAtRBP) != 0
	if needsBP && s.bpLost || r.Form() == BX && s.bxLost {
		return state{}, 0, toTruncated
	}
	switch r.Form() {
	case SP, Hidden:
		cfa = s.sp + uint64(r.Offset())
	case BP:
		cfa = s.bp + uint64(r.Offset())
	case BX:
		cfa = s.bx + uint64(r.Offset())
	case DerefBP:
		cfa = word(s.bp + uint64(r.Offset()))
	case PLT:
		cfa = s.sp + 8
		if s.pc&15 >= uint64(r.Offset()) {
			cfa += 8
		}
	case Signal:
		const order = 8 // the kernel's struct ucontext
		up := state{pc: word(s.sp + 21*order), sp: word(s.sp + 20*order), bp: word(s.sp + 15*order), bx: word(s.sp + 16*order)}
		return up, up.sp, toCaller
	case Root, Entry:
		return state{}, 0, toEnd
	case NoCFI:
		return state{}, 0, toGuess
	default:
		return state{}, 0, toTruncated
	}
	up := state{pc: word(cfa - 8), sp: cfa, bp: s.bp, bx: s.bx, bpLost: s.bpLost, bxLost: s.bxLost}
	if r.Flags()&RBPAtCFA != 0 {
		up.bp, up.bpLost = word(cfa+8*uint64(r.RBPSlot())), false
	}
	if r.Flags()&RBPAtRBP != 0 {
		up.bp, up.bpLost = word(s.bp+8*uint64(r.RBPSlot())), false
	}
	if r.Flags()&RBXAtCFA != 0 {
		up.bx, up.bxLost = word(cfa+8*uint64(r.RBXSlot())), false
	}
	if r.Flags()&RBXAtRBP != 0 {
		up.bx, up.bxLost = word(s.bp+8*uint64(r.RBXSlot())), false
	}
	up.bpLost = up.bpLost || r.Flags()&RBPLost != 0
	up.bxLost = up.bxLost || r.Flags()&RBXLost != 0
	return up, cfa, toCaller
}

// scratch is a made-up stack: each word of memory outside of code is a number of its
// own, and one that can be an address.
type scratch struct {
	low, high addr.File
	code      io.ReaderAt
}

func (m scratch) word(at uint64) uint64 {
	const mask = 1<<46 - 8
	if at&7 == 0 {
		return (at + 0x1234567) * 0x9e3779b97f4a7c15 >> 8 & mask
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], m.word(at&^7))
	binary.LittleEndian.PutUint64(b[8:], m.word(at&^7+8))
	return binary.LittleEndian.Uint64(b[at&7:])
}

func (m scratch) ReadAt(b []byte, off int64) (int, error) {
	if a := addr.File(off); m.low <= a && a < m.high {
		if m.code == nil {
			return 0, io.EOF
		}
		return m.code.ReadAt(b, off)
	}
	var word [8]byte
	n := 0
	for ; off%8 == 0 && len(b)-n >= 8; n += 8 {
		binary.LittleEndian.PutUint64(b[n:], m.word(uint64(off)+uint64(n)))
	}
	for n < len(b) {
		at := uint64(off) + uint64(n)
		binary.LittleEndian.PutUint64(word[:], m.word(at&^7))
		n += copy(b[n:], word[at&7:])
	}
	return len(b), nil
}

// caller is where made-up modules are that call the one under test: one function
// whose CFA is rsp+8.
const callerLow, callerHigh = 1 << 50, 1<<50 + 0x1000

// world is a process with the module under test, loaded where its file says, and one
// function in another. Everything else is code of unknown modules.
type world struct {
	scratch
	module, other *unwind.Table
	compiled      *Table
	rules         []Rule
	walker        *unwind.Walker
}

func newWorld(t testing.TB, cfi *unwind.Table, compiled *Table, high addr.File, code io.ReaderAt, rules *Rules) *world {
	w := &world{module: cfi, compiled: compiled, rules: rules.List(), scratch: scratch{compiled.Low, high, code}}
	w.other = newCFI(t, ehFrame(fde{callerLow, callerHigh - callerLow, false, nil}))
	w.walker = unwind.NewWalker(w)
	return w
}

// ModuleAt implements unwind.Modules.
func (w *world) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	switch a := pc.File(0); {
	case w.low <= a && a < w.high:
		return w.module, 0, true
	case callerLow <= a && a < callerHigh:
		return w.other, 0, true
	}
	return nil, 0, true
}

func (w *world) random(r *rand.Rand, pc addr.File) state {
	stack := func() uint64 { return 1<<46 + r.Uint64N(1<<40)&^7 }
	return state{pc: uint64(pc), sp: stack(), bp: stack(), bx: stack()}
}

func regsOf(s state) unwind.Regs {
	var regs unwind.Regs
	regs.Set(unwind.RIP, s.pc)
	regs.Set(unwind.RSP, s.sp)
	regs.Set(unwind.RBP, s.bp)
	regs.Set(unwind.RBX, s.bx)
	return regs
}

// disagreement holds the rule at a PC against unwind.Walker: both go one frame up
// from registers s. It is "" when they agree, or the rule leaves it open.
func (w *world) disagreement(s state) string {
	stack := w.walker.Walk(w, regsOf(s), 2)
	return w.compare(w.rules[w.compiled.At(addr.File(s.pc))], s, &stack, 0)
}

// disagreementOfReturn is disagreement where s.pc is a return address.
func (w *world) disagreementOfReturn(s state) string {
	below := s
	below.pc, below.sp = callerLow+16, s.sp-8
	stack := w.walker.Walk(overlaid{w.scratch, below.sp, s.pc}, regsOf(below), 3)
	if len(stack.Frames) < 2 || stack.Frames[1].PC.Addr() != addr.Run(s.pc) {
		return fmt.Sprintf("the stack has %d frames, truncated: %s", len(stack.Frames), stack.Truncated)
	}
	return w.compare(w.rules[w.compiled.At(addr.File(s.pc-1))], s, &stack, 1)
}

// overlaid is memory with one word replaced.
type overlaid struct {
	scratch
	at, word uint64
}

func (m overlaid) ReadAt(b []byte, off int64) (int, error) {
	n, err := m.scratch.ReadAt(b, off)
	if i := m.at - uint64(off); i < uint64(n) && n-int(i) >= 8 {
		binary.LittleEndian.PutUint64(b[i:], m.word)
	}
	return n, err
}

func (w *world) compare(r Rule, s state, stack *unwind.Stack, i int) string {
	up, cfa, how := s.caller(r, w.word)
	got := &stack.Frames[i]
	more := len(stack.Frames) > i+1
	switch {
	case how == toTruncated:
		return ""
	case r.Form() == Root && !more && strings.HasSuffix(stack.Truncated, "which is lost"):
		return "" // the walker wants a CFA even there
	case how == toEnd && (more || stack.Truncated != ""):
		return fmt.Sprintf("%v, where the walker has a caller or %q", r, stack.Truncated)
	case how == toGuess && more && !stack.Frames[i+1].How.Guess():
		return fmt.Sprintf("%v, where the walker has a caller by %v", r, stack.Frames[i+1].How)
	case how == toGuess && !more && stack.Truncated == "":
		return fmt.Sprintf("%v, where the walker is at the end", r)
	case how != toCaller:
		return ""
	case !more:
		return fmt.Sprintf("%v, where the walker has no caller: %s", r, stack.Truncated)
	}
	next := &stack.Frames[i+1]
	bp, bpKnown := next.Regs.Get(unwind.RBP)
	bx, bxKnown := next.Regs.Get(unwind.RBX)
	switch {
	case next.How.Guess():
		return fmt.Sprintf("%v, where the walker guesses", r)
	case got.Signal != (r.Form() == Signal):
		return fmt.Sprintf("%v, signal frame: %v", r, got.Signal)
	case uint64(got.CFA) != cfa || uint64(next.Regs.SP()) != up.sp:
		return fmt.Sprintf("%v: CFA %#x rsp %#x, the walker has %#x %#x", r, cfa, up.sp, uint64(got.CFA), uint64(next.Regs.SP()))
	case uint64(next.PC.Addr()) != up.pc || next.PC.IsReturn() == (r.Form() == Signal):
		return fmt.Sprintf("%v: PC %#x, the walker has %#x, a return address: %v", r, up.pc, uint64(next.PC.Addr()), next.PC.IsReturn())
	case !up.bpLost && (!bpKnown || bp != up.bp):
		return fmt.Sprintf("%v: rbp %#x, the walker has %#x", r, up.bp, bp)
	case !up.bxLost && (!bxKnown || bx != up.bx):
		return fmt.Sprintf("%v: rbx %#x, the walker has %#x", r, up.bx, bx)
	}
	return ""
}
