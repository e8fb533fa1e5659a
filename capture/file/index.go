package file

import (
	"encoding/binary"
	"fmt"
)

// A chunkRef is where a chunk lies and, of events and stacks, what it holds.
type chunkRef struct {
	kind        chunkKind
	offset      int64  // of the chunk's header in the file
	first, last uint64 // events: sequence numbers; stacks: first is the ID
	count       int    // of events or stacks
	start, end  uint64 // events: times in units of Resolution
}

func (h eventHead) ref() chunkRef {
	return chunkRef{kind: chunkEvents, first: h.first, last: h.last, count: h.count, start: h.start, end: h.end}
}

// headed tells kinds of chunks that begin with a head, which the index repeats.
func (k chunkKind) headed() bool { return k == chunkEvents || k == chunkStacks || k == chunkSums }

// trailerSize is the length of the section that ends an index: ID, encoding,
// two lengths, and the length of the whole chunk. So a reader of the end of the
// file finds the index.
const trailerSize = 8

// appendIndex appends the payload of an index: all chunks before it.
func appendIndex(b []byte, p *packer, refs []chunkRef) []byte {
	var w recordWriter
	var before int64
	for _, r := range refs {
		w.uvarint(uint64(r.kind))
		w.uvarint(uint64(r.offset - before))
		before = r.offset
		if r.kind.headed() {
			w.int(r.count)
			w.uvarint(r.first)
		}
		if r.kind.headed() && r.kind != chunkStacks {
			w.uvarint(r.last - r.first)
			w.varint(int64(r.start))
			w.varint(int64(r.end - r.start))
		}
		w.end()
	}
	start := len(b)
	b = w.append(b, p)
	length := chunkHeaderSize + len(b) - start + trailerSize
	return appendStored(b, secTrailer, binary.LittleEndian.AppendUint32(nil, uint32(length)))
}

// parseIndex is the inverse of appendIndex, for an index at offset end.
func parseIndex(s sections, end int64) ([]chunkRef, error) {
	r, err := newRecordReader(s)
	if err != nil {
		return nil, err
	}
	var refs []chunkRef
	least := int64(headerSize) // where the next chunk can lie
	var before int64
	for r.next() {
		ref := chunkRef{kind: chunkKind(r.number(255))}
		ref.offset = before + int64(r.number(uint64(end)))
		before = ref.offset
		if ref.kind.headed() {
			ref.count = int(r.number(maxSummed))
			ref.first = r.uvarint()
		}
		if ref.kind.headed() && ref.kind != chunkStacks {
			ref.last = ref.first + r.uvarint()
			ref.start = uint64(r.varint())
			ref.end = ref.start + uint64(r.varint())
		}
		if ref.offset < least || ref.offset > end-chunkHeaderSize {
			return nil, fmt.Errorf("a chunk at byte %d", ref.offset)
		}
		least = ref.offset + chunkHeaderSize
		refs = append(refs, ref)
	}
	return refs, r.err()
}
