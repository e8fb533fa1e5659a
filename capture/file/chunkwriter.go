package file

import (
	"fmt"
	"io"
	"sync/atomic"

	"hdb/capture"
)

// A chunkWriter appends chunks to a file. Only the jobs of its queue use it, except for
// what is atomic.
type chunkWriter struct {
	queue     queue
	w         io.Writer
	offset    atomic.Int64
	flushed   atomic.Uint64         // events written
	totals    capture.Totals        // after these,
	last      uint64                // and the number of the last one
	failed    atomic.Pointer[error] // the first error; nothing is written after it
	number    uint32                // of the next chunk
	index     []chunkRef            // but those of ring
	bound     Bound
	dropped   atomic.Uint64 // events
	ring      []ringChunk   // chunks of events, if old ones are dropped
	ringBytes int64
	packer    packer
	buf       []byte // of the last chunk
}

// err is the first error of writing, or nil.
func (c *chunkWriter) err() error {
	if p := c.failed.Load(); p != nil {
		return *p
	}
	return nil
}

func (c *chunkWriter) fail(err error) {
	err = fmt.Errorf("write capture: %w", err)
	c.failed.CompareAndSwap(nil, &err)
}

func (c *chunkWriter) write(b []byte) {
	if c.err() != nil {
		return
	}
	if _, err := c.w.Write(b); err != nil {
		c.fail(err)
		return
	}
	c.offset.Add(int64(len(b)))
}

// chunk writes a chunk with what payload appends, and ref completed with where
// it lies to the index.
func (c *chunkWriter) chunk(ref chunkRef, payload func([]byte) []byte) {
	if c.err() != nil {
		return
	}
	var empty [chunkHeaderSize]byte
	c.buf = payload(append(c.buf[:0], empty[:]...))
	body := c.buf[chunkHeaderSize:]
	if len(body) > maxChunk {
		c.fail(fmt.Errorf("a chunk of %v would have %d bytes", ref.kind, len(body)))
		return
	}
	ref.offset = c.offset.Load()
	h := chunkHeader{number: c.number, kind: ref.kind, length: uint32(len(body)), crc: checksum(body)}
	h.append(c.buf[:0])
	c.write(c.buf)
	if c.err() != nil {
		return
	}
	c.number++
	if ref.kind == chunkEvents && c.bound.drops() {
		c.retain(ref, int64(len(c.buf)))
	} else {
		c.index = append(c.index, ref)
	}
	if ref.kind == chunkEvents {
		c.flushed.Add(uint64(ref.count))
	}
}

func (c *chunkWriter) records(kind chunkKind, w *recordWriter) {
	c.chunk(chunkRef{kind: kind}, func(b []byte) []byte { return w.append(b, &c.packer) })
}

func (c *chunkWriter) stacks(s *stackEncoder) {
	ref := chunkRef{kind: chunkStacks, first: uint64(s.first), count: s.count}
	c.chunk(ref, func(b []byte) []byte { return s.append(b, &c.packer) })
}

func (c *chunkWriter) events(e *eventColumns, totals *capture.Totals) {
	if err := e.check(); err != nil {
		c.fail(err)
		return
	}
	c.chunk(e.head.ref(), func(b []byte) []byte { return e.appendTo(b, &c.packer, totals) })
	c.wrote(e.head.last, totals)
}

// wrote notes the last event of a chunk and the totals after it, if it was written.
func (c *chunkWriter) wrote(last uint64, totals *capture.Totals) {
	if c.err() == nil {
		c.last, c.totals = last, *totals
	}
}

func (c *chunkWriter) sums(head eventHead, totals *capture.Totals, summary, maps []byte) {
	ref := head.ref()
	ref.kind = chunkSums
	c.chunk(ref, func(b []byte) []byte {
		b = appendStored(b, secHead, head.append(nil))
		b = appendStored(b, secTotals, appendTotals(nil, totals))
		b = c.packer.appendPacked(b, secSummary, summary)
		if len(maps) > 0 {
			b = c.packer.appendPacked(b, secMaps, maps)
		}
		return b
	})
	c.wrote(head.last, totals)
}

func (c *chunkWriter) close() {
	c.chunk(chunkRef{kind: chunkIndex}, func(b []byte) []byte { return appendIndex(b, &c.packer, c.listed()) })
}
