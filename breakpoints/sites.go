package breakpoints

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
)

// A Site is an allocator function in a module.
type Site struct {
	Function Function
	Module   string // name of the module
	Addr     addr.Run
	Aliases  []string // other names of the catalogue at the same address
	Err      error    // why no trap is planted
}

// site is a Site with its trap.
type site struct {
	Site
	module inferior.Module
	main   bool   // the module is the program
	size   uint64 // of the function's code, bytes
	trap   trap   // nil with Err
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

// plant adds the sites that the modules define, save those already there.
func (t *Tracer) plant(modules []inferior.Module) error {
	rank := map[string]int{}
	var names []string
	for i, f := range t.funcs {
		if t.filter(f) {
			rank[f.Symbol] = i
			names = append(names, f.Symbol)
		}
	}
	var errs []error
	for _, m := range modules {
		if m.VDSO {
			continue // has no allocator
		}
		symbols, err := t.syms.Defined(m, names)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		// The first name of the catalogue is the one of the site.
		slices.SortStableFunc(symbols, func(a, b Symbol) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
		for _, sym := range symbols {
			if i, known := rank[sym.Name]; known {
				errs = append(errs, t.plantSite(m, sym, t.funcs[i]))
			}
		}
	}
	return errors.Join(errs...)
}

// plantSite plants one function, or notes an alias of one that is planted.
func (t *Tracer) plantSite(m inferior.Module, sym Symbol, f Function) error {
	at := sym.Addr
	if f.Group == GroupGo && !sym.IFunc {
		at = goEntry(t.memory, at)
	}
	if i := slices.IndexFunc(t.sites, func(s *site) bool { return s.Addr == at }); i >= 0 {
		s := t.sites[i]
		if s.Function.Symbol != sym.Name && !slices.Contains(s.Aliases, sym.Name) {
			s.Aliases = append(s.Aliases, sym.Name)
		}
		return nil
	}
	s := &site{Site: Site{Function: f, Module: m.Name, Addr: at}, module: m, size: sym.Size,
		main: m.Path == t.proc.Exe()}
	t.sites = append(t.sites, s)
	if sym.IFunc {
		s.Err = fmt.Errorf("%s in %s: chosen at run time by an IFUNC resolver, calls through it are not seen", f.Symbol, m.Name)
		return s.Err
	}
	s.trap, s.Err = t.proc.Plant(at, func(th *inferior.Thread) inferior.Action { return t.entryHit(s, th) })
	if s.Err != nil {
		s.Err = fmt.Errorf("%s in %s: %w", f.Symbol, m.Name, s.Err)
	}
	return s.Err
}

// A returnTrap stands on a return address, for all calls that return there.
// It outlives them, because the next call from the same place needs it again.
type returnTrap struct {
	trap  trap
	users int  // calls in progress that return here
	keep  bool // the code stays: it is a module's
}

func (r *returnTrap) remove() { _ = r.trap.Remove() } // fails only where the memory is gone

// maxIdleReturns bounds the return traps that wait for their next use.
const maxIdleReturns = 1 << 14

// retain makes sure that a trap stands on the return address a.
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
