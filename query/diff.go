package query

import (
	"fmt"
	"path/filepath"
	"time"

	"hdb/heap"
)

// A Diff is how the heap differs between two moments or captures.
type Diff struct {
	From, To               string // what was compared
	Changes                []heap.Change
	FromBytes, ToBytes     uint64 // live
	FromBlocks, ToBlocks   uint64
	FromAllocs, ToAllocs   uint64 // allocations up to there
	FromElapsed, ToElapsed time.Duration
	Gaps                   []string // why the numbers of either recording may be wrong, see report.Caveats
}

// side is what is compared.
type side struct {
	rows   []heap.Row
	totals *heap.Totals
}

func (d *Diff) compare(a, b side) {
	d.Changes = heap.Diff(a.rows, b.rows)
	d.FromBytes, d.FromBlocks, d.FromElapsed = a.totals.Live, a.totals.Blocks, a.totals.Time
	d.ToBytes, d.ToBlocks, d.ToElapsed = b.totals.Live, b.totals.Blocks, b.totals.Time
	for _, r := range a.rows {
		d.FromAllocs += r.Count
	}
	for _, r := range b.rows {
		d.ToAllocs += r.Count
	}
}

// side is one side of a comparison.
func (r *Recording) side(moment Moment, per Per) (side, error) {
	to, err := r.Seq(moment)
	if err != nil {
		return side{}, err
	}
	rows, err := r.top(to, heap.ByLive, per)
	if err != nil {
		return side{}, err
	}
	return side{rows, r.Index.Totals(to)}, nil
}

// Diff compares two moments of the recording.
func (r *Recording) Diff(from, to Moment, per Per) (*Diff, error) {
	a, err := r.side(from, per)
	if err != nil {
		return nil, err
	}
	b, err := r.side(to, per)
	if err != nil {
		return nil, err
	}
	d := &Diff{From: from.String(), To: to.String()}
	d.compare(a, b)
	return d, nil
}

// DiffOf compares another recording, which has the name, with this one.
func (r *Recording) DiffOf(other *Recording, name string, per Per) (*Diff, error) {
	a, err := other.side(Present, per)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b, err := r.side(Present, per)
	if err != nil {
		return nil, err
	}
	heap.SameFiles(a.rows, b.rows)
	d := &Diff{From: filepath.Base(name), To: Present.String()}
	d.compare(a, b)
	return d, nil
}
