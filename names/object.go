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
	if i := r.Log.module(c.Lookup(), seq); i >= 0 {
		return r.Log.all[i].obj, r.Log.all[i].Bias
	}
	return nil, 0
}

// module is the index of the module that an address lay in at event seq, else of one that was there
// at another time, else -1.
func (l *ModuleLog) module(a addr.Run, seq uint64) int {
	found := -1
	for i := range l.all {
		if l.all[i].Holds(a, seq) {
			return i
		}
		if found < 0 && l.all[i].Low <= a && a < l.all[i].High {
			found = i
		}
	}
	return found
}
