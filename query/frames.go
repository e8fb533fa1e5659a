package query

import (
	"cmp"
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/report"
)

// profileFrames collects the frames of a profile, which stacks share.
type profileFrames struct {
	*stackSites
	p     *report.Profile
	index map[report.Frame]int
	made  []profileFrame // by the numbers of siteFrames
}

// A profileFrame is a function that an address represents, in the form of reports.
type profileFrame struct {
	frame report.Frame
	calls caller
	as    [2]int // indexes of the frame as the user's and as a library's, from 1; 0: none yet
}

func (r *Recording) newProfileFrames(p *report.Profile) *profileFrames {
	c := &profileFrames{stackSites: r.newStackSites(), p: p, index: map[report.Frame]int{}}
	c.note = func(f *names.Frame) int {
		c.made = append(c.made, profileFrame{frame: c.of(f), calls: r.Attribution.caller(f)})
		return len(c.made) - 1
	}
	return c
}

// stack is a recorded stack with its frames, as it was at the event.
func (c *profileFrames) stack(id capture.StackID, seq uint64) report.Stack {
	out := report.Stack{ID: id, Site: c.find(id, seq), Truncated: c.last.Truncated}
	out.Frames = slices.Grow(out.Frames, len(c.shown))
	for i, f := range c.shown {
		out.Frames = append(out.Frames, c.frame(f, i < out.Site))
	}
	calls := func(i int) caller { return c.made[c.shown[i].number].calls }
	out.Outer, out.Callers = outer(len(c.shown), out.Site, calls)
	low, high := out.Folded()
	out.Between = between(low, high, calls)
	if id == 0 {
		out.Truncated = cmp.Or(out.Truncated, "no stack was recorded")
	}
	return out
}

// of is a frame in the form of reports, as the user's.
func (c *profileFrames) of(f *names.Frame) report.Frame {
	r := report.Frame{
		Function: f.Name(), Linkage: f.Linkage, File: f.File, Line: f.Line, Address: uint64(f.Code.Lookup()),
		Inlined: f.Inlined, Known: f.Line != 0, Unnamed: f.Function == "", Guess: f.How.Guess(),
	}
	a := addr.Run(r.Address)
	r.Module = slices.IndexFunc(c.p.Modules, func(m report.Module) bool {
		return m.Path == f.Path && uint64(a) >= m.Low && uint64(a) < m.High
	})
	return r
}

// frame is the index of a frame.
func (c *profileFrames) frame(f *siteFrame, library bool) int {
	made := &c.made[f.number]
	as := &made.as[0]
	if library {
		as = &made.as[1]
	}
	if *as == 0 {
		r := made.frame
		r.Library = library
		i, ok := c.index[r]
		if !ok {
			i = len(c.p.Frames)
			c.index[r] = i
			c.p.Frames = append(c.p.Frames, r)
		}
		*as = i + 1
	}
	return *as - 1
}
