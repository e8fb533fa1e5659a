package session

import (
	"cmp"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/report"
)

// profileMoments is about how many moments of a timeline are kept: more than a
// screen has columns.
const profileMoments = 2000

// profileSnapshots is at how many moments a profile says what is live: those of a
// slider.
const profileSnapshots = 64

// SavedPath is the capture that is open, absolute, or "".
func (s *Session) SavedPath() string {
	if s.saved == nil {
		return ""
	}
	return s.savedPath
}

// Profile is what is recorded up to the moment, for reports.
func (s *Session) Profile() (*report.Profile, error) {
	src, err := s.summed()
	if err != nil {
		return nil, err
	}
	x, err := s.Index()
	if err != nil {
		return nil, err
	}
	return s.profileTo(src, x, s.moment()), nil
}

func (s *Session) profileTo(src capture.Source, x *heap.Index, to uint64) *report.Profile {
	info := src.Info()
	p := &report.Profile{
		Title:   strings.Join(append([]string{filepath.Base(info.Program)}, info.Args...), " "),
		Program: info.Program, PID: info.PID, Host: info.Host, Kernel: info.Kernel, Arch: info.Arch,
		Created: info.Created, Start: info.Start, Lost: info.Totals.Lost,
		Marks: marks(src.Marks(), to), RSS: samples(src.Samples(), to),
	}
	for _, m := range src.Modules() {
		p.Modules = append(p.Modules, report.Module{Path: m.Path, BuildID: m.BuildID, Low: uint64(m.Low), High: uint64(m.High), Bias: uint64(m.Bias)})
	}
	counts := x.Counts(to)
	p.Sizes, p.Calls, p.Failed = sizeClasses(counts.Sizes), callCounts(src.Functions(), counts.Calls), counts.Failed
	now := x.Totals(to)
	p.Moment, p.Events = momentOf(now), now.Events
	p.Timeline = timeline(x, to, p.Moment)
	peakSeq, _ := x.PeakBefore(to)
	peak := x.Totals(peakSeq)
	p.Peak = momentOf(peak)
	frames := profileFrames{s: s, src: src, p: p, index: map[report.Frame]int{}}
	for id := range now.Flows {
		f := &now.Flows[id]
		if f.Allocs == 0 {
			continue
		}
		st := frames.stack(capture.StackID(id), x.Named(capture.StackID(id)))
		st.Allocs, st.Bytes, st.Temporary = f.Allocs, f.Bytes, f.Temporary
		st.Live, st.LiveBlocks = heap.LiveOf(f)
		st.Peak, st.PeakBlocks = heap.LiveOf(&peak.Flows[id])
		p.Stacks = append(p.Stacks, st)
	}
	moments := []uint64{peakSeq}
	for _, m := range p.Marks[:min(len(p.Marks), profileSnapshots/4)] {
		moments = append(moments, m.Seq)
	}
	p.Snapshots = snapshots(x, p, moments)
	return p
}

// snapshots are the heap at the moments, at others that are as many events apart,
// and at the profile's own, which is the last one.
func snapshots(x *heap.Index, p *report.Profile, moments []uint64) []report.Snapshot {
	if p.Moment.Seq == 0 {
		return nil
	}
	runs, more := x.Runs(), uint64(profileSnapshots-1-len(moments))
	for i := range more {
		seq := x.Nth(p.Events * (i + 1) / (more + 1))
		// Between the ends of a run there is a moment only if runs are few: it costs
		// reading the events.
		if r := sort.Search(len(runs), func(i int) bool { return runs[i].Last >= seq }); r < len(runs) && len(runs) > profileSnapshots {
			seq = runs[r].Last
		}
		moments = append(moments, seq)
	}
	moments = slices.DeleteFunc(moments, func(seq uint64) bool { return seq == 0 || seq >= p.Moment.Seq })
	slices.Sort(moments)
	var out []report.Snapshot
	for t := range x.Snapshots(slices.Compact(moments)) {
		if t.Seq == 0 || len(out) > 0 && t.Seq == out[len(out)-1].Seq { // events between were not kept
			continue
		}
		s := report.Snapshot{Moment: momentOf(t), Stacks: make([]uint64, len(p.Stacks))}
		for i := range p.Stacks {
			s.Stacks[i], _ = heap.LiveOf(&t.Flows[p.Stacks[i].ID])
		}
		out = append(out, s)
	}
	last := report.Snapshot{Moment: p.Moment}
	for i := range p.Stacks {
		last.Stacks = append(last.Stacks, p.Stacks[i].Live)
	}
	return append(out, last)
}

func momentOf(t *heap.Totals) report.Moment {
	return report.Moment{Seq: t.Seq, Time: t.Time, Live: t.Live, Blocks: t.Blocks}
}

// profileFrames collects frames, which stacks share.
type profileFrames struct {
	s     *Session
	src   capture.Source
	p     *report.Profile
	index map[report.Frame]int
}

// stack is a recorded stack with its frames, as it was at the event.
func (c *profileFrames) stack(id capture.StackID, seq uint64) report.Stack {
	st := c.s.sourceStack(c.src, id, seq)
	out := report.Stack{ID: id, Truncated: st.Truncated}
	user := c.s.UserFrame(st.Frames)
	for i, f := range st.Frames {
		own := f.Inlined && isOwnCode(f) && !c.s.isWrapper(f) // which UserFrame passes over
		out.Frames = append(out.Frames, c.frame(f, i < user && !own))
	}
	if id == 0 {
		out.Truncated = cmp.Or(out.Truncated, "no stack was recorded")
	}
	return out
}

// frame is the index of a frame.
func (c *profileFrames) frame(f Frame, library bool) int {
	r := report.Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Address: uint64(f.Code.Lookup()), Module: -1,
		Inlined: f.Inlined, Known: f.Line != 0, Guess: f.How.Guess(), Library: library,
	}
	if r.Function == "" {
		r.Function = f.Code.Addr().String()
	}
	a := addr.Run(r.Address)
	r.Module = slices.IndexFunc(c.p.Modules, func(m report.Module) bool {
		return m.Path == f.Path && uint64(a) >= m.Low && uint64(a) < m.High
	})
	i, ok := c.index[r]
	if !ok {
		i = len(c.p.Frames)
		c.index[r] = i
		c.p.Frames = append(c.p.Frames, r)
	}
	return i
}

// sizeClasses are the powers of two into which allocations fall.
func sizeClasses(sizes []capture.SizeCount) []report.SizeClass {
	var classes []report.SizeClass
	for n, c := range sizes {
		k := report.SizeClass{Allocs: c.Allocs, Bytes: c.Bytes} // of n significant bits
		if n > 0 {
			k.Low = 1 << (n - 1)
			k.High = k.Low<<1 - 1
		}
		classes = append(classes, k)
	}
	return classes
}

// callCounts are the calls of each allocator function, most first.
func callCounts(names []string, counts []uint64) []report.Calls {
	var out []report.Calls
	for fn, n := range counts {
		if n > 0 && fn < len(names) {
			out = append(out, report.Calls{Function: names[fn], Count: n})
		}
	}
	slices.SortStableFunc(out, func(a, b report.Calls) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// timeline is the heap over time, up to the moment.
func timeline(x *heap.Index, to uint64, now report.Moment) []report.Moment {
	var out []report.Moment
	for _, p := range x.Timeline(to, profileMoments) {
		out = append(out, report.Moment{Seq: p.Seq, Time: p.Time, Live: p.Live, Blocks: p.Blocks})
	}
	if n := len(out); n > 0 && (out[n-1].Seq != now.Seq || out[n-1].Live != now.Live) {
		out = append(out, now) // an exec after the last event
	}
	return out
}

// marks are those up to event #to.
func marks(all []capture.MarkRecord, to uint64) []report.Mark {
	var out []report.Mark
	for _, m := range all {
		if m.Seq <= to {
			out = append(out, report.Mark{Seq: m.Seq, Time: m.Time, Name: m.Name})
		}
	}
	return out
}

// samples are those up to event #to, the highest ones where there are more than a
// report can show.
func samples(all []capture.SampleRecord, to uint64) []report.Sample {
	if i := slices.IndexFunc(all, func(s capture.SampleRecord) bool { return s.Seq > to }); i >= 0 {
		all = all[:i]
	}
	var out []report.Sample
	for part := range slices.Chunk(all, max(1, (len(all)+profileMoments-1)/profileMoments)) {
		s := slices.MaxFunc(part, func(a, b capture.SampleRecord) int { return cmp.Compare(a.RSS, b.RSS) })
		out = append(out, report.Sample{Time: s.Time, RSS: s.RSS})
	}
	return out
}
