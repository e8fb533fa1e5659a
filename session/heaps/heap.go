package heaps

import (
	"hdb/capture"
	"hdb/heap"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/report"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/symbols"
)

// Heap asks what the memory of a stopped process, or of a core file, holds.
type Heap struct {
	target   *target.Target
	recorded history
	queries  questions
	values   *variables.Values
	types    *BlockTypes
	space    *heapSpace
	places   *placeNames

	image   *memory.Image
	of      *inferior.Process  // that the image is of
	changes uint64             // its Changes when the image was made
	events  uint64             // how many the recording had then
	named   *namer             // of the image's graph
	copied  *inferior.Snapshot // what the image is of instead; see fromCopy

	texts map[*symbols.Object]allocatorText // by file, as far as they were read

	queueless *inferior.Process // whose queue of finalizers was said not to be found
}

// history is what the heap asks of the recording that can be asked, live or saved.
type history interface {
	Source() capture.Source
	WholeSource() capture.Source
	CountedEvents() (capture.Source, *heap.Index, error)
	NoEvents() error
	Event(seq uint64) (*recording.Event, bool)
	NoAllocatorKnown() bool
	Followed() bool
	Now() recording.Live
	Seq() uint64
	CallsMissed() bool
	Unbroken() (unbroken, whole bool)
	Gaps() []string
	Over() bool
}

// questions are those that the heap asks about recorded blocks.
type questions interface {
	BlockEvents() (*query.Recording, error)
	EventStack(seq uint64) (*recording.Event, names.Stack, error)
	History(at uint64, limit int) (events []*recording.Event, total int, more bool, err error)
	Whence(at uint64) (*query.Whence, error)
	Leaks(limit int, strict bool, s *report.Suppressions) (rows []query.StackRow, total int, kept query.Kept, err error)
	StacksSince(since query.Moment, limit int, strict bool, s *report.Suppressions) (*query.Growth, error)
}

// New makes the questions about the heap of a target. The recording is asked for what it knows blocks, python for the
// heaps of CPython.
func New(t *target.Target, r history, q questions, v *variables.Values, types *BlockTypes, python cpython.Heaps, w *target.Walker) *Heap {
	h := &Heap{
		target: t, recorded: r, queries: q, values: v, types: types,
		space:  &heapSpace{t, python, w},
		places: &placeNames{target: t, values: v, walker: w},
	}
	types.heap = h
	return h
}

// Image is what memory holds, with the blocks of the recording as of now. It is kept until the
// process runs on, or its memory is written.
func (h *Heap) Image() (*memory.Image, error) {
	if h.copied != nil {
		return h.image, nil
	}
	if err := h.target.Readable(); err != nil {
		return nil, err
	}
	events := uint64(0)
	if src := h.recorded.WholeSource(); src != nil {
		events = uint64(src.Len())
	}
	if h.image != nil && h.of == h.target.Image && h.changes == h.target.Image.Changes() && h.events == events {
		return h.image, nil
	}
	src, err := h.source()
	if err != nil {
		return nil, err
	}
	h.image, h.of, h.changes, h.events = memory.New(src), h.target.Image, h.target.Image.Changes(), events
	h.places.forget()
	return h.image, nil
}

// Forget drops the image, and what was made of it.
func (h *Heap) Forget() {
	h.image, h.named = nil, nil
	h.places.forget()
}

// source collects what an Image is made of.
func (h *Heap) source() (memory.Source, error) {
	src := memory.Source{Memory: h.target.UntilGivenUp(h.target.Image)}
	var err error
	if src.Space, err = h.space.space(h.copied); err != nil {
		return src, err
	}
	var leaving []addr.Run
	if h.copied == nil {
		leaving = h.target.Leaving()
	}
	for _, t := range h.target.Image.Threads() {
		regs, err := t.Regs()
		if err != nil {
			continue // it ends
		}
		thread := memory.Thread{
			Number: t.Num, TID: t.TID, SP: regs.SP(), PC: regs.PC(), FS: addr.Run(regs.FsBase),
			Registers: []memory.Register{
				{Name: "rax", Value: regs.Rax}, {Name: "rbx", Value: regs.Rbx}, {Name: "rcx", Value: regs.Rcx}, {Name: "rdx", Value: regs.Rdx},
				{Name: "rsi", Value: regs.Rsi}, {Name: "rdi", Value: regs.Rdi}, {Name: "rbp", Value: regs.Rbp}, {Name: "r8", Value: regs.R8},
				{Name: "r9", Value: regs.R9}, {Name: "r10", Value: regs.R10}, {Name: "r11", Value: regs.R11}, {Name: "r12", Value: regs.R12},
				{Name: "r13", Value: regs.R13}, {Name: "r14", Value: regs.R14}, {Name: "r15", Value: regs.R15},
			},
		}
		if h.copied == nil { // a thread that ran is hardly ever at such a place, and symbols must not take the time of the stop
			h.unused(t, &regs, &thread, leaving)
		}
		src.Threads = append(src.Threads, thread)
	}
	if h.copied == nil { // else they are asked for when the program runs again
		if err = h.Record(&src, heap.End); err != nil {
			return src, err
		}
	}
	found := h.allocator()
	src.Libcs, src.Libc, src.Guessed, src.Other, src.Version = found.libcs, found.libc, found.guessed, found.other, found.version
	src.Unread = h.target.Unread()
	src.Go = h.GoHeap()
	src.Inner = h.pythonInner
	src.Bound = h.target.Bound
	return src, nil
}
