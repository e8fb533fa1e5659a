package objects

import (
	"errors"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A found is an object that was found, with its type.
type found struct {
	at addr.Run
	t  *Type
}

// A walk goes to all objects that can be found: those that the collector knows, and what these and the frames of
// threads refer to.
type walk struct {
	h         *Heap
	seen      *marks
	queue     []found
	visited   func(at addr.Run, t *Type)                        // each object once
	refers    func(from addr.Run, t *Type, to addr.Run, e edge) // each reference
	rooted    func(f FrameRoot, to addr.Run, e edge)            // each of a frame
	collected func()                                            // those that the collector knows have been visited
	left      func()                                            // so have those that references lead to
	blocks    Blocks                                            // of small objects, which are looked through for those that no reference leads to; nil: they are not

	collectors []Collector
	frames     []FrameRoot
	strange    int   // objects that the collector knows, but which have no type that is one
	cut        error // why there may be more
	pools      error // why there may be more in blocks
}

// run walks. Its error is that nothing is known, or no caller waits.
func (w *walk) run() error {
	states, err := w.h.collectors()
	if err != nil {
		return err
	}
	w.seen = newMarks()
	for _, s := range states {
		c, err := w.h.collector(s, func(at addr.Run) {
			t := w.h.typeOf(at)
			switch {
			case t == nil:
				w.strange++
			default:
				w.found(at, t)
			}
		})
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, c)
	}
	if w.collected != nil {
		w.collected()
	}
	w.frames = w.h.frames()
	for _, f := range w.frames {
		err := w.h.ofRoot(f, func(to addr.Run, e edge) {
			if w.rooted != nil {
				w.rooted(f, to, e)
			}
			w.reach(to)
		})
		if err != nil {
			return w.end(err)
		}
	}
	if err := w.follow(0); err != nil || w.cut != nil || w.blocks == nil {
		return w.end(err)
	}
	before := len(w.queue)
	if w.left != nil {
		w.left()
	}
	if err := w.unreached(w.blocks); err != nil {
		if errors.Is(err, ErrInterrupted) {
			return err
		}
		w.pools = err
	}
	return w.end(w.follow(before))
}

// follow goes to what the objects of the queue from one on refer to.
func (w *walk) follow(first int) error {
	for i := first; i < len(w.queue); i++ {
		from := w.queue[i]
		err := w.h.traverse(from.at, from.t, func(to addr.Run, e edge) {
			if w.refers != nil {
				w.refers(from.at, from.t, to, e)
			}
			w.reach(to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) end(err error) error {
	if errors.Is(err, errTooMany) {
		w.cut = err
		return nil
	}
	return err
}

// reach follows a reference.
func (w *walk) reach(to addr.Run) {
	if to == 0 || w.seen.has(to) {
		return
	}
	if t := w.h.typeOf(to); t != nil {
		w.found(to, t)
	}
}

func (w *walk) found(at addr.Run, t *Type) {
	if w.seen.full() {
		w.cut = errTooMany
		return
	}
	if !w.seen.add(at) {
		return
	}
	if w.visited != nil {
		w.visited(at, t)
	}
	if !t.holdsNothing() {
		w.queue = append(w.queue, found{at, t})
	}
}

// holdsNothing describes types whose objects have no references.
func (t *Type) holdsNothing() bool {
	switch t.kind {
	case leaf, varLeaf, textKind, intKind, bytearrayKind, arrayKind, decimalKind:
		return t.Flags&layout.IsHeapType == 0 || t.Basic == t.from && t.DictAt == 0 && t.head == 0
	}
	return false
}
