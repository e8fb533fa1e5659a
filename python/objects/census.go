package objects

import (
	"cmp"
	"errors"
	"slices"

	"hdb/internal/addr"
)

// A Census is how many objects there are of each type.
type Census struct {
	Types   []Tally // the most bytes first
	Objects int
	Bytes   int64
	Tracked int // of the objects, those that the collector knows
	Strange int // what the collector's lists have besides, of no type that can be read

	Unreached int   // of the objects, those to which no reference was found
	Pools     error // why there may be more of these; ErrNoPools if they were not looked for

	Collecting bool  // the collector is at work: what it looks at is counted only if something refers to it
	Torn       error // why lists of the collector may have more
	Cut        error // why there may be more objects
}

// A Tally is the objects of types of one name.
type Tally struct {
	Name      string
	Types     int // with this name
	Objects   int
	Bytes     int64 // as sys.getsizeof tells
	Tracked   int
	Unreached int
	// Unknown tells that they have a __sizeof__ which hdb does not know: Bytes is the size of their structs.
	Unknown bool
	Torn    int // objects whose size is nonsense, which are not in Bytes
}

// ErrNoPools is of a census without the blocks that small objects are in.
var ErrNoPools = errors.New("the pools of small objects were not searched")

// Census counts the objects. blocks are those of the allocator of small objects, nil if they are not known: objects in them are counted
// even if nothing but C code refers to them.
func (h *Heap) Census(blocks Blocks) (*Census, error) {
	byType := map[*Type]*Tally{}
	var last *Type
	var tally *Tally
	tracked, unreached := true, false
	w := walk{h: h, blocks: blocks, visited: func(at addr.Run, t *Type) {
		if t != last {
			if last, tally = t, byType[t]; tally == nil {
				tally = &Tally{Name: t.Name, Types: 1, Unknown: t.Unknown}
				byType[t] = tally
			}
		}
		tally.Objects++
		if tracked {
			tally.Tracked++
		}
		if unreached {
			tally.Unreached++
		}
		if n, ok := h.size(at, t); ok {
			tally.Bytes += n
		} else {
			tally.Torn++
		}
	}}
	w.collected = func() { tracked = false }
	w.left = func() { unreached = true }
	if err := w.run(); err != nil {
		return nil, err
	}
	c := &Census{Strange: w.strange, Cut: w.cut, Pools: w.pools}
	if blocks == nil {
		c.Pools = ErrNoPools
	}
	byName := map[string]*Tally{}
	for _, t := range byType {
		c.Objects, c.Bytes, c.Tracked = c.Objects+t.Objects, c.Bytes+t.Bytes, c.Tracked+t.Tracked
		c.Unreached += t.Unreached
		same := byName[t.Name]
		if same == nil {
			byName[t.Name] = t
			continue
		}
		same.Types, same.Objects, same.Bytes = same.Types+1, same.Objects+t.Objects, same.Bytes+t.Bytes
		same.Unreached += t.Unreached
		same.Tracked, same.Torn, same.Unknown = same.Tracked+t.Tracked, same.Torn+t.Torn, same.Unknown || t.Unknown
	}
	for _, t := range byName {
		c.Types = append(c.Types, *t)
	}
	slices.SortFunc(c.Types, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range w.collectors {
		c.Collecting = c.Collecting || g.Collecting
		if c.Torn == nil {
			c.Torn = g.Torn
		}
	}
	return c, nil
}
