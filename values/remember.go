package values

import (
	"hdb/internal/addr"
)

type siteKey struct {
	module  Module
	code    addr.Code
	inlined int
}

// maxSites bounds the places that are remembered. A stop at allocations asks its
// condition at the calls of all owners.
const maxSites = 4096

// sites are the places that are remembered, with the trees of the expressions asked there, as long as
// the modules stay what they are.
type sites struct {
	version uint64
	known   map[siteKey]*site
	trees   map[*site]map[string]*node
}

// remember has the frame use what is known of its place, from the first call for that place
// on. Nothing is remembered for a program without Version, or of code without debug information.
func (w *World) remember(f *Frame) {
	if f == nil || w.Version == nil || f.Module.Obj == nil || f.site != nil {
		return
	}
	if v := w.Version(); w.sites.known == nil || w.sites.version != v || len(w.sites.known) >= maxSites {
		w.sites = sites{v, map[siteKey]*site{}, map[*site]map[string]*node{}}
	}
	key := siteKey{f.Module, f.PC, f.Inlined}
	st := w.sites.known[key]
	if st == nil {
		var err error
		if st, err = newSite(f); err != nil {
			return
		}
		w.sites.known[key], w.sites.trees[st] = st, map[string]*node{}
	}
	f.standAt(st)
}

// parsed is the tree of an expression.
func (e *evaluator) parsed(src string) (*node, error) {
	if e.f == nil {
		return e.parse(src)
	}
	trees := e.w.sites.trees[e.f.site] // nil: nothing is remembered
	if n := trees[src]; n != nil {
		return n, nil
	}
	n, err := e.parse(src)
	if err == nil && trees != nil {
		trees[src] = n
	}
	return n, err
}
