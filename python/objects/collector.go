package objects

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
	"hdb/python"
)

// generations are those that the collector has.
const generations = 3

// gc_prev keeps flags in its lowest bits, gc_next one from 3.12 on.
const (
	prevMask = ^addr.Run(3)
	nextMask = ^addr.Run(3)
)

// A Collector is the cyclic garbage collector of an interpreter. Up to 3.8 there is one for all.
type Collector struct {
	Interpreter int64 // 0 is the main one
	Enabled     bool
	Debug       int // the flags of gc.set_debug
	// Collecting tells that it is at work: the objects that it looks at are in lists of its own then, and not
	// in those of the generations.
	Collecting  bool
	Generations [generations]Generation
	Frozen      int // objects that gc.freeze has put away
	Garbage     int // of gc.garbage
	// Torn is why the lists may have more objects, nil if they are whole.
	Torn error
}

// A Generation is the objects that have survived as many collections.
type Generation struct {
	Objects       int
	Count         int // as gc.get_count tells
	Threshold     int
	Collections   uint64
	Collected     uint64
	Uncollectable uint64
}

// Tracked is how many objects the collector knows.
func (c *Collector) Tracked() int {
	n := c.Frozen
	for _, g := range c.Generations {
		n += g.Objects
	}
	return n
}

// A collectorState is where a collector's state is.
type collectorState struct {
	id int64
	at addr.Run
}

// collectors are those of all interpreters. Of a process in which Python has not started or has ended there are none.
func (h *Heap) collectors() (all []collectorState, err error) {
	if h.l.Runtime.GC != 0 {
		if len(h.runtime.Interpreters) == 0 {
			return nil, errNotStarted
		}
		return []collectorState{{0, h.runtime.At + addr.Run(h.l.Runtime.GC)}}, nil
	}
	for _, in := range h.runtime.Interpreters {
		all = append(all, collectorState{in.ID, in.At + addr.Run(h.l.Interpreter.GC)})
	}
	if len(all) == 0 {
		return nil, errNotStarted
	}
	slices.SortStableFunc(all, func(a, b collectorState) int { return cmp.Compare(a.id, b.id) }) // the newest is the first
	return all, nil
}

var errNotStarted = errors.New("the interpreter has not been started, or has ended")

// Collectors tells what the collectors of all interpreters are about.
func (h *Heap) Collectors() (all []Collector, err error) {
	states, err := h.collectors()
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		c, err := h.collector(s, func(addr.Run) {})
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// collector reads the state of a collector, and calls yield with each object that it knows.
func (h *Heap) collector(s collectorState, yield func(object addr.Run)) (c Collector, err error) {
	l := &h.l.GC
	b := h.mem.view(s.at, l.Size)
	if b == nil {
		return c, fmt.Errorf("garbage collector: read %v: no memory", s.at)
	}
	c = Collector{Interpreter: s.id, Enabled: intIn(b, l.Enabled) != 0, Debug: intIn(b, l.Debug), Collecting: intIn(b, l.Collecting) != 0}
	for i := range c.Generations {
		g, at := &c.Generations[i], l.Generations+i*l.Generation
		g.Threshold, g.Count = intIn(b, at+l.Threshold), intIn(b, at+l.Count)
		stats := l.Stats + i*l.Stat
		g.Collections, g.Collected, g.Uncollectable = wordIn(b, stats), wordIn(b, stats+8), wordIn(b, stats+16)
		n, err := h.list(s.at+addr.Run(at), c.Collecting, yield)
		g.Objects = n
		if errors.Is(err, ErrInterrupted) {
			return c, err
		}
		if err != nil && c.Torn == nil {
			c.Torn = fmt.Errorf("generation %d: %w", i, err)
		}
	}
	n, err := h.list(s.at+addr.Run(l.Permanent), false, yield)
	c.Frozen = n
	if errors.Is(err, ErrInterrupted) {
		return c, err
	}
	if err != nil && c.Torn == nil {
		c.Torn = fmt.Errorf("frozen objects: %w", err)
	}
	if t := h.typeOf(pointerIn(b, l.Garbage)); t != nil && t.kind == listKind {
		c.Garbage = int(min(h.count(pointerIn(b, l.Garbage)), maxItems))
	}
	return c, nil
}

// list walks a list of the collector. busy tells that the links back are used for something else now.
func (h *Heap) list(head addr.Run, busy bool, yield func(object addr.Run)) (n int, err error) {
	l := &h.l.GC
	before := head
	for at := h.mem.field(head, l.Next) & nextMask; at != head; {
		b := h.mem.view(at, l.Head)
		object := at + addr.Run(l.Head)
		switch {
		case b == nil:
			return n, fmt.Errorf("object %d: read %v: no memory", n, at)
		case !busy && pointerIn(b, l.Previous)&prevMask != before:
			return n, fmt.Errorf("object %d at %v: the list leads to it, but not back: it is being changed", n, object)
		case n == maxObjects:
			return n, errTooMany
		}
		if err := h.looked(1); err != nil {
			return n, err
		}
		yield(object)
		n, before, at = n+1, at, pointerIn(b, l.Next)&nextMask
	}
	return n, nil
}

// A FrameRoot is a frame of a thread, whose variables and temporary values hold objects.
type FrameRoot struct {
	python.Frame
	State python.State
}

// frames are those of all threads. Of a thread whose frames cannot be read there are those that can.
func (h *Heap) frames() (all []FrameRoot) {
	states, _ := h.in.States()
	for _, s := range states {
		if len(all) > maxFrames || h.givenUp != nil && h.givenUp() {
			break
		}
		st, _ := h.in.Stack(s)
		for _, f := range st.Frames {
			all = append(all, FrameRoot{f, s})
		}
	}
	return all
}

// ofRoot describes the references of a thread's frame.
func (h *Heap) ofRoot(f FrameRoot, visit visitor) error {
	if h.l.FrameObject.Frame == 0 {
		visit(f.At, edge{field, 0}) // it is an object
		return h.ofOldFrame(f.At, visit)
	}
	return h.variables(f.At, true, visit)
}
