package glibc

import (
	"slices"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// Sums are chunks and their bytes, headers included, by State. So they add up to what the arena has
// got from the kernel, less fenceposts and what is damaged.
type Sums struct{ Chunks, Bytes [States]uint64 }

// Live are the chunks that the program holds.
func (s *Sums) Live() (chunks, bytes uint64) {
	return s.Chunks[Used] + s.Chunks[Mmapped], s.Bytes[Used] + s.Bytes[Mmapped]
}

// Cached are the chunks in tcaches and fastbins.
func (s *Sums) Cached() (chunks, bytes uint64) {
	return s.Chunks[TCache] + s.Chunks[FastBin], s.Bytes[TCache] + s.Bytes[FastBin]
}

// Add adds the sums of others.
func (s *Sums) Add(o Sums) {
	for k := range States {
		s.Chunks[k] += o.Chunks[k]
		s.Bytes[k] += o.Bytes[k]
	}
}

// count adds up the chunks of each arena, and of the mmapped ones.
func (h *Heap) count() {
	h.sums = make([]Sums, len(h.arenas)+1)
	h.largest = make([]uint64, len(h.arenas)+1)
	for _, p := range h.pieces {
		k := p.arena
		if k < 0 {
			k = len(h.arenas)
		}
		s := &h.sums[k]
		for i := range p.states.Len() {
			state, size := *p.states.At(i), p.size(i)
			s.Chunks[state]++
			s.Bytes[state] += size
			if state == Free {
				h.largest[k] = max(h.largest[k], size)
			}
		}
	}
	for i := range h.sums {
		n, _ := h.sums[i].Live()
		h.blocks += int(n)
		for _, n := range h.sums[i].Chunks {
			h.chunks += int(n)
		}
	}
}

// place is where sums of an arena are, -1 being the mmapped chunks.
func (h *Heap) place(arena int) int {
	if arena < 0 || arena >= len(h.arenas) {
		return len(h.arenas)
	}
	return arena
}

// Sums are those of an arena, or of mmapped chunks for -1.
func (h *Heap) Sums(arena int) Sums { return h.sums[h.place(arena)] }

// LargestFree is the size of the largest chunk in the bins of an arena, 0 if they are empty.
func (h *Heap) LargestFree(arena int) uint64 { return h.largest[h.place(arena)] }

// Settings are the tunable parameters of malloc (mallopt(3)), as they are now.
type Settings struct {
	Known         bool
	MmapThreshold uint64 // from which size on blocks are mappings of their own; it grows up to 32 MiB
	Mmaps         uint64 // how many chunks are mappings of their own
	MmappedBytes  uint64 // of their mappings
}

// Settings are those of the process.
func (h *Heap) Settings() Settings {
	p := h.params
	return Settings{p.counted, p.mmapThreshold, p.mmaps, p.mmapped}
}

// Resident is how much of the spans is in memory or in swap, all of it if that cannot be known.
func (h *Heap) Resident() (bytes uint64, known bool) {
	for _, s := range h.Spans() {
		bytes += h.mem.Bytes(s.Range)
	}
	return bytes, h.src.Resident != nil
}

// A Trim is what malloc_trim(0) of the program's library would do: bytes that are in memory or in swap.
type Trim struct {
	Returned uint64 // whole pages that it returns to the kernel: of free chunks, and of the main arena's top
	Tops     uint64 // that the tops of other arenas keep
	Pinned   uint64 // freed memory that stays, as live and cached chunks are in its pages; that in tcaches, too
}

// Trim follows malloc_trim(0), which merges the chunks of fastbins first.
func (h *Heap) Trim() (t Trim) {
	const links = 0x30 // struct malloc_chunk stays
	for _, p := range h.pieces {
		if p.arena < 0 || h.arenas[p.arena].Library != 0 {
			continue
		}
		parts := h.mem.present(p.Range)
		give := func(at, end addr.Run) {
			all, whole := overlap(parts, at, end), overlap(parts, (at+links+pageSize-1)&^(pageSize-1), end&^(pageSize-1))
			t.Returned += whole
			t.Pinned += all - whole
		}
		free := addr.Run(0) // where free chunks begin that will be one
		for i := range p.states.Len() {
			at := p.header(i)
			end := at + addr.Run(p.size(i))
			s := *p.states.At(i)
			if s == Free || s == FastBin {
				if free == 0 {
					free = at
				}
				continue
			}
			switch {
			case s == Top && free != 0:
				at = free // it becomes part of the top
			case free != 0:
				give(free, at)
			}
			free = 0
			switch {
			case s == TCache:
				t.Pinned += overlap(parts, at, end)
			case s == Top && h.arenas[p.arena].Main:
				t.Returned += overlap(parts, end-fromTop(at, end, h.params.hugePage, h.src.Mappings), end)
			case s == Top:
				t.Tops += overlap(parts, (at+leastChunk+pageSize-1)&^(pageSize-1), end)
			}
		}
		if free != 0 {
			give(free, p.End)
		}
	}
	return t
}

// fromTop is how much of the main arena's top, from at to end, malloc_trim frees by moving the program break (systrim in
// malloc/malloc.c): whole pages, or huge ones, and nothing if the program has moved the break itself.
func fromTop(at, end addr.Run, huge uint64, mappings []resident.Mapping) addr.Run {
	unit := addr.Run(max(pageSize, huge))
	if end-at <= leastChunk || !endsAtBreak(end, mappings) {
		return 0
	}
	return (end - at - leastChunk - 1) &^ (unit - 1)
}

// endsAtBreak reports whether an address is the program break: the end of [heap], which a core file may not name, and which is
// in several mappings if the program has asked for huge pages in parts of it.
func endsAtBreak(end addr.Run, mappings []resident.Mapping) bool {
	i := slices.IndexFunc(mappings, func(m resident.Mapping) bool { return m.End == end })
	if i < 0 {
		return false
	}
	path, rest := mappings[i].Path, mappings[i+1:]
	unnamed := path == "" && !slices.ContainsFunc(mappings, func(m resident.Mapping) bool { return m.Path == "[heap]" })
	return (path == "[heap]" || unnamed) && (len(rest) == 0 || rest[0].Start != end || rest[0].Path != path)
}

// overlap is how many bytes parts have of a range.
func overlap(parts []addr.Range, at, end addr.Run) (n uint64) {
	if at >= end {
		return 0
	}
	first, _ := partAt(parts, at)
	for _, r := range parts[first:] {
		if r.Start >= end {
			break
		}
		n += uint64(min(r.End, end) - max(r.Start, at))
	}
	return n
}

// A Header is what is in a chunk.
type Header struct {
	Chunk    addr.Run // where the header lies, 16 bytes in front of the user's memory
	Arena    int      // index in Arenas, -1 of a mmapped chunk
	PrevSize uint64   // of the chunk in front if that is free, of a mmapped one the bytes in front of it; else the last word of that chunk's user
	Size     uint64   // with the flags
	// Links of a free chunk in a bin. In a large bin there are also those to the next size.
	FD, BK, FDNextSize, BKNextSize addr.Run
	// Next is the user's memory of the next chunk in the list of a tcache, or the next chunk in
	// a fastbin; 0 at its end. Key is the second word of a chunk in a tcache.
	Next addr.Run
	Key  uint64
}

// PrevInUse, Mmapped and NonMainArena are the flags in Size.
func (x *Header) PrevInUse() bool    { return x.Size&prevInUse != 0 }
func (x *Header) Mmapped() bool      { return x.Size&isMmapped != 0 }
func (x *Header) NonMainArena() bool { return x.Size&nonMainArena != 0 }

// Bytes is the chunk's size without the flags.
func (x *Header) Bytes() uint64 { return x.Size &^ flagBits }

// Header reads the header of the chunk that an address is in.
func (h *Heap) Header(a addr.Run) (x Header, c Chunk, ok bool) {
	p, i, ok := h.locate(a)
	if !ok {
		return x, c, false
	}
	c = p.chunk(i)
	at := p.header(i)
	x = Header{Chunk: at, Arena: p.arena, PrevSize: h.mem.Word(at), Size: h.mem.Word(at + 8)}
	switch c.State {
	case Free:
		x.FD, x.BK = h.mem.Pointer(at+16), h.mem.Pointer(at+24)
		if p.size(i) >= largeBins[0].from {
			x.FDNextSize, x.BKNextSize = h.mem.Pointer(at+32), h.mem.Pointer(at+40)
		}
	case TCache:
		x.Next, x.Key = h.links.next(h.mem.Word(at+16), at+16), h.mem.Word(at+24)
	case FastBin:
		x.Next = h.links.next(h.mem.Word(at+16), at+16)
	}
	return x, c, true
}

// Around returns the chunks in front of and behind the one that an address is in, if there are any
// in the same run of chunks.
func (h *Heap) Around(a addr.Run) (before, behind *Chunk) {
	p, i, ok := h.locate(a)
	if !ok {
		return nil, nil
	}
	if i > 0 {
		c := p.chunk(i - 1)
		before = &c
	}
	if i+1 < p.chunks.Len() {
		c := p.chunk(i + 1)
		behind = &c
	}
	return before, behind
}

// Before is the last chunk that ends at an address or before it, in memory of an arena. It is for
// places in which no chunk was found.
func (h *Heap) Before(a addr.Run) (Chunk, bool) {
	n, _ := slices.BinarySearchFunc(h.pieces, a, func(p *piece, a addr.Run) int { return addr.Compare(p.Start, p.End, a) })
	if n == 0 {
		return Chunk{}, false
	}
	p := h.pieces[n-1]
	return p.chunk(p.chunks.Len() - 1), p.arena >= 0
}

// CachedBy is the thread whose tcache has the chunk of the user's memory at an address.
func (h *Heap) CachedBy(user addr.Run) (tid int, ok bool) {
	if c, found := h.Find(user); !found || c.State != TCache {
		return 0, false
	}
	for _, t := range h.tcaches {
		for _, b := range t.Bins {
			p := h.mem.Pointer(t.Addr + addr.Run(h.mem.layout.entries+8*b.Index))
			for range b.Count {
				if p == user {
					return t.TID, true
				}
				p = h.links.next(h.mem.Word(p), p)
			}
		}
	}
	return 0, false
}
