package unwind

import (
	"fmt"
	"io"
	"math/bits"

	"hdb/internal/addr"
)

// MaxDepth is the number of frames after which a walk gives up by default.
const MaxDepth = 2048

// A Walker walks stacks. It keeps its buffers, so that a walk like an earlier one
// allocates nothing. It belongs to one goroutine at a time.
type Walker struct {
	modules Modules
	frames  []Frame
	mem     memory
	expr    evaluator
	stack   goroutine // that the walk has come to last
}

// NewWalker returns a walker that finds its tables through m.
func NewWalker(m Modules) *Walker {
	w := &Walker{modules: m}
	w.expr.mem = &w.mem
	return w
}

// Walk follows the stack from the registers r up, over memory whose offsets are run
// addresses, for at most limit frames (MaxDepth when that is not positive). Memory is
// read anew in each walk, and only during it.
func (w *Walker) Walk(mem io.ReaderAt, r Regs, limit int) Stack {
	if limit <= 0 {
		limit = MaxDepth
	}
	w.mem.reset(mem)
	w.stack = goroutine{}
	w.frames = append(w.frames[:0], Frame{PC: addr.PC(r.PC()), Regs: r})
	reason := ""
	for {
		next, end := w.step(len(w.frames) - 1)
		if end != nil {
			reason = end.reason()
			break
		}
		if len(w.frames) == limit {
			reason = fmt.Sprintf("depth limit %d", limit)
			break
		}
		w.frames = append(w.frames, next)
	}
	w.mem.source = nil
	return Stack{Frames: w.frames, Truncated: reason}
}

// An ending says why a frame has no caller.
type ending struct{ err error }

// complete ends the walk at the first function of a thread.
var complete = &ending{}

func truncated(err error) *ending { return &ending{err: err} }

func (e *ending) reason() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// step unwinds frame i. It completes the frame and finds its caller.
// The rules are tried in the order of docs/unwinding.md.
func (w *Walker) step(i int) (Frame, *ending) {
	f := &w.frames[i]
	if f.Made {
		return Frame{}, complete
	}
	p := w.locate(f.PC)
	if p.row != nil {
		return w.byRow(i, p)
	}
	if p.table != nil && p.table.atEntry(p.file) {
		return Frame{}, complete
	}
	caller, cfa, ok := w.withoutCFI(f, p)
	if !ok {
		return Frame{}, truncated(p.missing(f.PC))
	}
	if !w.grows(i, cfa) {
		return Frame{}, f.stuck(cfa)
	}
	return w.link(i, cfa, caller)
}

// A place is a code address and what its module knows about it.
type place struct {
	table  *Table // nil in no module, and in a module without CFI
	mapped bool   // in a module
	bias   addr.Bias
	file   addr.File // of the address to look up
	row    *Row
}

// locate finds the row of a frame. A signal handler returns to the first instruction
// of the trampoline, which was not called: the byte before it may belong to
// another function or to none.
func (w *Walker) locate(pc addr.Code) place {
	p := w.lookup(pc.Lookup())
	if !pc.IsReturn() || p.row != nil && (p.row.Signal || p.file+1 < p.row.Function.High) {
		return p
	}
	if at := w.lookup(pc.Addr()); at.row != nil && at.row.Signal {
		return at
	}
	if p.row != nil && w.atTrampoline(pc.Addr()) {
		p.row = nil // it is another function's
	}
	return p
}

func (w *Walker) lookup(a addr.Run) place {
	var p place
	p.table, p.bias, p.mapped = w.modules.ModuleAt(a)
	p.file = a.File(p.bias)
	if p.table != nil {
		p.row = p.table.row(p.file)
	}
	return p
}

// missing says that there is no CFI, and where.
func (p *place) missing(pc addr.Code) error {
	switch {
	case !p.mapped:
		return fmt.Errorf("no CFI for the region at %v, which is in no module", pc.Addr())
	case p.table == nil || p.table.sec.Name == "":
		return fmt.Errorf("no CFI for the module at %v", pc.Addr())
	}
	return fmt.Errorf("no CFI for %s at %v", p.table.sec.Name, pc.Addr())
}

// byRow applies a row of CFI to frame i.
func (w *Walker) byRow(i int, p place) (Frame, *ending) {
	f := &w.frames[i]
	row := p.row
	f.Signal = row.Signal
	if row.Switch.Kind != NoSwitch {
		return w.bySwitch(i, row)
	}
	w.expr.regs, w.expr.bias = &f.Regs, p.bias
	cfa, err := w.cfa(f, row)
	if err != nil {
		return Frame{}, truncated(err)
	}
	if row.Rules[RA].Kind == Undefined {
		f.CFA = cfa
		return Frame{}, complete
	}
	if !w.grows(i, cfa) {
		return Frame{}, f.stuck(cfa)
	}
	caller := Frame{How: CFI, Regs: f.Regs}
	caller.Regs.leave(calleeSaved)
	switch {
	case row.vectors:
		caller.Regs.Left &^= leftVectors
	case i == 0:
		caller.Regs.Left |= leftVectors
	}
	if row.Signal {
		caller.Regs.forget(0) // nothing outlives a handler but what the kernel saved
	}
	caller.Regs.Set(RSP, uint64(cfa))
	for set := row.set; set != 0; set &= set - 1 {
		reg := Reg(bits.TrailingZeros32(set))
		v, ok, err := w.recover(f, &row.Rules[reg], reg, cfa)
		switch {
		case ok:
			caller.Regs.Set(reg, v)
		case reg == RA && err != nil:
			return Frame{}, truncated(err)
		default:
			caller.Regs.forget(^uint32(1 << reg))
		}
	}
	ra, ok := caller.Regs.Get(RIP)
	switch {
	case !ok:
		return Frame{}, truncated(fmt.Errorf("return address of %v is lost", f.PC.Addr()))
	case ra == 0 && f.PC.IsReturn() && row.isRoot():
		f.CFA = cfa
		return Frame{}, complete
	}
	return w.link(i, cfa, caller)
}

func (w *Walker) cfa(f *Frame, row *Row) (addr.Run, error) {
	if row.CFA.Kind == Register {
		base, ok := f.Regs.Get(row.CFA.Reg)
		if !ok {
			return 0, fmt.Errorf("frame at %v needs %v, which is lost", f.PC.Addr(), row.CFA.Reg)
		}
		return addr.Run(base + uint64(row.CFA.Offset)), nil
	}
	v, err := w.expr.eval(row.CFA.Expr, 0, false)
	return addr.Run(v), err
}

// recover finds a register of the caller. Lost is not an error, and neither ok.
func (w *Walker) recover(f *Frame, rule *Rule, reg Reg, cfa addr.Run) (v uint64, ok bool, err error) {
	at := cfa + addr.Run(rule.Offset)
	switch rule.Kind {
	case SameValue:
		v, ok = f.Regs.Get(reg)
		return v, ok, nil
	case Register:
		v, ok = f.Regs.Get(rule.Reg)
		return v, ok, nil
	case ValOffset:
		return uint64(at), true, nil
	case ValExpression:
		v, err = w.expr.eval(rule.Expr, cfa, true)
		return v, err == nil, err
	case Expression:
		if v, err = w.expr.eval(rule.Expr, cfa, true); err != nil {
			return 0, false, err
		}
		at = addr.Run(v)
	case Offset:
	default:
		return 0, false, nil
	}
	if v, ok = w.mem.word(at); !ok {
		err = unreadable(at)
	}
	return v, ok, err
}

// link makes caller the caller of frame i, unless its return address cannot be one.
func (w *Walker) link(i int, cfa addr.Run, caller Frame) (Frame, *ending) {
	f := &w.frames[i]
	f.CFA = cfa
	caller.PC = addr.Return(caller.Regs.PC())
	if f.Signal {
		caller.PC = addr.PC(caller.Regs.PC())
		return caller, nil // interrupted anywhere, also where a jump through NULL led
	}
	if !w.isCode(caller.PC) {
		return Frame{}, truncated(fmt.Errorf("return address %#x not in any module", uint64(caller.PC.Addr())))
	}
	return caller, nil
}

func (f *Frame) stuck(cfa addr.Run) *ending {
	return truncated(fmt.Errorf("CFA %v of the frame at %v does not grow", cfa, f.PC.Addr()))
}

// grows reports whether a CFA can be the one of frame i: stacks grow down, so that a caller's frame
// is above. A signal handler may run on another stack, but each signal frame has a place of its
// own.
func (w *Walker) grows(i int, cfa addr.Run) bool {
	if i == 0 {
		return cfa != 0
	}
	if !w.frames[i].Signal {
		return cfa > w.frames[i-1].CFA
	}
	for j := range w.frames[:i] {
		if w.frames[j].Signal && w.frames[j].Regs.SP() == w.frames[i].Regs.SP() {
			return false
		}
	}
	return true
}

// isCode reports whether a return address can be one: it is in a module, or, as generated code
// does, behind a call instruction.
func (w *Walker) isCode(pc addr.Code) bool {
	if pc.Addr() == 0 {
		return false
	}
	t, bias, ok := w.modules.ModuleAt(pc.Lookup())
	if ok && (t == nil || t.isText(pc.Lookup().File(bias))) {
		return true
	}
	return w.afterCall(pc.Addr()) || w.atTrampoline(pc.Addr())
}
