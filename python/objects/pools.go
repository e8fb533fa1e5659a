package objects

import (
	"fmt"

	"hdb/internal/addr"
)

// Blocks calls yield with each block in use of the allocator that small objects come from, and the bytes
// that it has room for, until yield returns false.
type Blocks func(yield func(at addr.Run, size uint64) bool) error

// maxCounted is the largest count of references that an object which nothing leads to is believed to have: the first word of an
// array of pointers is more, as no program is mapped below.
const maxCounted = 1 << 22

// unreached goes to the objects in blocks to which no reference was found, and to what they refer to.
func (w *walk) unreached(blocks Blocks) error {
	err := blocks(func(at addr.Run, size uint64) bool {
		if e := w.h.looked(1); e != nil {
			w.cut = e
			return false
		}
		if object, t := w.h.inBlock(at, size, w.seen); t != nil {
			w.found(object, t)
		}
		return true
	})
	if w.cut != nil {
		return w.cut
	}
	if err != nil {
		return fmt.Errorf("pools of small objects: %w", err)
	}
	return nil
}

// inBlock is the object in a block, nil if there is none or it was seen. What comes before an object depends on its type; the
// debug hooks have 16 bytes before that.
func (h *Heap) inBlock(block addr.Run, size uint64, seen *marks) (object addr.Run, t *Type) {
	const most = 48
	for off := uint64(0); off <= most && off+uint64(h.l.Object.Size) <= size; off += 16 {
		if seen.has(block + addr.Run(off)) {
			return 0, nil
		}
	}
	for off := uint64(0); off <= most && off+uint64(h.l.Object.Size) <= size; off += 16 {
		at := block + addr.Run(off)
		t := h.typeOf(at)
		if t == nil {
			continue
		}
		if n, counted := h.RefCount(at); counted && n > maxCounted {
			continue
		}
		head := uint64(t.head)
		if h.l.Minor < 11 && !h.hasHead(at, t) {
			head = 0
		}
		if before := off - head; off < head || before != 0 && before != 16 {
			continue
		}
		if t.kind == typeKind || !h.fits(at, t, size-off) {
			continue // a class is known to the collector
		}
		return at, t
	}
	return 0, nil
}

// fits reports whether an object has room in that number of bytes. The struct of a str is shorter than its type
// says.
func (h *Heap) fits(at addr.Run, t *Type, size uint64) bool {
	if t.kind != textKind {
		return uint64(t.Basic) <= size
	}
	b := h.mem.view(at, h.l.Text.ASCII)
	if b == nil || uint64(h.l.Text.ASCII) > size {
		return false
	}
	n := h.textSize(at)
	return n > 0 && (!h.l.Text.StateOf(b).Compact && uint64(h.l.Text.Size) <= size || uint64(n) <= size)
}
