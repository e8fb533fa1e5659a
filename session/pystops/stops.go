// Package pystops stops at lines and functions of Python, and steps from one to the next: by debug registers that watch
// bytecode, single steps, or traps in the interpreter's loop. It knows numbered stops by a Host and runs by a Runner.
package pystops

import (
	"errors"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/query"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/session/view"
)

// Stops are the stops at lines and functions of Python. A debug register, if there is one (see jumps), watches the
// word of bytecode where the line begins: the interpreter reads it when it is about to execute the instruction, and nothing
// is changed or slowed down until then. Code objects that do not exist yet are found where
// a module's code is about to be run, at PyEval_EvalCode.
type Stops struct {
	target *target.Target
	host   Host
	files  []*interpreter
	of     map[int][]*Line          // by the number of the stop
	lines  map[addr.Run]*Line       // by the address of the word
	last   map[addr.Run]lineArrival // by frame: where a line was seen to begin last
}

// An interpreter is the interpreter of a loaded file, with what is planted for it.
type interpreter struct {
	cpython.File
	bodies *python.Bodies
	eval   *inferior.Trap // at PyEval_EvalCode; nil: not planted
	jumps  *jumps         // nil: not looked for
	states map[*inferior.Thread]python.State
}

// A Line is an instruction that is watched, for all stops there.
type Line struct {
	python.Place
	file  *interpreter
	Watch *inferior.Watch // nil: by the jumps of the interpreter's loop
	short string          // why it had no debug register when that was decided
	Users []*breakpoints.Stop
	again map[addr.Run]bool // frames that will read the word once more for the same execution
}

// lineArrival is the start of a line that a frame has come to.
type lineArrival struct {
	code        addr.Run
	run, offset int
}

// New makes the stops of a target.
func New(c *target.Target, host Host) *Stops {
	return &Stops{target: c, host: host, of: map[int][]*Line{}, lines: map[addr.Run]*Line{}, last: map[addr.Run]lineArrival{}}
}

// A Host has the numbered stops and plants traps.
type Host interface {
	All() []*breakpoints.Stop                                   // the numbered stops
	Bound(*breakpoints.Stop) bool                               // it belongs to the process
	AtStop(*breakpoints.Stop, *inferior.Thread) inferior.Action // a thread has come to its place
	NoteCost(*breakpoints.Stop)                                 // says by what it is found if that costs
	NoteFailed(st *breakpoints.Stop, what string, err error)    // says once why it, or a part of it, had no value
	WhyNoRegister() string                                      // why no debug register is free
	Plant(addr.Run, inferior.Handler) (*inferior.Trap, error)
}

// Bind finds the places of a stop in the code that there is, and watches them.
func (p *Stops) Bind(st *breakpoints.Stop) error {
	if err := p.load(); err != nil {
		return err
	}
	var errs []error
	for _, f := range p.files {
		if err := p.followModules(f); err != nil {
			errs = append(errs, err)
			continue
		}
		if all, err := f.In.States(); err != nil || len(all) == 0 {
			continue // it has not begun
		}
		places := f.bodies.Places(cpython.TargetOf(st), f.bodies.Scan(cpython.Regions(p.target), p.target.Reading.GivenUp), query.InPythonLibrary)
		errs = append(errs, p.arm(st, f, places))
	}
	return errors.Join(errs...)
}

// load opens the interpreters of the files that are loaded.
func (p *Stops) load() error {
	found, refused, err := cpython.Files(p.target, p.target.Image)
	if err != nil {
		if errors.Is(err, python.ErrNoPython) {
			err = nil
		}
		return err
	}
	var files []*interpreter
	for _, f := range found {
		i := slices.IndexFunc(p.files, func(k *interpreter) bool { return k.Where == f.Where && k.Bias == f.Bias })
		if i >= 0 {
			files = append(files, p.files[i])
			continue
		}
		files = append(files, &interpreter{File: f, bodies: python.NewBodies(f.In, f.Symbols), states: map[*inferior.Thread]python.State{}})
	}
	if p.files = files; len(files) == 0 {
		return refused
	}
	return nil
}

// followModules has the code of modules looked at when it is about to be run.
func (p *Stops) followModules(f *interpreter) error {
	if f.eval != nil {
		return nil
	}
	at, ok := f.Symbols("PyEval_EvalCode")
	if !ok {
		return fmt.Errorf("%s does not export PyEval_EvalCode: code that is imported later cannot be found", f.Where)
	}
	var err error
	f.eval, err = p.host.Plant(at, func(t *inferior.Thread) inferior.Action {
		p.evaluated(f, t)
		return inferior.Resume
	})
	return err
}

// evaluated looks for places in code that is about to be run.
func (p *Stops) evaluated(f *interpreter, t *inferior.Thread) {
	regs, err := t.Regs()
	if err != nil {
		return
	}
	var tree []python.Named
	for _, st := range p.host.All() {
		if st.Kind != breakpoints.StopPython || !st.Enabled {
			continue
		}
		target := cpython.TargetOf(st)
		root := addr.Run(regs.Arg(0))
		if target.File != "" && !target.InFile(f.bodies.File(root)) {
			continue
		}
		if tree == nil {
			tree = f.bodies.Tree(root)
		}
		if err := p.arm(st, f, f.bodies.Places(target, tree, query.InPythonLibrary)); err != nil {
			p.host.NoteFailed(st, "", err)
		}
	}
}

// arm watches those places of a stop that it has not got yet, or none of them.
func (p *Stops) arm(st *breakpoints.Stop, f *interpreter, places []python.Place) error {
	p.dropGone(st)
	var fresh []python.Place
	for _, pl := range places {
		if !slices.ContainsFunc(p.of[st.ID], func(l *Line) bool { return l.Addr() == pl.Addr() }) {
			fresh = append(fresh, pl)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	before := len(p.of[st.ID])
	err := p.target.StopAll(func() error {
		for _, pl := range fresh {
			l, err := p.watch(f, pl)
			if err != nil {
				return err
			}
			p.Serve(st, l)
		}
		return nil
	})
	if err != nil {
		for _, l := range slices.Clone(p.of[st.ID][before:]) {
			if e := p.drop(st, l); e != nil {
				return errors.Join(err, e)
			}
		}
		return err
	}
	was := st.Pending
	p.setPlaces(st)
	if was && p.target.Going.Load() {
		p.target.Notify("%s %d is in place: %s", st.Word(), st.ID, view.PlaceText(st.Places[0]))
		p.host.NoteCost(st)
	}
	return nil
}

// setPlaces has a stop show what is watched for it.
func (p *Stops) setPlaces(st *breakpoints.Stop) {
	st.Places = nil
	for _, l := range p.of[st.ID] {
		st.Places = append(st.Places, breakpoints.Place{Addr: l.Addr(), Function: l.Qualname, File: l.Body.File, Line: l.Line})
	}
	st.Pending = len(st.Places) == 0
}

// watch is what watches a place, which may serve another stop already. All threads are stopped.
func (p *Stops) watch(f *interpreter, pl python.Place) (*Line, error) {
	if l := p.lines[pl.Addr()]; l != nil {
		return l, nil
	}
	l := &Line{Place: pl, file: f, again: map[addr.Run]bool{}, short: p.host.WhyNoRegister()}
	err := error(nil)
	if p.target.Proc.FreeRegisters() == 0 || f.byJumps() {
		err = p.followJumps(f)
	}
	if !f.byJumps() && (err == nil || errors.Is(err, errNoJumps)) {
		err = p.watchWord(l)
	}
	if err != nil {
		return nil, err
	}
	p.lines[pl.Addr()] = l
	return l, nil
}

// watchWord has the word of a line watched: by a debug register, or single steps.
func (p *Stops) watchWord(l *Line) (err error) {
	l.Watch, err = p.target.Proc.BreakOnAccess(l.Addr(), 2, inferior.ReadWrite, func(t *inferior.Thread) inferior.Action { return p.arrived(l, t) })
	return err
}

// Serve has a line serve a stop.
func (p *Stops) Serve(st *breakpoints.Stop, l *Line) {
	l.Users = append(l.Users, st)
	p.of[st.ID] = append(p.of[st.ID], l)
}

// drop has a line serve a stop no more.
func (p *Stops) drop(st *breakpoints.Stop, l *Line) error {
	same := func(x *breakpoints.Stop) bool { return x == st }
	l.Users = slices.DeleteFunc(l.Users, same)
	if p.of[st.ID] = slices.DeleteFunc(p.of[st.ID], func(x *Line) bool { return x == l }); len(p.of[st.ID]) == 0 {
		delete(p.of, st.ID)
	}
	if len(l.Users) > 0 {
		return nil
	}
	delete(p.lines, l.Addr())
	if l.Watch == nil {
		return p.leaveJumps(l.file)
	}
	return l.Watch.Remove()
}

// dropGone drops the lines of a stop whose code objects are gone.
func (p *Stops) dropGone(st *breakpoints.Stop) {
	for _, l := range slices.Clone(p.of[st.ID]) {
		if !l.file.bodies.Still(l.Body) {
			if err := p.drop(st, l); err != nil {
				p.host.NoteFailed(st, "", err)
			}
		}
	}
}

// Unbind takes the watches of a stop away, and the trap at modules with the last one.
func (p *Stops) Unbind(st *breakpoints.Stop) error {
	if st.Kind != breakpoints.StopPython {
		return nil
	}
	var errs []error
	if p.target.Proc != nil {
		for _, l := range slices.Clone(p.of[st.ID]) {
			errs = append(errs, p.drop(st, l))
		}
	}
	wanted := slices.ContainsFunc(p.host.All(), func(x *breakpoints.Stop) bool {
		return x != st && x.Kind == breakpoints.StopPython && x.Enabled
	})
	if !wanted && p.target.Proc != nil {
		for _, f := range p.files {
			if f.eval != nil {
				errs = append(errs, f.eval.Remove())
				f.eval = nil
			}
		}
	}
	return errors.Join(errs...)
}

// ModulesChanged looks for interpreters in libraries that have come.
func (p *Stops) ModulesChanged() {
	for _, st := range p.host.All() {
		if st.Kind != breakpoints.StopPython || !st.Enabled || !p.host.Bound(st) {
			continue
		}
		before := len(p.files)
		if err := p.load(); err != nil {
			p.host.NoteFailed(st, "", err)
			return
		}
		if len(p.files) == before {
			return
		}
		if err := p.Bind(st); err != nil {
			p.host.NoteFailed(st, "", err)
		}
	}
}

// Forget forgets a process or program that is gone, and with it all watches.
func (p *Stops) Forget() {
	p.files = nil
	clear(p.of)
	clear(p.lines)
	clear(p.last)
}

// Cost says by what the lines of a stop are found if that is not a debug register each, and what it costs; "" otherwise.
func (p *Stops) Cost(st *breakpoints.Stop) string {
	lines := p.of[st.ID]
	if i := slices.IndexFunc(lines, func(l *Line) bool { return l.Watch == nil }); i >= 0 {
		return lines[i].short + ": traps in the interpreter's loop, " + jumpCost
	}
	if i := slices.IndexFunc(lines, func(l *Line) bool { return l.Watch.Stepping }); i >= 0 {
		return lines[i].short + ": " + inferior.StepCost
	}
	return ""
}

// Watches are how many lines of a stop are watched, each by a debug register or single steps.
func (p *Stops) Watches(st *breakpoints.Stop) (n int) {
	for _, l := range p.of[st.ID] {
		if l.Watch != nil {
			n++
		}
	}
	return n
}
