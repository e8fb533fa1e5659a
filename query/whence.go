package query

import (
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/names"
	"hdb/recording"
	"hdb/values/blocktype"
)

// Whence is what is known of an address of the heap at the moment.
type Whence struct {
	Addr         uint64
	Start        uint64           // of the live block that holds it; 0: none does
	Event        *recording.Event // that made the block
	Type         *blocktype.Type  // of the block, nil not known
	Age          time.Duration
	Frames       []names.Frame // of the event, innermost first, up to the user's code
	Below, Above uint64        // where there is none: the next live blocks, 0 without
	BelowSize    uint64
	Last         *recording.Event // where there is none: the last event about a block that held it
	Stray        *StrayFree       // what is known of Last if it freed nothing
	Mapping      *MappedEvent     // where there is none: the live mapping that holds it, nil without
}

// A StrayFree is a free of an address at which no live block was recorded.
type StrayFree struct {
	Before *recording.Event // that gave the block there back before; nil without one
}

// StrayFree is nil if the event is not a stray free.
func (r *Recording) StrayFree(e *recording.Event) *StrayFree {
	if e.SizeKnown() || r.Index == nil {
		return nil
	}
	for last := range r.Index.About(e.Addr, e.Seq-1) {
		if last.Kind == capture.Free && last.Addr == e.Addr || last.Kind == capture.Realloc && last.Old == e.Addr && !last.Failed {
			return &StrayFree{withName(r.Source, *last)}
		}
		break
	}
	return &StrayFree{}
}

// Whence finds the recorded block around an address.
func (r *Recording) Whence(addr uint64) *Whence {
	x := r.Index
	w := &Whence{Addr: addr}
	n := r.near(addr)
	if n.InAt == 0 {
		w.Below, w.BelowSize, w.Above = n.BelowAt, n.Below.Size, n.AboveAt
		w.Mapping = r.mappingAt(addr)
		for e := range x.About(addr, r.Moment) {
			w.Last = withName(r.Source, *e)
			w.Stray = r.StrayFree(w.Last)
			break
		}
		return w
	}
	w.Start = n.InAt
	e, ok := EventAt(r.Source, n.In.Seq)
	if !ok { // lost with a damaged part
		e = withName(r.Source, capture.Event{Seq: n.In.Seq, Kind: capture.Alloc, Addr: n.InAt, Size: n.In.Size, Stack: n.In.Stack})
	}
	w.Event = e
	w.Type = r.typeOf(&capture.Held{Seq: n.In.Seq, Addr: n.InAt, Size: n.In.Size, Stack: n.In.Stack, TID: e.TID, Func: e.Func, Kind: e.Kind})
	w.Age = x.Totals(r.Moment).Time - e.Time
	if st := r.Stack(e); len(st.Frames) > 0 {
		w.Frames = st.Frames[:r.Attribution.Owner(st.Frames)+1]
	}
	return w
}

// near are the live blocks around an address.
func (r *Recording) near(addr uint64) (n heap.Near) {
	if r.Now != nil {
		return r.Now.RecordedNear(addr)
	}
	of := func(b *capture.Held) (heap.Block, uint64) {
		if b == nil {
			return heap.Block{}, 0
		}
		return heap.Block{Seq: b.Seq, Size: b.Size, Stack: b.Stack, Logged: true}, b.Addr
	}
	blocks := r.Index.Held(r.Moment)
	below, above := heap.Nearest(blocks, addr)
	n.In, n.InAt = of(heap.Containing(blocks, addr))
	n.Below, n.BelowAt = of(below)
	n.Above, n.AboveAt = of(above)
	return n
}

// historyReads is how many events History reads to count those that it does not return:
// some tenths of a second.
const historyReads = 2_000_000

// History returns the events up to the moment about blocks that held the address, oldest
// first, at most the last limit ones, and their number. If more is set the rest was not
// counted to the end.
func (r *Recording) History(addr uint64, limit int) (events []*recording.Event, total int, more bool) {
	for e, read := range r.Index.About(addr, r.Moment) {
		if more = limit > 0 && total >= limit && read > historyReads; more {
			break
		}
		if total++; limit <= 0 || total <= limit {
			events = append(events, withName(r.Source, *e))
		}
	}
	slices.Reverse(events)
	return events, total, more
}
