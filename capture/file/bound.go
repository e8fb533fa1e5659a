package file

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"hdb/capture"
)

// A Bound keeps a recording to a file small. Its zero value keeps everything.
type Bound struct {
	// Aggregate: for each stack what was allocated and freed is kept, no events. The file grows
	// with the time, the stacks that were used and the modules that went.
	Aggregate bool
	// Bytes is how much of the file events may take, and Last how much time the
	// events may span; 0 is all. The oldest are dropped, some ten thousand at once:
	// Drop gives the room of a part of the file back. See Compact.
	Bytes int64
	Last  time.Duration
	Drop  func(offset, length int64) error
}

// drops tells that old events are dropped.
func (b *Bound) drops() bool { return b.Bytes > 0 || b.Last > 0 }

// Bound bounds the recording. It is called before the first event.
func (c *Writer) Bound(b Bound) {
	c.out.queue.wait()
	c.out.bound = b
	if b.drops() || b.Aggregate {
		c.dropCheckpoints()
	}
	if b.Aggregate {
		c.sums = new(intervalSums)
		c.info.Aggregate, c.infoStale = true, true
	}
}

// Dropped is the number of events that are in the file no more.
func (c *Writer) Dropped() uint64 { return c.out.dropped.Load() }

// A ringChunk is a chunk of events that may be dropped, and its length.
type ringChunk struct {
	chunkRef
	length int64
}

// retain lists a chunk of events, and drops those that are too old for it.
func (c *chunkWriter) retain(ref chunkRef, length int64) {
	c.ring = append(c.ring, ringChunk{ref, length})
	c.ringBytes += length
	for len(c.ring) > 1 {
		old := c.ring[0]
		late := c.bound.Last > 0 && time.Duration(ref.start-old.end)*capture.Resolution > c.bound.Last && old.end <= ref.start
		if !late && (c.bound.Bytes == 0 || c.ringBytes <= c.bound.Bytes) {
			return
		}
		if err := c.bound.Drop(old.offset, old.length); err != nil {
			c.fail(err)
			return
		}
		c.ring = c.ring[1:]
		c.ringBytes -= old.length
		c.dropped.Add(uint64(old.count))
	}
}

// listed are all chunks that the file has.
func (c *chunkWriter) listed() []chunkRef {
	refs := slices.Clone(c.index)
	for _, k := range c.ring {
		refs = append(refs, k.chunkRef)
	}
	slices.SortFunc(refs, func(a, b chunkRef) int { return cmp.Compare(a.offset, b.offset) })
	return refs
}

// Snapshot is what was recorded so far, which r reads: as a capture that was opened,
// but for chunks that were dropped. It is true until more are dropped. After an error of
// writing it is what was written before; Err tells.
func (c *Writer) Snapshot(name string, r io.ReaderAt) (*File, error) {
	_ = c.Flush()
	f := emptyFile(name, r, c.Size())
	if _, err := f.checkHeader(); err != nil {
		return nil, err
	}
	f.load(scan{refs: c.out.listed(), closed: true})
	f.info.Partial = slices.Clone(c.info.Partial) // which cannot be written any more, either
	return f, nil
}

// Adopt adds what a log holds, under the same numbers. Nothing was added before but
// bounds.
func (c *Writer) Adopt(l *Log) {
	for _, name := range l.Functions() {
		c.FuncIndex(name)
	}
	for _, t := range l.Threads() {
		c.AddThread(t)
	}
	for _, m := range l.Modules() {
		c.AddModule(m)
	}
	l.mu.RLock() // names may still come while a recording continues
	kept, types := maps.Clone(l.kept), maps.Clone(l.types.of)
	l.mu.RUnlock()
	for pc, chain := range kept {
		c.Keep(pc, chain)
	}
	c.adopt(l)
	execs := l.Execs()
	for e := range l.Events(0) {
		execs = c.ReplacedUpTo(execs, e.Seq)
		c.AddEvent(&e)
	}
	c.ReplacedUpTo(execs, math.MaxUint64)
	c.noteTypes()
	for _, i := range slices.Sorted(maps.Keys(types)) {
		c.SetGoTypes(i, types[i])
	}
	c.addMoments(l)
}
