package recordings

import (
	"context"

	"hdb/internal/cond"
	"hdb/query"
)

// MappedLive are the live mappings that were made behind since and match a condition, see
// query.Recording.MappedLive.
func (q *Queries) MappedLive(ctx context.Context, c *cond.Cond, since query.Moment, limit int) ([]query.MappedEvent, *query.Mappings, error) {
	r, err := q.sums()
	if err != nil {
		return nil, nil, err
	}
	return r.MappedLive(ctx, c, since, limit)
}

// MappedTop adds up the live mappings as Top does blocks.
func (q *Queries) MappedTop(per query.Per) ([]query.MappedRow, *query.Mappings, error) {
	r, err := q.sums()
	if err != nil {
		return nil, nil, err
	}
	m, err := r.Mapped(query.Present)
	if err != nil {
		return nil, nil, err
	}
	return r.MappedTop(m, per), m, nil
}

// A Peak is when most bytes were live, in blocks and mapped by the program.
type Peak struct {
	Seq    uint64 // of the event
	Bytes  uint64
	Mapped uint64 // of them, by the program
}

// MappedAtPeak is MappedTop of the mappings that were live at the peak up to the moment.
func (q *Queries) MappedAtPeak(per query.Per) ([]query.MappedRow, *query.Mappings, Peak, error) {
	r, err := q.sums()
	if err != nil {
		return nil, nil, Peak{}, err
	}
	var p Peak
	p.Seq, p.Bytes = r.Index.PeakBefore(r.Moment)
	r.Moment = p.Seq
	m, err := r.Mapped(query.Present)
	if err != nil {
		return nil, nil, p, err
	}
	p.Mapped = m.Sums[query.ProgramMapped].Bytes
	return r.MappedTop(m, per), m, p, nil
}

// LiveBytes is how many bytes are live at the end, see query.Recording.LiveBytes.
func (q *Queries) LiveBytes() (uint64, error) {
	r, err := q.sums()
	if err != nil {
		return 0, err
	}
	return r.LiveBytes(), nil
}

// MappedStacks are the stacks that made the live mappings behind since, at most limit, and how many there are.
func (q *Queries) MappedStacks(since query.Moment, limit int) ([]query.MappedStack, int, *query.Mappings, error) {
	r, err := q.sums()
	if err != nil {
		return nil, 0, nil, err
	}
	m, err := r.Mapped(since)
	if err != nil {
		return nil, 0, nil, err
	}
	rows, total := r.MappedStacks(m, limit)
	return rows, total, m, nil
}

// Makers are the calls that made most of each range accessible, see query.Recording.Makers; nil if nothing is recorded.
func (q *Queries) Makers(ranges [][2]uint64) []*query.Maker {
	r, err := q.sums()
	if err != nil {
		return nil
	}
	return r.Makers(ranges)
}
