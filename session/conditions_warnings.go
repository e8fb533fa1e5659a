package session

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/symbols"
	"hdb/values"
)

// Warn says which parts of a condition are not what they seem: numbers of the heap that are in
// doubt, comparisons that no event satisfies, and names that nothing has which is loaded now, or
// will be when the program starts. Most of these are misspelt; a library that comes later may still
// bring them.
func (c *Conditions) Warn(x *cond.Cond) { c.warn(x, false) }

// warnStop is Warn of a stop.
func (c *Conditions) warnStop(st *breakpoints.Stop) {
	if onState(st) {
		c.warnStopCounts(st)
		return
	}
	c.warn(st.Cond, st.Kind == breakpoints.StopFree)
}

// warnPlaces describes places of a stop that have no variable which its condition asks for, as one
// of several overloads: a condition that cannot be read stops.
func (c *Conditions) warnPlaces(st *breakpoints.Stop, x *cond.Expr) {
	if !onCode(st) {
		return
	}
	for _, p := range st.Places {
		f := variables.FrameOfPlace(c.target, p)
		if f == nil {
			continue
		}
		var none *values.NoSymbolError
		if err := c.expression(x.Text, f); errors.As(err, &none) {
			c.target.Notify("condition: %s: no symbol %q in %s at %s:%d (%v): each hit there stops", x.Text, none.Name, p.Function, filepath.Base(p.File), p.Line, p.Addr)
		}
	}
}

func (c *Conditions) warn(x *cond.Cond, frees bool) {
	c.warnCounts(x)
	for _, cmp := range x.Impossible(frees) {
		why := ""
		if cmp.Field == cond.Addr {
			why = ": free(NULL) does nothing and is no event"
		}
		c.target.Notify("%s: never true%s", cmp, why)
	}
	if x == nil || c.target.Saved != nil {
		return
	}
	for _, name := range x.Asked(cond.Domain) {
		if !c.target.Settings.PythonAllocators {
			c.target.Notify("domain == %s: never true: CPython's own allocators are not followed (set python-allocators on)", name)
		}
	}
	for _, name := range x.Asked(cond.Kind) {
		c.warnKind(name)
	}
	if x.Uses(cond.Goroutine) && !c.ofGo() {
		c.target.Notify("goroutine: never true: nothing of the program is Go")
	}
	var objs []names.Image
	for _, ask := range recording.Questions(x) {
		if ask.Predicate == cond.PyFile {
			continue // which files there will be is not known
		}
		if ask.Predicate == cond.Like {
			if _, err := c.likes.Of(ask.Name); err != nil {
				c.target.Notify("like(%q): never true: %v", ask.Name, err)
			}
			continue
		}
		if objs == nil {
			if objs = c.expected(); len(objs) == 0 {
				return
			}
		}
		switch {
		case ask.Predicate == cond.Module && !slices.ContainsFunc(objs, func(m names.Image) bool { return query.MatchModule(ask.Name, filepath.Base(m.Name)) }):
			c.target.Notify("module(%q): no such program or library is loaded now", ask.Name)
		case ask.Predicate != cond.Module && slices.ContainsFunc(objs, func(m names.Image) bool { return cpython.HasPython(m.Object) }): // it may be one of its
		case ask.Predicate != cond.Module && !strings.Contains(ask.Name, "*") && !hasFunction(objs, ask.Name):
			of := func(name string) string {
				return strings.Replace(ask.Predicate.String(), "()", fmt.Sprintf("(%q)", name), 1)
			}
			hint := ""
			if near := c.loc.Meant(ask.Name); near != "" {
				hint = ": did you mean " + of(near) + "?"
			}
			c.target.Notify("%s: no such function in what is loaded now%s", of(ask.Name), hint)
		}
	}
}

// warnKind says why no event is of a kind: its name is unknown, no module defines it, or the same
// code has another name, which its events have.
func (c *Conditions) warnKind(name string) {
	ofKind := func(f breakpoints.Function) bool { return f.OfKind(name) }
	all := c.allocators.All()
	if !slices.ContainsFunc(all, ofKind) {
		c.target.Notify("kind(%q): no allocator function has that name (alloc list)", name)
		return
	}
	objs := c.expected()
	if len(objs) == 0 || slices.ContainsFunc(c.allocators.Fns, ofKind) {
		return
	}
	catalogue := breakpoints.Catalogue()
	rank, names := make(map[string]int, len(catalogue)), make([]string, len(catalogue))
	for i, f := range catalogue {
		rank[f.Symbol], names[i] = i, f.Symbol
	}
	sought := symbols.NewNames(names)
	other := ""
	for _, m := range objs {
		syms := slices.DeleteFunc(m.Object.Symtab.SymbolsAmong(sought), func(y symbols.Sym) bool { return !y.IsCode() })
		slices.SortStableFunc(syms, func(a, b symbols.Sym) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
		code := map[addr.File]*breakpoints.Function{}
		for _, y := range syms {
			f := catalogue[rank[y.Name]]
			if first := code[y.Addr]; first != nil {
				first.Alias(f)
			} else {
				code[y.Addr] = &f
			}
		}
		for _, y := range syms {
			f := code[y.Addr]
			if ofKind(*f) {
				return
			}
			if ofKind(catalogue[rank[y.Name]]) {
				other = f.Name
			}
		}
	}
	if other != "" {
		c.target.Notify("kind(%q): never true here: it is the same code as %s, whose name its events have", name, other)
		return
	}
	c.target.Notify("kind(%q): no loaded module defines it", name)
}

// expected are the modules of the process, or those that a program begins with.
func (c *Conditions) expected() []names.Image {
	if c.target.Mode() != target.Loaded {
		return c.target.Names.Images()
	}
	return c.target.Names.LinkedImages()
}

// hasFunction looks where it costs least first: in symbol tables, then in all debug
// information.
func hasFunction(objs []names.Image, name string) bool {
	return slices.ContainsFunc(objs, func(m names.Image) bool { _, ok := m.Object.Symtab.Symbol(name); return ok }) ||
		slices.ContainsFunc(objs, func(m names.Image) bool { return len(m.Object.FindFunctions(name)) > 0 || m.Object.GoNames(name) })
}

// countsDoubt says why live and blocks may not be what a condition that asks for them
// takes them for.
func (c *Conditions) countsDoubt(x *cond.Cond) report.Doubt {
	if x == nil || !x.Uses(cond.Live) && !x.Uses(cond.Blocks) {
		return report.NoDoubt
	}
	return c.heapDoubt()
}

// stopDoubt is countsDoubt of the condition of a stop, which may be one on state.
func (c *Conditions) stopDoubt(st *breakpoints.Stop) report.Doubt {
	if onState(st) && st.When.Counts() {
		return c.heapDoubt()
	}
	return c.countsDoubt(st.Cond)
}

// heapDoubt says why live and blocks may not be those of the process.
func (c *Conditions) heapDoubt() report.Doubt {
	switch {
	case c.target.Saved != nil && c.account.LiveDoubt(c.target.Saved) != report.NoDoubt:
		return report.CountsMayBeWrong
	case c.target.Saved != nil:
	case c.account.Gaps.Counted():
		return report.CountsUnknown
	case c.account.Gaps.Calls():
		return report.CountsMayBeLow
	}
	return report.NoDoubt
}

// warnCounts says so, once in a run for the same condition and doubt.
func (c *Conditions) warnCounts(x *cond.Cond) { c.warnDoubt(x.String, c.countsDoubt(x)) }

// warnStopCounts is warnCounts of a stop.
func (c *Conditions) warnStopCounts(st *breakpoints.Stop) {
	if onState(st) {
		c.warnDoubt(st.When.String, c.stopDoubt(st))
		return
	}
	c.warnCounts(st.Cond)
}

func (c *Conditions) warnDoubt(condition func() string, doubt report.Doubt) {
	if doubt == report.NoDoubt {
		return
	}
	text := condition() + ": " + report.DoubtText(doubt)
	if c.target.Said[text] {
		return
	}
	if c.target.Said == nil { // a capture is open
		c.target.Said = map[string]bool{}
	}
	c.target.Said[text] = true
	c.target.Notify("%s", text)
}
