package glibc

import (
	"encoding/binary"
	"unsafe"

	"hdb/internal/addr"
)

// A window is a piece of memory that a walk goes through, read ahead further while it is read in
// order, and little where the walk takes long strides. Of a long walk in order the next pieces are read by
// goroutines of their own meanwhile.
type window struct {
	mem    *memory
	parts  []addr.Range // of the walk's range, which can be read
	own    []byte       // to read into, by the walk itself
	buf    []byte       // its own, or a piece's that was read ahead
	start  addr.Run
	filled int // bytes of buf
	ahead  int // how many are read at once

	next  []*pieceRead // in order, without gaps
	spare [][]byte     // for them
}

const (
	leastAhead = 1 << 12
	mostAhead  = 1 << 20
	readers    = 2  // pieces that are read ahead
	headBytes  = 32 // that a walk looks at of a chunk
)

// A pieceRead is a piece that is being read. It begins with the last bytes of the one before it.
type pieceRead struct {
	start  addr.Run
	buf    []byte
	filled int // set when done is closed
	done   chan struct{}
}

func newWindow(mem *memory, parts []addr.Range, buf []byte) *window {
	return &window{mem: mem, parts: parts, own: buf, buf: buf, ahead: leastAhead}
}

// head is the header of a chunk at a, read in order in a search. It reports whether it can be read.
func (w *window) head(a addr.Run) (prev, word uint64, ok bool) {
	off := int(a - w.start)
	if a < w.start || off+header > w.filled {
		if !w.fill(a) {
			w.mem.Steps += readSteps
			return 0, 0, false
		}
		w.mem.Steps += max(uint64(w.filled)/inOrderStep, 1)
		off = int(a - w.start)
	}
	b := w.buf[off:w.filled]
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), true
}

// fill has the buffer have the 16 bytes at a, and what follows, and reports whether they can be read.
func (w *window) fill(a addr.Run) bool {
	end := w.start + addr.Run(w.filled)
	inOrder := a >= end-headBytes && a < end+addr.Run(w.ahead)
	if inOrder {
		w.ahead = min(2*w.ahead, mostAhead)
	} else {
		w.ahead = leastAhead
	}
	i, ok := partAt(w.parts, a)
	if !ok || w.mem.Spent() {
		w.start, w.filled = a, 0
		return false
	}
	if !inOrder || !w.take(a) {
		w.end()
		w.buf = w.own
		w.start, w.filled = a, w.mem.ReadSome(w.buf[:min(uint64(w.ahead), uint64(w.parts[i].End-a), uint64(len(w.buf)))], a)
	}
	if w.ahead == mostAhead && w.filled == mostAhead {
		w.readOn(w.parts[i].End)
	}
	return w.start+addr.Run(w.filled) >= a+header
}

// end waits for what is being read ahead, and drops it.
func (w *window) end() {
	for _, p := range w.next {
		<-p.done
	}
	w.next = nil
}

// take makes the next piece that is read ahead the window's, and reports whether it has what a walk looks at, from a
// on.
func (w *window) take(a addr.Run) bool {
	if len(w.next) == 0 {
		return false
	}
	p := w.next[0]
	w.next = w.next[1:]
	<-p.done
	if unsafe.SliceData(w.buf) != unsafe.SliceData(w.own) {
		w.spare = append(w.spare, w.buf)
	}
	w.buf, w.start, w.filled = p.buf, p.start, p.filled
	return a >= p.start && a+headBytes <= p.start+addr.Run(p.filled)
}

// readOn has the pieces behind the window read, up to an end.
func (w *window) readOn(limit addr.Run) {
	end := w.start + addr.Run(w.filled)
	if n := len(w.next); n > 0 {
		end = w.next[n-1].start + addr.Run(len(w.next[n-1].buf))
	}
	for len(w.next) < readers && end < limit {
		p := &pieceRead{start: end - headBytes, done: make(chan struct{})}
		if n := len(w.spare); n > 0 {
			p.buf, w.spare = w.spare[n-1], w.spare[:n-1]
		} else {
			p.buf = make([]byte, mostAhead)
		}
		p.buf = p.buf[:min(mostAhead, uint64(limit-p.start))]
		w.next = append(w.next, p)
		end = p.start + addr.Run(len(p.buf))
		go func() {
			defer close(p.done)
			p.filled = w.mem.ReadSome(p.buf, p.start)
		}()
	}
}
