package heaps

import (
	"time"

	"hdb/heap/regions"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/session/target"
)

// A Copy describes a copy of the memory that questions were asked of while the program ran.
type Copy struct {
	Stopped time.Duration `json:"stopped_ns"`    // how long the program was stopped for it
	Written uint64        `json:"written_bytes"` // that it has written to since then, which took memory twice
}

// Running tells that the program runs, so that its memory is not to be asked but by fromCopy.
func (h *Heap) Running() bool { return h.target.Mode() == target.Live && h.target.Alongside }

// fromCopy stops the program that runs as long as a copy of its memory takes, and has f ask the
// Heap of the copy. Where no copy can be made the error says why.
func (h *Heap) fromCopy(f func() error) (Copy, error) {
	h.allocator() // reads symbols, which must not take the time of the stop
	var src memory.Source
	var snap *inferior.Snapshot
	var out Copy
	last := uint64(0)
	p := h.target.Proc
	err := p.StopAll(func() (err error) {
		from := time.Now()
		if snap, err = p.Snapshot(); err != nil {
			return err
		}
		h.copied = snap
		if _, x, err := h.recorded.CountedEvents(); err == nil {
			last = x.Last()
		}
		// What a stop tells, the registers of threads above all.
		h.target.Alongside = false
		src, err = h.source()
		h.target.Alongside = true
		out.Stopped = time.Since(from)
		return err
	})
	defer func() {
		h.copied = nil
		h.Forget()
	}()
	if snap == nil {
		return out, err
	}
	if err == nil {
		src.Memory = h.target.UntilGivenUp(snap)
		src.Space.Memory = src.Memory
		err = h.Record(&src, last)
	}
	if err == nil {
		h.image, h.of = memory.New(src), p
		h.places.forget()
		err = f()
	}
	if lost := snap.Lost(); lost != nil {
		err = lost
	}
	if n, e := snap.Written(); e == nil {
		out.Written = n
	}
	if e := snap.Close(); err == nil {
		err = e
	}
	return out, err
}

// copiedMappings are those of the copy. What they take is not counted: it would be asked of page tables
// while the program is stopped.
func copiedMappings(src *regions.Source, c *inferior.Snapshot) []inferior.Mapping {
	for _, m := range c.Maps() {
		src.Mappings = append(src.Mappings, regions.Mapping{Start: m.Low, End: m.High, Perm: m.Perm, Offset: m.Offset, Inode: m.Inode, Path: m.Path})
	}
	src.Pages = func(start, end addr.Run, yield func(regions.PageRun)) error {
		return c.Pages(start, end, func(r inferior.PageRun) {
			yield(regions.PageRun{Start: r.Low, End: r.High, Resident: r.Resident, Changed: r.Changed})
		})
	}
	return c.Maps()
}
