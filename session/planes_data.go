package session

import (
	"errors"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe"
	"hdb/python"
	"hdb/session/allocators"
	"hdb/session/cpython"
	"hdb/session/pystacks"
	"hdb/session/target"
	"hdb/unwind"
)

// dataPlane is the session's side of the probe: what it is to do, and what it has counted.
type dataPlane struct {
	target  *target.Target
	account *target.Account
	demand  *demands
	symbols allocators.Symbols
	sites   int                 // functions that the probe watches, or did last
	found   []*breakpoints.Site // those of them that were found in modules last
	counted uint64              // events that had passed the probe unreported when they were counted last
	python  *pystacks.Stacks
	tables  *pythonTables
	locks   map[addr.Run]bool // modules in which mlockall has a trap, by their beginnings
	refused string            // a version of CPython whose calls are not known

	older func(yield func(uint64) bool) // blocks of before anything was followed
}

// arm has the probe follow what is wanted, and the frees that threads are in. The error says why it cannot.
func (d *dataPlane) arm(sink probe.Sink, functions []breakpoints.Function, freeing []breakpoints.Freeing, wrong *wrongFrees, states *states) error {
	t := d.target.Proc.StoppedThread()
	if t == nil {
		return target.ErrNotRunning
	}
	modules := d.target.Proc.Modules()
	if d.target.Probe == nil {
		p, err := probe.Inject(d.target.Proc, t, probe.Config{
			CFI: d.moduleCFI, Identity: d.moduleIdentity, Cache: d.target.Config.Cache, Functions: d.functions, GoVersion: d.goVersion, GoType: d.target.Go.Verdict, Sink: sink,
			Now: d.target.Now(), MaxDepth: d.target.Settings.MaxDepth, Large: d.target.Proc.IsGo(), Locks: d.locksMemory(modules),
			Message: func(m string) { d.target.Notify("%s", m) },
		})
		if err != nil {
			return err
		}
		d.target.Probe, d.counted = p, 0
		d.account.Rec.ForgetProbe()
		for _, t := range d.target.Proc.Threads() {
			d.account.Rec.AddThread(thread{t})
		}
	}
	d.countEvents()
	sites, err := d.symbols.Sites(modules, functions)
	if err != nil {
		d.target.Notify("some modules cannot be searched for allocators: %s", target.OneLine(err))
	}
	d.found = sites
	sites = append(sites, d.tables.pointers()...)
	d.target.Probe.SetDepth(d.target.Settings.MaxDepth)
	var want probe.Request
	d.target.Exclusive(func() { want = d.request() })
	want.WrongFrees, want.Unsuspected, want.Older = wrong.wanted(), wrong.unsuspected, d.older
	if want.WrongFrees {
		if err := d.awaitLocks(modules); err != nil {
			want.WrongFrees = false
			d.sayOnce(fmt.Sprintf("wrong frees are seen when they were recorded, not before they run: %v", err))
		}
	}
	want.Stops = append(want.Stops, states.exact()...)
	want.Freeing = freeing
	for _, f := range freeing {
		for _, t := range d.target.Proc.Threads() {
			if int32(t.TID) == f.TID && t.PassedTraps() == f.Sites[0] {
				want.Entered[t] = f.Sites[0]
			}
		}
	}
	d.account.Rec.SetWatches(append(d.watches(), states.watches()...))
	err = d.target.Probe.Arm(t, modules, sites, want)
	d.account.Rec.ForgetFunctions()
	if err != nil {
		return err
	}
	d.sites = d.target.Probe.Sites()
	d.noteCrowded()
	return nil
}

// locksMemory reports whether a module is known to call mlockall(2).
func (d *dataPlane) locksMemory(modules []inferior.Module) bool {
	return slices.ContainsFunc(modules, func(m inferior.Module) bool {
		obj, _ := d.target.Names.Modules.ObjectAt(m.Low)
		return obj != nil && obj.Symtab.Uses("mlockall")
	})
}

// sayOnce tells the user something once in a session.
func (d *dataPlane) sayOnce(text string) {
	if !d.target.Said[text] {
		d.target.Said[text] = true
		d.target.Notify("%s", text)
	}
}

// hasPython tells the file of a CPython interpreter.
func (d *dataPlane) hasPython(m inferior.Module) bool {
	obj, _ := d.target.Names.Modules.ObjectAt(m.Low)
	return cpython.HasPython(obj)
}

// openPython has stacks of events tell the calls of Python.
func (d *dataPlane) openPython(fresh bool) error {
	err := d.python.Open(fresh)
	var unknown *python.VersionError
	switch {
	case errors.Is(err, python.ErrNoPython):
		return nil
	case errors.As(err, &unknown):
		if d.refused != unknown.Version {
			d.refused = unknown.Version
			d.target.Notify("stacks of events have no Python calls: %v", err)
		}
		return nil
	}
	return err
}

// request is what the probe has to do for the stops and the recording.
func (d *dataPlane) request() probe.Request {
	r := probe.Request{Live: d.account.Rec.Live().Blocks(), Record: d.demand.needsRing(), Seq: d.account.Rec.Seq(), Entered: d.demand.entered()}
	for _, st := range d.demand.stops.All() {
		switch {
		case !st.Enabled || !onEvents(st):
			continue
		case !printsRecords(st):
		case printsAll(st):
			continue
		default:
			r.Printed = append(r.Printed, st)
		}
		r.Stops = append(r.Stops, st)
	}
	if !d.account.Rec.On() { // what is recorded is the ends of blocks: only these have to have their stacks
		r.Blocks = d.watchedBlocks()
		r.Bare = r.Record && !d.demand.printsStacks() && (r.Blocks != nil || !d.account.Rec.Live().AnyRecorded())
	}
	if n := d.demand.next; n != nil {
		r.Next = &probe.Next{Frees: n.want(capture.Free), Cond: n.cond}
	}
	return r
}

// maxWatched is how many blocks the probe looks out for while it does not send
// all events.
const maxWatched = 16

// watchedBlocks are the live blocks of the recording, whose ends have to be seen; none if
// there are too many: see noteUnfollowed.
func (d *dataPlane) watchedBlocks() []uint64 { return d.account.Rec.Live().RecordedBlocks(maxWatched) }

// watchesAll reports whether the probe sees the ends of all blocks whose ends it can look out for.
func (d *dataPlane) watchesAll() bool {
	return d.account.Rec.On() || slices.Equal(d.target.Probe.Watches(), d.watchedBlocks())
}

// movedAway reports whether the block that was just made is a recorded one in a new place, where
// the probe does not look out for it yet: its end may come before it does.
func (d *dataPlane) movedAway(block uint64) bool {
	if !d.account.Rec.Live().Recorded(block) || d.watchesAll() {
		return false
	}
	d.account.Gaps.MovedAway()
	return true
}

// countEvents counts the events that passed the probe without being sent to hdb.
func (d *dataPlane) countEvents() {
	if d.target.Probe != nil {
		d.target.Exclusive(d.countUnreported)
	}
}

// countUnreported is countEvents for whoever has the probe's lock. If the probe has taken events back, as
// many to come have their numbers already.
func (d *dataPlane) countUnreported() {
	n := d.target.Probe.Unreported()
	switch more := int64(n - d.counted); {
	case !d.target.Probe.Armed() || d.target.Probe.Recording():
		d.counted = n // of calls that threads were in when that began
	case more > 0:
		d.account.Rec.Count(uint64(more))
		d.counted = n
	}
}

// disarm takes the probe's jumps out of the allocators.
func (d *dataPlane) disarm() {
	if d.target.Probe == nil || !d.target.Probe.Armed() {
		return
	}
	d.countEvents()
	if err := d.target.Probe.Disarm(); err != nil {
		d.target.Notify("probe: %v", err)
	}
}

// drop forgets the probe of an image that is gone, or of a process that
// is left to itself: the engine takes out what changed its code.
func (d *dataPlane) drop(goesOn bool) {
	if d.target.Probe == nil {
		return
	}
	d.countEvents()
	d.target.Probe.Gone(goesOn)
	d.account.Losses.EndProbe(d.target.Probe.Stats())
	d.target.Probe = nil
}

// close takes the probe out of a process that continues without hdb.
func (d *dataPlane) close() {
	if d.target.Probe == nil {
		return
	}
	d.countEvents()
	if err := d.target.Probe.Close(); err != nil {
		d.target.Notify("probe: %v", err)
	}
	d.account.Losses.EndProbe(d.target.Probe.Stats())
	d.target.Probe = nil
}

// fault reports whether a signal of the thread is one of the probe's own, which it handles.
func (d *dataPlane) fault(t *inferior.Thread, _ *inferior.Signal) bool {
	return d.target.Probe != nil && d.target.Probe.Fault(t)
}

// guest follows a child that begins to run in the memory of its parent, or ends that.
func (d *dataPlane) guest(t *inferior.Thread, child int, begins bool) {
	if d.target.Probe != nil {
		d.target.Probe.Guest(int32(t.TID), int32(child), begins)
	}
}

// stats are the counts of the present probe.
func (d *dataPlane) stats() probe.Stats {
	if d.target.Probe == nil {
		return probe.Stats{}
	}
	return d.target.Probe.Stats()
}

// moduleCFI is the unwinding table of a module, nil without one.
func (d *dataPlane) moduleCFI(m inferior.Module) *unwind.Table {
	t, _, _ := d.target.Names.Modules.ModuleAt(m.Low)
	return t
}

// moduleIdentity tells a module's files from all others, "" if that is not known.
func (d *dataPlane) moduleIdentity(m inferior.Module) string {
	obj, _ := d.target.Names.Modules.ObjectAt(m.Low)
	if obj == nil {
		return ""
	}
	return obj.File.Identity()
}

// goVersion is the version of the Go runtime in a module, "" if it does not say.
func (d *dataPlane) goVersion(m inferior.Module) string {
	obj, _ := d.target.Names.Modules.ObjectAt(m.Low)
	if obj == nil {
		return ""
	}
	version, _ := obj.GoVersion()
	return version
}

// functions are the places where a module defines functions of these names.
func (d *dataPlane) functions(m inferior.Module, names ...string) []breakpoints.Symbol {
	found, err := d.symbols.Defined(m, names)
	if err != nil {
		return nil // said when its allocators were looked for
	}
	return found
}
