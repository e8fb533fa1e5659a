package values

import (
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// A site is a place in the code at which conditions are asked at each arrival. It keeps of
// their answers what depends neither on registers nor on memory: which expression was
// written, and which entries of the debug information its names mean. To find these takes
// ten times as long as to read their values.
type site struct {
	scopes   []symbols.Scope
	imports  *imports
	prefixes []string
	parsed   map[string]*node
	locals   map[string]dwarf.DIE // not valid: there is none of that name
	others   map[otherName]binding
}

type siteKey struct {
	module  Module
	code    addr.Code
	inlined int
}

// otherName is the question what a name means that is none of a function's, see bind.
type otherName struct {
	name            string
	global, statics bool
}

// maxSites bounds the places that are remembered. A stop at allocations asks its
// condition at the calls of all owners.
const maxSites = 4096

// sites are the places that are remembered, as long as the modules stay what they are.
type sites struct {
	version uint64
	known   map[siteKey]*site
}

// remember has the frame use what is known of its place, from the first call for that place
// on. Nothing is remembered for a program without Version, or of code without debug information.
func (w *World) remember(f *Frame) {
	if f == nil || w.Version == nil || f.Module.Obj == nil || f.site != nil {
		return
	}
	if v := w.Version(); w.sites.known == nil || w.sites.version != v || len(w.sites.known) >= maxSites {
		w.sites = sites{v, map[siteKey]*site{}}
	}
	key := siteKey{f.Module, f.PC, f.Inlined}
	st := w.sites.known[key]
	if st == nil {
		if _, err := f.scope(); err != nil {
			return
		}
		st = &site{
			scopes: f.scopes, imports: f.imported(), prefixes: f.prefixes(),
			parsed: map[string]*node{}, locals: map[string]dwarf.DIE{}, others: map[otherName]binding{},
		}
		w.sites.known[key] = st
	}
	f.site, f.scopes, f.loaded, f.imports = st, st.scopes, true, st.imports
}

// parsed is the tree of an expression.
func (e *evaluator) parsed(src string) (*node, error) {
	if e.f == nil || e.f.site == nil {
		return e.parse(src)
	}
	if n := e.f.site.parsed[src]; n != nil {
		return n, nil
	}
	n, err := e.parse(src)
	if err == nil {
		e.f.site.parsed[src] = n
	}
	return n, err
}

// localEntry is the entry of a local variable or parameter, not valid if there is none.
func (l lookup) localEntry(name string) dwarf.DIE {
	if l.f == nil || l.f.site == nil {
		return l.findLocal(name)
	}
	d, known := l.f.site.locals[name]
	if !known {
		d = l.findLocal(name)
		l.f.site.locals[name] = d
	}
	return d
}

// bound is bind, remembered.
func (l lookup) bound(name string, global, statics bool) (binding, error) {
	if l.f == nil || l.f.site == nil {
		return l.bind(name, global, statics)
	}
	key := otherName{name, global, statics}
	b, known := l.f.site.others[key]
	if known {
		return b, nil
	}
	b, err := l.bind(name, global, statics)
	if err != nil {
		return b, err
	}
	if b.m != nil && b.e.Tag() == dwarf.TagEnumerator {
		b.constant = l.declared(b.m, b.e.DIE)
	}
	l.f.site.others[key] = b
	return b, nil
}
