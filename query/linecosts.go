package query

import (
	"maps"
	"slices"

	"hdb/capture"
)

// LineCost is what the recorded allocations of one source line come to.
type LineCost struct {
	Bytes uint64 // asked for
	Count uint64
}

// LineCosts adds up the allocations by line of a source file, as debug information names
// it. An allocation counts for the line that it belongs to and for the lines of the inlined
// calls in the same frame, once for each line.
func (r *Recording) LineCosts(file string) map[int]LineCost {
	type stack struct {
		LineCost
		seq uint64
	}
	stacks := map[capture.StackID]*stack{}
	for e := range r.Source.Events(0) {
		if e.Stack == 0 || !e.Allocates() {
			continue
		}
		st := stacks[e.Stack]
		if st == nil {
			st = &stack{seq: e.Seq}
			stacks[e.Stack] = st
		}
		st.Bytes += e.Size
		st.Count++
	}
	costs := map[int]LineCost{}
	for _, id := range slices.Sorted(maps.Keys(stacks)) { // in the file's order, as countFrames does
		if r.Reading.GivenUp() {
			break
		}
		st := stacks[id]
		frames := r.Names.RecordedStack(r.Source, id, st.seq).Frames
		if len(frames) == 0 {
			continue
		}
		own := frames[r.Attribution.Owner(frames)]
		var lines []int
		for _, f := range frames {
			if f.CFA == own.CFA && f.File == file && f.Line > 0 && !slices.Contains(lines, f.Line) {
				lines = append(lines, f.Line)
			}
		}
		for _, n := range lines {
			c := costs[n]
			costs[n] = LineCost{c.Bytes + st.Bytes, c.Count + st.Count}
		}
	}
	return costs
}
