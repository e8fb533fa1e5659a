package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/session/cpython"
	"hdb/session/target"
)

// pythonTables are CPython's tables of allocators in the process, by which its own
// allocators are followed: their calls are pointers there, which the probe exchanges.
//
// Who starts the interpreter may have the tables filled anew, as PYTHONMALLOC=debug does,
// so they are looked at again when it is about to run.
type pythonTables struct {
	target *target.Target
	found  map[moduleID]python.Allocators
	traps  map[moduleID]*inferior.Trap // at what runs the interpreter, until it does
	err    error                       // why there are none
	// hidden: objects come from pymalloc, whose arenas hide them, as was seen when an
	// interpreter ran.
	hidden bool

	modules []inferior.Module // among which were
	running []interpreterModule
}

// A moduleID tells a module from those that were loaded before.
type moduleID struct {
	low  addr.Run
	path string
}

// runMain is where an interpreter that has been started begins with the program's code.
const runMain = "Py_RunMain"

// forget forgets the process.
func (x *pythonTables) forget() { *x = pythonTables{target: x.target} }

// dropped forgets modules that are gone.
func (x *pythonTables) dropped(modules []inferior.Module) {
	for _, m := range modules {
		delete(x.found, moduleID{m.Low, m.Path})
		delete(x.traps, moduleID{m.Low, m.Path})
	}
}

// pointers are the tables' entries as functions to follow, if that is wanted.
func (x *pythonTables) pointers() (sites []*breakpoints.Site) {
	if !x.target.Settings.PythonAllocators || x.target.Proc == nil {
		return nil
	}
	functions := breakpoints.PythonFunctions()
	for _, m := range x.interpreters() {
		tables, ok := x.tables(m)
		if !ok {
			continue
		}
		for i, at := range tables.Entries() {
			sites = append(sites, &breakpoints.Site{Function: functions[i], Module: m.Name, In: m.Module, Addr: at, Size: 8, Pointer: true})
		}
	}
	return sites
}

// An interpreterModule is a module with its interpreter.
type interpreterModule struct {
	inferior.Module
	cpython.File
}

func (m interpreterModule) id() moduleID { return moduleID{m.Low, m.Path} }

// interpreters are the modules that have one.
func (x *pythonTables) interpreters() (all []interpreterModule) {
	modules := x.target.Proc.Modules()
	if slices.Equal(modules, x.modules) {
		return x.running
	}
	files, _, _ := cpython.Files(x.target, x.target.Image) // what is refused is said with the calls of Python
	for _, f := range files {
		i := slices.IndexFunc(modules, func(m inferior.Module) bool { return m.Path == f.Where && m.Bias == f.Bias })
		if i >= 0 {
			all = append(all, interpreterModule{modules[i], f})
		}
	}
	x.modules, x.running = slices.Clone(modules), all
	return all
}

// tables are those of an interpreter.
func (x *pythonTables) tables(m interpreterModule) (python.Allocators, bool) {
	if t, ok := x.found[m.id()]; ok {
		return t, true
	}
	maps, err := x.target.Proc.Maps()
	if err != nil {
		return python.Allocators{}, false
	}
	t, err := m.In.Allocators(m.Symbols, func(a addr.Run) bool {
		return slices.ContainsFunc(maps, func(m inferior.Mapping) bool { return m.Low <= a && a < m.High && m.Perm[2] == 'x' })
	})
	if err != nil {
		if m.In.Started() {
			x.err = err
		}
		return t, false
	}
	if x.found == nil {
		x.found = map[moduleID]python.Allocators{}
	}
	x.found[m.id()] = t
	return t, true
}

// await has begun called when an interpreter that has not been started yet begins to run.
func (x *pythonTables) await(begun func()) {
	for _, m := range x.interpreters() {
		if m.In.Started() {
			x.look(m)
			continue
		}
		if x.traps[m.id()] != nil {
			continue
		}
		at, ok := m.Symbols(runMain)
		if !ok {
			continue // before 3.8
		}
		id := m.id()
		trap, err := x.target.Proc.Plant(at, func(*inferior.Thread) inferior.Action {
			if t := x.traps[id]; t != nil {
				_ = t.Remove() // it has no errors
				x.traps[id] = nil
			}
			x.look(m)
			begun()
			return inferior.Resume
		})
		if err != nil {
			continue // the next module is another chance
		}
		if x.traps == nil {
			x.traps = map[moduleID]*inferior.Trap{}
		}
		x.traps[id] = trap
	}
}

// followTables has the probe follow the tables of interpreters that have come, or been
// filled anew.
func (p *Planes) followTables() {
	if p.target.Probe == nil || !p.target.Probe.Armed() {
		return
	}
	sites := p.data.tables.pointers()
	if err := p.data.tables.err; err != nil && !p.target.Said[err.Error()] {
		p.target.Said[err.Error()] = true
		p.target.Notify("allocators of Python are not followed: %v", err)
	}
	if p.target.Probe.Exchanged(sites) {
		return
	}
	if err := p.target.StopAll(p.arm); err != nil {
		p.target.Notify("allocators of Python: %v", err)
	}
}

// look notes what the tables of an interpreter that runs are.
func (x *pythonTables) look(m interpreterModule) {
	if tables, ok := x.tables(m); ok && m.In.Pymalloc(tables) {
		x.hidden = true
	}
}

// hidesPython tells that objects of Python come from pymalloc, which the recording has only
// the arenas of.
func (p *Planes) hidesPython() bool {
	return p.data.tables.hidden && !p.target.Settings.PythonAllocators
}

// awaitTables looks at the tables when interpreters run, and says why their allocators are
// not followed that should be.
func (p *Planes) awaitTables() {
	if !p.eventsArmed() {
		return
	}
	p.data.tables.await(p.followTables)
	if !p.target.Settings.PythonAllocators || p.target.Probe != nil && p.target.Probe.Armed() {
		return
	}
	if text := "Python's allocators are followed only by the probe, not by plain breakpoints"; !p.target.Said[text] {
		p.target.Said[text] = true
		p.target.Notify("%s", text)
	}
}
