package breakpoints

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
)

// A Site is an allocator function in a module.
type Site struct {
	Function   Function
	Module     string // name of the module
	In         inferior.Module
	Addr       addr.Run
	Before     int    // bytes of the function's code before Addr: of a check for stack space
	Size       uint64 // of the function's code, these included, bytes; 0 unknown
	Exceptions Extent // code of the module that allocates exceptions, which is no function's work
	Release    Extent // code that calls a function that frees to give a thread's cache back; empty if there is none
	Restarts   bool   // frees, and jumps to its own entry once in each thread
	Err        error  // why no trap is planted
	Pointer    bool   // Addr is the address of a pointer to the function, in a table: the pointer is exchanged, and no code changed
}

// site is a Site with its trap.
type site struct {
	Site
	trap trap // nil with Err
}

// dropSites removes the sites that match, and their traps. A trap whose
// memory is unmapped is gone already, so its error means nothing.
func (t *Tracer) dropSites(match func(*site) bool) {
	t.sites = slices.DeleteFunc(t.sites, func(s *site) bool {
		if !match(s) {
			return false
		}
		if s.trap != nil {
			_ = s.trap.Remove()
		}
		return true
	})
}

// allocateException is the function of the C++ ABI (Itanium C++ ABI: Exception Handling,
// section 2.4.2) that allocates the exceptions that operator new throws, too.
const allocateException = "__cxa_allocate_exception"

// A Finder finds the allocator functions of modules.
type Finder struct {
	Symbols Symbols
	Memory  io.ReaderAt // of the inferior
}

// Find adds to known what the modules define of the functions, each with a
// reason in Err if it cannot be watched. A name at an address that is known
// becomes an alias. The first name of the list gives the name. The error joins
// what kept modules from being read.
func (f Finder) Find(known []*Site, modules []inferior.Module, funcs []Function) ([]*Site, error) {
	rank := make(map[string]int, len(funcs))
	names := make([]string, len(funcs))
	for i, fn := range funcs {
		rank[fn.Symbol], names[i] = i, fn.Symbol
	}
	names = append(names, allocateException)
	var errs []error
	for _, m := range modules {
		if m.VDSO {
			continue // has no allocator
		}
		symbols, err := f.Symbols.Defined(m, names)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		slices.SortStableFunc(symbols, func(a, b Symbol) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
		before := len(known)
		for _, sym := range symbols {
			if i, wanted := rank[sym.Name]; wanted {
				known = f.enter(known, m, sym, funcs[i])
			}
		}
		if len(known) > before {
			f.setReleases(m, known)
		}
		if i := slices.IndexFunc(symbols, func(s Symbol) bool { return s.Name == allocateException }); i >= 0 {
			code := Extent{symbols[i].Addr, symbols[i].Addr + addr.Run(symbols[i].Size)}
			for _, s := range known[before:] {
				s.Exceptions = code
			}
		}
	}
	return known, errors.Join(errs...)
}

// enter adds one function, or notes an alias of one that is known.
func (f Finder) enter(known []*Site, m inferior.Module, sym Symbol, fn Function) []*Site {
	at := sym.Addr
	before := 0
	if fn.Group == GroupGo && !sym.IFunc {
		before = GoCheck(f.Memory, at)
		at += addr.Run(before)
	}
	if i := slices.IndexFunc(known, func(s *Site) bool { return s.Addr == at }); i >= 0 {
		known[i].Function.Alias(fn)
		return known
	}
	s := &Site{Function: fn, Module: m.Name, In: m, Addr: at, Before: before, Size: sym.Size}
	if sym.IFunc {
		s.Err = fmt.Errorf("%s in %s: chosen at run time by an IFUNC resolver: its calls cannot be followed", fn.Symbol, m.Name)
	}
	return append(known, s)
}

// plant adds the sites that the modules define, save those already there.
func (t *Tracer) plant(modules []inferior.Module) error {
	funcs := slices.DeleteFunc(slices.Clone(t.funcs), func(f Function) bool { return !t.filter(f) })
	known := make([]*Site, len(t.sites))
	for i, s := range t.sites {
		known[i] = &s.Site
	}
	finder := Finder{Symbols: t.syms, Memory: t.proc}
	found, err := finder.Find(known, modules, funcs)
	errs := []error{err}
	for _, s := range found[len(known):] {
		errs = append(errs, t.plantSite(&site{Site: *s}))
	}
	return errors.Join(errs...)
}

// plantSite plants the trap of a site that was found.
func (t *Tracer) plantSite(s *site) error {
	if s.Function.Sweeps() {
		return nil
	}
	t.sites = append(t.sites, s)
	if s.Err != nil {
		return s.Err
	}
	s.trap, s.Err = t.proc.Plant(s.Addr, func(th *inferior.Thread) inferior.Action { return t.entryHit(s, th) })
	if s.Err != nil {
		s.Err = fmt.Errorf("%s in %s: %w", s.Function.Symbol, s.Module, s.Err)
	}
	return s.Err
}

// A returnTrap is on a return address, for all calls that return there. It outlives them, because
// the next call from the same place needs it again.
type returnTrap struct {
	trap  trap
	users int  // calls in progress that return here
	keep  bool // the code stays: it is a module's
}

func (r *returnTrap) remove() { _ = r.trap.Remove() } // fails only where the memory is gone

// maxIdleReturns bounds the return traps that wait for their next use.
const maxIdleReturns = 1 << 14

// retain makes sure that a trap is on the return address a.
func (t *Tracer) retain(a addr.Run) error {
	r := t.returns[a]
	if r == nil {
		if len(t.returns) >= maxIdleReturns {
			t.dropIdle()
		}
		planted, err := t.proc.Plant(a, func(th *inferior.Thread) inferior.Action { return t.returnHit(a, th) })
		if err != nil {
			return fmt.Errorf("return address %s: %w", a, err)
		}
		r = &returnTrap{trap: planted, keep: t.inModule(a)}
		t.returns[a] = r
	}
	r.users++
	return nil
}

// release ends one use of the trap at a. Code outside of modules is written at
// run time: a trap left there would break what is written next.
func (t *Tracer) release(a addr.Run) {
	r := t.returns[a]
	if r == nil {
		return // went with its module
	}
	r.users--
	if r.users <= 0 && !r.keep {
		r.remove()
		delete(t.returns, a)
	}
}

func (t *Tracer) dropIdle() {
	for a, r := range t.returns {
		if r.users <= 0 {
			r.remove()
			delete(t.returns, a)
		}
	}
}

// strayReturn handles a return trap that no call in progress expects: the code
// after the call is also reached by a jump, or the call was abandoned. Unless
// a call needs it, the trap goes, so that a loop there is not slowed down.
func (t *Tracer) strayReturn(a addr.Run) {
	if r := t.returns[a]; r != nil && r.users <= 0 {
		r.remove()
		delete(t.returns, a)
	}
}
