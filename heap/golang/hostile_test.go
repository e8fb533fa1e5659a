package golang

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"hdb/goruntime"
)

// more adds a span whose structure lies at an address to those of a fake: n slots of 8 bytes, which all are in use.
func more(m fakeMemory, l goruntime.HeapLayout, at, start, n uint64) {
	have := binary.LittleEndian.Uint64(m[atHeap+uint64(l.AllSpans)+8-fakeBase:])
	m.put(atHeap+uint64(l.AllSpans)+8, have+1)
	m.put(atSpans+8*have, at)
	m.put(at+uint64(l.StartAddr), start)
	m.put(at+uint64(l.NPages), (8*n+goruntime.PageSize-1)/goruntime.PageSize)
	binary.LittleEndian.PutUint16(m[at-fakeBase+uint64(l.FreeIndex):], 0)
	binary.LittleEndian.PutUint16(m[at-fakeBase+uint64(l.NElems):], uint16(n))
	m.put(at+uint64(l.ElemSize), 8)
	m.put(at+uint64(l.AllocBits), atOnes)
	m[at+uint64(l.SpanClass)-fakeBase] = 1<<1 | 1
	m[at+uint64(l.State)-fakeBase] = goruntime.SpanInUse
}

const (
	atOnes = fakeBase + fakeBytes // allocBits, all ones
	atMore = atOnes + 1<<13       // structures of more spans
)

// room is a fake with memory for more.
func room(l goruntime.HeapLayout, n int) (fakeMemory, Source) {
	m, src := fake(l)
	m = append(m, bytes.Repeat([]byte{0xff}, 1<<13)...)
	m = append(m, make(fakeMemory, n)...)
	src.Memory = m
	return m, src
}

// TestSpansInOnePlace has many spans that are said to lie in one place: the bits of one are kept.
func TestSpansInOnePlace(t *testing.T) {
	l := layout(t, "27")
	m, src := room(l, 300*256)
	for i := range uint64(300) {
		more(m, l, atMore+256*i, 1<<40, 1024)
	}
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	_, plain := fake(l)
	usual, err := Open(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(h.bits)-len(usual.bits), 1024/8; got != want || h.Torn() != 299 || h.Sum().Slots-usual.Sum().Slots != 1024 {
		t.Errorf("%d bytes of bits more, want %d; %d torn; %+v", got, want, h.Torn(), h.Sum())
	}
}

// TestSlotsOfSpan has a span of more slots than any has.
func TestSlotsOfSpan(t *testing.T) {
	l := layout(t, "27")
	for n, torn := range map[uint64]int{1024: 0, 1025: 1, 65535: 1} {
		m, src := room(l, 256)
		more(m, l, atMore, 1<<40, n)
		h, err := Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		if h.Torn() != torn || len(h.bits) > 1024 {
			t.Errorf("%d slots: %d torn, %d bytes of bits", n, h.Torn(), len(h.bits))
		}
	}
}

// TestStructuresInOneAnother has structures of spans that begin within others.
func TestStructuresInOneAnother(t *testing.T) {
	l := layout(t, "27")
	m, src := room(l, 512)
	for i := range uint64(10) {
		more(m, l, atMore+8*i, 1<<40, 1024)
	}
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if h.Torn() < 9 {
		t.Errorf("%d torn", h.Torn())
	}
}

// TestSlotsOfAll bounds the slots of all spans together.
func TestSlotsOfAll(t *testing.T) {
	l := layout(t, "27")
	m, src := room(l, 512)
	more(m, l, atMore, 1<<40, 1024)
	more(m, l, atMore+256, 1<<41, 1024)
	h := &Heap{src: src, mem: goruntime.Memory{ReaderAt: m}, slots: maxSlots - 1500}
	h.readSpans([]uint64{atMore, atMore + 256})
	if h.Torn() != 1 || h.Sum().Slots != 1024 || len(h.bits) != 1024/8 {
		t.Errorf("%d torn, %+v, %d bytes of bits", h.Torn(), h.Sum(), len(h.bits))
	}
}

// TestUsed counts slots as inUse has them.
func TestUsed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := &Heap{bits: make([]byte, 40)}
	for i := range h.bits {
		h.bits[i] = byte(r.Uint32())
	}
	for n := range uint32(33) {
		for free := range n + 1 {
			for _, bits := range []int{-1, 0, 3} {
				s := &span{nelems: n, free: free, bits: bits}
				want := 0
				for i := range n {
					if h.inUse(s, i) {
						want++
					}
				}
				if got := h.used(s); got != want {
					t.Errorf("%+v: %d, want %d", s, got, want)
				}
			}
		}
	}
}

// TestSpecialsOfStack has a span of stacks where one with specials is said to be, too.
func TestSpecialsOfStack(t *testing.T) {
	l := layout(t, "27")
	m, src := room(l, 256)
	more(m, l, atMore, atStack, 1024)
	m.put(atMore+uint64(l.Specials), atSpecial)
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(h.Roots()); n != 3 || h.Torn() != 1 {
		t.Errorf("a stack has specials: %+v, %d torn", h.Roots(), h.Torn())
	}
}

// TestRingOfSpecials has lists of specials that lead back to one of theirs.
func TestRingOfSpecials(t *testing.T) {
	for length := 1; length <= 5; length++ {
		for back := range length {
			l := layout(t, "27")
			m, src := fake(l)
			for i := range length {
				at := uint64(atSpecial + 128*i)
				next := at + 128
				if i == length-1 {
					next = uint64(atSpecial + 128*back)
				}
				copy(m[at-fakeBase:], m[atSpecial-fakeBase:][:128])
				m.put(at, next)
			}
			memory := &counting{ReaderAt: m}
			src.Memory = memory
			h, err := Open(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			if h.Torn() != 1 || memory.reads > 100 {
				t.Errorf("%d specials, the last leads to number %d: %d torn, %d reads", length, back, h.Torn(), memory.reads)
			}
		}
	}
}

// cancelling ends a context at one of the reads of memory.
type cancelling struct {
	fakeMemory
	cancel func()
	reads  *int
	at     int
}

func (m cancelling) ReadAt(b []byte, at int64) (int, error) {
	if *m.reads++; *m.reads == m.at {
		m.cancel()
	}
	return m.fakeMemory.ReadAt(b, at)
}

// TestOpenGivenUp gives the reading up at every read: nothing more is read then.
func TestOpenGivenUp(t *testing.T) {
	m, src := fake(layout(t, "27"))
	whole := 0
	src.Memory = cancelling{m, nil, &whole, -1}
	if _, err := Open(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= whole; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		src.Memory = cancelling{m, cancel, &reads, at}
		if h, err := Open(ctx, src); !errors.Is(err, context.Canceled) || h != nil || reads != at {
			t.Errorf("given up at read %d of %d: %v, %d reads", at, whole, err, reads)
		}
	}
}

// TestLargestType has a type that says to be larger than any: others keep their masks.
func TestLargestType(t *testing.T) {
	m, src := fake(layout(t, "27"))
	const huge = atTypes + 0x500
	copy(m[huge-fakeBase:][:0x80], m[atPair-fakeBase:][:0x80])
	m.put(huge, 1<<46)
	m.put(huge+8, 1<<46)
	h, err := Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if typ := h.Types.At(huge); typ == nil || typ.mask != nil {
		t.Errorf("%+v has a mask", typ)
	}
	if typ := h.Types.At(atPair); typ == nil || typ.mask == nil || typ.Pointer(8) {
		t.Errorf("%+v", typ)
	}
}

// TestNames has more names than are kept: types are known without their members then.
func TestNames(t *testing.T) {
	_, src := fake(layout(t, "27"))
	h, err := Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	h.Types.names = maxNames - 5
	if typ := h.Types.At(atPair); typ == nil || typ.Name != "" || typ.Size != 48 {
		t.Errorf("%+v", typ)
	}
	if got := h.Types.names; got > maxNames {
		t.Errorf("%d bytes of names", got)
	}
}

// TestMasksOfModules bounds the masks of all modules together.
func TestMasksOfModules(t *testing.T) {
	l := layout(t, "27")
	m, src := fake(l)
	h := &Heap{src: src, mem: goruntime.Memory{ReaderAt: m}, masks: maxModuleMasks - 7}
	if b := h.mask(atModule+uint64(l.GCDataMask), atData+64, atData+128); len(b) != 1 {
		t.Errorf("a mask of %d bytes, want 1", len(b))
	}
	h.masks = maxModuleMasks
	if b := h.mask(atModule+uint64(l.GCDataMask), atData+64, atData+128); b != nil || h.torn != 1 {
		t.Errorf("a mask of %d bytes, torn %d", len(b), h.torn)
	}
}
