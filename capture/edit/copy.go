package edit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"hdb/capture"
	"hdb/capture/file"
)

// Bounds of what a copy keeps in memory, whatever the file says.
const (
	maxCopiedStacks = 1 << 26 // IDs of stacks, 4 bytes each
	maxCopiedFrames = 1 << 25 // frames that no other stack has, 24 bytes each
	maxCopiedBlocks = 1 << 27 // that are live at once, 32 bytes each
	maxReasons      = 1 << 10 // why stacks lack frames
)

// lostFunction is what a function is called whose name is lost.
const lostFunction = "(lost)"

// lostStack is why a copy has no frames of a stack.
const lostStack = "the stack was lost with a damaged part of the capture"

// Copied tells what a new capture holds of those it was made of.
type Copied struct {
	Events uint64 // that it holds
	Lost   uint64 // events that were lost with damaged parts, as far as is known
	Open   bool   // the end is missing: more events may be lost
	Older  uint64 // events that end blocks whose beginning it does not hold
}

// A copier copies events to a new capture. Its memory grows with the stacks and
// the live blocks, not with the events.
type copier struct {
	c      *file.Writer
	src    capture.Source    // what is not events
	ids    []capture.StackID // by ID in src; 0 is not known yet
	funcs  int               // functions of src that have names
	part   bool              // beginnings of blocks may be missing: their ends end nothing
	live   *file.LiveBlocks  // blocks that the copy holds the beginning of
	result *Copied
}

// newCopier begins a capture of what src is, or of a part of it.
func newCopier(w io.Writer, f *file.File, src capture.Source, part bool) (*copier, error) {
	if f.Info().Aggregate && f.Len() == 0 {
		return nil, errAggregate
	}
	c, err := file.NewWriter(w, src.Info())
	if err != nil {
		return nil, err
	}
	return &copier{c: c, src: src, part: part, live: new(file.LiveBlocks), result: new(Copied)}, nil
}

// errAggregate is of a capture that has sums only.
var errAggregate = errors.New("the capture has per-stack totals only, and no events (hdb record --aggregate)")

// add adds an event, which is changed to what the copy says of it.
func (k *copier) add(e *capture.Event) error {
	var err error
	if e.Stack, err = k.stack(e.Stack); err != nil {
		return err
	}
	if int(e.Func) >= k.funcs {
		e.Func = k.c.FuncIndex(lostFunction)
	}
	if e.Ended.Recorded {
		if e.Ended.Stack, err = k.stack(e.Ended.Stack); err != nil {
			return err
		}
		if !k.live.Settle(e) && k.part {
			e.Ended = capture.Ended{}
			k.result.Older++
		}
	}
	if k.part {
		k.live.EndUnseen(k.c, e)
	}
	if k.live.Len() > maxCopiedBlocks {
		return fmt.Errorf("more than %d blocks are live", maxCopiedBlocks)
	}
	k.live.Add(k.c, e)
	k.result.Events++
	return k.c.Err()
}

// stack is the copy's ID of a stack.
func (k *copier) stack(id capture.StackID) (capture.StackID, error) {
	if id == 0 {
		return 0, nil
	}
	if int(id) < len(k.ids) && k.ids[id] != 0 {
		return k.ids[id], nil
	}
	if id > maxCopiedStacks {
		return 0, fmt.Errorf("stack %d: more than %d", id, maxCopiedStacks)
	}
	for int(id) >= len(k.ids) {
		k.ids = append(k.ids, 0)
	}
	s := k.src.Stack(id)
	if int(id) > k.src.Stacks() || s.Truncated == capture.MissingStack(id).Truncated {
		k.ids[id] = k.c.Intern(capture.Stack{Truncated: lostStack})
		return k.ids[id], nil
	}
	if k.c.StackReasons() > maxReasons {
		s.Truncated = ""
	}
	k.ids[id] = k.c.AddStack(s) // an equal one may be of other modules
	if k.c.Frames() > maxCopiedFrames {
		return 0, fmt.Errorf("more than %d frames", maxCopiedFrames)
	}
	return k.ids[id], nil
}

// tables adds what comes before the events.
func (k *copier) tables(modules []capture.Module) {
	names := slices.Clone(k.src.Functions())
	for i := range names {
		names[i] = cmp.Or(names[i], lostFunction)
	}
	k.c.AddFunctions(names)
	k.funcs = len(names)
	for _, t := range k.src.Threads() {
		k.c.AddThread(t)
	}
	for _, m := range modules {
		k.c.AddModule(m)
	}
}

// moments adds what the captures say of the moments from event #from to #to.
func (k *copier) moments(from, to uint64) error {
	in := func(seq uint64) bool { return from <= seq && seq <= to }
	for _, s := range k.src.Stops() {
		if !in(s.Seq) {
			continue
		}
		var err error
		if s.Stack, err = k.stack(s.Stack); err != nil {
			return err
		}
		if !in(s.Event) {
			s.Event = 0
		}
		k.c.AddStop(s)
	}
	for _, m := range k.src.Marks() {
		if in(m.Seq) {
			k.c.AddMark(m)
		}
	}
	for _, m := range k.src.Samples() {
		if in(m.Seq) {
			k.c.AddSample(m)
		}
	}
	for _, l := range k.src.Console() {
		if in(l.Seq) {
			k.c.AddConsole(l)
		}
	}
	return nil
}

// close adds the symbols and source lines, and completes the capture.
func (k *copier) close() error {
	if err := k.c.Flush(); err != nil { // the events before their names: a cut costs less
		return err
	}
	k.c.EmbedFrom(k.src)
	return k.c.Close()
}
