package session

import (
	"errors"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/symbols"
)

// line is where a step began: it ends where another line starts.
type line struct {
	function addr.Run // entry of the physical function
	cfa      addr.Run // of its frame
	depth    int      // inlined calls around the PC
	file     string
	num      int
	ranges   []symbols.Range // the line's code, in file addresses
	bias     addr.Bias
	known    bool // there is line information at all
	start    bool // the PC begins a statement, so that nothing of it was skipped
}

// lineAt describes the line that the thread stands on.
func (s *Stepping) lineAt(t *inferior.Thread) (line, inferior.Registers, error) {
	regs, err := t.Regs()
	if err != nil {
		return line{}, regs, err
	}
	var l line
	raw := s.sel.walker.walk.Walk(s.proc, regs.Unwind(), 1)
	if len(raw.Frames) > 0 {
		l.cfa = raw.Frames[0].CFA
	}
	l.locate(s.names, regs.PC())
	return l, regs, nil
}

// locate fills in what the PC says.
func (l *line) locate(names *names.Resolver, pc addr.Run) {
	mod := names.Modules.At(pc)
	if mod == nil {
		return
	}
	l.bias = mod.Bias
	frames := names.Modules.Frames(addr.PC(pc))
	if len(frames) == 0 {
		return
	}
	l.depth = len(frames)
	l.function = frames[len(frames)-1].Entry.Run(mod.Bias)
	if obj, _ := names.Modules.Object(mod); obj != nil {
		var b symbols.LineBlock
		b, l.known = obj.Lines.Block(pc.File(mod.Bias))
		l.ranges, l.file, l.num, l.start = b.Ranges, b.File, b.Line, b.Stmt
	}
}

func (l *line) contains(pc addr.Run) bool {
	f := pc.File(l.bias)
	for _, r := range l.ranges {
		if f >= r.Low && f < r.High {
			return true
		}
	}
	return false
}

// A stepper moves one thread from line to line.
type stepper struct {
	s    *Stepping
	t    *inferior.Thread
	into bool // enter called functions that have lines
	from line
}

// done is how one step ended: by itself, or because stop came in between.
type done struct {
	ended bool
	stop  inferior.Stop
}

// stepLine runs the thread to the start of another line.
func (s *Stepping) stepLine(t *inferior.Thread, into bool) (done, error) {
	from, _, err := s.lineAt(t)
	if err != nil {
		return done{}, err
	}
	st := &stepper{s: s, t: t, into: into, from: from}
	if !from.known {
		return st.outOfBareFunction()
	}
	s.exec.leave()
	for {
		d, again, err := st.instruction()
		if err != nil || !again {
			return d, err
		}
	}
}

// instruction executes one, and decides whether the step goes on.
func (st *stepper) instruction() (d done, again bool, err error) {
	before, err := st.t.Regs()
	if err != nil {
		return done{}, false, err
	}
	stop, err := st.s.stepInstruction(st.t)
	if err != nil {
		return done{}, false, err
	}
	if stop.Reason != inferior.Stepped {
		return done{stop: stop}, false, nil
	}
	now, err := st.t.Regs()
	if err != nil {
		return done{}, false, err
	}
	pc := now.PC()
	if st.from.contains(pc) && now.SP() >= before.SP() {
		return done{}, true, nil
	}
	if ret, ok := st.called(before, now); ok {
		return st.call(ret, now)
	}
	if st.from.contains(pc) {
		return done{}, true, nil
	}
	return st.moved()
}

// called tells whether the instruction was a call: it pushed the address behind
// itself. An instruction has at most 15 bytes.
func (st *stepper) called(before, now inferior.Registers) (ret addr.Run, ok bool) {
	if now.SP() != before.SP()-8 {
		return 0, false
	}
	ret, err := st.s.readPointer(now.SP())
	if err != nil || ret <= before.PC() || ret > before.PC()+15 || now.PC() == ret {
		return 0, false
	}
	return ret, true
}

// call enters the function just called when the user wants it and it has lines, and
// otherwise runs to its return, or to where an exception or a longjmp that leaves it goes on.
func (st *stepper) call(ret addr.Run, now inferior.Registers) (done, bool, error) {
	sp := now.SP()
	targets := []target{{at: ret, when: st.returned(sp)}}
	if st.into {
		entry, ok := st.s.stepEntry(now.PC())
		if ok && entry == now.PC() {
			return done{ended: true}, false, nil
		}
		if ok {
			targets = append(targets, target{at: entry, when: st.same})
		}
	}
	reached, left, stop, err := st.s.exec.runOut(st.t, sp+8, targets)
	switch {
	case err != nil || !reached && !left:
		return done{stop: stop}, false, err
	case left:
		return st.landed()
	}
	regs, err := st.t.Regs()
	if err != nil {
		return done{}, false, err
	}
	if regs.PC() != ret {
		return done{ended: true}, false, nil // inside the callee, after its prologue
	}
	if st.from.contains(ret) {
		return done{}, true, nil
	}
	return st.moved()
}

// landed ends the step where a handler begins or setjmp returns again.
func (st *stepper) landed() (done, bool, error) {
	here, _, err := st.s.lineAt(st.t)
	if err != nil || here.known {
		return done{ended: true}, false, err
	}
	d, err := st.outOfBareFunction()
	return d, false, err
}

// moved decides about a PC outside the line.
func (st *stepper) moved() (done, bool, error) {
	here, regs, err := st.s.lineAt(st.t)
	if err != nil {
		return done{}, false, err
	}
	switch {
	case here.cfa > st.from.cfa: // returned to a caller
		if here.known {
			return done{ended: true}, false, nil
		}
		d, err := st.outOfBareFunction()
		return d, false, err
	case !here.known: // a stub without lines reached by a jump: leave it
		ret, err := st.s.returnAddress(st.t)
		if err != nil {
			return done{}, false, err
		}
		return st.call(ret, regs)
	case here.function == st.from.function && here.cfa == st.from.cfa && !st.into && here.depth > st.from.depth:
		return done{}, true, nil // next steps over inlined calls too
	case here.start:
		return done{ended: true}, false, nil
	}
	return done{}, true, nil // in the middle of a line: run to the start of the next
}

// returned is true in the thread once the frame whose return address lay at sp
// is gone: recursion reaches the same address with a deeper stack.
func (st *stepper) returned(sp addr.Run) func(*inferior.Thread) bool {
	return func(t *inferior.Thread) bool {
		if t != st.t {
			return false
		}
		regs, err := t.Regs()
		return err != nil || regs.SP() > sp
	}
}

func (st *stepper) same(t *inferior.Thread) bool { return t == st.t }

// outOfBareFunction runs from a function without line information to the first
// caller that has some, as gdb's step does. Without one, it continues.
func (st *stepper) outOfBareFunction() (done, error) {
	st.s.sel.max = 0
	stack, err := st.s.sel.walker.stack(st.t, defaultDepth, addr.Code{})
	if err != nil {
		return done{}, err
	}
	var targets []target
	prev := addr.Run(0)
	for _, f := range stack.Frames {
		if f.Code.IsReturn() && f.Line != 0 {
			targets = append(targets, target{at: f.Code.Addr(), when: st.returned(prev - 16)})
			break
		}
		prev = f.CFA
	}
	reached, stop, err := st.s.exec.runToTargets(targets)
	return done{ended: reached, stop: stop}, err
}

// stepEntry is where step stops in the function at pc: after its prologue, when
// it has line information or step-mode is on. PLT stubs are followed to the
// function they stand for.
func (s *Stepping) stepEntry(pc addr.Run) (addr.Run, bool) {
	obj, mod := s.names.Modules.ObjectAt(pc)
	if obj == nil {
		return 0, false
	}
	fn, ok := obj.FunctionAt(pc.File(mod.Bias))
	if ok && s.skipped(pc) {
		return 0, false
	}
	if ok && fn.Line != 0 && fn.Low == pc.File(mod.Bias) {
		return fn.Breakpoint.Run(mod.Bias), true
	}
	name, stub := s.stubName(pc)
	if !stub {
		return pc, s.settings.StepIntoBare
	}
	for _, p := range s.names.Places.OfFunction(name) {
		if s.skipped(p.Addr) {
			return 0, false
		}
		if p.Line != 0 || s.settings.StepIntoBare {
			return p.Addr, true
		}
	}
	return 0, false
}

// skipped tells whether the user wants the function at pc passed over.
func (s *Stepping) skipped(pc addr.Run) bool {
	if len(s.Skips.list) == 0 {
		return false
	}
	fs := s.names.Modules.Frames(addr.PC(pc))
	if len(fs) == 0 {
		return false
	}
	f := fs[len(fs)-1]
	return s.Skips.passes(f.Function, f.Linkage, f.File)
}

// stubName is the function that the PLT stub at pc stands for.
func (s *Stepping) stubName(pc addr.Run) (name string, ok bool) {
	fs := s.names.Modules.Frames(addr.PC(pc))
	if len(fs) == 0 {
		return "", false
	}
	return strings.CutSuffix(fs[0].Function, "@plt")
}

// returnAddress is where the thread's innermost function returns to.
func (s *Stepping) returnAddress(t *inferior.Thread) (addr.Run, error) {
	regs, err := t.Regs()
	if err != nil {
		return 0, err
	}
	raw := s.sel.walker.walk.Walk(s.proc, regs.Unwind(), 2)
	if len(raw.Frames) < 2 {
		return 0, errors.New("the caller is not known: " + raw.Truncated)
	}
	return raw.Frames[1].PC.Addr(), nil
}
