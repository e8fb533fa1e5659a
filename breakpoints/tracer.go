package breakpoints

import (
	"io"
	"slices"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// A Sink takes the calls of a Tracer, on the goroutine that owns the process.
type Sink interface {
	// Alloc is called once for each call of the user's code: when the result
	// is known, with t at the return address; for frees at the entry, before
	// they run. Only t is stopped; StopHere stops the whole process there.
	Alloc(t *inferior.Thread, c Call) inferior.Action
	// Keep is called where a call has returned that may be reported later: what
	// it returns is handed back as Call.Kept.
	Keep(t *inferior.Thread, c Call) any
	// Begin is called at the entry of a call that gives an old block back and returns another,
	// if it is one in its own right. StopHere stops the process there.
	Begin(t *inferior.Thread, c Call) inferior.Action
}

// Symbols finds functions in the symbol tables of a module.
type Symbols interface {
	// Defined returns the functions with those linker's names that the module
	// defines itself, in any order. Undefined symbols and PLT stubs are not
	// among them. A name may occur more than once, as with symbol versions.
	Defined(m inferior.Module, names []string) ([]Symbol, error)
	// Extent is the code of the function of a module at an address, by the module's
	// unwinding information.
	Extent(m inferior.Module, a addr.Run) (low, high addr.Run, ok bool)
}

// A Symbol is a function defined by a module.
type Symbol struct {
	Name  string // linker's name
	Addr  addr.Run
	Size  uint64 // bytes, 0 if unknown
	IFunc bool   // STT_GNU_IFUNC: Addr is the resolver's address, not the function's
}

// process is what the tracer needs of an inferior.Process; tests put a script
// in its place.
type process interface {
	io.ReaderAt
	Plant(a addr.Run, h inferior.Handler) (trap, error)
	Modules() []inferior.Module
	Runs() uint64
}

type trap interface{ Remove() error }

// engine makes a process of an inferior.Process.
type engine struct{ *inferior.Process }

func (e engine) Plant(a addr.Run, h inferior.Handler) (trap, error) {
	t, err := e.Process.Plant(a, h)
	if err != nil {
		return nil, err // not a nil *Trap in an interface
	}
	return t, nil
}

// Stats counts what a Tracer did.
type Stats struct {
	Calls     uint64 // reported
	Inner     uint64 // calls of allocators by allocators, not reported
	Abandoned uint64 // reported as left without returning
	Lost      uint64 // not reported, because the stack could not be read or no return trap planted
	LostCause error  // of the last one
}

// A Tracer reports the allocator calls of a process. Its methods and the
// handlers of its traps run on the goroutine that owns the process.
type Tracer struct {
	proc    process
	memory  reader
	syms    Symbols
	sink    Sink
	funcs   []Function // catalogue and what Add added, first name wins
	filter  func(Function) bool
	modules []inferior.Module
	sites   []*site // in order of planting
	returns map[addr.Run]*returnTrap
	shadows map[int32]*shadow   // by TID
	stack   window              // of the thread at an entry
	resizes map[uint64]*pending // reallocs that have begun, by their old block
	idle    idle
	stats   Stats
}

// NewTracer makes a tracer that plants nothing before Arm.
func NewTracer(p *inferior.Process, syms Symbols, sink Sink) *Tracer {
	return newTracer(engine{p}, syms, sink)
}

func newTracer(p process, syms Symbols, sink Sink) *Tracer {
	t := &Tracer{proc: p, memory: reader{p}, syms: syms, sink: sink, funcs: catalogue()}
	t.stack.memory = t.memory
	t.forget()
	return t
}

// Add makes a user's function part of the catalogue. One of the same symbol is
// replaced. If the tracer is armed, traps for it are planted at once.
func (t *Tracer) Add(f Function) error {
	same := func(g Function) bool { return g.Symbol == f.Symbol }
	t.dropSites(func(s *site) bool { return same(s.Function) })
	t.funcs = append([]Function{f}, slices.DeleteFunc(slices.Clone(t.funcs), same)...) // others have the list
	if t.filter == nil {
		return nil
	}
	return t.plant(t.modules)
}

// Functions lists the functions looked for, the user's own first. The list is not to be
// changed.
func (t *Tracer) Functions() []Function { return t.funcs }

// Arm plants traps on all functions that filter accepts, in all modules, and
// removes those it does not accept. The error joins what could not be planted;
// Sites shows it too. Armed already, the tracer keeps the calls in progress.
func (t *Tracer) Arm(filter func(Function) bool) error {
	var left []Freeing
	if t.filter == nil {
		left = t.Freeing()
	}
	t.filter = filter
	t.modules = slices.Clone(t.proc.Modules())
	t.dropSites(func(s *site) bool { return s.Err != nil || !filter(s.Function) })
	err := t.plant(t.modules)
	t.Follow(left)
	t.idle = idle{}
	return err
}

// idle are the frees that a tracer which is not armed keeps whose functions have not returned, as long as
// no thread has run since: what they call is not to be taken for calls of their own.
type idle struct {
	runs  uint64 // of the process
	frees []Freeing
}

// A Freeing is a free that a thread is in, as whatever follows it hands it on: what it calls is its work.
type Freeing struct {
	TID        int32
	Block      uint64
	SP, Return addr.Run   // at its entry
	Sites      []addr.Run // entries of the functions that free the block, the last one first
}

// Freeing are the frees that threads are in. A tracer that is not armed knows them until a thread runs.
func (t *Tracer) Freeing() (all []Freeing) {
	if t.filter == nil {
		if t.idle.runs != t.proc.Runs() {
			return nil
		}
		return t.idle.frees
	}
	for tid, sh := range t.shadows {
		if len(sh.freed.sites) == 0 {
			continue
		}
		f := Freeing{TID: tid, Block: sh.freed.Event.Addr, SP: sh.freed.SP, Return: sh.freed.Return}
		for _, s := range slices.Backward(sh.freed.sites) {
			f.Sites = append(f.Sites, s.Addr)
		}
		all = append(all, f)
	}
	return all
}

// Follow takes frees over that threads are in.
func (t *Tracer) Follow(frees []Freeing) {
	for _, f := range frees {
		now := freed{Call: Call{SP: f.SP, Return: f.Return, Event: capture.Event{Addr: f.Block}}}
		for _, a := range slices.Backward(f.Sites) {
			if i := slices.IndexFunc(t.sites, func(s *site) bool { return s.Addr == a }); i >= 0 {
				now.sites = append(now.sites, t.sites[i])
			}
		}
		t.shadow(f.TID).freed = now
	}
}

// Entered takes threads that are at the entry of a function whose call was reported before the tracer
// was armed: of a free, what it calls is its work.
func (t *Tracer) Entered(at map[*inferior.Thread]addr.Run) {
	for th, entry := range at {
		i := slices.IndexFunc(t.sites, func(s *site) bool { return s.Addr == entry && s.Function.frees() })
		regs, err := th.Regs()
		if i < 0 || err != nil {
			continue
		}
		call := newCall(t.sites[i], int32(th.TID), regs)
		if t.stack.look(call.SP, 0) != nil {
			continue
		}
		call.Return = addr.Run(t.stack.word(call.SP))
		t.shadow(int32(th.TID)).freed = freed{Call: call, sites: []*site{t.sites[i]}}
	}
}

// Armed reports whether traps are planted or wanted.
func (t *Tracer) Armed() bool { return t.filter != nil }

// Disarm removes all traps and forgets the calls in progress, frees when a thread runs.
func (t *Tracer) Disarm() {
	if t.filter != nil {
		t.idle = idle{runs: t.proc.Runs(), frees: t.Freeing()}
	}
	t.filter = nil
	t.Reset()
}

// Reset forgets all sites and calls, for when the process has changed under the tracer: after exec,
// and when a forked child or another process takes its place. Traps that are still planted are
// removed. The filter stays: Rearm plants anew, or ModulesChanged as modules are found.
func (t *Tracer) Reset() {
	t.dropSites(func(*site) bool { return true })
	for _, r := range t.returns {
		r.remove()
	}
	t.modules = nil
	t.forget()
}

// Rearm is Arm with the filter that is set; it does nothing if there is none.
func (t *Tracer) Rearm() error {
	if t.filter == nil {
		return nil
	}
	return t.Arm(t.filter)
}

func (t *Tracer) forget() {
	t.returns = map[addr.Run]*returnTrap{}
	t.shadows = map[int32]*shadow{}
	t.resizes = map[uint64]*pending{}
}

// ModulesChanged plants traps in modules that were loaded and forgets those in
// modules that were unloaded. It does nothing while the tracer is not armed.
func (t *Tracer) ModulesChanged(added, removed []inferior.Module) error {
	if t.filter == nil {
		return nil
	}
	t.modules = slices.DeleteFunc(t.modules, func(m inferior.Module) bool { return containsModule(removed, m) })
	t.dropSites(func(s *site) bool { return containsModule(removed, s.In) })
	for a, r := range t.returns {
		if slices.ContainsFunc(removed, func(m inferior.Module) bool { return covers(m, a) }) {
			r.remove()
			delete(t.returns, a)
		}
	}
	added = slices.DeleteFunc(slices.Clone(added), func(m inferior.Module) bool { return containsModule(t.modules, m) })
	t.modules = append(t.modules, added...)
	return t.plant(added)
}

// ThreadExited forgets the calls that a thread was in.
func (t *Tracer) ThreadExited(tid int32) {
	if sh := t.shadows[tid]; sh != nil {
		t.drop(sh, 0)
		delete(t.shadows, tid)
	}
}

// Sites lists the functions found, planted or not, in order of discovery.
func (t *Tracer) Sites() []Site {
	list := make([]Site, len(t.sites))
	for i, s := range t.sites {
		list[i] = s.Site
	}
	return list
}

// Stats returns the counts since NewTracer.
func (t *Tracer) Stats() Stats { return t.stats }

func containsModule(list []inferior.Module, m inferior.Module) bool {
	return slices.ContainsFunc(list, func(o inferior.Module) bool { return o.Low == m.Low && o.Path == m.Path })
}

func covers(m inferior.Module, a addr.Run) bool { return m.Low <= a && a < m.High }

// inModule reports whether a is in a module: code that stays where it is.
func (t *Tracer) inModule(a addr.Run) bool {
	return slices.ContainsFunc(t.modules, func(m inferior.Module) bool { return covers(m, a) })
}

// lose counts a call that cannot be reported.
func (t *Tracer) lose(err error) inferior.Action {
	t.stats.Lost++
	t.stats.LostCause = err
	return inferior.Resume
}
