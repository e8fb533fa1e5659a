package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/query"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/session/view"
)

// pythonStops are the stops at lines and functions of Python. A debug register, if there is one (see pythonJumps), watches the
// word of bytecode where the line begins: the interpreter reads it when it is about to execute the instruction, and nothing
// is changed or slowed down until then. Code objects that do not exist yet are found where
// a module's code is about to be run, at PyEval_EvalCode.
type pythonStops struct {
	target *target.Target
	stops  *Stops
	files  []*pythonInterpreter
	lines  map[addr.Run]*pythonLine // by the address of the word
	last   map[addr.Run]lineArrival // by frame: where a line was seen to begin last
}

// A pythonInterpreter is the interpreter of a loaded file, with what is planted for it.
type pythonInterpreter struct {
	cpython.File
	bodies *python.Bodies
	eval   *inferior.Trap // at PyEval_EvalCode; nil: not planted
	jumps  *pythonJumps   // nil: not looked for
	states map[*inferior.Thread]python.State
}

// A pythonLine is an instruction that is watched, for all stops there.
type pythonLine struct {
	python.Place
	file  *pythonInterpreter
	watch *inferior.Watch // nil: by the jumps of the interpreter's loop
	short string          // why it had no debug register when that was decided
	users []*breakpoints.Stop
	again map[addr.Run]bool // frames that will read the word once more for the same execution
}

// lineArrival is the start of a line that a frame has come to.
type lineArrival struct {
	code        addr.Run
	run, offset int
}

func newPythonStops(c *target.Target, stops *Stops) *pythonStops {
	return &pythonStops{target: c, stops: stops, lines: map[addr.Run]*pythonLine{}, last: map[addr.Run]lineArrival{}}
}

// BreakPython sets a numbered stop at a line or function of Python: "app.py:40 if n > 3". file is
// that of a line alone. A place that no code has yet makes it pending.
func (s *Stops) BreakPython(text, file string, temporary bool) (*breakpoints.Stop, error) {
	if s.target.Mode() == target.Saved || s.target.Mode() == target.Core {
		return nil, errors.New("nothing runs here that could stop")
	}
	spec := breakpoints.Spec{Kind: breakpoints.StopPython}
	where, asks, conditional := strings.Cut(" "+text+" ", " if ")
	if spec.Asks = strings.TrimSpace(asks); conditional && spec.Asks == "" {
		return nil, errors.New("a condition must follow if")
	}
	if at, thread, ok := strings.Cut(where, " thread "); ok {
		n, err := strconv.Atoi(strings.TrimSpace(thread))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("thread %s: the number of a thread expected: see info threads", strings.TrimSpace(thread))
		}
		where, spec.Thread = at, n
	}
	if err := python.CheckCondition(spec.Asks); spec.Asks != "" && err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	target, err := python.ParseTarget(where, file)
	if err != nil {
		return nil, err
	}
	spec.File, spec.Line, spec.Function = target.File, target.Line, target.Function
	spec.Location = strings.TrimSpace(where)
	if target.Line != 0 && !strings.Contains(spec.Location, ":") {
		spec.Location = fmt.Sprintf("%s:%d", target.File, target.Line)
	}
	st := breakpoints.NewStop(spec)
	st.Temporary, st.Pending = temporary, true
	return s.add(st)
}

// bind finds the places of a stop in the code that there is, and watches them.
func (p *pythonStops) bind(st *breakpoints.Stop) error {
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
func (p *pythonStops) load() error {
	found, refused, err := cpython.Files(p.target, p.target.Image)
	if err != nil {
		if errors.Is(err, python.ErrNoPython) {
			err = nil
		}
		return err
	}
	var files []*pythonInterpreter
	for _, f := range found {
		i := slices.IndexFunc(p.files, func(k *pythonInterpreter) bool { return k.Where == f.Where && k.Bias == f.Bias })
		if i >= 0 {
			files = append(files, p.files[i])
			continue
		}
		files = append(files, &pythonInterpreter{File: f, bodies: python.NewBodies(f.In, f.Symbols), states: map[*inferior.Thread]python.State{}})
	}
	if p.files = files; len(files) == 0 {
		return refused
	}
	return nil
}

// followModules has the code of modules looked at when it is about to be run.
func (p *pythonStops) followModules(f *pythonInterpreter) error {
	if f.eval != nil {
		return nil
	}
	at, ok := f.Symbols("PyEval_EvalCode")
	if !ok {
		return fmt.Errorf("%s does not export PyEval_EvalCode: code that is imported later cannot be found", f.Where)
	}
	var err error
	f.eval, err = p.stops.planes.plant(at, func(t *inferior.Thread) inferior.Action {
		p.evaluated(f, t)
		return inferior.Resume
	})
	return err
}

// evaluated looks for places in code that is about to be run.
func (p *pythonStops) evaluated(f *pythonInterpreter, t *inferior.Thread) {
	regs, err := t.Regs()
	if err != nil {
		return
	}
	var tree []python.Named
	for _, st := range p.stops.demand.stops.All() {
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
			noteFailed(p.stops.target, st, "", err)
		}
	}
}

// arm watches those places of a stop that it has not got yet, or none of them.
func (p *pythonStops) arm(st *breakpoints.Stop, f *pythonInterpreter, places []python.Place) error {
	b := p.stops.binds[st.ID]
	p.dropGone(st)
	var fresh []python.Place
	for _, pl := range places {
		if !slices.ContainsFunc(b.lines, func(l *pythonLine) bool { return l.Addr() == pl.Addr() }) {
			fresh = append(fresh, pl)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	before := slices.Clone(b.lines)
	err := p.stops.planes.target.StopAll(func() error {
		for _, pl := range fresh {
			l, err := p.watch(f, pl)
			if err != nil {
				return err
			}
			l.users = append(l.users, st)
			b.lines = append(b.lines, l)
		}
		return nil
	})
	if err != nil {
		for _, l := range b.lines[len(before):] {
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
		p.stops.noteCost(st)
	}
	return nil
}

// setPlaces has a stop show what is watched for it.
func (p *pythonStops) setPlaces(st *breakpoints.Stop) {
	st.Places = nil
	for _, l := range p.stops.binds[st.ID].lines {
		st.Places = append(st.Places, breakpoints.Place{Addr: l.Addr(), Function: l.Qualname, File: l.Body.File, Line: l.Line})
	}
	st.Pending = len(st.Places) == 0
}

// watch is what watches a place, which may serve another stop already. All threads stand.
func (p *pythonStops) watch(f *pythonInterpreter, pl python.Place) (*pythonLine, error) {
	if l := p.lines[pl.Addr()]; l != nil {
		return l, nil
	}
	l := &pythonLine{Place: pl, file: f, again: map[addr.Run]bool{}, short: p.stops.whyNoRegister(nil)}
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
func (p *pythonStops) watchWord(l *pythonLine) (err error) {
	l.watch, err = p.target.Proc.BreakOnAccess(l.Addr(), 2, inferior.ReadWrite, func(t *inferior.Thread) inferior.Action { return p.arrived(l, t) })
	return err
}

// drop has a line serve a stop no more.
func (p *pythonStops) drop(st *breakpoints.Stop, l *pythonLine) error {
	same := func(x *breakpoints.Stop) bool { return x == st }
	l.users = slices.DeleteFunc(l.users, same)
	b := p.stops.binds[st.ID]
	b.lines = slices.DeleteFunc(slices.Clone(b.lines), func(x *pythonLine) bool { return x == l })
	if len(l.users) > 0 {
		return nil
	}
	delete(p.lines, l.Addr())
	if l.watch == nil {
		return p.leaveJumps(l.file)
	}
	return l.watch.Remove()
}

// dropGone drops the lines of a stop whose code objects are gone.
func (p *pythonStops) dropGone(st *breakpoints.Stop) {
	for _, l := range slices.Clone(p.stops.binds[st.ID].lines) {
		if !l.file.bodies.Still(l.Body) {
			if err := p.drop(st, l); err != nil {
				noteFailed(p.stops.target, st, "", err)
			}
		}
	}
}

// unbind takes the watches of a stop away, and the trap at modules with the last one.
func (p *pythonStops) unbind(st *breakpoints.Stop) error {
	if st.Kind != breakpoints.StopPython {
		return nil
	}
	var errs []error
	if b := p.stops.binds[st.ID]; p.target.Proc != nil {
		for _, l := range slices.Clone(b.lines) {
			errs = append(errs, p.drop(st, l))
		}
	}
	wanted := slices.ContainsFunc(p.stops.demand.stops.All(), func(x *breakpoints.Stop) bool {
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

// modulesChanged looks for interpreters in libraries that have come.
func (p *pythonStops) modulesChanged() {
	for _, st := range p.stops.demand.stops.All() {
		if st.Kind != breakpoints.StopPython || !st.Enabled || p.stops.binds[st.ID] == nil {
			continue
		}
		before := len(p.files)
		if err := p.load(); err != nil {
			noteFailed(p.stops.target, st, "", err)
			return
		}
		if len(p.files) == before {
			return
		}
		if err := p.bind(st); err != nil {
			noteFailed(p.stops.target, st, "", err)
		}
	}
}

// forget forgets a process or program that is gone, and with it all watches.
func (p *pythonStops) forget() {
	p.files = nil
	clear(p.lines)
	clear(p.last)
}
