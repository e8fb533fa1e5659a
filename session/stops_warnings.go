package session

import (
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
	"hdb/symbols"
)

// WarnCondition says what of a condition is not what it seems: numbers of the heap that
// are in doubt, comparisons that no event satisfies, and names that nothing has which is
// loaded now, or will be when the program starts. Most of these are misspelt; a library
// that comes later may still bring them.
func (s *Stops) WarnCondition(c *cond.Cond) { s.warnCondition(c, false) }

// warnStop is WarnCondition of a stop.
func (s *Stops) warnStop(st *breakpoints.Stop) {
	s.warnCondition(st.Cond, st.Kind == breakpoints.StopFree)
}

func (s *Stops) warnCondition(c *cond.Cond, frees bool) {
	s.warnCounts(c)
	for _, cmp := range c.Impossible(frees) {
		why := ""
		if cmp.Field == cond.Addr {
			why = ": free(NULL) does nothing and is no event"
		}
		s.notify("%s: never true%s", cmp, why)
	}
	if c == nil || s.saved != nil {
		return
	}
	for _, name := range c.Asked(cond.Kind) {
		s.warnKind(name)
	}
	var objs []names.Image
	for _, ask := range recording.Questions(c) {
		if ask.Predicate == cond.Like {
			if _, err := s.likes.Of(ask.Name); err != nil {
				s.notify("like(%q): never true: %v", ask.Name, err)
			}
			continue
		}
		if objs == nil {
			if objs = s.expected(); len(objs) == 0 {
				return
			}
		}
		switch {
		case ask.Predicate == cond.Module && !slices.ContainsFunc(objs, func(m names.Image) bool { return query.MatchModule(ask.Name, filepath.Base(m.Name)) }):
			s.notify("module(%q): no such program or library is loaded now", ask.Name)
		case ask.Predicate != cond.Module && !strings.Contains(ask.Name, "*") && !hasFunction(objs, ask.Name):
			s.notify("%s: no such function in what is loaded now", strings.Replace(ask.Predicate.String(), "()", fmt.Sprintf("(%q)", ask.Name), 1))
		}
	}
}

// warnKind says why no event is of a kind: its name is unknown, no module defines it, or
// the same code has another name, which is that of its events.
func (s *Stops) warnKind(name string) {
	ofKind := func(f breakpoints.Function) bool { return f.OfKind(name) }
	all := s.allocators.All()
	if !slices.ContainsFunc(all, ofKind) {
		s.notify("kind(%q): no allocator function has that name (alloc list)", name)
		return
	}
	objs := s.expected()
	if len(objs) == 0 || slices.ContainsFunc(s.allocators.fns, ofKind) {
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
		first := map[addr.File]int{} // the function that gives the code at an address its name
		syms := slices.DeleteFunc(m.Object.Symtab.SymbolsAmong(sought), func(y symbols.Sym) bool { return !y.IsCode() })
		for _, y := range syms {
			if i, ok := first[y.Addr]; !ok || rank[y.Name] < i {
				first[y.Addr] = rank[y.Name]
			}
		}
		for _, y := range syms {
			f := catalogue[first[y.Addr]]
			if ofKind(f) {
				return
			}
			if ofKind(catalogue[rank[y.Name]]) {
				other = f.Name
			}
		}
	}
	if other != "" {
		s.notify("kind(%q): never true here: it is the same code as %s, whose name its events have", name, other)
		return
	}
	s.notify("kind(%q): nothing that is loaded now defines it", name)
}

// expected are the modules of the process, or those that a program begins with.
func (s *Stops) expected() []names.Image {
	if s.mode() != Loaded {
		return s.names.Images()
	}
	return s.names.LinkedImages()
}

// hasFunction looks where it costs least first: in symbol tables, then in all debug
// information.
func hasFunction(objs []names.Image, name string) bool {
	return slices.ContainsFunc(objs, func(m names.Image) bool { _, ok := m.Object.Symtab.Symbol(name); return ok }) ||
		slices.ContainsFunc(objs, func(m names.Image) bool { return len(m.Object.FindFunctions(name)) > 0 })
}

// countsDoubt says why live and blocks may not be what a condition that asks for them
// takes them for.
func (s *Stops) countsDoubt(c *cond.Cond) report.Doubt {
	switch {
	case c == nil || !c.Uses(cond.Live) && !c.Uses(cond.Blocks):
	case s.saved != nil && s.liveDoubt(s.saved) != report.NoDoubt:
		return report.CountsMayBeHigh
	case s.saved != nil:
	case s.gaps.Counted():
		return report.CountsUnknown
	case s.gaps.Calls():
		return report.CountsMayBeLow
	}
	return report.NoDoubt
}

// warnCounts says so, once in a run for the same condition and doubt.
func (s *Stops) warnCounts(c *cond.Cond) {
	doubt := s.countsDoubt(c)
	if doubt == report.NoDoubt {
		return
	}
	text := c.String() + ": " + report.DoubtText(doubt)
	if s.said[text] {
		return
	}
	if s.said == nil { // a capture is open
		s.said = map[string]bool{}
	}
	s.said[text] = true
	s.notify("%s", text)
}

// programFile is the base name of the program as modules have it, "" without one.
func (s *Stops) programFile() string {
	if s.names.Program == nil {
		return ""
	}
	path, err := filepath.EvalSymlinks(s.names.Program.Path)
	if err != nil {
		path = s.names.Program.Path
	}
	return filepath.Base(path)
}
