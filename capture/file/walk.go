package file

import (
	"slices"

	"hdb/capture"
)

// A Walk reads the events of a file in their order, a chunk at a time, and
// tells where some are missing. It belongs to one goroutine.
type Walk struct {
	f    *File
	next int // index of the chunk to read, of f.events
	dec  eventDecoder
	buf  []capture.Event
	at   int // index into buf of the event that comes next

	Lost uint64 // events that are known to be missing before the one that comes next

	last   uint64 // number of the last event there was, or is known to have been
	offset int64  // of the chunk it is in
	all    uint64 // sum of lost
}

// Walk begins with the first event whose number is from or higher.
func (f *File) Walk(from uint64) *Walk {
	w := &Walk{f: f}
	for w.next < len(f.events) && f.events[w.next].last < from {
		w.last, w.offset = f.events[w.next].last, f.events[w.next].offset
		w.next++
	}
	if w.fill() {
		w.at = searchEvents(w.buf, from)
		if w.at > 0 {
			w.Lost, w.all = 0, 0
		}
	}
	return w
}

// fill reads the next chunk that can be read.
func (w *Walk) fill() bool {
	w.at, w.buf, w.Lost = 0, w.buf[:0], 0
	for w.next < len(w.f.events) {
		ref := w.f.events[w.next]
		w.next++
		if w.f.lostBetween(w.offset, ref.offset) {
			w.Lost += w.f.mostLost(ref.first-w.last-1, w.all+w.Lost)
		}
		w.last, w.offset = ref.last, ref.offset
		payload, err := w.f.chunks.chunk(ref)
		if err == nil {
			w.buf, err = w.dec.decode(w.buf[:0], payload)
		}
		if err != nil {
			w.f.fail(ref, err)
			w.Lost += uint64(ref.count)
			continue
		}
		w.all += w.Lost
		return true
	}
	return false
}

// Peek is the event that comes next, nil at the end. It is valid until the next
// call.
func (w *Walk) Peek() *capture.Event {
	if w.at == len(w.buf) && !w.fill() {
		return nil
	}
	return &w.buf[w.at]
}

// Step goes beyond the event that peek told.
func (w *Walk) Step() { w.at, w.Lost = w.at+1, 0 }

// LostAtEnd is how many events are known to be missing behind the last one, once the walk
// has come to the end.
func (w *Walk) LostAtEnd() uint64 {
	n, f := w.Lost, w.f // of chunks at the end
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage != nil && f.damage.Missing > w.all+n {
		n = f.damage.Missing - w.all
	}
	return n
}

// lostBetween reports whether a part of the file is lost between two offsets.
func (f *File) lostBetween(from, to int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damage != nil && slices.ContainsFunc(f.damage.Lost, func(l capture.Lost) bool { return from <= l.Offset && l.Offset < to })
}

// mostLost is how many of n numbers between events can be those of events that were
// lost, where counted ones are known: a capture that begins within the run has no
// first numbers.
func (f *File) mostLost(n, counted uint64) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open {
		return n
	}
	return min(n, max(f.damage.Missing, counted)-counted)
}
