package golang

import (
	"context"
	"errors"
	"testing"
)

// TestAddressesAtTheEnd has structures at the last addresses, behind which they would begin again at 0.
func TestAddressesAtTheEnd(t *testing.T) {
	for _, size := range []int{160, 512} {
		got := 0
		at := []uint64{^uint64(0) - 400, ^uint64(0) - 300, ^uint64(0) - 7}
		memory{ReaderAt: fakeMemory{}}.each(at, func(int) int { return size }, func(i int, b []byte) {
			if got++; b != nil {
				t.Errorf("%#x is readable", at[i])
			}
		})
		if got != len(at) {
			t.Errorf("%d structures of %d bytes, want %d", got, size, len(at))
		}
	}
}

// TestSpecialsOfStack has a span of stacks where one with specials was said to be, too.
func TestSpecialsOfStack(t *testing.T) {
	l := layout(t, "27")
	h := &Heap{src: Source{Layout: l}, spans: []span{{start: atStack, bytes: 1 << 13, manual: true}}}
	m, _ := fake(l)
	h.mem = memory{ReaderAt: m}
	h.specials([]specials{{span: atStack, first: atSpecial}})
	if len(h.roots) != 0 {
		t.Errorf("a stack has the specials %+v", h.roots)
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
	h := &Heap{src: src, mem: memory{ReaderAt: m}, masks: maxModuleMasks - 7}
	if b := h.mask(atModule+uint64(l.GCDataMask), atData+64, atData+128); len(b) != 1 {
		t.Errorf("a mask of %d bytes, want 1", len(b))
	}
	h.masks = maxModuleMasks
	if b := h.mask(atModule+uint64(l.GCDataMask), atData+64, atData+128); b != nil || h.torn != 1 {
		t.Errorf("a mask of %d bytes, torn %d", len(b), h.torn)
	}
}
