package glibc

import (
	"encoding/binary"
	"math"

	"hdb/internal/addr"
	"hdb/internal/paged"
)

// Flags in a chunk's size word, and what it says at least.
const (
	prevInUse    = 1
	isMmapped    = 2
	nonMainArena = 4
	flagBits     = 7

	leastChunk = 0x20
	granule    = 16 // chunks begin at multiples
	header     = 16 // from a chunk to the user's memory

	sane       = 32   // chunks in a row that make a chain credible
	mostDamage = 1000 // places that are reported
)

// A piece is a run of chunks without gaps.
type piece struct {
	addr.Range                    // of the chunks, headers included
	lead       uint64             // of an aligned mmapped chunk: bytes of its mapping in front of it
	fences     uint64             // bytes of fenceposts behind it
	tail       uint64             // of a mmapped chunk: bytes of its mapping behind what its size says
	arena      int                // -1 of a mmapped chunk
	guessed    bool               // arena is, among the main arenas of several libraries
	chunks     paged.List[uint32] // where they begin, in granules from Start
	states     paged.List[State]
}

// add adds a chunk at the end.
func (p *piece) add(at addr.Run, s State) {
	p.chunks.Append(uint32((at - p.Start) / granule))
	p.states.Append(s)
}

// header is the address of chunk i.
func (p *piece) header(i int) addr.Run { return p.Start + addr.Run(*p.chunks.At(i))*granule }

// size is the size of chunk i, its header included.
func (p *piece) size(i int) uint64 {
	if i+1 < p.chunks.Len() {
		return uint64(*p.chunks.At(i + 1)-*p.chunks.At(i)) * granule
	}
	return uint64(p.End - p.header(i))
}

// bytes is the size that chunk i's header says.
func (p *piece) bytes(i int) uint64 { return p.size(i) - p.tail }

// chunk is chunk i as it is reported. The user's memory ends with the first word of the next chunk,
// except a mmapped chunk and the top, which have none behind.
func (p *piece) chunk(i int) Chunk {
	s := *p.states.At(i)
	c := Chunk{Addr: p.header(i) + header, Size: p.size(i) - 8, State: s}
	switch {
	case p.arena < 0:
		c.Size = p.bytes(i) - header + max(p.tail, 8) - 8
	case s == Top:
		c.Size -= 8
	}
	return c
}

// A freeChunk is a free chunk of a bin with the links that are in it.
type freeChunk struct {
	at, fd, bk addr.Run
	size       uint64
	listed     bool // a bin has it
	doubted    bool // the next chunk says that it is free, but not its size: shown as used until a bin holds it
}

// A walker goes through the chunks of an arena.
type walker struct {
	mem    *memory
	heap   *Heap
	buf    []byte
	bound  bound // of the search for chains to continue with, in all
	pieces []*piece

	gaveUp bool // that is reported

	doubted addr.Run // the last chunk whose prev_size is not the size of the free chunk before it
}

// begin starts a piece.
func (w *walker) begin(arena int, at addr.Run) *piece {
	p := &piece{Range: at.To(at), arena: arena}
	w.pieces = append(w.pieces, p)
	return p
}

// A region is memory that chunks of one arena fill from its start.
type region struct {
	addr.Range
	arena *Arena
	last  bool         // it has the top chunk
	alone bool         // it ends at its fenceposts, whatever follows
	parts []addr.Range // of it, which can be read
}

// limit is what no chunk of the region reaches over.
func (r *region) limit() addr.Run {
	if r.last {
		return r.arena.Top
	}
	return r.End
}

// damaged describes the size word of the chunk at p.
func (w *walker) damaged(r *region, p addr.Run, kind DamageKind, word, arg uint64) {
	w.heap.report(Damage{Arena: r.arena.Index, Chunk: p, Field: "size", Kind: kind, Value: word, Args: [3]uint64{arg}, Passing: r.arena.Locked})
}

// giveUp tells once that chunks may be missing, as the search for them reached its bound.
func (w *walker) giveUp(arena int, at addr.Run) {
	if !w.gaveUp {
		w.gaveUp = true
		w.heap.damage = append(w.heap.damage, unsearched(arena, at))
	}
}

// region walks the chunks from r.Start on. It ends at the top chunk, at fenceposts, or where nothing looks like a
// chunk any more; behind damage, and memory that the program got by sbrk itself, it continues. The result is how far
// it came.
func (w *walker) region(r region) addr.Run {
	p := r.Start
	if r.parts == nil {
		r.parts = w.mem.present(r.Range)
	}
	for w.chain(&r, &p) {
	}
	last := w.pieces[len(w.pieces)-1]
	return last.End + addr.Run(last.fences)
}

// chain walks one piece from *at, and reports whether another one begins, at *at then.
//
// A chunk's state is known at the next one, whose size word says whether this one is in use.
func (w *walker) chain(r *region, at *addr.Run) bool {
	out := w.begin(r.arena.Index, *at)
	in := newWindow(w.mem, r.parts, w.buf)
	defer in.end()
	limit := r.limit()
	wantFlags := uint64(0)
	if !r.arena.Main {
		wantFlags = nonMainArena
	}
	p := *at
	var before, fd, bk uint64 // size word of the chunk before, and its links if it is free
	for p < limit && limit-p >= header {
		off := int(p - in.start)
		if p < in.start || off+headBytes > in.filled {
			if !in.fill(p) {
				break
			}
			off = int(p - in.start)
		}
		b := in.buf[off:in.filled:in.filled]
		prev, word := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		size := word &^ flagBits
		if size < leastChunk || word&(isMmapped|8) != 0 || size > uint64(limit-p) || uint64(p-out.Start) > granule*math.MaxUint32 {
			return w.odd(r, out, at, p, before, word)
		}
		if before != 0 {
			w.settle(r, out, p, before, prev, word, wantFlags, fd, bk)
		}
		out.add(p, Used)
		before = word
		if len(b) >= 32 {
			fd, bk = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		} else {
			fd, bk = 0, 0
		}
		p += addr.Run(size)
		out.End = p
	}
	if r.last && p == limit {
		w.top(r, out, before, wantFlags, fd, bk)
		return false
	}
	if p < limit { // its page is not there
		if before != 0 || p == r.Start {
			w.damaged(r, p, Unwritten, 0, 0)
		}
		return w.resume(r, at, p+granule, false)
	}
	if !r.last {
		w.damaged(r, p, NoFencepost, 0, 0)
	}
	return false
}

// settle finds the state of the chunk before p, whose size word is before.
func (w *walker) settle(r *region, out *piece, p addr.Run, before, prev, word, wantFlags, fd, bk uint64) {
	if word&prevInUse != 0 {
		if before&nonMainArena != wantFlags && !r.arena.Locked {
			w.damaged(r, p-addr.Run(before&^flagBits), WrongArena, before, wantFlags)
		}
		return
	}
	size := before &^ flagBits
	f := freeChunk{at: p - addr.Run(size), fd: addr.Run(fd), bk: addr.Run(bk), size: size}
	if prev == size {
		*out.states.At(out.states.Len() - 1) = Free
	} else {
		f.doubted, w.doubted = true, p
	}
	r.arena.frees = append(r.arena.frees, f)
}

// top ends the walk of an arena at its top chunk.
func (w *walker) top(r *region, out *piece, before, wantFlags, fd, bk uint64) {
	p := r.arena.Top
	word, prev := w.mem.Word(p+8), w.mem.Word(p)
	size := word &^ flagBits
	if before != 0 {
		w.settle(r, out, p, before, prev, word, wantFlags, fd, bk)
	}
	if size < header || word&(isMmapped|8) != 0 || size > uint64(r.End-p) {
		w.damaged(r, p, WrongTop, word, uint64(r.End-p))
		return
	}
	if uint64(p-out.Start) > granule*math.MaxUint32 {
		out = w.begin(r.arena.Index, p)
	}
	out.add(p, Top)
	out.End = p + addr.Run(size)
}

// odd handles a size word that no chunk has: fenceposts, or damage.
func (w *walker) odd(r *region, out *piece, at *addr.Run, p addr.Run, before, word uint64) bool {
	if uint64(p-out.Start) > granule*math.MaxUint32 { // offsets of a piece are full
		*at = p
		return true
	}
	size := word &^ flagBits
	if w.fencepost(r, out, p, word) {
		if n := out.states.Len(); n > 0 && word&prevInUse == 0 {
			w.settle(r, out, p, before, w.mem.Word(p), word, 0, uint64(w.mem.Pointer(p-addr.Run(before&^flagBits)+16)), uint64(w.mem.Pointer(p-addr.Run(before&^flagBits)+24)))
		}
		if !r.arena.Main || r.alone {
			out.fences = 2 * granule
			return false
		}
		return w.resume(r, at, p+2*granule, true)
	}
	kind := WrongSize
	if word&(isMmapped|8) == isMmapped && size >= leastChunk && size <= uint64(r.limit()-p) {
		kind = WrongMmapped
	}
	if before == 0 || w.doubted != p-addr.Run(before&^flagBits) { // else that one's size is wrong, and told
		w.damaged(r, p, kind, word, uint64(r.limit()-p))
	}
	return w.resume(r, at, p+granule, false)
}

// fencepost reports whether p is at the chunks of 16 bytes that glibc leaves where an arena's
// memory ends and continues elsewhere.
func (w *walker) fencepost(r *region, out *piece, p addr.Run, word uint64) bool {
	size := word &^ flagBits
	if r.arena.Main {
		next := w.mem.Word(p + granule + 8)
		return size == granule && next&^flagBits == granule
	}
	if r.last {
		return false
	}
	switch {
	case size == granule && p+2*granule == r.End:
		return w.mem.Word(p+granule+8)&^prevInUse == 0
	case word&^prevInUse == 0 && p+granule == r.End:
		// What is in front was too small to be a chunk of its own: the first fencepost, with up to 16 bytes before it.
		if n := out.chunks.Len(); n > 0 && out.size(n-1) == leastChunk {
			out.End = out.header(n - 1)
			out.chunks.DropLast()
			out.states.DropLast()
		}
		return true
	}
	return false
}

// resume finds where a chain of chunks continues, from p. Behind the program's own sbrk (foreign)
// it begins with a chunk that has nothing in front.
func (w *walker) resume(r *region, at *addr.Run, p addr.Run, foreign bool) bool {
	limit := r.limit()
	first, _ := partAt(r.parts, p)
	for _, part := range r.parts[first:] {
		for q := (max(part.Start, p) + granule - 1) &^ (granule - 1); q < min(part.End, limit); q += granule {
			if w.bound.reached() {
				w.giveUp(r.arena.Index, q)
				return false
			}
			if w.credible(r, q, limit, foreign) {
				w.mem.Steps += readSteps // of the chain's first read
				*at = q
				return true
			}
		}
	}
	if r.last && p <= limit { // at least the top
		*at = limit
		return true
	}
	return false
}

// credible reports whether a chain of chunks may begin at p.
func (w *walker) credible(r *region, p, limit addr.Run, foreign bool) bool {
	before := uint64(0)
	for k := range sane {
		if p == limit {
			return k > 0
		}
		if limit-p < header {
			return false
		}
		word := w.mem.Word(p + 8)
		size := word &^ flagBits
		if k == 0 && foreign && word&prevInUse == 0 || r.arena.Main && word&nonMainArena != 0 {
			return false
		}
		if before != 0 && word&prevInUse == 0 && w.mem.Word(p) != before {
			return false
		}
		if k > 0 && size == granule {
			return true // fenceposts
		}
		if word&(isMmapped|8) != 0 || size < leastChunk || size > uint64(limit-p) {
			return false
		}
		before = size
		p += addr.Run(size)
	}
	return true
}
