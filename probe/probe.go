package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

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
	// Unwinder are the places where a module defines functions of the C++
	// runtime's unwinder.
	Unwinder func(m inferior.Module, names ...string) []breakpoints.Symbol
	// Sink is told of events.
	Sink Sink
	// Now is the time of the session, which events are given.
	Now time.Duration
	// MaxDepth is the most frames of a recorded stack.
	MaxDepth int
	// Message is for the user: what could not be done, but hurts nothing.
	Message func(string)
}

// A Probe is the data plane of one program image.
type Probe struct {
	cfg      Config
	proc     *inferior.Process
	shared   *shared
	remote   remote
	core     *core
	frames   frameMap
	fsgsbase bool
	tables   *tables
	islands  []*island
	framed   []framed // pieces of code whose frames exceptions may pass
	coreCFI  *unwind.Table
	coreRows ownTable

	sites     []*site // by index
	byEntry   map[addr.Run]*site
	byDesc    map[addr.Run]*site
	retired   map[addr.Run]*site // by entry: those that are gone
	finders   []*patched         // _Unwind_Find_FDE and the like
	strangers []inferior.Module  // that have other unwinders
	bits      [2]uint8           // next number in sets, for functions that free or not

	request  Request
	requests int // how many there were
	armed    bool
	marked   bool // blocks are, or were
	counting bool // the core keeps the bounds that conditions compare with
	closed   bool
	stopped  bool           // all threads are
	alone    bool           // the core's records take no turns: there is one thread
	noTSC    bool           // a thread may not read the time stamp counter
	gate     *inferior.Trap // where threads offer matches,
	signal   int            // the signal that they send themselves there,
	trap     *inferior.Trap // and where they do in strict seccomp

	// mu guards the reader, and changes of sites and islands, which only the owner
	// makes. It is held while the ring is drained, and so while the sink is called,
	// which may take locks of its own.
	mu sync.Mutex
	reader
}

// A Request says what is wanted of the probe.
type Request struct {
	Record bool                // all events go to the ring
	Stops  []*breakpoints.Stop // enabled ones on allocator calls
	Next   *Next               // what next-alloc waits for, or nil
	Seq    uint64              // number of the last event
	Blocks []uint64            // whose ends are wanted, though not all events are

	Live  iter.Seq2[uint64, uint64] // the blocks that hdb knows, and their sizes
	marks addr.Run                  // where blocks are marked; 0 nowhere

	// Entered are threads that stand at the entry of a function whose call was
	// reported: it is not to be reported again.
	Entered map[*inferior.Thread]addr.Run
}

// patched is a function with a jump over its first instructions, or with a trap at its
// entry where there is no room for one.
type patched struct {
	module inferior.Module
	entry  addr.Run
	size   uint64
	island *island
	jump   []byte // as it is in the inferior, or nil
	patch  *inferior.Patch
	thunk  addr.Run
	noRoom error  // why there is never a jump
	moved         // the one of the two in use:
	whole  *moved // what a jump replaces, nil if it has no room,
	single *moved // and a trap; nil until it is needed
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
	// and the request that it was made for.
	request int
	// keyLoad is the thunk's first instruction, which faults in a thread that
	// has no FS base yet.
	keyLoad addr.Run
}

// framed is code that is on the stack while others run, with its FDE.
type framed struct{ low, high, fde addr.Run }

// Arm makes the probe do what is requested for the sites, whose modules are
// all the ones given. All threads must be stopped. The error says what kept
// the probe from watching a function; nothing is watched then.
func (p *Probe) Arm(t *inferior.Thread, modules []inferior.Module, sites []*breakpoints.Site, r Request) error {
	p.Drain()
	// The calls that threads are in go on being followed.
	if err := p.lift(); err != nil {
		return errors.Join(err, p.disarm())
	}
	p.request = r
	if r.Record && r.Live != nil && len(r.freed()) > 0 {
		p.request.marks = p.remote.file + fileMarks
	}
	p.requests++
	c := &caller{t: t}
	if err := p.addModules(modules); err != nil {
		return errors.Join(err, p.disarm())
	}
	if err := p.addSites(c, modules, sites); err != nil {
		return errors.Join(err, p.disarm())
	}
	for _, s := range p.sites {
		if err := p.aim(c, s); err != nil {
			return errors.Join(err, p.disarm())
		}
	}
	p.setMarks()
	if err := p.finish(); err != nil {
		return errors.Join(err, p.disarm())
	}
	return nil
}

// finish publishes what was built and switches the probe on.
func (p *Probe) finish() error {
	if err := p.dropUnmapped(); err != nil {
		return err
	}
	for _, f := range p.finders {
		if err := p.aimFinder(f); err != nil {
			return err
		}
	}
	p.shared.empty(fileVerdicts, 1<<stackBits)
	if err := p.publish(true); err != nil {
		return err
	}
	if err := p.poke(stMode, p.mode()); err != nil {
		return err
	}
	if err := p.poke(stEnabled, p.enabled()); err != nil {
		return err
	}
	if err := p.describe(p.footprint()); err != nil {
		return err
	}
	var all []*patched
	for _, s := range p.sites {
		if !s.dead {
			all = append(all, &s.patched)
		}
	}
	for _, f := range append(all, p.finders...) {
		if f.patch != nil || f.jump == nil {
			continue
		}
		if err := f.plant(p.proc); err != nil {
			return err
		}
	}
	if err := p.place(p.request.Entered); err != nil {
		return err
	}
	p.request.Entered = nil
	counts := p.mode()&(modeNumber|modeLive) != 0
	if !p.armed || counts && !p.counting {
		p.setBounds()
	}
	p.armed, p.counting = true, counts
	return nil
}

// Numbers reports whether a condition asks for the numbers of events.
func (p *Probe) Numbers() bool { return p.request.usesNth() }

// Watches are the blocks that the probe looks out for.
func (p *Probe) Watches() []uint64 { return p.request.Blocks }

// SetDepth changes the most frames of a stack for the walks to come.
func (p *Probe) SetDepth(frames int) {
	p.cfg.MaxDepth = frames
	if err := p.poke(stDepth, uint64(min(max(frames, minDepth), maxDepth))); err != nil {
		p.message("probe: %v", err)
	}
}

// Sites is how many functions are watched.
func (p *Probe) Sites() int { return len(p.byEntry) }

// Armed reports whether functions are watched.
func (p *Probe) Armed() bool { return p.armed }

// Recording reports whether all events go through the ring.
func (p *Probe) Recording() bool { return p.armed && p.request.Record }

// Disarm takes the jumps out of all functions. All threads must be stopped. The
// core stays: threads may return to it.
func (p *Probe) Disarm() error {
	p.Drain()
	return p.disarm()
}

// lift takes the jumps out of all functions.
func (p *Probe) lift() error {
	var errs []error
	for _, s := range p.sites {
		errs = append(errs, s.lift())
	}
	for _, f := range p.finders {
		errs = append(errs, f.lift())
	}
	return errors.Join(errs...)
}

func (p *Probe) disarm() error {
	errs := []error{p.lift()}
	if p.armed {
		p.armed = false
		errs = append(errs, p.poke(stEnabled, 0))
		p.forgetThreads()
	}
	return errors.Join(errs...)
}

// forgetThreads empties all slots, and so the shadow stacks: what is called
// while the probe is off does not pass through it.
func (p *Probe) forgetThreads() {
	for _, slot := range p.shared.slots() {
		p.empty(slot)
	}
}

// empty gives a slot back, but for its count. The key goes last: a thread may
// take the slot from then on. It is not free as it was before, or threads that
// have passed it over on the way to their own slots would take it for a second.
func (p *Probe) empty(slot []byte) {
	key := binary.LittleEndian.Uint64(slot[slKey:])
	if key == slotLeft || key == 0 && binary.LittleEndian.Uint32(slot[slTID:]) == 0 {
		return
	}
	p.counted += binary.LittleEndian.Uint64(slot[slEvents:])
	clear(slot[slKey+8:])
	if key != 0 {
		(*atomic.Uint64)(unsafe.Pointer(&slot[slKey])).Store(slotLeft)
	}
}

// Events is how many events the core has counted since Inject, in all threads.
func (p *Probe) Events() uint64 {
	if p.closed {
		return p.counted
	}
	sum := p.counted
	for _, slot := range p.shared.slots() {
		sum += binary.LittleEndian.Uint64(slot[slEvents:])
	}
	return sum
}

// ThreadExited gives the slot of a thread back. The calls it was in are forgotten
// when its records have been handled.
func (p *Probe) ThreadExited(tid int32) {
	p.noteExit(uint32(tid))
	for _, slot := range p.shared.slots() {
		if binary.LittleEndian.Uint32(slot[slTID:]) == uint32(tid) {
			p.empty(slot)
		}
	}
}

// noteExit has the calls of a thread forgotten behind its records.
func (p *Probe) noteExit(tid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed {
		return
	}
	p.exits = append(p.exits, exit{tid, p.head()})
	p.accounted(0, 0, func() inferior.Action {
		p.forgetExited()
		p.flush()
		return inferior.Resume
	})
}

// Guest follows a vfork child, which runs in the inferior's memory with the
// thread-local storage of thread t, and so with its slot: what it does is not
// the inferior's doing. The slot is as it was when the child has left.
func (p *Probe) Guest(t, child int32, begins bool) {
	p.Exclusive(func() {
		if !begins {
			if i := p.slotOf(uint32(child)); i >= 0 {
				saved := p.guests[uint32(child)]
				if len(saved) == 0 { // the child has taken it: the thread had none
					saved = binary.LittleEndian.AppendUint64(nil, slotLeft)
					saved = append(saved, make([]byte, slotSize-len(saved))...)
				}
				copy(p.shared.slot(i), saved)
			}
			delete(p.guests, uint32(child))
			return
		}
		p.share()
		p.guests[uint32(child)] = []byte{}
		if i := p.slotOf(uint32(t)); i >= 0 {
			slot := p.shared.slot(i)
			p.guests[uint32(child)] = bytes.Clone(slot)
			binary.LittleEndian.PutUint32(slot[slTID:], uint32(child))
		}
	})
}

// slotOf is the index of a thread's slot, -1 if it has none. The first thread may
// have left another behind, from before it had an FS base: a free one, whose key
// of 0 was its own at that time.
func (p *Probe) slotOf(tid uint32) int {
	for i, slot := range p.shared.slots() {
		if binary.LittleEndian.Uint64(slot[slKey:]) != 0 && binary.LittleEndian.Uint32(slot[slTID:]) == tid {
			return i
		}
	}
	return -1
}

// Loaded follows libraries that come and go while the probe is armed: sites are
// the functions of the added ones. Only the thread that loads need be stopped.
func (p *Probe) Loaded(t *inferior.Thread, added, removed []inferior.Module, sites []*breakpoints.Site) error {
	if len(removed) > 0 {
		p.Drain()
		gone := func(m inferior.Module) bool {
			return slices.ContainsFunc(removed, func(r inferior.Module) bool { return r.Low == m.Low && r.Path == m.Path })
		}
		p.tables.drop(gone)
		p.dropSites(gone)
	}
	if err := p.addModules(added); err != nil {
		return err
	}
	c := &caller{t: t}
	if err := p.addSites(c, added, sites); err != nil {
		return err
	}
	for _, s := range p.sites {
		if s.request == p.requests {
			continue
		}
		if err := p.aim(c, s); err != nil {
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

// ModuleAt is how hdb's own unwinder finds its way through the probe's code.
func (p *Probe) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	if pc >= p.remote.core && pc < p.remote.core+maxCore {
		return p.coreCFI, 0, true
	}
	for _, i := range p.islands {
		if !i.covers(pc) {
			continue
		}
		if i.cfiRows != len(i.rows) {
			t, err := i.unwinding(p.tables.rules.List())
			if err != nil {
				p.message("probe: unwinding of its own code: %v", err)
			}
			i.cfi, i.cfiRows = t, len(i.rows)
		}
		return i.cfi, 0, i.cfi != nil
	}
	return nil, 0, false
}

// Covers tells whether an address is the probe's own.
func (p *Probe) Covers(a addr.Run) bool {
	if a >= p.remote.core && a < p.remote.core+maxCore {
		return true
	}
	return slices.ContainsFunc(p.islands, func(i *island) bool { return i.covers(a) })
}

// Gone releases what hdb holds after the image is no more, or of a process that goes on
// by itself.
func (p *Probe) Gone(goesOn bool) {
	p.Drain()
	p.release(goesOn)
}

// Close takes the probe out of a process that goes on: the functions are as they were,
// and what was mapped is not any more. If a thread may be inside, it stays until hdb
// attaches the next time, and passes everything on. All threads must be stopped.
func (p *Probe) Close() error {
	if p.closed {
		return nil
	}
	var calls []openCall
	for _, slot := range p.shared.slots() {
		calls = append(calls, openCalls(slot)...)
	}
	err := errors.Join(p.Disarm(), p.trap.Remove())
	p.release(true)
	if err != nil {
		return err // a jump may still lead there
	}
	return p.leave(calls)
}

// release lets go of the memory that is shared with a process, which goes on or is
// gone.
func (p *Probe) release(goesOn bool) {
	if p.closed {
		return
	}
	_ = p.gate.Remove() // no memory is written
	p.reader.stop()
	p.stats = p.counts()
	p.counted = p.Events()
	p.closed = true
	keep().release(p.shared)
	if goesOn {
		p.shared.giveBack()
	}
	p.shared.close()
}
