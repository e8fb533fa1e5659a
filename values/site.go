package values

import (
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
	locals   map[string]dwarf.DIE // not valid: there is none of that name
	others   map[otherName]binding
}

// otherName is the question what a name means that is none of a function's, see bind.
type otherName struct {
	name            string
	global, statics bool
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

// newSite reads what is known of a frame's place.
func newSite(f *Frame) (*site, error) {
	if _, err := f.scope(); err != nil {
		return nil, err
	}
	return &site{scopes: f.scopes, imports: f.imported(), prefixes: f.prefixes(), locals: map[string]dwarf.DIE{}, others: map[otherName]binding{}}, nil
}

// standAt has a frame use what is known of its place.
func (f *Frame) standAt(st *site) {
	f.site, f.scopes, f.loaded, f.imports = st, st.scopes, true, st.imports
}
