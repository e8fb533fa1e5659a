package query

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/panics"
	"hdb/report"
)

// profileMoments bounds the moments of a timeline: a screen has fewer columns.
const profileMoments = 2000

// ProfileSnapshots bounds the moments at which a profile has the live bytes of each
// stack, for a slider.
const ProfileSnapshots = 64

// ProfileParts selects the parts of a profile that take reading events, and the blocks
// that count.
type ProfileParts struct {
	Line      bool // the timeline
	Snapshots bool
	Threads   bool   // a row for each stack and thread, where there are several threads
	Blocks    bool   // mappings do not count: the peak is of blocks alone
	Slots     bool   // a row for each stack and size of slots, of a recording of Go alone that has events
	Thread    string // only what the threads of this name, or TID, allocated; "" all

	// Collected sets report.Stack.Collected where live blocks of a Go runtime were allocated: its
	// collector frees them. Recordings of Go alone, and those without events, are left as they are.
	Collected bool

	// From and To are moments: only blocks that were allocated between them count. If
	// they are Present, From is the start.
	From, To Moment
}

// Profile is the recording up to the moment, for reports. The caller adds the caveats.
func (r *Recording) Profile(parts ProfileParts) (*report.Profile, error) {
	from, to, err := r.between(parts.From, parts.To)
	if err != nil {
		return nil, err
	}
	p := r.profileOf(from, to, parts)
	var events panics.Group // are read in addition to the names
	peak := r.peakOf(from, to, parts)
	parts.Slots = parts.Slots && p.Golang && !p.Sums
	if from > 0 || parts.Thread != "" || parts.Threads && len(r.Source.Threads()) > 1 || parts.Slots {
		if err := r.followEvents(from, to, peak, p, parts); err != nil {
			return nil, err
		}
	} else {
		p.Stacks = stackRows(r.Index.Totals(to))
		events.Go(func() { readEvents(r.Index, to, peak, p, parts) })
	}
	frames := r.newProfileFrames(p)
	r.nameStacks(frames, p.Stacks)
	events.Wait()
	if !parts.Blocks {
		wanted, err := wantedThreads(r.Source.Threads(), parts.Thread)
		if err != nil {
			return nil, err
		}
		if p.Sums {
			p.MostMapped = r.Index.MostMapped(to)
		}
		r.profileMappings(p, from, to, peak, wanted)
		r.nameStacks(frames, p.MappedStacks)
	}
	if parts.Collected && !p.Golang && !p.Sums {
		r.tellCollected(p, to)
	}
	return p, r.Reading.Cut()
}

// between are the last events up to two moments; 0 up to the start.
func (r *Recording) between(first, last Moment) (from, to uint64, err error) {
	if to, err = r.Seq(last); err != nil {
		return 0, 0, err
	}
	if first.IsPresent() || first.IsStart() {
		return 0, to, nil
	}
	p, err := r.FromPoint(first)
	if err != nil {
		return 0, 0, err
	}
	if from = p.Seq; from >= to {
		text := "the moment"
		if !last.IsPresent() {
			text = last.String()
		}
		return 0, 0, fmt.Errorf("from %s to %s: the end is not after the start", first, text)
	}
	return from, to, nil
}

// After is the last event up to the moment since, 0 of Present.
func (r *Recording) After(since Moment) (uint64, error) {
	from, _, err := r.between(since, Present)
	return from, err
}

// profileOf is a profile without its stacks, of the events behind #from up to #to.
func (r *Recording) profileOf(from, to uint64, parts ProfileParts) *report.Profile {
	src, x := r.Source, r.Index
	info := src.Info()
	p := &report.Profile{
		Title:   strings.Join(append([]string{filepath.Base(info.Program)}, info.Args...), " ") + parts.text(),
		Program: info.Program, PID: info.PID, Host: info.Host, Kernel: info.Kernel, Arch: info.Arch,
		Created: info.Created, Start: info.Start,
		Marks: marks(src.Marks(), from, to), RSS: samples(src.Samples(), from, to),
	}
	p.Modules = profileModules(src)
	p.Begin, p.Sums = begin(info.Partial, x), info.Aggregate
	counts := x.Counts(to)
	if from > 0 {
		counts = counts.Since(x.Counts(from))
	}
	p.Sizes, p.Calls, p.Failed = sizeClasses(counts.Sizes), callCounts(src.Functions(), counts.Calls), counts.Failed
	p.Golang = len(p.Calls) > 0 && !slices.ContainsFunc(p.Calls, func(c report.Calls) bool { return !capture.ByGo(c.Function) })
	p.Mapped, p.Unmapped = counts.Mapped, counts.Unmapped
	if parts.Thread == "" {
		p.LiveMapped = r.liveMapped(from, to)
	}
	if parts.Line && parts.Thread == "" && from == 0 && !p.Sums {
		p.MappedLine = r.mappedLine(to)
	}
	now := x.Totals(to)
	p.Moment, p.Events = momentOf(now), now.Events
	return p
}

// tellCollected tells the stacks that have blocks of a Go runtime at a moment. No stack has
// such and others: the innermost return address is behind the call of one allocator.
func (r *Recording) tellCollected(p *report.Profile, to uint64) {
	if !slices.ContainsFunc(p.Calls, func(c report.Calls) bool { return capture.OfGo(c.Function) }) {
		return
	}
	collected := map[capture.StackID]bool{}
	blocks, functions := r.Index.Held(to), r.Source.Functions()
	for _, b := range blocks {
		if int(b.Func) < len(functions) && capture.OfGo(functions[b.Func]) {
			collected[b.Stack] = true
		}
	}
	for i := range p.Stacks {
		p.Stacks[i].Collected = collected[p.Stacks[i].ID]
	}
}

// nameStacks gives stacks of a profile their frames.
func (r *Recording) nameStacks(frames *profileFrames, stacks []report.Stack) {
	for i := range stacks {
		if r.Reading.GivenUp() {
			break
		}
		st := &stacks[i]
		if i > 0 && st.ID == stacks[i-1].ID { // of another thread
			copyFrames(st, &stacks[i-1])
			continue
		}
		named := frames.stack(st.ID, r.Index.Named(st.ID))
		copyFrames(st, &named)
	}
}

// copyFrames gives a row the frames of another one.
func copyFrames(to, from *report.Stack) {
	to.Frames, to.Site, to.Outer, to.Callers, to.Between, to.Truncated = from.Frames, from.Site, from.Outer, from.Callers, from.Between, from.Truncated
}

// stackRows are the rows of the stacks that allocated.
func stackRows(now *heap.Totals) (rows []report.Stack) {
	for id := range now.Flows {
		if f := &now.Flows[id]; f.Allocs > 0 {
			rows = append(rows, stackRow(f))
		}
	}
	return rows
}

func stackRow(f *capture.Flow) report.Stack {
	st := report.Stack{ID: f.Stack}
	st.Allocs, st.Bytes, st.Temporary = f.Allocs, f.Bytes, f.Temporary
	st.Live, st.LiveBlocks = heap.LiveOf(f)
	return st
}

// readEvents adds to a profile the heap at its peak, over time, and at other moments:
// the totals up to event #to do not have these.
func readEvents(x *heap.Index, to, peak uint64, p *report.Profile, parts ProfileParts) {
	moments := momentsOf(x, p, heap.Totals{}, peak, parts)
	points := 0
	if parts.Line {
		points = profileMoments
	}
	snapshots := make([]report.Snapshot, len(moments))
	line := x.History(to, points, moments, func(i int, t *heap.Totals) {
		if moments[i] == peak {
			p.Peak = momentOf(t)
			for i := range p.Stacks {
				st := &p.Stacks[i]
				st.Peak, st.PeakBlocks = heap.LiveOf(&t.Flows[st.ID])
			}
		}
		if !parts.Snapshots {
			return
		}
		snapshots[i] = report.Snapshot{Moment: momentOf(t), Stacks: make([]uint64, len(p.Stacks))}
		for k := range p.Stacks {
			snapshots[i].Stacks[k], _ = heap.LiveOf(&t.Flows[p.Stacks[k].ID])
		}
	})
	if parts.Line {
		p.Timeline = timeline(line, p.Moment)
		if p.Sums && len(p.Timeline) > 0 {
			p.Timeline = []report.Moment{p.Peak, p.Moment}
		}
	}
	if parts.Snapshots {
		addSnapshots(p, snapshots, p.Moment)
	}
}

// addSnapshots adds the snapshots of earlier moments, and of the profile's own.
func addSnapshots(p *report.Profile, before []report.Snapshot, now report.Moment) {
	if now.Seq == 0 {
		return
	}
	last := report.Snapshot{Moment: now}
	for i := range p.Stacks {
		last.Stacks = append(last.Stacks, p.Stacks[i].Live)
	}
	before = slices.CompactFunc(before, func(a, b report.Snapshot) bool { return a.Seq == b.Seq }) // events between were not kept
	before = slices.DeleteFunc(before, func(t report.Snapshot) bool { return t.Seq == 0 || t.Seq >= now.Seq })
	p.Snapshots = append(before, last)
}

// momentsOf are the moments at which a profile has the live bytes of each stack: the peak,
// if there is one, and the moments of snapshots. The profile counts what is after then.
func momentsOf(x *heap.Index, p *report.Profile, then heap.Totals, peak uint64, parts ProfileParts) (moments []uint64) {
	if parts.Snapshots {
		moments = snapshotMoments(x, p, then, peak)
	}
	if i, found := slices.BinarySearch(moments, peak); !found && peak > 0 {
		moments = slices.Insert(moments, i, peak)
	}
	return moments
}

// snapshotMoments are the moments of all snapshots but the last: the peak, marks, and others
// that are as many events apart.
func snapshotMoments(x *heap.Index, p *report.Profile, then heap.Totals, peak uint64) []uint64 {
	moments := []uint64{peak}
	for _, m := range p.Marks[:min(len(p.Marks), ProfileSnapshots/4)] {
		moments = append(moments, m.Seq)
	}
	runs, more := x.Runs(), uint64(ProfileSnapshots-1-len(moments))
	for i := range more {
		seq := x.Nth(then.Events + p.Events*(i+1)/(more+1))
		// Between the ends of a run there is a moment only if runs are few: it costs
		// reading the events.
		if r := sort.Search(len(runs), func(i int) bool { return runs[i].Last >= seq }); r < len(runs) && len(runs) > ProfileSnapshots/2 {
			seq = runs[r].Last
		}
		moments = append(moments, seq)
	}
	moments = slices.DeleteFunc(moments, func(seq uint64) bool { return seq <= then.Seq || seq >= p.Moment.Seq })
	slices.Sort(moments)
	return slices.Compact(moments)
}

func momentOf(t *heap.Totals) report.Moment {
	return report.Moment{Seq: t.Seq, Time: t.Time, Live: t.Live, Blocks: t.Blocks}
}

// sizeClasses are the allocations by size, in powers of two.
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
func timeline(line []heap.Point, now report.Moment) []report.Moment {
	var out []report.Moment
	for _, p := range line {
		out = append(out, report.Moment{Seq: p.Seq, Time: p.Time, Live: p.Live, Blocks: p.Blocks})
	}
	if n := len(out); n > 0 && (out[n-1].Seq != now.Seq || out[n-1].Live != now.Live) {
		out = append(out, now) // an exec after the last event
	}
	return out
}

// marks are the marks behind event #from, up to #to.
func marks(all []capture.MarkRecord, from, to uint64) []report.Mark {
	var out []report.Mark
	for _, m := range all {
		if m.Seq <= to && (from == 0 || m.Seq > from) {
			out = append(out, report.Mark{Seq: m.Seq, Time: m.Time, Name: m.Name})
		}
	}
	return out
}

// samples are the samples behind event #from, up to #to. Of more than a report can show
// they are the highest.
func samples(all []capture.SampleRecord, from, to uint64) []report.Sample {
	if from > 0 {
		i := slices.IndexFunc(all, func(s capture.SampleRecord) bool { return s.Seq > from })
		all = all[max(i, 0):]
		if i < 0 {
			return nil
		}
	}
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

// Before is the heap at an earlier moment by the stacks of p, which is a profile of the
// recording.
func (r *Recording) Before(p *report.Profile, since Moment) (*report.Baseline, error) {
	b := &report.Baseline{Name: since.String(), Live: make([]uint64, len(p.Stacks))}
	if p.Events == 0 {
		return b, nil
	}
	seq, err := r.Seq(since)
	if err != nil {
		return nil, err
	}
	if seq >= p.Moment.Seq { // which would be compared with itself
		return nil, fmt.Errorf("%s: the recording ends there, at event #%d: give an earlier moment", since, p.Moment.Seq)
	}
	t := r.Index.Totals(seq)
	b.Moment = momentOf(t)
	for i := range p.Stacks {
		if id := int(p.Stacks[i].ID); id < len(t.Flows) {
			b.Live[i], _ = heap.LiveOf(&t.Flows[id])
		}
	}
	return b, nil
}

// begin is when a recording began whose times count from earlier on, as far as its
// first event tells; 0 if it began with them.
func begin(why capture.Reasons, x *heap.Index) time.Duration {
	late := slices.ContainsFunc([]capture.ReasonKind{capture.StartedLate, capture.DroppedOlder, capture.Paused, capture.Trimmed}, why.Has)
	if runs := x.Runs(); late && len(runs) > 0 {
		return runs[0].Start
	}
	return 0
}

// profileModules are the modules of a recording in the form of a profile.
func profileModules(src capture.Source) (all []report.Module) {
	for _, m := range src.Modules() {
		all = append(all, report.Module{Path: m.Path, BuildID: m.BuildID, Low: uint64(m.Low), High: uint64(m.High), Bias: uint64(m.Bias)})
	}
	return all
}
