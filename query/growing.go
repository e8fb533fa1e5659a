package query

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// Growing are the stacks that had more live bytes at each of some moments than at the one before.
type Growing struct {
	Instants []Instant    // the moments by time, the recording's last; without those that no event is behind
	Rows     []GrowingRow // what grew most first
	Unsteady int          // further stacks that grew from the first moment to the last, but not at each
	Kept     Kept         // of stacks that grew, what is left out
	r        *Recording
	alike    *alikeStacks
}

// An Instant is a moment of a recording that was found.
type Instant struct {
	Moment
	Seq  uint64        // the last event up to it
	Time time.Duration // since the start
}

// A GrowingRow is the blocks of a stack.
type GrowingRow struct {
	Stack capture.StackID
	Live  []Amount // at the moments
	row   heap.Row
}

// An Amount is live blocks.
type Amount struct {
	Bytes  uint64 `json:"live_bytes"`
	Blocks uint64 `json:"live_blocks"`
}

// Elapsed is the time from the first moment to the last.
func (g *Growing) Elapsed() time.Duration {
	return max(capture.Resolution, g.Instants[len(g.Instants)-1].Time-g.Instants[0].Time)
}

// grown is how many bytes more are live at the last moment than at the first.
func (r *GrowingRow) grown() uint64 { return r.Live[len(r.Live)-1].Bytes - r.Live[0].Bytes }

// Named is a row with the frames of its stack.
func (g *Growing) Named(row *GrowingRow) StackRow {
	out := row.row
	out.Site = g.r.Site(row.Stack, g.r.Index.Named(row.Stack))
	return StackRow{out, g.r.namedStack(row.Stack)}
}

// AsStack is the stack of a row that a stack is counted in.
func (g *Growing) AsStack(id capture.StackID) capture.StackID { return g.alike.of(id) }

// growthParts is into how many parts a time is cut of which only the beginning is given.
const growthParts = 4

// Growing compares what is live at the moments, in any order, and at the last one. The time from a single moment on is
// cut into parts. See Leaks for strict and suppressions, which count for blocks however they are held.
func (r *Recording) Growing(moments []Moment, last Moment, strict bool, s *report.Suppressions) (*Growing, error) {
	g := &Growing{r: r, Kept: Kept{Suppressed: s.Count()}}
	if err := g.instants(moments, last); err != nil {
		return nil, err
	}
	alike := r.alikeStacks()
	g.alike = alike
	grow := map[capture.StackID]*GrowingRow{}
	for n, at := range g.Instants {
		rows := heap.Top(r.Index, at.Seq, heap.ByLive, alike.site)
		for i := range rows {
			id := stackOf(rows[i].Site)
			one := grow[id]
			if one == nil {
				one = &GrowingRow{Stack: id, Live: make([]Amount, len(g.Instants))}
				grow[id] = one
			}
			one.Live[n], one.row = Amount{rows[i].LiveBytes, rows[i].LiveBlocks}, rows[i]
		}
		if r.Reading.GivenUp() {
			return nil, r.Reading.Cut()
		}
	}
	owned, suppressed := alike.runtimeOwned(strict), alike.suppressed(s)
	for id, one := range grow {
		if !one.grows() {
			if first, last := one.Live[0].Bytes, one.Live[len(one.Live)-1].Bytes; last > first && suppressed(id, report.LeakAny) < 0 && !owned(id) {
				g.Unsteady++
			}
			continue
		}
		if n := suppressed(id, report.LeakAny); n >= 0 {
			g.Kept.Suppressed.Add(n, one.row.LiveBlocks, one.row.LiveBytes)
		} else if owned(id) {
			g.Kept.add(&one.row)
		} else {
			g.Rows = append(g.Rows, *one)
		}
	}
	slices.SortFunc(g.Rows, func(a, b GrowingRow) int {
		return cmp.Or(cmp.Compare(b.grown(), a.grown()), cmp.Compare(a.Stack, b.Stack))
	})
	return g, nil
}

// grows reports whether more is live at each moment than at the one before.
func (r *GrowingRow) grows() bool {
	for i := range r.Live[1:] {
		if r.Live[i+1].Bytes <= r.Live[i].Bytes {
			return false
		}
	}
	return true
}

// Working is the last moment before the program frees its memory at its end; if it does not, that is its end.
func (r *Recording) Working() Moment {
	if at := r.Index.Teardown(); at > 0 && at < r.Index.Last() {
		return After(at)
	}
	return Present
}

// instants finds the moments up to the last.
func (g *Growing) instants(moments []Moment, last Moment) error {
	now, err := g.r.instant(last)
	if err != nil {
		return err
	}
	for _, m := range moments {
		at, err := g.r.instant(m)
		if err != nil {
			return err
		}
		switch {
		case at.Seq > now.Seq && last != Present:
			g.Instants = nil
			return g.instants(moments, Present)
		case at.Seq > now.Seq:
			return fmt.Errorf("%s: it is later than now, after event #%d", m, now.Seq)
		case at.Seq < now.Seq: // else it is now, which comes last in any case
			g.Instants = append(g.Instants, at)
		}
	}
	if len(g.Instants) == 0 {
		return fmt.Errorf("%s: no event follows it: name an earlier moment", moments[0])
	}
	if len(moments) == 1 {
		from := max(g.Instants[0].Time, g.r.Index.Runs()[0].Start) // the program may have idled before its first event
		for i := time.Duration(1); i < growthParts; i++ {
			at, err := g.r.instant(atTime(from+(now.Time-from)*i/growthParts, now.Time-from))
			if err != nil {
				return err
			}
			if at.Seq < now.Seq {
				g.Instants = append(g.Instants, at)
			}
		}
	}
	slices.SortStableFunc(g.Instants, func(a, b Instant) int { return cmp.Compare(a.Seq, b.Seq) })
	g.Instants = append(g.Instants, now)
	g.Instants = slices.CompactFunc(g.Instants, func(a, b Instant) bool { return a.Seq == b.Seq })
	return nil
}

func (r *Recording) instant(m Moment) (Instant, error) {
	seq, err := r.Seq(m)
	if err != nil {
		return Instant{}, err
	}
	seq = min(seq, r.Index.Last())
	return Instant{m, seq, r.timeAt(m, seq, r.Index.Totals(seq))}, nil
}

// atTime is the moment at a time since the start, in digits that distinguish the parts of a whole.
func atTime(at, whole time.Duration) Moment {
	digit := time.Microsecond
	for digit < whole/1000 {
		digit *= 10
	}
	at = at.Round(digit)
	return Moment{kind: elapsed, text: at.String(), when: at}
}

// growthMarks is how many marks are looked at where no moment is given.
const growthMarks = 16

// GrowthMoments are the moments that are looked at if none is given: the last marks, or without marks the middle
// of the time from the first event to the last moment; over a time up to that, if it is not 0, its beginning.
func (r *Recording) GrowthMoments(over time.Duration, last Moment) ([]Moment, error) {
	now, err := r.instant(last)
	if err != nil {
		return nil, err
	}
	if over > 0 {
		if over > now.Time {
			return nil, fmt.Errorf("over %v: the recording covers only %v", over, now.Time.Round(time.Millisecond))
		}
		return []Moment{atTime(now.Time-over, over)}, nil
	}
	var all []Moment
	for _, mark := range r.Source.Marks() {
		if mark.Seq < now.Seq {
			all = append(all, Moment{kind: named, text: mark.Name})
		}
	}
	if len(all) == 0 {
		var first time.Duration
		if runs := r.Index.Runs(); len(runs) > 0 {
			first = runs[0].Start
		}
		span := r.Index.Totals(now.Seq).Time - first // the program may have idled before and after
		return []Moment{atTime(first+span/2, span)}, nil
	}
	return all[max(0, len(all)-growthMarks):], nil
}
