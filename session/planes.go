package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/report"
	"hdb/session/allocators"
	"hdb/session/pystacks"
	"hdb/session/recordings"
	"hdb/session/target"
	"hdb/session/variables"
)

// Planes follow allocator calls: by the probe inside the process, or where that cannot be,
// by plain breakpoints.
type Planes struct {
	target    *target.Target
	account   *target.Account
	walker    *target.Walker
	demand    *demands
	likes     *likenesses
	values    *variables.Values
	symbols   allocators.Symbols
	data      *dataPlane
	annotated *annotated
	wrong     *wrongFrees
	states    *states

	tracer   *breakpoints.Tracer
	fellBack string            // why the probe cannot be used
	bare     *bareCalls        // nil: system calls are not followed
	traceMe  []*inferior.Trap  // where children in the memory ask to be traced
	guests   map[int]bool      // these, by TID
	clones   map[addr.Run]bool // modules in which clone has a trap, by their beginnings

	// failed is called for a panic of what takes the probe's events, on any goroutine.
	failed func(error)
}

func newPlanes(c *target.Target, a *target.Account, w *target.Walker, d *demands, l *likenesses, al *allocators.Allocators, v *variables.Values) *Planes {
	symbols := al.Symbols()
	p := &Planes{
		target: c, account: a, walker: w, demand: d, likes: l, values: v, symbols: symbols,
		data:   &dataPlane{target: c, account: a, demand: d, symbols: symbols, python: pystacks.New(c), tables: &pythonTables{target: c}, locks: map[addr.Run]bool{}},
		clones: map[addr.Run]bool{}, guests: map[int]bool{},
	}
	p.annotated = &annotated{target: c, account: a, demand: d, symbols: symbols, tables: p.data.tables}
	p.wrong = &wrongFrees{target: c, account: a, walker: w, demand: d, planes: p}
	p.states = &states{target: c, account: a, demand: d, of: map[*breakpoints.Stop]*stateOf{}, arm: p.arm}
	al.Follow = p.follow
	return p
}

// follow has a function of the user's followed, too.
func (p *Planes) follow(fn breakpoints.Function) error {
	if err := p.tracer.Add(fn); err != nil {
		return err
	}
	return p.arm()
}

// begin follows the begin of a run.
func (p *Planes) begin() {
	p.fellBack = ""
	p.data.sites = 0
	p.data.tables.forget()
	p.annotated.forget()
	p.forgetGuests()
	p.wrong.begin()
	p.states.begin()
}

// replaced follows an exec: the process has another image.
func (p *Planes) replaced() {
	p.data.drop(false)
	p.data.tables.forget()
	p.annotated.forget()
	p.fellBack, p.bare = "", nil
	p.forgetGuests()
	p.wrong.begin()
	p.states.begin()
}

// release takes the planes out of a process that continues without them.
func (p *Planes) release() {
	p.annotated.release()
	p.tracer.Disarm()
	p.data.close()
}

// siteCount is how many allocator functions are followed.
func (p *Planes) siteCount() (n int) {
	switch {
	case p.target.Probe != nil && p.target.Probe.Armed():
		return p.data.sites
	case p.tracer != nil && p.tracer.Armed():
		for _, site := range p.tracer.Sites() {
			if site.Err == nil {
				n++
			}
		}
	}
	return n
}

// Plane tells what follows allocator calls now, or will.
func (p *Planes) Plane() recordings.Plane {
	if p.target.Settings.Probe == target.ProbeOff {
		return recordings.Plane{Reason: "the probe is off"}
	}
	return recordings.Plane{Probe: p.fellBack == "", Reason: p.fellBack}
}

// Apply makes changed settings of the probe hold for the running process.
func (p *Planes) Apply() error {
	p.fellBack = ""
	return p.arm()
}

// eventsArmed reports whether allocator calls are followed, by either plane.
func (p *Planes) eventsArmed() bool {
	return p.tracer.Armed() || p.target.Probe != nil && p.target.Probe.Armed()
}

// arm arms all allocator functions when someone wants events, and none
// otherwise. It is all or nothing, so that the numbers of events do not depend
// on which stops are set.
func (p *Planes) arm() error {
	if p.target.Proc == nil {
		return nil
	}
	p.states.prepare()
	err := p.armPlane()
	p.annotated.look()
	p.traceClones()
	p.followBare()
	p.awaitTables()
	p.target.Proc.CatchSystemCalls(p.demand.caughtCalls())
	return err
}

func (p *Planes) armPlane() error {
	if !p.demand.wantsEvents() {
		p.tracer.Disarm()
		p.data.disarm()
		return nil
	}
	p.target.Go.Look(p.target.Proc, p.target.Names.Modules)
	if p.target.Settings.Probe != target.ProbeOff && p.fellBack == "" {
		p.fetchAhead(nil)
		fresh := !p.eventsArmed()
		err := p.data.arm(probeSink{p.account.Rec, p}, p.tracer.Functions(), p.tracer.Freeing(), p.wrong, p.states)
		if err == nil {
			if fresh {
				p.wrong.armed(p.data.found)
			}
			p.tracer.Disarm()
			p.noteGo(p.target.Proc.Modules())
			p.openPython(true)
			return nil
		}
		if p.target.Settings.Probe == target.ProbeOn {
			return fmt.Errorf("probe: %w", err)
		}
		p.fallBack(err)
	}
	p.wrong.mixed = p.wrong.mixed || p.target.Probe != nil && p.target.Probe.Armed()
	p.data.disarm()
	p.noteGo(p.target.Proc.Modules())
	p.openPython(true)
	err := p.tracer.Arm(func(breakpoints.Function) bool { return true })
	if p.target.Probe != nil {
		p.tracer.Follow(p.target.Probe.Freeing())
	}
	p.tracer.Entered(p.demand.entered())
	if err != nil && p.siteCount() > 0 {
		p.target.Notify("some allocator functions are not watched: %s", target.OneLine(err)) // the others are
		return nil
	}
	return err
}

// openPython has stacks of events tell the calls of Python, or says why they do not.
func (p *Planes) openPython(fresh bool) {
	if err := p.data.openPython(fresh); err != nil {
		p.target.Notify("stacks of events have no Python calls: %v", err)
	}
	if text := p.data.python.Unrecorded(); text != "" && !p.target.Said[text] {
		p.target.Said[text] = true
		p.target.Notify("%s", text)
	}
}

// fallBack notes, and says, why plain breakpoints are used from now on.
func (p *Planes) fallBack(err error) {
	p.fellBack = err.Error()
	p.target.Notify("probe: %v: plain breakpoints follow the allocators instead, which cost tens of microseconds a call", err)
}

// newTracer makes the tracer of the process; it plants nothing yet.
func (p *Planes) newTracer() {
	if p.tracer != nil {
		p.tracer.Disarm()
	}
	p.dropTracer()
	p.bare = nil
	p.tracer = breakpoints.NewTracer(p.target.Proc, p.symbols, plainSink{sink{p}})
	for _, fn := range p.symbols.Allocators.Fns {
		if err := p.tracer.Add(fn); err != nil {
			p.target.Notify("alloc add: %v", err)
		}
	}
}

// dropTracer forgets the tracer but not what it lost.
func (p *Planes) dropTracer() {
	p.account.Losses.EndTracer(p.tracerStats())
	p.tracer = nil
}

// tracerStats are the counts of the present tracer.
func (p *Planes) tracerStats() breakpoints.Stats {
	if p.tracer == nil {
		return breakpoints.Stats{}
	}
	return p.tracer.Stats()
}

// modulesChanged follows dlopen and dlclose.
func (p *Planes) modulesChanged(added, removed []inferior.Module) {
	if len(added) > 0 {
		p.fetchAhead(added)
	}
	p.loaded(added, removed)
	p.data.locksChanged(added, removed)
	if p.eventsArmed() {
		p.target.Go.Look(p.target.Proc, p.target.Names.Modules)
		p.noteGo(added)
		if gone := p.data.python.Lost(removed); gone || slices.ContainsFunc(added, p.data.hasPython) {
			p.openPython(gone)
		}
		p.data.tables.dropped(removed)
		p.awaitTables()
		p.followTables()
	}
	if err := p.tracer.ModulesChanged(added, removed); err != nil {
		p.target.Notify("allocators of a new library: %v", err)
	}
	p.annotated.look()
}

// loaded has the probe follow a change of the modules.
func (p *Planes) loaded(added, removed []inferior.Module) {
	if p.bare != nil {
		p.bare.sites = nil
	}
	t := p.target.Proc.StoppedThread()
	if p.target.Probe == nil || !p.target.Probe.Armed() || t == nil {
		return
	}
	sites, err := p.symbols.Sites(added, p.tracer.Functions())
	if err == nil {
		err = p.target.Probe.Loaded(t, added, removed, sites)
		p.account.Rec.ForgetFunctions()
		p.data.sites = p.target.Probe.Sites()
		p.data.found = append(slices.Clip(p.data.found), sites...)
	}
	if err != nil {
		p.fallBack(err)
		if err := p.target.StopAll(p.arm); err != nil {
			p.target.Notify("%v", err)
		}
	}
}

// followProbe gives a followed child a probe of its own: its memory has no trace
// of the parent's but code that passes everything on.
func (p *Planes) followProbe() {
	if p.target.Probe == nil {
		return
	}
	p.data.drop(true)
	if err := p.arm(); err != nil {
		p.target.Notify("%v", err)
	}
}

// setKillOnExit has the process die with hdb or not. The probe's code makes system calls only where it is
// to continue: a program may have itself killed for them.
func (p *Planes) setKillOnExit(on bool) error {
	if p.target.Proc.Outlives() == !on {
		return nil
	}
	if p.target.Probe == nil {
		return p.target.Proc.SetKillOnExit(on)
	}
	return p.target.StopAll(func() error {
		if err := p.target.Probe.Quieten(!on); err != nil {
			return err
		}
		if err := p.target.Proc.SetKillOnExit(on); err != nil || on {
			return err
		}
		return p.arm() // what the program confines itself by is followed, too
	})
}

// rearm has the probe look out for the blocks that stops have put into the
// log since it was armed, and no more for events whose numbers have passed.
func (p *Planes) rearm() {
	if p.target.Probe == nil || !p.target.Probe.Armed() {
		return
	}
	if p.data.watchesAll() && !p.target.Probe.Numbers() && !p.states.changed() {
		return
	}
	if err := p.arm(); err != nil {
		p.target.Notify("%v", err)
	}
}

// rearmSoon has the probe look no more for numbers that have passed, each call would
// come here from now on, and look out for blocks that moved, though nothing stops.
func (p *Planes) rearmSoon() {
	armed := p.target.Probe
	p.target.Proc.Wake(func() {
		if p.target.Probe != armed || !armed.Armed() || !armed.Passed(p.account.Rec.Seq()) && p.data.watchesAll() {
			return // done already, or the probe is another
		}
		err := p.target.StopAll(func() error {
			defer p.target.OwnWork()()
			p.rearm()
			p.noteUnfollowed()
			return nil
		})
		if err != nil && !errors.Is(err, inferior.ErrEnded) {
			p.target.Notify("%v", err)
		}
	})
}

// threadStarted and threadExited follow the inferior's threads.
func (p *Planes) threadStarted(t *inferior.Thread) {
	p.target.Exclusive(func() { p.account.Rec.AddThread(thread{t}) }) // behind the events of one that had its ID before
	if p.target.Probe != nil {
		p.target.Probe.ThreadsChanged()
	}
}

// refused says that a seccomp filter has ended the program for a system call that the probe's code has made.
func (p *Planes) refused(_ *inferior.Thread, pc addr.Run, call string) {
	if p.target.Probe == nil || !p.target.Probe.Covers(pc) {
		return
	}
	p.target.Notify("probe: the program's seccomp filter has refused %s, which was hdb's own call in it, and the kernel ends the program for that: follow it with `set probe off`, by plain breakpoints", call)
}

func (p *Planes) threadExited(t *inferior.Thread) {
	p.tracer.ThreadExited(int32(t.TID))
	if p.target.Probe == nil || !p.target.Probe.Armed() {
		return
	}
	p.target.Exclusive(func() { p.account.Rec.RenameThread(thread{t}) })
	p.target.Probe.ThreadExited(int32(t.TID))
	p.target.Probe.ThreadsChanged()
}

// noteUnfollowed notes what will not be known of blocks when the program continues, as it does now.
// All of its threads are stopped.
func (p *Planes) noteUnfollowed() {
	watched := 0
	if p.target.Probe != nil && p.target.Probe.Armed() && !p.target.Proc.IsGo() { // no function that the program calls frees a block of Go
		watched = len(p.target.Probe.Watches()) // all that are recorded, or none
	}
	p.account.Gaps.RunOn(p.account.Rec, p.followsAll(), watched)
	if p.linked() {
		p.noteUncounted()
	}
	if p.account.Gaps.Blind() && p.eventsArmed() { // there may be recorded events behind the gap
		p.account.Rec.NotePartial(capture.Reason{Kind: capture.FreedUnseen})
	}
}

// followsAll reports whether every allocator call reaches hdb.
func (p *Planes) followsAll() bool {
	return p.tracer.Armed() || p.target.Probe != nil && p.target.Probe.Recording()
}

// noteGo notes in the recording that a Go runtime among the modules allocates which the
// probe does not follow. Calls of its allocator are events by plain breakpoints, but their
// pointers are not known, so that no block of Go's is counted.
func (p *Planes) noteGo(modules []inferior.Module) {
	for _, m := range modules {
		obj, _ := p.target.Names.Modules.ObjectAt(m.Low)
		if obj == nil || !obj.File.Header().Go || p.followsGo(m) {
			continue
		}
		p.account.Rec.NotePartial(capture.Reason{Kind: capture.GoHeap})
		if text := fmt.Sprintf("%s: %s: only blocks of C code are recorded", filepath.Base(m.Name), report.ReasonText(capture.Reason{Kind: capture.GoHeap})); p.account.Rec.On() && !p.target.Said[text] {
			p.target.Said[text] = true
			p.target.Notify("%s", text)
		}
	}
}

// followsGo reports whether the probe follows the Go runtime of a module.
func (p *Planes) followsGo(m inferior.Module) bool {
	return p.target.Probe != nil && p.target.Probe.Armed() && slices.ContainsFunc(p.data.found, func(s *breakpoints.Site) bool {
		return s.In.Low == m.Low && s.Function.Sweeps()
	})
}

// linked reports whether the program's libraries are there: no allocator function comes with them any more.
func (p *Planes) linked() bool {
	libraries := 0
	for _, m := range p.target.Proc.Modules() {
		if !m.VDSO {
			libraries++
		}
	}
	return p.target.Names.Program.Static() || libraries > 2 // the program and its dynamic linker
}

// NoAllocatorKnown reports whether the process allocates by unknown functions: no allocator function of it is followed.
func (p *Planes) NoAllocatorKnown() bool {
	return p.target.Proc != nil && p.account.Rec.On() && p.eventsArmed() && p.siteCount() == 0 && p.linked()
}

// noteUncounted notes in the recording that the program runs, or has run, and no allocator function of it is followed.
func (p *Planes) noteUncounted() {
	if p.account.Rec.On() && p.eventsArmed() && p.siteCount() == 0 {
		p.account.Rec.NotePartial(capture.Reason{Kind: capture.NoAllocator})
	}
}

// noteNoAllocator says that stops on allocations wait without effect.
func (p *Planes) noteNoAllocator() {
	if p.siteCount() == 0 {
		p.target.Notify("no allocator function is known in %s: no symbol table names one; add one with alloc add", p.target.Names.Program.Path)
	}
}

// fetchAhead waits, as scripts do, for what conditions will ask of modules, here, where the program
// is stopped: it must not have to be waited for while the probe's events are taken, which the
// program would have to wait for in turn. nil is all modules.
func (p *Planes) fetchAhead(added []inferior.Module) {
	if p.demand.asksNames() {
		p.target.Names.Modules.FetchAhead(target.Mappings(added))
	}
}
