package query

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/names"
	"hdb/report"
)

// A Diff is how the heap differs between two moments or captures.
type Diff struct {
	From, To               string // what was compared
	Apart                  bool   // they are two recordings: no time is between the moments
	Changes                []heap.Change
	FromBytes, ToBytes     uint64 // live
	FromBlocks, ToBlocks   uint64
	FromAllocs, ToAllocs   uint64 // allocations up to there
	FromElapsed, ToElapsed time.Duration
	Mapped                 []MappedChange   // of the mappings of the program and of CPython
	FromMapped, ToMapped   report.MappedSum // of the program's
	FromWhole, ToWhole     Whole            // of two recordings, else zero
	AtPeaks                bool             // two recordings are compared at their peaks, as more was live there than at their ends
	Gaps                   []string         // why the numbers of either recording may be wrong, see report.Caveats

	stack func(c *heap.Change) names.Stack // of a change per stack
}

// Whole is what a recording has up to its end, or the moment.
type Whole struct {
	Peak      uint64 // bytes live at once, in blocks and mappings of the program
	Allocated uint64 // bytes
	Live      uint64 // bytes at the end
	end, peak uint64 // numbers of the events after which Live and Peak were live
}

// wholeOf adds up a recording.
func wholeOf(r *Recording) (w Whole, err error) {
	if w.end, err = r.Seq(Present); err != nil {
		return w, err
	}
	w.peak, w.Peak = r.Index.PeakBefore(w.end)
	t := r.Index.Totals(w.end)
	w.Live = t.Live
	for i := range t.Flows {
		w.Allocated += t.Flows[i].Bytes
	}
	return w, nil
}

// freed reports whether less is left than was live at the peak, so that the peak says more, as in top.
func (w *Whole) freed() bool { return w.Live < w.Peak }

// Elapsed is the time between the two moments, at least what the clock can tell; 0 if they are of
// two recordings.
func (d *Diff) Elapsed() time.Duration {
	if d.Apart {
		return 0
	}
	return max((d.ToElapsed - d.FromElapsed).Abs(), capture.Resolution)
}

// Stack is the stack of a change in a comparison per stack.
func (d *Diff) Stack(c *heap.Change) names.Stack { return d.stack(c) }

// A MappedChange is how the mappings of a layer differ.
type MappedChange struct {
	heap.Change
	Layer Layer
}

// side is what is compared.
type side struct {
	rows   []heap.Row // of lines, where those have sites of their own
	mapped [len(Layers)][]heap.Row
	sum    report.MappedSum // of the program's mappings
	totals *heap.Totals
	time   time.Duration
}

func (d *Diff) compare(a, b side) {
	d.Changes = heap.Diff(a.rows, b.rows)
	d.FromBytes, d.FromBlocks, d.FromElapsed = a.totals.Live, a.totals.Blocks, a.time
	d.ToBytes, d.ToBlocks, d.ToElapsed = b.totals.Live, b.totals.Blocks, b.time
	d.FromMapped, d.ToMapped = a.sum, b.sum
	for layer := range a.mapped {
		for _, c := range heap.Diff(a.mapped[layer], b.mapped[layer]) {
			d.Mapped = append(d.Mapped, MappedChange{c, Layer(layer)})
		}
	}
	for _, r := range a.rows {
		d.FromAllocs += r.Count
	}
	for _, r := range b.rows {
		d.ToAllocs += r.Count
	}
}

// side is one side of a comparison. Stacks are distinguished by their numbers, which those of one
// recording have in common.
func (r *Recording) side(moment Moment, per Per, alike *alikeStacks) (side, error) {
	to, err := r.Seq(moment)
	if err != nil {
		return side{}, err
	}
	return sideAt(r, moment, to, per, alike), nil
}

// sideAt is side with the number of the last event that counts.
func sideAt(r *Recording, moment Moment, to uint64, per Per, alike *alikeStacks) side {
	out := side{totals: r.Index.Totals(to)}
	out.time = r.timeAt(moment, to, out.totals)
	m := r.mappedBetween(0, to)
	out.sum = m.Sums[ProgramMapped]
	site := alike.site
	if per == PerStack {
		out.mapped = m.rows(r.Reading, func(b *MappedBlock) heap.Site { return site(b.Stack) })
	} else {
		site = r.Sites(per)
		out.mapped = r.mappedLines(m, per)
	}
	out.rows = heap.Lines(r.Index, to, heap.ByLive, site)
	return out
}

// Diff compares two moments of the recording.
func (r *Recording) Diff(from, to Moment, per Per) (*Diff, error) {
	alike := r.alikeStacks()
	a, err := r.side(from, per, alike)
	if err != nil {
		return nil, err
	}
	b, err := r.side(to, per, alike)
	if err != nil {
		return nil, err
	}
	d := &Diff{From: from.String(), To: to.String()}
	d.stack = func(c *heap.Change) names.Stack { return r.namedStack(stackOf(c.Site)) }
	d.compare(a, b)
	return d, nil
}

// DiffOf compares another recording, which has the name, with this one: at their peaks if both are over and were larger there.
func (r *Recording) DiffOf(other *Recording, name string, per Per, over bool) (*Diff, error) {
	d := &Diff{From: filepath.Base(name), To: Present.String(), Apart: true}
	var err error
	if d.FromWhole, err = wholeOf(other); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if d.ToWhole, err = wholeOf(r); err != nil {
		return nil, err
	}
	theirs, ours := d.FromWhole.end, d.ToWhole.end
	if d.AtPeaks = over && d.FromWhole.freed() && d.ToWhole.freed(); d.AtPeaks {
		theirs, ours = d.FromWhole.peak, d.ToWhole.peak
	}
	a, b := sideAt(other, Present, theirs, per, other.alikeStacks()), sideAt(r, Present, ours, per, r.alikeStacks())
	rebuilt := rebuiltModules(other.Source, r.Source)
	if per == PerStack {
		named := map[string]names.Stack{}
		other.byFrames(a.rows, rebuilt, named)
		r.byFrames(b.rows, rebuilt, named)
		for layer := range a.mapped {
			other.byFrames(a.mapped[layer], rebuilt, named)
			r.byFrames(b.mapped[layer], rebuilt, named)
		}
		d.stack = func(c *heap.Change) names.Stack { return named[c.Site.Function] }
	} else {
		sameSites := func(was, is []heap.Row) {
			sameProgram(was, other.Source, r.Source)
			moved := heap.SameFiles(was, is)
			heap.OtherBuilds(was, is, func(s *heap.Site) bool { return moved[s.File] || rebuilt(s.Module) })
		}
		sameSites(a.rows, b.rows)
		for layer := range a.mapped {
			sameSites(a.mapped[layer], b.mapped[layer])
		}
	}
	d.compare(a, b)
	slices.SortStableFunc(d.Changes, func(a, b heap.Change) int { return cmp.Compare(abs(b.Bytes), abs(a.Bytes)) }) // a fix is what fell
	slices.SortStableFunc(d.Mapped, func(a, b MappedChange) int { return cmp.Compare(abs(b.Bytes), abs(a.Bytes)) })
	return d, nil
}

func abs(n int64) int64 { return max(n, -n) }

// sameProgram gives the sites of a program the module of the other recording's program, which may have another name: old and new.
func sameProgram(rows []heap.Row, from, to capture.Source) {
	mine, others := capture.Programs(from), capture.Programs(to)
	if len(mine) != 1 || len(others) != 1 {
		return
	}
	was, is := names.ModuleName(mine[0]), names.ModuleName(others[0])
	for i := range rows {
		if rows[i].Site.Module == was {
			rows[i].Site.Module = is
		}
	}
}

// rebuiltModules tells the modules of which the recordings have different builds.
func rebuiltModules(a, b capture.Source) func(module string) bool {
	builds := func(src capture.Source) map[string]string {
		ids := map[string]string{}
		for _, m := range src.Modules() {
			ids[names.ModuleName(m)] = m.BuildID + m.GoBuildID
		}
		return ids
	}
	was, is := builds(a), builds(b)
	return func(module string) bool { return was[module] != is[module] }
}

// byFrames gives rows of stacks sites that are alike where the functions and lines are: addresses
// and numbers of stacks differ between recordings. Lines of Python and of modules that were rebuilt may have moved, and do not
// count. It adds the stacks to named.
func (r *Recording) byFrames(rows []heap.Row, rebuilt func(module string) bool, named map[string]names.Stack) {
	mine := map[string]bool{}
	for i := range rows {
		if r.Reading.GivenUp() {
			return
		}
		st := r.namedStack(stackOf(rows[i].Site))
		var key strings.Builder
		frames := st.Frames
		if slices.ContainsFunc(frames, func(f names.Frame) bool { return f.Python() }) {
			frames = frames[r.Attribution.Owner(frames):] // as alikeStacks
		}
		for _, f := range frames {
			if f.Python() || rebuilt(filepath.Base(f.Path)) {
				fmt.Fprintf(&key, "%s\n", f.Name())
			} else {
				fmt.Fprintf(&key, "%s %s:%d\n", f.Name(), filepath.Base(f.File), f.Line)
			}
		}
		k := key.String()
		rows[i].Site = heap.Site{Function: k}
		if mine[k] {
			st = withoutLines(st, named[k])
		}
		named[k], mine[k] = st, true
	}
}

// withoutLines is a stack of several, which differ in lines, without these.
func withoutLines(a, b names.Stack) names.Stack {
	a.Frames = slices.Clone(a.Frames)
	for i := range a.Frames {
		if i < len(b.Frames) && a.Frames[i].Line != b.Frames[i].Line {
			a.Frames[i].Line = 0
		}
	}
	return a
}
