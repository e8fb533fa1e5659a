package golang

import (
	"encoding/binary"
	"io"

	"hdb/goruntime"
)

// Pointers tells which words of blocks the collector takes for pointers. It is for one goroutine, and
// quick where addresses ascend.
type Pointers struct {
	h   *Heap
	mem goruntime.Memory

	span *span
	mask []byte // of small blocks: of the whole span; with bits of the arena: of the words from base on
	base uint64

	slot uint64 // the slot whose type is typ
	typ  *Type

	types map[uint64]*Type
}

// Pointers is for one goroutine, which reads memory by its own reader.
func (h *Heap) Pointers(r io.ReaderAt) *Pointers {
	return &Pointers{h: h, mem: goruntime.Memory{ReaderAt: r}, types: map[uint64]*Type{}}
}

// At tells what the collector takes a word for that is in a block. piece is memory that was read already,
// from the address base on; it may be nil.
func (p *Pointers) At(at uint64, piece []uint64, base uint64) Sight {
	s := p.span
	if s == nil || at < s.start || at >= s.end() {
		if s = p.h.at(at); s == nil {
			return Elsewhere
		}
		p.span, p.mask, p.typ, p.slot = s, nil, nil, 0
	}
	bit := false
	switch {
	case s.manual || s.noscan():
	case s.arena: // its bitmap is kept apart
		bit = true
	case p.h.src.Layout.ArenaBits > 0:
		bit = p.arena(s, at)
	case s.small():
		bit = p.small(s, at, piece, base)
	default:
		bit = p.typed(s, at, piece, base)
	}
	if bit {
		return Pointer
	}
	return NoPointer
}

// heapBits is where the bitmap of a span of small blocks begins.
func (s *span) heapBits() uint64 {
	at := s.end() - s.bytes/64
	if s.marks {
		at -= goruntime.InlineMarkBytes
	}
	return at
}

// maxSmallSpan bounds the spans of small blocks: they are one page.
const maxSmallSpan = 1 << 20

func (p *Pointers) small(s *span, at uint64, piece []uint64, base uint64) bool {
	if p.mask == nil {
		if s.bytes > maxSmallSpan {
			return true
		}
		p.mask = make([]byte, s.bytes/64)
		from := s.heapBits()
		if from >= base && from+uint64(len(p.mask)) <= base+8*uint64(len(piece)) && (from-base)%8 == 0 {
			for i := 0; i < len(p.mask); i += 8 {
				binary.LittleEndian.PutUint64(p.mask[i:], piece[(from-base)/8+uint64(i/8)])
			}
		} else if !p.mem.Read(p.mask, from) {
			for i := range p.mask {
				p.mask[i] = 0xff // what is not known may be a pointer
			}
		}
	}
	n := (at - s.start) / 8
	return n/8 < uint64(len(p.mask)) && p.mask[n/8]>>(n%8)&1 != 0
}

// typed describes a block that begins with its type, or has a span of its own.
func (p *Pointers) typed(s *span, at uint64, piece []uint64, base uint64) bool {
	slot, typ := s.start, s.large
	off := at - s.start
	if s.header {
		slot += off / s.elem * s.elem
		off = at - slot
		if off < 8 {
			return false
		}
		off -= 8
	}
	if p.typ == nil || p.slot != slot {
		if s.header {
			if i := (slot - base) / 8; slot >= base && i < uint64(len(piece)) {
				typ = piece[i]
			} else {
				typ = p.mem.Word(slot)
			}
		}
		t, ok := p.types[typ]
		if !ok {
			t = p.h.Types.At(typ)
			p.types[typ] = t
		}
		p.slot, p.typ = slot, t
	}
	return p.typ.Pointer(off)
}

// windowBytes are covered by the part of an arena's bitmap that is kept: scanobject looks at no more of
// a block at a time (maxObletBytes).
const windowBytes = 128 << 10

// arena tells by the bitmap of the arena, before Go 1.22.
func (p *Pointers) arena(s *span, at uint64) bool {
	slot := s.start + (at-s.start)/s.elem*s.elem
	part := slot + (at-slot)&^(windowBytes-1)
	size := min(windowBytes, slot+s.elem-part)
	if p.mask == nil || p.base != part {
		p.base = part
		p.mask = p.h.arenaMask(p.mem, p.mask, part, size)
	}
	n := (at - part) / 8
	return p.mask[n/8]>>(n%8)&1 != 0
}

// arenaMask is the bits of size bytes of a block, all of them set if they cannot be read.
func (h *Heap) arenaMask(mem goruntime.Memory, room []byte, at, size uint64) []byte {
	words := size / 8
	mask := append(room[:0], make([]byte, (words+7)/8)...)
	l := &h.src.Layout
	bits := uint64(l.ArenaBits)
	for w := uint64(0); w < words; {
		a := at + 8*w
		arena := h.arenaAt(mem, a)
		first := a % (1 << goruntime.ArenaShift) / 8
		n := min(words-w, 1<<goruntime.ArenaShift/8-first)
		low := first * bits / 8
		b := make([]byte, (first+n)*bits/8+1-low)
		if arena == 0 || !mem.Read(b, arena+low) {
			for i := range n {
				mask[(w+i)/8] |= 1 << ((w + i) % 8)
			}
			w += n
			continue
		}
		for i := range n {
			k := first + i
			if bits == 1 {
				if b[k/8-low]>>(k%8)&1 == 0 {
					continue
				}
			} else {
				v := b[k/4-low] >> (k % 4)
				if v>>4&1 == 0 {
					return mask // no more pointers follow
				}
				if v&1 == 0 {
					continue
				}
			}
			mask[(w+i)/8] |= 1 << ((w + i) % 8)
		}
		w += n
	}
	return mask
}

// arenaAt is the structure of an address's arena.
func (h *Heap) arenaAt(mem goruntime.Memory, a uint64) uint64 {
	index := (a + goruntime.ArenaBase) >> goruntime.ArenaShift
	h.arenasMu.Lock()
	defer h.arenasMu.Unlock()
	at, ok := h.arenas[index]
	if !ok {
		if l2 := mem.Word(h.src.Heap + uint64(h.src.Layout.Arenas)); l2 != 0 {
			at = mem.Word(l2 + 8*index)
		}
		h.arenas[index] = at
	}
	return at
}
