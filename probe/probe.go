package probe

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/unwind"
)

// A Config says what a probe needs to know.
type Config struct {
	// CFI is the unwinding table of a module, nil if it has none.
	CFI func(inferior.Module) *unwind.Table
	// Identity tells a module's files from all others, "" if that is not known; may
	// be nil.
	Identity func(inferior.Module) string
	// Cache keeps compiled unwinding tables; nil keeps nothing.
	Cache *diskcache.Dir
	// Functions are the places where a module defines functions of these names.
	Functions func(m inferior.Module, names ...string) []breakpoints.Symbol
	// GoVersion is the version of the Go runtime in a module, as "go1.22.3".
	GoVersion func(m inferior.Module) string
	// GoType is what a pattern of a condition says of the type with a descriptor in a module.
	GoType func(m inferior.Module, descriptor addr.Run, pattern string) GoTypeVerdict
	// A Sink receives events.
	Sink Sink
	// Now is the time of the session, which events are given.
	Now time.Duration
	// MaxDepth is the most frames of a recorded stack.
	MaxDepth int
	// Large has the ring be large: for a Go runtime, whose threads do not wait for room.
	Large bool
	// Locks tells that the program may have all its memory locked (mlockall(2)): the probe's then counts against
	// RLIMIT_MEMLOCK.
	Locks bool
	// Message is for the user: what could not be done, but hurts nothing.
	Message func(string)
}

// A Probe is the data plane of one program image. Its parts are named in the package
// comment; what callers ask of them are their methods.
type Probe struct {
	cfg    Config
	proc   *inferior.Process
	shared *shared
	remote remote
	tables *tables

	core     *core
	frames   frameMap
	fsgsbase bool
	coreCFI  *unwind.Table
	coreRows ownTable
	alone    bool // the core's records take no turns: there is one thread

	armed  bool
	closed bool
	itself bool // the program has confined itself

	islands
	siteTable
	finders
	freed  freedCode
	blocks blockTable
	conditions
	matcher
	slots
	reader
}

// newProbe is a Probe whose memory is still to be mapped.
func newProbe(p *inferior.Process, cfg Config) *Probe {
	pr := &Probe{cfg: cfg, proc: p}
	pr.siteTable = siteTable{p: pr, byEntry: map[addr.Run]*site{}, byDesc: map[addr.Run]*site{}, retired: map[addr.Run]*site{}, behind: map[pointed]*site{}, passed: passed{}}
	pr.slots = slots{p: pr, guests: map[uint32][]byte{}}
	pr.freed.p = pr
	pr.islands.p, pr.finders.p, pr.conditions.p, pr.matcher.p, pr.reader.p = pr, pr, pr, pr, pr
	return pr
}

// A Request says what is wanted of the probe.
type Request struct {
	Record bool                // all events go to the ring,
	Bare   bool                // without their stacks
	Stops  []*breakpoints.Stop // enabled ones on allocator calls,
	// Printed are those of them to which calls of functions that they name need not be
	// offered: their records are enough.
	Printed []*breakpoints.Stop
	Next    *Next    // what next-alloc waits for, or nil
	Seq     uint64   // number of the last event
	Blocks  []uint64 // whose ends are wanted, though not all events are

	Live  iter.Seq2[uint64, uint64] // the blocks that hdb knows, and their sizes
	Older iter.Seq[uint64]          // blocks of before anything was followed, asked for when states come into use; nil: none is known
	marks addr.Run                  // where blocks are marked; 0 nowhere

	// WrongFrees has calls offered to the sink's Wrong that return what seems to be no block, while
	// events are recorded; but not for what is Unsuspected.
	WrongFrees  bool
	Unsuspected [OtherFamily + 1]bool
	blocks      addr.Run // where the states of blocks are; 0 nowhere

	// Entered are threads that are at the entry of a function whose call was reported: it is not to
	// be reported again. Freeing are the frees that threads are in, as plain breakpoints have followed them.
	Entered map[*inferior.Thread]addr.Run
	Freeing []breakpoints.Freeing
}

// patched is a function with a jump over its first instructions, or with a trap at its
// entry where there is no room for one.
type patched struct {
	module   inferior.Module
	entry    addr.Run
	size     uint64
	island   *island
	jump     []byte // as it is in the inferior, or nil
	patch    *inferior.Patch
	thunk    addr.Run
	noRoom   error    // why there is never a jump
	confines uint32   // its first argument when the program confines itself, of such a function; 0 else
	found    addr.Run // the function, of one that is called by a pointer; 0 else
	moved             // the one of the two in use:
	whole    *moved   // what a jump replaces, nil if it has no room,
	single   *moved   // and a trap; nil until it is needed
}

// moved are the first instructions of a function in an island.
type moved struct {
	relocated addr.Run              // the first,
	moves     map[addr.Run]addr.Run // and the others, by their places in the function
	first     []byte                // as they are there
	trap      bool                  // a trap leads to them, not a jump
	back      addr.Run              // where it is read what follows them, see turnable, or 0
}

// site is an allocator function.
type site struct {
	*breakpoints.Site
	patched
	index  int
	bit    uint8
	dead   bool     // its module is gone,
	until  uint64   // and this the position in the ring up to which there may be records of it
	desc   addr.Run // of its latest descriptor,
	filter addr.Run // of that one's condition's code, 0 none,
	guard  addr.Run // of the code that looks at what it returns, 0 none,
	// and the request that it was made for.
	request int
	// entrance is where a pointer leads that represents the function, 0 if its code is patched.
	entrance addr.Run
	swapped  bool               // its thunk swaps the first two arguments, and what is moved does so again
	hooks    []*goHook          // instead of a patch of its own, if it is of a Go runtime
	sweep    breakpoints.Extent // the function that sweeps a span, where it is that
	// keyLoad is the thunk's instruction that reads the thread's key, which faults in a
	// thread that has no FS base.
	keyLoad addr.Run
}

// framed is code that is on the stack while others run, with its FDE.
type framed struct{ low, high, fde addr.Run }

// Arm makes the probe do what is requested for the sites, whose modules are
// all the ones given. All threads must be stopped. The error says what kept
// the probe from watching a function; nothing is watched then.
func (p *Probe) Arm(t *inferior.Thread, modules []inferior.Module, sites []*breakpoints.Site, r Request) error {
	p.reader.Drain()
	left := p.slots.Freeing()
	if !p.armed && !p.slots.still() {
		clear(p.siteTable.passed)
	}
	// The calls that threads are in continue being followed.
	if err := p.siteTable.lift(); err != nil {
		return errors.Join(err, p.disarm())
	}
	p.wantBlocks(t, &r)
	p.conditions.ask(r)
	c := &caller{t: t}
	if err := p.addModules(modules); err != nil {
		return errors.Join(err, p.disarm())
	}
	if err := p.siteTable.addSites(c, modules, sites); err != nil {
		return errors.Join(err, p.disarm())
	}
	if err := p.siteTable.addPointers(c, sites); err != nil {
		return errors.Join(err, p.disarm())
	}
	p.siteTable.lookForTCB(t)
	for _, s := range p.siteTable.list {
		if err := p.siteTable.aim(c, s); err != nil {
			return errors.Join(err, p.disarm())
		}
	}
	p.conditions.setMarks()
	p.conditions.setBlocks()
	p.slots.follow(append(left, r.Freeing...))
	if err := cmp.Or(p.finish(), p.siteTable.exchange()); err != nil {
		return errors.Join(err, p.disarm())
	}
	return nil
}

// finish publishes what was built and switches the probe on.
func (p *Probe) finish() error {
	if err := p.siteTable.dropUnmapped(); err != nil {
		return err
	}
	for _, f := range p.finders.list {
		if err := p.finders.aim(f); err != nil {
			return err
		}
	}
	p.shared.empty(fileVerdicts, 1<<stackBits)
	p.conditions.emptyTypes()
	if err := p.publish(true); err != nil {
		return err
	}
	if err := p.poke(stMode, p.conditions.mode()); err != nil {
		return err
	}
	if err := p.poke(stEnabled, p.conditions.enabled()); err != nil {
		return err
	}
	if err := p.describe(p.footprint()); err != nil {
		return err
	}
	var all []*patched
	for _, s := range p.siteTable.list {
		if !s.dead && s.entrance == 0 {
			all = append(all, s.patches()...)
		}
	}
	for _, f := range append(all, p.finders.list...) {
		if f.patch != nil || f.jump == nil {
			continue
		}
		if err := f.plant(p.proc); err != nil {
			return err
		}
	}
	if err := errors.Join(p.siteTable.passed.place(), p.siteTable.place(p.conditions.entered())); err != nil {
		return err
	}
	p.conditions.keepBounds(!p.armed)
	p.armed = true
	return nil
}

// Numbers reports whether a condition asks for the numbers of events.
func (cs *conditions) Numbers() bool { return cs.request.usesNth() }

// Watches are the blocks that the probe looks out for.
func (cs *conditions) Watches() []uint64 { return cs.request.Blocks }

// SetDepth changes the most frames of a stack for the walks to come.
func (p *Probe) SetDepth(frames int) {
	p.cfg.MaxDepth = frames
	if err := p.poke(stDepth, uint64(min(max(frames, minDepth), maxDepth))); err != nil {
		p.message("probe: %v", err)
	}
}

// Sites is how many functions are watched.
func (st *siteTable) Sites() int { return len(st.byEntry) }

// Armed reports whether functions are watched.
func (p *Probe) Armed() bool { return p.armed }

// Recording reports whether all events go through the ring.
func (p *Probe) Recording() bool { return p.armed && p.conditions.request.Record }

// Disarm takes the jumps out of all functions. All threads must be stopped. The
// core stays: threads may return to it.
func (p *Probe) Disarm() error {
	p.reader.Drain()
	return p.disarm()
}

// lift takes the jumps out of all functions.
func (st *siteTable) lift() error {
	var errs []error
	for _, s := range st.list {
		errs = append(errs, st.passed.lift(s.patches()...))
	}
	errs = append(errs, st.putBack())
	errs = append(errs, st.passed.lift(st.p.finders.list...))
	return errors.Join(errs...)
}

func (p *Probe) disarm() error {
	errs := []error{p.siteTable.lift(), p.freed.lift()}
	for t, f := range p.siteTable.passed {
		if s := p.siteTable.byEntry[f.entry]; s != nil && s.Function.Frees() {
			t.PassTraps(f.entry) // those of plain breakpoints that take over: the call is counted
		}
	}
	if p.armed {
		p.armed = false
		errs = append(errs, p.poke(stEnabled, 0))
		p.blocks.wipe()
		p.slots.idle(p.proc.Runs())
	}
	return errors.Join(errs...)
}

// Loaded follows libraries that come and go while the probe is armed: sites are
// the functions of the added ones. Only the thread that loads need be stopped.
func (p *Probe) Loaded(t *inferior.Thread, added, removed []inferior.Module, sites []*breakpoints.Site) error {
	if len(removed) > 0 {
		p.reader.Drain()
		gone := func(m inferior.Module) bool {
			return slices.ContainsFunc(removed, func(r inferior.Module) bool { return r.Low == m.Low && r.Path == m.Path })
		}
		p.tables.drop(gone)
		p.siteTable.dropSites(gone)
	}
	if err := p.addModules(added); err != nil {
		return err
	}
	c := &caller{t: t}
	if err := p.siteTable.addSites(c, added, sites); err != nil {
		return err
	}
	p.siteTable.lookForTCB(t)
	for _, s := range p.siteTable.list {
		if s.request == p.conditions.requests {
			continue
		}
		if err := p.siteTable.aim(c, s); err != nil {
			return err
		}
	}
	if !p.armed {
		return nil
	}
	if err := p.finish(); err != nil {
		return err
	}
	return p.publish(len(removed) > 0)
}

// Gone releases what hdb holds after the image is no more, or of a process that continues by
// itself.
func (p *Probe) Gone(goesOn bool) {
	p.reader.Drain()
	p.release(goesOn)
}

// Close takes the probe out of a process that continues: the functions are as they were, and what
// was mapped is no longer. If a thread may be inside, it stays until hdb attaches the next time,
// and passes everything on. All threads must be stopped.
func (p *Probe) Close() error {
	if p.closed {
		return nil
	}
	var calls []openCall
	for _, slot := range p.shared.slots() {
		calls = append(calls, openCalls(slot)...)
	}
	err := errors.Join(p.Disarm(), p.matcher.remove())
	p.release(true)
	if err != nil {
		return err // a jump may still lead there
	}
	return p.leave(calls)
}

// release lets go of the memory that is shared with a process, which continues or is gone.
func (p *Probe) release(goesOn bool) {
	if p.closed {
		return
	}
	_ = p.matcher.remove() // of what is gone nothing is written; in a followed child another probe may be put there next
	p.reader.stop()
	p.reader.stats = p.reader.counts() // the last: their memory goes
	p.slots.counted = p.slots.Unreported()
	p.closed = true
	keep().release(p.shared)
	if goesOn {
		p.shared.giveBack()
		p.blocks.wipe()
	}
	p.blocks.close()
	p.shared.close()
}
