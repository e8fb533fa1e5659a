package graph

import (
	"context"
	"fmt"
	"unsafe"

	"hdb/internal/prefetch"
)

// A worker has what one goroutine needs to scan.
type worker struct {
	*scanner
	words []uint64 // the piece that was read last:
	have  int      // this number,
	base  uint64   // at this address
	sees  Words    // of the collector

	u      *unit
	cursor int // of blocks: the first that ends behind the word looked up last
	out    found
	open   sharedCount // the block in which a word was found last

	hits [hitBatch]hit
	at   [hitBatch]unsafe.Pointer
}

// A hit is a word whose value may be the address of a block.
type hit struct{ at, value uint64 }

// hitBatch hits are looked up at a time, so that their ranks are fetched at once.
const hitBatch = 256

func alignDown(a uint64) uint64 { return a &^ (wordBytes - 1) }
func alignUp(a uint64) uint64   { return (a + wordBytes - 1) &^ (wordBytes - 1) }

// unit scans one.
func (w *worker) unit(ctx context.Context, u *unit) error {
	w.u, w.cursor = u, u.first
	w.out.edges, w.out.interior, w.out.roots = w.out.edges[:0], w.out.interior[:0], w.out.roots[:0]
	w.open = sharedCount{block: uint32(u.first)}
	parts := []Range{u.Range}
	if w.o.Populated != nil {
		var err error
		if parts, err = w.o.Populated(u.Start, u.End); err != nil {
			w.unread.Add(u.End - u.Start)
			return nil
		}
	}
	end := alignDown(u.Start)
	for _, p := range parts {
		p.Start, p.End = max(alignDown(p.Start), end), min(alignUp(p.End), alignUp(u.End))
		if p.Start >= p.End {
			continue
		}
		w.skipped.Add(p.Start - end)
		end = p.End
		w.part(ctx, p)
	}
	if end < u.End {
		w.skipped.Add(u.End - end)
	}
	w.closeCount(true)
	return w.keep()
}

// keep adds what was found to what the units before it have, or leaves it with the unit until its turn.
func (w *worker) keep() error {
	n := len(w.out.edges) + len(w.out.roots)
	if w.edges.Add(int64(n)) > maxEdges {
		return fmt.Errorf("graph: more than %d pointers", int64(maxEdges))
	}
	bytes := len(w.out.edges)*int(unsafe.Sizeof(edge{})) + len(w.out.interior)*int(unsafe.Sizeof(interior{})) +
		len(w.out.roots)*int(unsafe.Sizeof(rootEdge{}))
	if err := w.take(int64(bytes)); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.u.scanned = true
	if &w.units[w.turn] != w.u {
		w.u.found = found{edges: clip(w.out.edges), interior: clip(w.out.interior), roots: clip(w.out.roots)}
		return nil
	}
	w.append(&w.out)
	for w.turn++; w.turn < len(w.units) && w.units[w.turn].scanned; w.turn++ {
		w.append(&w.units[w.turn].found)
		w.units[w.turn].found = found{}
	}
	return nil
}

// append adds what a unit has found to what those before it have.
func (s *scanner) append(f *found) {
	for i := range f.interior {
		f.interior[i].edge += uint32(s.inTurn.edges.Len())
	}
	s.inTurn.edges.AppendAll(f.edges)
	s.inTurn.interior.AppendAll(f.interior)
	s.inTurn.roots = append(s.inTurn.roots, f.roots...)
}

// take asks for memory.
func (s *scanner) take(bytes int64) error {
	if n := s.bytes.Add(bytes); n > s.o.MaxBytes && s.o.MaxBytes > 0 {
		return fmt.Errorf("graph: who points where in %d blocks needs more than %d bytes", s.blocks.Len(), s.o.MaxBytes)
	}
	return nil
}

// clip is a copy without room to grow.
func clip[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

// part scans a part of the unit, which begins and ends with a whole word.
func (w *worker) part(ctx context.Context, p Range) {
	for p.Start < p.End && ctx.Err() == nil {
		piece, ok := w.piece(p)
		if !ok {
			break
		}
		w.readPiece(ctx, piece)
		p.Start = piece.End
	}
}

// piece is the next part of p to be read: of a root as much as fits, of blocks those without a
// hole between them.
func (w *worker) piece(p Range) (Range, bool) {
	if w.u.root >= 0 {
		return Range{p.Start, min(p.End, p.Start+pieceBytes)}, true
	}
	i := w.cursor
	for i < len(w.blocks.addr) && w.blocks.At(i).end() <= p.Start {
		i++
	}
	if i == len(w.blocks.addr) || w.blocks.addr[i] >= p.End {
		return Range{}, false
	}
	w.cursor = i
	start := max(p.Start, alignDown(w.blocks.addr[i]))
	limit := min(p.End, start+pieceBytes)
	end := w.blocks.At(i).end()
	for i++; end < limit && i < len(w.blocks.addr) && w.blocks.addr[i] < min(limit, end+holeBytes); i++ {
		end = w.blocks.At(i).end()
	}
	return Range{start, min(limit, alignUp(end))}, true
}

// readPiece reads and scans a piece. What cannot be read is counted, page by page.
func (w *worker) readPiece(ctx context.Context, r Range) {
	for r.Start < r.End && ctx.Err() == nil {
		words := w.words[:(r.End-r.Start)/wordBytes]
		n, _ := readWords(w.memory, words, r.Start)
		if n > 0 {
			w.have, w.base = n, r.Start
			w.scan(words[:n], r.Start)
		}
		w.read.Add(uint64(n) * wordBytes)
		r.Start += uint64(n) * wordBytes
		if n == len(words) {
			return
		}
		bad := Range{r.Start, min(r.End, r.Start&^(faultPage-1)+faultPage)}
		w.unread.Add(bad.End - bad.Start)
		r.Start = bad.End
	}
}

// scan looks for addresses of blocks in words that are at an address.
func (w *worker) scan(words []uint64, base uint64) {
	lo, span := w.lo, w.span
	for len(words) > 0 {
		n := 0
		i := 0
		// A word of most heaps is no address: four tests in a row cost less than a loop of
		// their own, and leave room for what they find.
		for ; i+4 <= len(words) && n <= hitBatch-4; i += 4 {
			q := (*[4]uint64)(words[i:])
			a, b, c, d := q[0], q[1], q[2], q[3]
			if a-lo < span {
				w.hits[n] = hit{base + uint64(i)*wordBytes, a}
				n++
			}
			if b-lo < span {
				w.hits[n] = hit{base + uint64(i+1)*wordBytes, b}
				n++
			}
			if c-lo < span {
				w.hits[n] = hit{base + uint64(i+2)*wordBytes, c}
				n++
			}
			if d-lo < span {
				w.hits[n] = hit{base + uint64(i+3)*wordBytes, d}
				n++
			}
		}
		for ; i < len(words) && n < hitBatch && len(words)-i < 4; i++ {
			if words[i]-lo < span {
				w.hits[n] = hit{base + uint64(i)*wordBytes, words[i]}
				n++
			}
		}
		w.resolve(w.hits[:n])
		words, base = words[i:], base+uint64(i)*wordBytes
	}
}

// resolve finds the blocks of hits, which ascend by address.
func (w *worker) resolve(hits []hit) {
	at := w.at[:0]
	for i := range hits {
		at = append(at, w.rankOf(hits[i].value))
	}
	prefetch.Lines(at)
	for i := range hits {
		h := &hits[i]
		if w.u.root < 0 && !w.inBlock(h.at) || w.u.root >= 0 && !w.inRoot(h.at) {
			continue
		}
		to, start, ok := w.find(h.value)
		if w.o.manages(h.value) {
			if !ok {
				continue
			}
			switch w.sight(h) {
			case Unseen:
				continue
			case Seen:
				start = true
			default:
				start = false
			}
		} else if !ok && !w.pastEmptyArray(to, h.value) {
			continue
		}
		if w.u.root >= 0 {
			e := rootEdge{at: h.at, to: to, root: uint32(w.u.root), offset: h.value - w.blocks.addr[to]}
			if !start {
				e.to = to | weak
			}
			w.out.roots = append(w.out.roots, e)
			continue
		}
		w.add(h, to, start)
	}
}

// inBlock moves the cursor to the block that a word is in as a whole, if there is one.
func (w *worker) inBlock(address uint64) bool {
	i := w.cursor
	for i < len(w.blocks.addr) && w.blocks.At(i).end() < address+wordBytes {
		i++
	}
	w.cursor = i
	return i < len(w.blocks.addr) && w.blocks.addr[i] <= address
}

// inRoot is true of a word that is in the unit's root as a whole.
func (w *worker) inRoot(address uint64) bool {
	r := &w.scanner.roots.Ranges[w.u.root]
	return address >= r.Start && address+wordBytes <= r.End
}

// add appends an edge of the block at the cursor.
func (w *worker) add(h *hit, to uint32, start bool) {
	from := uint32(w.cursor)
	if w.open.block != from {
		w.closeCount(false)
		w.open = sharedCount{block: from}
	}
	w.open.edges++
	e := edge{to: to, word: uint32(min((h.at-alignUp(w.blocks.addr[from]))/wordBytes, w.o.far()))}
	if start && h.value != w.blocks.addr[to] {
		e.word |= inside
	}
	if !start {
		offset := h.value - w.blocks.addr[to]
		if offset >= dropped {
			offset = farAway
		}
		w.out.interior = append(w.out.interior, interior{uint32(len(w.out.edges)), uint32(offset), from})
		e.to |= weak
	}
	w.out.edges = append(w.out.edges, e)
}

// pastEmptyArray is true of a pointer to the end of a block of one word, which new T[0] returns; whether
// the block looks like one is asked later.
func (t *table) pastEmptyArray(block uint32, value uint64) bool {
	b := t.blocks.At(int(block))
	return b.Size == wordBytes && value == b.Addr+wordBytes
}

// closeCount notes how many edges the block has in which a word was found last. Of the first and
// the last one of a unit other units may have a part.
func (w *worker) closeCount(last bool) {
	switch {
	case w.open.edges == 0:
	case last || int(w.open.block) == w.u.first:
		w.mu.Lock()
		w.shared = append(w.shared, w.open)
		w.mu.Unlock()
	default:
		w.counts[w.open.block+1] = w.open.edges
	}
}
