package probe

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe/filter"
)

// A GoTypeVerdict is what a pattern says of blocks of a type of Go.
type GoTypeVerdict struct {
	Size uint64 // bytes of a value of the type
	One  bool   // a block of one value matches,
	Many bool   // and one of several, or of a part of one
}

// goTypes are the patterns that conditions ask types of Go for, which the core answers by a
// table of descriptors. The first allocation of a type that is not in the table is a match,
// which is when hdb looks at the type.
type goTypes struct {
	patterns []string
	written  []string // that the table is for
	count    int      // types in it
}

// patterns are those of type() in the request's conditions, as many as the core can answer.
func (r *Request) patterns() (all []string) {
	add := func(c *cond.Cond) {
		if c == nil {
			return
		}
		for _, p := range c.Asked(cond.Type) {
			if !slices.Contains(all, p) && len(all) < goTypePatterns {
				all = append(all, p)
			}
		}
	}
	for _, st := range r.Stops {
		add(st.Cond)
	}
	if r.Next != nil {
		add(r.Next.Cond)
	}
	return all
}

// asksTypes reports whether the core looks up the types of a function's blocks.
func (cs *conditions) asksTypes(fn *breakpoints.Function) bool {
	return goAllocates(fn) && len(cs.types.patterns) > 0
}

// typeValue is where the core has the answer to type().
func (cs *conditions) typeValue(s *site) func(*cond.Call) (filter.Value, bool) {
	if !goAllocates(&s.Function) {
		return func(*cond.Call) (filter.Value, bool) { return filter.None(), true }
	}
	return func(call *cond.Call) (filter.Value, bool) {
		i := slices.Index(cs.types.patterns, call.Arg)
		if i < 0 {
			return filter.Value{}, false
		}
		return filter.At(filter.Mem(filter.RSP, int32(frGoTypes+8+i)).U8()), true
	}
}

// emptyTypes makes the table one of the patterns that are asked for now; all threads are
// stopped.
func (cs *conditions) emptyTypes() {
	if t := &cs.types; !slices.Equal(t.patterns, t.written) {
		clear(cs.p.shared.file[fileTypes : fileTypes+goTypeEntry<<goTypeBits])
		t.written, t.count = t.patterns, 0
	}
}

// learnType puts the type of a block that was matched into the table, unless it is there.
// While others look it up, the key is written last.
func (cs *conditions) learnType(s *site, typ uint64) {
	if !cs.asksTypes(&s.Function) || cs.types.count >= 1<<goTypeBits*3/4 {
		return
	}
	hash := uint64(1<<64 + goTypeHash)
	at := (typ + 1) * hash >> (64 - goTypeBits)
	for range goTypeTries {
		e := cs.p.shared.file[fileTypes+goTypeEntry*at:][:goTypeEntry]
		key := (*uint64)(unsafe.Pointer(unsafe.SliceData(e)))
		switch atomic.LoadUint64(key) {
		case typ + 1:
			return
		case 0:
			for i, p := range cs.types.patterns {
				v := GoTypeVerdict{}
				if typ != 0 {
					v = cs.p.cfg.GoType(s.In, addr.Run(typ), p)
				}
				binary.LittleEndian.PutUint64(e[gtSize:], v.Size)
				e[gtOne+i], e[gtMany+i] = verdictOf(v.One), verdictOf(v.Many)
			}
			atomic.StoreUint64(key, typ+1)
			cs.types.count++
			return
		}
		at = (at + 1) % (1 << goTypeBits)
	}
}

func verdictOf(matches bool) byte {
	if matches {
		return goTypeYes
	}
	return goTypeNo
}
