package names

import (
	"hdb/internal/addr"
	"hdb/symbols"
)

// ObjectAt is the file that a code address of the recording lay in at event seq, and where it was
// loaded; nil if it is not there or not the one that ran.
func (r *Resolver) ObjectAt(c addr.Code, seq uint64) (*symbols.Object, addr.Bias) {
	if r.opened != nil {
		mods := r.opened.Modules()
		i := moduleIndex(mods, c.Lookup(), seq)
		if i < 0 {
			return nil, 0
		}
		return r.opened.file(i).obj, mods[i].Bias
	}
	all := r.Log.all
	found := -1
	for i := range all {
		if all[i].Holds(c.Lookup(), seq) {
			found = i
			break
		}
		if found < 0 && all[i].Low <= c.Lookup() && c.Lookup() < all[i].High {
			found = i
		}
	}
	if found < 0 {
		return nil, 0
	}
	return all[found].obj, all[found].Bias
}
