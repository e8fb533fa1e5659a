package stepping

import (
	"errors"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/view"
	"hdb/symbols"
)

// A stepper moves one thread from line to line.
type stepper struct {
	s    *Steps
	t    *inferior.Thread
	into bool // enter called functions that have lines
	out  bool // leave the frame that the step began in, instead of its line

	source bool       // by lines of Cython's sources alone
	begins []addr.Run // with it: where its functions begin

	from frameLine
	code map[addr.Run]*codePlace // what has been asked about
}

// done is how one step ended: by itself, or because stop came in between.
type done struct {
	ended bool
	ahead int // inlined calls that begin where it ended, and are not entered
	stop  inferior.Stop
}

// stepLine runs the thread to the start of another line.
func (s *Steps) stepLine(t *inferior.Thread, into bool) (done, error) {
	return newStepper(s, t, into).run(0)
}

func newStepper(s *Steps, t *inferior.Thread, into bool) *stepper {
	return &stepper{s: s, t: t, into: into, code: map[addr.Run]*codePlace{}}
}

// run steps from where the thread is, as the user sees it, or from a frame further out: up inlined
// calls.
func (st *stepper) run(up int) (done, error) {
	regs, err := st.t.Regs()
	if err != nil {
		return done{}, err
	}
	ahead, behind := st.s.sel.NotEntered(st.t, regs.PC()), st.s.sel.BehindCall(st.t, regs.PC())
	if st.s.target.Probe != nil && st.s.target.Probe.Covers(regs.PC()) { // at an allocation
		stop, err := st.s.ThroughProbe(st.t, regs, inferior.Stop{Reason: inferior.Stepped, Thread: st.t})
		if err != nil || stop.Reason != inferior.Stepped {
			return done{stop: stop}, err
		}
		if regs, err = st.t.Regs(); err != nil {
			return done{}, err
		}
		behind = true
	}
	if n, _ := st.t.DueSignal(); n != 0 {
		d, err := st.s.deliver(st.t, func(handler addr.Run) bool { return st.place(handler).known })
		if err != nil {
			return done{}, err
		}
		if d.over() {
			return st.delivered(d)
		}
		if regs, err = st.t.Regs(); err != nil {
			return done{}, err
		}
	}
	here := st.place(regs.PC())
	switch {
	case st.source && !st.isSource(here):
		return st.outOfBareFunction()
	case here.known:
	case st.s.atSigreturn(regs.PC()):
		return st.handlerOver()
	default:
		return st.outOfBareFunction()
	}
	st.s.exec.Leave()
	if st.into && ahead > 0 && !st.passes(here.chain[len(here.chain)-ahead]) {
		return done{ended: true, ahead: ahead - 1}, nil
	}
	if behind {
		return st.fromCall(regs, up)
	}
	st.from = here.line(len(here.chain) - ahead - up)
	st.from.cfa = st.s.innermostCFA(regs)
	return st.loop()
}

// fromCall steps from the frame that had made the call which has just returned, or from
// one that it was inlined into.
func (st *stepper) fromCall(regs inferior.Registers, up int) (done, error) {
	here := st.place(regs.PC())
	frames := st.s.target.Names.Modules.Frames(addr.Return(regs.PC()))
	if !here.known || len(frames) <= up {
		return st.outOfBareFunction()
	}
	by := frames[up]
	st.from = frameLine{cfa: st.s.innermostCFA(regs), bias: here.bias, chain: outermostFirst(frames[up:]), file: by.File, num: by.Line}
	if d, ended := st.decide(here); ended {
		return d, nil
	}
	return st.loop()
}

// returnFrom runs until a frame returns, and continues from its caller.
func (st *stepper) returnFrom(callee, ret addr.Run, up int) (done, error) {
	reached, left, stop, err := st.s.exec.RunOut(st.t, callee, []RunTarget{{At: ret, When: FrameLeft(st.t, callee)}})
	switch {
	case err != nil || !reached && !left:
		return done{stop: stop}, err
	case left:
		d, _, err := st.landed()
		return d, err
	}
	regs, err := st.t.Regs()
	if err != nil {
		return done{}, err
	}
	return st.fromCall(regs, up)
}

// loop executes instructions until the step is over.
func (st *stepper) loop() (done, error) {
	for {
		d, again, err := st.instruction()
		if err != nil || !again {
			return d, err
		}
	}
}

// innermostCFA is the innermost CFA of a thread with these registers, 0 unknown.
func (s *Steps) innermostCFA(regs inferior.Registers) addr.Run {
	raw := s.sel.Walker.Walk.Walk(s.target.Proc, regs.Unwind(), 1)
	if len(raw.Frames) == 0 {
		return 0
	}
	return raw.Frames[0].CFA
}

// instruction executes one, and decides whether the step continues.
func (st *stepper) instruction() (d done, again bool, err error) {
	if n, _ := st.t.DueSignal(); n != 0 {
		d, err := st.s.deliver(st.t, never)
		if err != nil {
			return done{}, false, err
		}
		if d.over() {
			done, err := st.delivered(d)
			return done, false, err
		}
	}
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
	if ret, ok := st.called(before, now); ok {
		return st.call(ret, now)
	}
	return st.moved(now)
}

// called reports whether the instruction was a call: it pushed the address behind itself. An
// instruction has at most 15 bytes.
func (st *stepper) called(before, now inferior.Registers) (ret addr.Run, ok bool) {
	if now.SP() != before.SP()-8 {
		return 0, false
	}
	ret, err := st.s.target.ReadPointer(now.SP())
	if err != nil || ret <= before.PC() || ret > before.PC()+15 || now.PC() == ret {
		return 0, false
	}
	return ret, true
}

// call enters the function just called when the user wants it and it has lines, and otherwise runs
// to its return, or to where an exception or a longjmp that leaves it continues.
func (st *stepper) call(ret addr.Run, now inferior.Registers) (done, bool, error) {
	sp := now.SP()
	targets := append([]RunTarget{{At: ret, When: st.returned(sp)}}, st.entries()...)
	if st.into && (!st.source || st.enters(now.PC())) {
		entry, ok := st.s.stepEntry(now.PC())
		if ok && entry == now.PC() {
			return st.entered(entry), false, nil
		}
		if ok {
			targets = append(targets, RunTarget{At: entry, When: st.same})
		}
	}
	reached, left, stop, err := st.s.exec.RunOut(st.t, sp+8, targets)
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
	if regs.PC() != ret && st.inGenerator(regs) {
		return done{}, true, nil
	}
	if regs.PC() != ret {
		return st.entered(regs.PC()), false, nil // inside the callee, after its prologue
	}
	return st.moved(regs)
}

// entered ends the step in a function just called. What was inlined at its start is ahead.
func (st *stepper) entered(pc addr.Run) done {
	return done{ended: true, ahead: max(0, len(st.place(pc).chain)-1)}
}

// landed ends the step where a handler begins or setjmp returns again.
func (st *stepper) landed() (done, bool, error) {
	regs, err := st.t.Regs()
	if err != nil {
		return done{ended: true}, false, err
	}
	if here := st.place(regs.PC()); here.known {
		return done{ended: true, ahead: here.beginning()}, false, nil
	}
	d, err := st.outOfBareFunction()
	return d, false, err
}

// moved decides about the place that the thread has come to.
func (st *stepper) moved(regs inferior.Registers) (done, bool, error) {
	here := st.place(regs.PC())
	function := here.known && here.chain[0].Entry == st.from.chain[0].Entry && here.bias == st.from.bias
	if function && regs.SP() < st.from.cfa { // still in the frame
		d, ended := st.decide(here)
		return d, !ended, nil
	}
	cfa := st.s.innermostCFA(regs)
	switch {
	case cfa > st.from.cfa: // returned to a caller
		if here.known && st.stopsBehind(regs.PC()) {
			return done{ended: true, ahead: st.s.behindCall(regs.PC())}, false, nil
		}
		if st.s.atSigreturn(regs.PC()) {
			d, err := st.handlerOver()
			return d, false, err
		}
		d, err := st.outOfBareFunction()
		return d, false, err
	case !here.known || st.source && !st.isSource(here): // a stub without lines reached by a jump: leave it
		ret, err := st.s.returnAddress(st.t)
		if err != nil {
			return done{}, false, err
		}
		return st.call(ret, regs)
	case function:
		d, ended := st.decide(here)
		return d, !ended, nil
	case here.begins(len(here.chain)):
		return done{ended: true, ahead: here.beginning()}, false, nil
	}
	return done{}, true, nil // in the middle of a line: run to the start of the next
}

// decide reports whether the step ends at a place in the frame that it began in. The line that
// counts is the line of the call it is in, whatever has been inlined there: the instructions of a
// call are often not in one piece, and do not begin at its entry.
func (st *stepper) decide(here *codePlace) (d done, ended bool) {
	level, inner := len(st.from.chain), len(here.chain)
	if n := max(sharedFrames(st.from.chain, here.chain), 1); n < level { // an inlined call is over
		begins := here.Start && here.Stmt
		if begins && (inner > n || st.into || !here.stray) || st.out && here.begins(n) {
			return done{ended: true, ahead: inner - n}, true
		}
		return done{}, false
	}
	at := here.line(level)
	begins, same := here.begins(level), at.same(&st.from)
	switch {
	case st.out:
	case inner == level && !st.into && here.stray:
	case begins && !same:
		return done{ended: true, ahead: inner - level}, true
	case inner > level && st.into && !st.passes(here.chain[level]):
		if begins {
			return done{ended: true, ahead: inner - level - 1}, true
		}
		return done{ended: true, ahead: here.beginning()}, true // a jump has led into it
	case here.Stmt && !same:
		st.from.file, st.from.num = at.file, at.num // to come back to the line is a step, too
	}
	return done{}, false
}

// passes reports whether the user wants an inlined call passed over.
func (st *stepper) passes(f symbols.Frame) bool {
	return st.s.target.Names.Cython.Added(&f) || st.s.Skips.passes(f.Function, f.Linkage, f.File)
}

// stopsBehind reports whether a step ends in the function that a call has returned to.
func (st *stepper) stopsBehind(ret addr.Run) bool {
	frames := st.s.target.Names.Modules.Frames(addr.Return(ret))
	return len(frames) == 0 || st.stops(&names.Frame{Frame: frames[0]})
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
	st.s.sel.Cur.Max = 0
	stack, err := st.s.sel.Walker.Stack(st.t, view.DefaultDepth, addr.Code{})
	if err != nil {
		return done{}, err
	}
	var targets []RunTarget
	prev := addr.Run(0)
	for _, f := range stack.Frames {
		if f.Code.IsReturn() && st.stops(&f) {
			targets = append(targets, RunTarget{At: f.Code.Addr(), When: st.returned(prev - 16)})
			break
		}
		prev = f.CFA
	}
	reached, stop, err := st.s.exec.RunToTargets(append(targets, st.entries()...))
	if err != nil || !reached {
		return done{stop: stop}, err
	}
	regs, err := st.t.Regs()
	switch {
	case err != nil:
		return done{}, err
	case len(targets) > 0 && regs.PC() == targets[0].At:
		return done{ended: true, ahead: st.s.behindCall(targets[0].At)}, nil
	case st.inGenerator(regs):
		return st.loop()
	}
	return st.entered(regs.PC()), nil
}

// stepEntry is where step stops in the function at pc: after its prologue, when it has line
// information or step-mode is on. PLT stubs are followed to the function they represent.
func (s *Steps) stepEntry(pc addr.Run) (addr.Run, bool) {
	obj, mod := s.target.Names.Modules.ObjectAt(pc)
	if obj == nil {
		return 0, false
	}
	fn, ok := obj.FunctionAt(pc.File(mod.Bias))
	if ok && s.skipped(pc) {
		return 0, false
	}
	if ok {
		switch at, way := s.target.Names.Cython.Entry(obj, fn); {
		case way == names.Pass:
			return 0, false
		case way == names.Enter && fn.Low == pc.File(mod.Bias):
			return at.Run(mod.Bias), true
		}
	}
	if ok && fn.Line != 0 && fn.Low == pc.File(mod.Bias) {
		return fn.Breakpoint.Run(mod.Bias), true
	}
	name, stub := s.stubName(pc)
	if !stub {
		return pc, s.target.Settings.StepIntoBare
	}
	for _, p := range s.target.Names.Places.OfFunction(name) {
		if s.skipped(p.Addr) || s.isResolver(name, p.Addr) {
			return 0, false
		}
		if p.Line != 0 || s.target.Settings.StepIntoBare {
			return p.Addr, true
		}
	}
	return 0, false
}

// isResolver tells the function of an IFUNC, which chooses another one: the program does not call it.
func (s *Steps) isResolver(name string, pc addr.Run) bool {
	obj, _ := s.target.Names.Modules.ObjectAt(pc)
	if obj == nil {
		return false
	}
	sym, ok := obj.Symtab.Symbol(name)
	return ok && sym.IFunc
}

// skipped reports whether the user wants the function at pc passed over.
func (s *Steps) skipped(pc addr.Run) bool {
	if len(s.Skips.list) == 0 {
		return false
	}
	fs := s.target.Names.Modules.Frames(addr.PC(pc))
	if len(fs) == 0 {
		return false
	}
	f := fs[len(fs)-1]
	return s.Skips.passes(f.Function, f.Linkage, f.File)
}

// stubName is the function that the PLT stub at pc represents.
func (s *Steps) stubName(pc addr.Run) (name string, ok bool) {
	fs := s.target.Names.Modules.Frames(addr.PC(pc))
	if len(fs) == 0 {
		return "", false
	}
	return strings.CutSuffix(fs[0].Function, "@plt")
}

// returnAddress is where the thread's innermost function returns to.
func (s *Steps) returnAddress(t *inferior.Thread) (addr.Run, error) {
	regs, err := t.Regs()
	if err != nil {
		return 0, err
	}
	raw := s.sel.Walker.Walk.Walk(s.target.Proc, regs.Unwind(), 2)
	if len(raw.Frames) < 2 {
		return 0, errors.New("the caller is unknown: " + raw.Truncated)
	}
	return raw.Frames[1].PC.Addr(), nil
}
