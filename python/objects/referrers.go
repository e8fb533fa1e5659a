package objects

import (
	"slices"

	"hdb/internal/addr"
	"hdb/python/layout"
)

const (
	maxReferrers = 10000 // that are reported
	maxHolders   = 1000  // whose own referrers are looked for
)

// Referrers is who refers to an object.
type Referrers struct {
	At      addr.Run
	Type    string
	Count   uint64 // of references as CPython has counted them
	Counted bool   // false of immortal objects
	Total   int    // references that were found
	// Instances is how many of them are those that each instance of a class has to it. They are
	// not in List, which has 10,000 at most.
	Instances int
	List      []Referrer

	Cut error // why there may be more
}

// A Referrer is a reference to an object.
type Referrer struct {
	Text string   // how the reference reads: "app.cache['key']", "Store.parts[3]"
	At   addr.Run // the object that has it, 0 of a frame
	Type string   // of that object
	// Owner is the object that Text begins with, if that is another: the one whose attribute
	// the dict, list or the like is, or a module.
	Owner     addr.Run
	OwnerType string
	Frame     *FrameRoot // whose variable the text begins with
	Unsure    bool       // it may be what is left of a value that is not used any more
}

// A link is a reference from an object, or from a frame.
type link struct {
	from  found
	e     edge
	frame *FrameRoot
}

// A search is for the references to one object.
type search struct {
	h         *Heap
	target    addr.Run
	links     []link
	rooted    []Referrer
	total     int
	instances int
	owners    *set // dicts of attributes, each with the place in holders of the object whose they are
	holders   []found
	above     map[addr.Run]link // to the objects of links
}

// Referrers finds who refers to an object.
func (h *Heap) Referrers(target addr.Run) (*Referrers, error) {
	t, err := h.Type(target)
	if err != nil {
		return nil, err
	}
	s := &search{h: h, target: target, owners: newSet(true), above: map[addr.Run]link{}}
	frames := map[addr.Run]bool{} // that are reported as those of threads
	w := walk{h: h, rooted: func(f FrameRoot, to addr.Run, e edge) {
		frames[f.At] = h.l.FrameObject.Frame == 0
		if to == target && !(h.l.FrameObject.Frame == 0 && e == edge{}) {
			s.root(f, e)
		}
	}, refers: func(from addr.Run, t *Type, to addr.Run, e edge) {
		if to == target && !frames[from] {
			s.link(link{from: found{from, t}, e: e})
		}
		if h.isOwn(t, e) && s.owners.add(to, uint32(len(s.holders))) {
			s.holders = append(s.holders, found{from, t})
		}
	}}
	if t.kind == typeKind && h.mem.word(target+addr.Run(h.l.Type.Flags))&layout.IsHeapType != 0 {
		w.visited = func(_ addr.Run, t *Type) {
			if t.At == target {
				s.instances++
			}
		}
	}
	if err := w.run(); err != nil {
		return nil, err
	}
	if err := s.lookAbove(w.queue, w.frames); err != nil {
		return nil, err
	}
	r := &Referrers{At: target, Type: t.Name, Total: s.total + s.instances, Instances: s.instances, List: s.rooted, Cut: w.cut}
	r.Count, r.Counted = h.RefCount(target)
	for _, l := range s.links {
		r.List = append(r.List, s.referrer(l))
	}
	return r, nil
}

// isOwn describes a reference to the dict of an object's attributes: of an instance, a module or a class.
func (h *Heap) isOwn(t *Type, e edge) bool {
	return e.kind == ownDict || e.kind == field && (t.kind == moduleKind && e.index == uint32(h.l.Module.Dict) || t.kind == typeKind && e.index == uint32(h.l.Type.Dict))
}

func (s *search) link(l link) {
	if s.total++; len(s.links) < maxReferrers {
		s.links = append(s.links, l)
	}
}

func (s *search) root(f FrameRoot, e edge) {
	if s.total++; len(s.rooted) == maxReferrers {
		return
	}
	r := Referrer{Frame: &f, Unsure: e.kind == leftOver}
	switch e.kind {
	case variable:
		r.Text = "variable " + s.h.variableName(f.Code.At, e.index)
	case temporary, leftOver:
		r.Text = "a temporary value"
	default:
		r.Text = "the frame"
	}
	s.rooted = append(s.rooted, r)
}

// maxRounds is how many objects are named, one after the other, above the one that has a reference.
const maxRounds = 3

// lookAbove finds one reference to each of the objects that have references to the one that is searched for, as lists, tuples and dicts
// have no names of their own, and so on until something has a name.
func (s *search) lookAbove(all []found, frames []FrameRoot) error {
	asked := newSet(false)
	for range maxRounds {
		want := newSet(false)
		for _, l := range s.links {
			if top := s.top(l); !s.named(top) && nameless(top.from.t) && asked.n < maxHolders && asked.add(top.from.at, 0) {
				want.add(top.from.at, 0)
			}
		}
		if want.n == 0 {
			break
		}
		for _, from := range all {
			err := s.h.traverse(from.at, from.t, func(to addr.Run, e edge) {
				if to != 0 && want.has(to) && to != from.at && to != s.target {
					s.lead(to, link{from: from, e: e})
				}
			})
			if err != nil {
				return err
			}
		}
		for i := range frames {
			err := s.h.ofRoot(frames[i], func(to addr.Run, e edge) {
				if e.kind == variable && want.has(to) {
					s.lead(to, link{e: e, frame: &frames[i]})
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lead keeps a reference to an object if it reads better than the one before.
func (s *search) lead(to addr.Run, l link) {
	if before, ok := s.above[to]; !ok || s.rank(l) > s.rank(before) {
		s.above[to] = l
	}
}

// rank is higher for references that read better: attributes, then variables.
func (s *search) rank(l link) int {
	switch {
	case l.frame != nil:
		return 2
	case s.named(l):
		return 3
	case nameless(l.from.t):
		return 1
	}
	return 0
}

// named describes references by a name: attributes of instances, modules and classes, and fields of other objects.
func (s *search) named(l link) bool {
	if l.frame != nil {
		return true
	}
	if l.e.kind == entryValue {
		_, owned := s.owners.get(l.from.at)
		return owned
	}
	return l.e.kind == attribute || l.e.kind == field && !nameless(l.from.t) && l.from.t.kind != frameKind
}

// chain is a reference and those that lead to it, the outermost first.
func (s *search) chain(l link) []link {
	all := []link{l}
	for range maxRounds {
		if s.named(l) {
			break
		}
		up, ok := s.above[l.from.at]
		if !ok || slices.ContainsFunc(all, func(x link) bool { return x.from == up.from && up.frame == nil }) {
			break
		}
		all, l = append(all, up), up
	}
	slices.Reverse(all)
	return all
}

// top is the outermost reference that leads to one.
func (s *search) top(l link) link { return s.chain(l)[0] }

// nameless describes objects that are described by what holds them.
func nameless(t *Type) bool {
	switch t.kind {
	case listKind, tupleKind, dictKind, orderedKind, setKind, dequeKind:
		return true
	}
	return t.Name == "cell"
}

// referrer describes a reference.
func (s *search) referrer(l link) Referrer {
	r := Referrer{At: l.from.at, Type: l.from.t.Name, Unsure: l.e.kind == leftOver}
	all := s.chain(l)
	owner := found{}
	if f := all[0].frame; f != nil {
		r.Text, r.Frame = s.h.variableName(f.Code.At, all[0].e.index), f
	} else {
		r.Text, owner = s.read(all[0])
	}
	for _, next := range all[1:] {
		r.Text += s.h.suffix(next.from.at, next.from.t, next.e)
	}
	if owner.at != 0 && owner.at != l.from.at {
		r.Owner, r.OwnerType = owner.at, owner.t.Name
	}
	return r
}

// read is how a reference reads, and the object that its text begins with.
func (s *search) read(l link) (string, found) {
	if i, owned := s.owners.get(l.from.at); owned && l.e.kind == entryValue {
		if name, ok := s.h.keyText(l.from.at, l.e.index); ok {
			owner := s.holders[i]
			return s.h.noun(owner.at, owner.t) + "." + name, owner
		}
	}
	return s.h.noun(l.from.at, l.from.t) + s.h.suffix(l.from.at, l.from.t, l.e), l.from
}
