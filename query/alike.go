package query

import (
	"encoding/binary"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// alikeStacks takes stacks of a program in Python for one where they show the same: from the frame
// on that the block belongs to. What differs inner is which of its ways the interpreter took, as
// before and after it has specialized the code of a line.
type alikeStacks struct {
	r      *Recording
	frames *profileFrames
	first  map[string]capture.StackID // by the frames that are shown
	known  map[capture.StackID]capture.StackID
}

func (r *Recording) alikeStacks() *alikeStacks {
	return &alikeStacks{
		r: r, frames: r.newProfileFrames(&report.Profile{Modules: profileModules(r.Source)}),
		first: map[string]capture.StackID{}, known: map[capture.StackID]capture.StackID{},
	}
}

// of is the stack that one is taken for: the first that was asked for of those that show the same.
func (a *alikeStacks) of(id capture.StackID) capture.StackID {
	if of, ok := a.known[id]; ok {
		return of
	}
	of := id
	if slices.ContainsFunc(a.r.Source.Stack(id).PCs, capture.IsInterpreted) {
		user := a.frames.find(id, a.r.Index.Named(id))
		var key []byte
		for _, f := range a.frames.shown[user:] {
			key = binary.AppendUvarint(key, uint64(a.frames.frame(f, false)))
		}
		key = append(key, a.frames.last.Truncated...)
		if first, ok := a.first[string(key)]; ok {
			of = first
		} else {
			a.first[string(key)] = id
		}
	}
	a.known[id] = of
	return of
}

// site is the site of rows that represent stacks.
func (a *alikeStacks) site(id capture.StackID) heap.Site { return numberedSite(a.of(id)) }
