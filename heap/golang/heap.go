package golang

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"hdb/goruntime"
	"hdb/internal/addr"
)

// A Source is a stopped process, or a core file, with a Go runtime.
type Source struct {
	Memory io.ReaderAt
	Layout goruntime.HeapLayout

	// Addresses of variables: runtime.mheap_, runtime.firstmoduledata, runtime.allgs, and
	// runtime.allfin, which may be missing.
	Heap, Modules, AllGs, Finalizers uint64

	// Stacks are where threads are, and were when a signal came.
	Stacks []Stack
}

// A Stack is a stack pointer and an instruction. PC is 0 if it is not known.
type Stack struct{ SP, PC uint64 }

// ErrNotBegun tells that the runtime has no heap yet.
var ErrNotBegun = errors.New("the Go runtime has no heap yet")

// SharedBytes is the size of slots that several blocks may share, which begin at multiples of it.
const SharedBytes = goruntime.TinySize

// Bounds of what memory says.
const (
	maxSpans   = 1 << 24
	maxNElems  = goruntime.PageSize / 8 // of a span: larger ones have larger slots (MaxObjsPerSpan)
	maxSlots   = 1 << 31                // of all spans, in use or not
	maxModules = 1 << 10
	maxGs      = 1 << 24
)

// A Heap is the heap of a Go runtime at one moment. It may be asked from several goroutines.
type Heap struct {
	src     Source
	mem     goruntime.Memory
	spans   []span // ascending: those in use, and those of stacks
	bits    []byte // allocBits of spans
	slots   uint64 // of all spans
	special int    // specials that were read
	torn    int
	inline  bool // mark bits are in spans
	sum     Sum
	modules []module
	masks   uint64 // bytes of those of modules
	roots   []Root
	frames  map[uint64]*frame // by places in code; nil: none is known
	read    uint64            // bytes of tables of functions
	scanned uint64            // bytes of stacks
	Types   *Types

	arenasMu sync.Mutex
	arenas   map[uint64]uint64 // structures by index, of Go before 1.22
}

// Sum is a number of slots and their bytes.
type Sum struct {
	Slots int
	Bytes uint64
}

// A span is pages that slots of one size are cut from.
type span struct {
	start  uint64
	bytes  uint64
	elem   uint64 // bytes of a slot
	large  uint64 // the type of the one block, 0 not known
	nelems uint32
	free   uint32 // slots below are in use
	bits   int    // where in Heap.bits those of the others are; -1 none are in use
	class  uint8
	manual bool // a stack, or the like
	arena  bool // of the user
	header bool // blocks begin 8 bytes into their slots
	marks  bool // mark bits are at its end
}

func (s *span) end() uint64  { return s.start + s.bytes }
func (s *span) noscan() bool { return s.class&1 != 0 }

// small tells spans whose bitmap of pointers is at their end, from Go 1.22 on.
func (s *span) small() bool { return s.class>>1 != 0 && s.elem < goruntime.HeaderFrom }

// A Block is memory that a program has from Go's allocator.
type Block struct {
	Addr uint64
	Size uint64 // of its slot, without a header
}

// Open reads the spans and the roots. If ctx ends before, the error is its.
func Open(ctx context.Context, src Source) (*Heap, error) {
	h := &Heap{src: src, mem: goruntime.Memory{ReaderAt: src.Memory, Given: ctx.Err}, arenas: map[uint64]uint64{}, frames: map[uint64]*frame{}}
	list := h.mem.Words(src.Heap+uint64(src.Layout.AllSpans), 2, 2)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(list) < 2 || list[0] == 0 || list[1] == 0 {
		return nil, ErrNotBegun
	}
	all := h.mem.Words(list[0], list[1], maxSpans)
	if uint64(len(all)) < list[1] {
		h.torn++
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.readSpans(all)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(h.spans) == 0 {
		return nil, ErrNotBegun
	}
	h.findInlineMarks()
	h.readModules()
	h.Types = &Types{h: h, known: map[uint64]*Type{}}
	h.readRoots()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mem.Given, h.frames = nil, nil
	for i := range h.modules {
		h.modules[i].functions = nil
	}
	return h, nil
}

// A found span is what its structure says of it.
type found struct {
	span
	allocBits uint64 // where these are
	specials  uint64 // the first one, 0 none
}

// readSpans reads the structures of spans, and which of their slots are in use.
func (h *Heap) readSpans(at []uint64) {
	all := h.structures(at)
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.start, b.start) })
	kept := all[:0]
	end := uint64(0)
	for _, s := range all {
		if s.start < end || h.slots+uint64(s.nelems) > maxSlots {
			h.torn++
			continue
		}
		end = s.end()
		h.slots += uint64(s.nelems)
		kept = append(kept, s)
	}
	h.spans = make([]span, len(kept))
	for i, s := range kept {
		h.spans[i] = s.span
	}
	h.readBits(kept)
	for i := range h.spans {
		s := &h.spans[i]
		if s.manual {
			continue
		}
		n := h.used(s)
		h.sum.Slots += n
		h.sum.Bytes += uint64(n) * s.elem
	}
	for i, s := range kept {
		if s.specials != 0 && !s.manual {
			h.specials(&h.spans[i], s.specials)
		}
	}
}

// structures reads those of spans. None is in another one: so there are no more than the memory has room for.
func (h *Heap) structures(at []uint64) []found {
	l := &h.src.Layout
	size := max(l.Specials, l.LargeType, l.ElemSize) + 8
	apart := at[:0]
	for _, a := range at {
		if n := len(apart); n > 0 && a-apart[n-1] < uint64(size) {
			h.torn++
			continue
		}
		apart = append(apart, a)
	}
	var all []found
	h.mem.Each(apart, func(int) int { return size }, func(_ int, b []byte) {
		if b == nil {
			h.torn++
			return
		}
		if s, used := h.span(b); used {
			all = append(all, found{s, binary.LittleEndian.Uint64(b[l.AllocBits:]), binary.LittleEndian.Uint64(b[l.Specials:])})
		}
	})
	return all
}

// span is what a structure says, if the span is used and that holds together.
func (h *Heap) span(b []byte) (s span, used bool) {
	l := &h.src.Layout
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	state := b[l.State]
	if state != goruntime.SpanInUse && state != goruntime.SpanManual {
		return s, false
	}
	pages := word(l.NPages)
	s = span{start: word(l.StartAddr), bits: -1, manual: state == goruntime.SpanManual}
	if s.start%goruntime.PageSize != 0 || s.start == 0 || s.start >= goruntime.MaxAddress || pages == 0 || pages > (goruntime.MaxAddress-s.start)/goruntime.PageSize {
		h.torn++
		return s, false
	}
	s.bytes = pages * goruntime.PageSize
	if s.manual {
		return s, true
	}
	s.elem, s.class = word(l.ElemSize), b[l.SpanClass]
	free, n := word(l.FreeIndex), word(l.NElems)
	if l.Narrow {
		free, n = uint64(binary.LittleEndian.Uint16(b[l.FreeIndex:])), uint64(binary.LittleEndian.Uint16(b[l.NElems:]))
	}
	s.arena = l.ArenaChunk != 0 && b[l.ArenaChunk] != 0
	if s.elem < 8 || s.elem%8 != 0 || n == 0 || n > maxNElems || s.elem > s.bytes/n || s.class>>1 == 0 && n != 1 {
		h.torn++ // it is being made
		return s, false
	}
	s.nelems, s.free = uint32(n), uint32(min(free, n))
	s.header = l.MallocHeader && !s.noscan() && s.class>>1 != 0 && s.elem >= goruntime.HeaderFrom && !s.arena
	if l.LargeType != 0 && s.class>>1 == 0 {
		s.large = word(l.LargeType)
	}
	return s, true
}

// readBits reads which slots were in use at the last sweep. all are the spans.
func (h *Heap) readBits(all []found) {
	order := make([]int, 0, len(all))
	for i := range all {
		if s := &all[i]; !s.manual && s.free < s.nelems && s.allocBits != 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[a].allocBits, all[b].allocBits) })
	places := make([]uint64, len(order))
	for k, i := range order {
		places[k] = all[i].allocBits
	}
	size := func(k int) int { return int(h.spans[order[k]].nelems+7) / 8 }
	h.mem.Each(places, size, func(k int, b []byte) {
		if b == nil {
			h.torn++
			return
		}
		h.spans[order[k]].bits = len(h.bits)
		h.bits = append(h.bits, b...)
	})
}

// inUse reports whether a slot is.
func (h *Heap) inUse(s *span, slot uint32) bool {
	return slot < s.free || s.bits >= 0 && h.bits[s.bits+int(slot/8)]>>(slot%8)&1 != 0
}

// used counts the slots in use.
func (h *Heap) used(s *span) int {
	n := int(s.free)
	if s.bits < 0 {
		return n
	}
	for i, b := range h.bits[s.bits:][:(s.nelems+7)/8] {
		if first := 8 * uint32(i); first < s.free { // counted
			b &^= 1<<min(s.free-first, 8) - 1
		}
		if rest := s.nelems - 8*uint32(i); rest < 8 {
			b &= 1<<rest - 1
		}
		n += bits.OnesCount8(b)
	}
	return n
}

// findInlineMarks finds whether mark bits are in spans: they are smaller by them then.
func (h *Heap) findInlineMarks() {
	if !h.src.Layout.InlineMarks {
		return
	}
	h.inline = true
	for i := range h.spans {
		s := &h.spans[i]
		if s.manual || s.arena || s.class>>1 == 0 || s.elem < goruntime.TinySize || s.elem >= goruntime.HeaderFrom {
			continue
		}
		room := s.bytes - goruntime.InlineMarkBytes
		if !s.noscan() {
			room -= s.bytes / 64
		}
		if uint64(s.nelems)*s.elem > room {
			h.inline = false
			break
		}
	}
	for i := range h.spans {
		s := &h.spans[i]
		s.marks = h.inline && !s.arena && s.small() && s.elem >= goruntime.TinySize
	}
}

// Sum is the slots in use and their bytes, as runtime/metrics counts them: blocks that share a slot
// are one.
func (h *Heap) Sum() Sum { return h.sum }

// Torn counts what did not hold together: a thread may have been changing it.
func (h *Heap) Torn() int { return h.torn }

// Blocks are the slots in use, ascending.
func (h *Heap) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for i := range h.spans {
			s := &h.spans[i]
			if s.manual {
				continue
			}
			for k := range s.nelems {
				if h.inUse(s, k) && !yield(s.block(k)) {
					return
				}
			}
		}
	}
}

// block is the block of a slot.
func (s *span) block(slot uint32) Block {
	b := Block{s.start + uint64(slot)*s.elem, s.elem}
	if s.header {
		b.Addr, b.Size = b.Addr+8, b.Size-8
	}
	return b
}

// Slot is the bytes of a block's slot: those that are large and begin at an odd multiple of 8 have a header before
// them.
func (b Block) Slot() uint64 {
	if b.Addr%16 == 8 && b.Size+8 >= goruntime.HeaderFrom {
		return b.Size + 8
	}
	return b.Size
}

// at is the span of an address, nil if it is in none.
func (h *Heap) at(a uint64) *span {
	i := sort.Search(len(h.spans), func(i int) bool { return h.spans[i].end() > a })
	if i == len(h.spans) || h.spans[i].start > a {
		return nil
	}
	return &h.spans[i]
}

// Shared reports whether an address is in a slot that several blocks of less than 16 bytes may share.
func (h *Heap) Shared(a uint64) bool {
	s := h.at(a)
	return s != nil && s.shared() && a < s.start+uint64(s.nelems)*s.elem
}

// shared tells spans whose slots blocks without pointers may share.
func (s *span) shared() bool {
	return !s.manual && s.noscan() && s.elem == goruntime.TinySize && s.class>>1 != 0
}

// Arenas are the ranges that spans are cut from, of 64 MiB each, joined where they touch, ascending.
func (h *Heap) Arenas() (all []addr.Range) {
	const size = 1 << goruntime.ArenaShift
	for i := range h.spans {
		s := &h.spans[i]
		low, high := addr.Run(s.start&^(size-1)), addr.Run((s.end()+size-1)&^(size-1))
		if n := len(all); n > 0 && low <= all[n-1].End {
			all[n-1].End = max(all[n-1].End, high)
			continue
		}
		all = append(all, low.To(high))
	}
	return all
}

// nearSpans is how far spans with pointers may lie from each other to be read at once.
const nearSpans = 64 << 10

// Scanned yields the parts of a range that may have pointers: all but spans that have none. What is between
// parts that are near is left in.
func (h *Heap) Scanned(start, end uint64, yield func(low, high uint64)) {
	i := sort.Search(len(h.spans), func(i int) bool { return h.spans[i].end() > start })
	low := start
	for ; i < len(h.spans) && h.spans[i].start < end; i++ {
		s := &h.spans[i]
		if !s.manual && !s.noscan() {
			continue
		}
		// s is left out with what follows of its kind, if that is enough.
		from := max(s.start, start)
		for i+1 < len(h.spans) && h.spans[i+1].start == h.spans[i].end() && (h.spans[i+1].manual || h.spans[i+1].noscan()) {
			i++
		}
		to := min(h.spans[i].end(), end)
		if to-from < nearSpans {
			continue
		}
		if low < from {
			yield(low, from)
		}
		low = to
	}
	if low < end {
		yield(low, end)
	}
}
