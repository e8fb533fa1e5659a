package query

import (
	"encoding/binary"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// alikeStacks takes stacks for one where they show the same functions and lines, such as those of a loop that the compiler has
// unrolled. Of a program in Python the frames inner to the one that the block belongs to may differ: they are which of its
// ways the interpreter took, as before and after it has specialized the code of a line.
type alikeStacks struct {
	r      *Recording
	frames *profileFrames
	first  map[string]capture.StackID // by the frames that are shown
	known  map[capture.StackID]capture.StackID
	places map[report.Frame]uint64 // numbers of frames, which have an address only where no line is known
	place  []uint64                // likewise, by the numbers of siteFrames, from 1; 0: none yet
}

func (r *Recording) alikeStacks() *alikeStacks {
	return &alikeStacks{
		r: r, frames: r.newProfileFrames(&report.Profile{Modules: profileModules(r.Source)}),
		first: map[string]capture.StackID{}, known: map[capture.StackID]capture.StackID{}, places: map[report.Frame]uint64{},
	}
}

// of is the stack that one is taken for: the first that was asked for of those that show the same.
func (a *alikeStacks) of(id capture.StackID) capture.StackID {
	if of, ok := a.known[id]; ok {
		return of
	}
	if a.r.Reading.GivenUp() {
		return id
	}
	from := a.frames.find(id, a.r.Index.Named(id))
	if !slices.ContainsFunc(a.r.Source.Stack(id).PCs, capture.IsInterpreted) {
		from = 0
	}
	var key []byte
	for _, f := range a.frames.shown[from:] {
		key = binary.AppendUvarint(key, a.placeOf(f))
	}
	key = append(key, a.frames.last.Truncated...)
	of, ok := a.first[string(key)]
	if !ok {
		a.first[string(key)], of = id, id
	}
	a.known[id] = of
	return of
}

// placeOf is the number of a frame's function and line.
func (a *alikeStacks) placeOf(f *siteFrame) uint64 {
	for f.number >= len(a.place) {
		a.place = append(a.place, 0)
	}
	if a.place[f.number] == 0 {
		frame := a.frames.made[f.number].frame
		if frame.Known {
			frame.Address = 0
		}
		if a.places[frame] == 0 {
			a.places[frame] = uint64(len(a.places) + 1)
		}
		a.place[f.number] = a.places[frame]
	}
	return a.place[f.number]
}

// site is the site of rows that represent stacks.
func (a *alikeStacks) site(id capture.StackID) heap.Site { return numberedSite(a.of(id)) }
