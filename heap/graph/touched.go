package graph

import (
	"errors"
	"io"
	"sort"
)

// ErrUntouched tells that memory holds nothing yet, and is not read therefore.
var ErrUntouched = errors.New("the process has not touched this memory")

// Touched reads memory but for pages that hold nothing: to read those would make page tables in the
// process, or wait for whoever serves its userfaultfd(2). It remembers what is populated around the last
// place, so that ascending addresses are quick; one goroutine may use it.
type Touched struct {
	Memory    io.ReaderAt
	Populated func(start, end uint64) ([]Range, error) // as of Options

	asked Range
	parts []Range
}

// askBytes is how much memory is asked about at once.
const askBytes = 8 << 20

// Next is the first part of start to end that holds something, as far as is known at once; without one it is
// empty, at end.
func (t *Touched) Next(start, end uint64) (Range, error) {
	if t.Populated == nil {
		return Range{start, end}, nil
	}
	for start < end {
		if start < t.asked.Start || start >= t.asked.End {
			t.asked = Range{} // if it fails
			from := start &^ (faultPage - 1)
			to := from + min(askBytes, maxAddress-min(from, maxAddress))
			parts, err := t.Populated(from, to)
			if err != nil || to <= start {
				return Range{end, end}, err
			}
			t.asked, t.parts = Range{from, to}, parts
		}
		i := sort.Search(len(t.parts), func(i int) bool { return t.parts[i].End > start })
		if i < len(t.parts) && t.parts[i].Start < end {
			return Range{max(start, t.parts[i].Start), min(end, t.parts[i].End)}, nil
		}
		start = t.asked.End
	}
	return Range{end, end}, nil
}

// ReadAt reads memory up to the first page that holds nothing, which is ErrUntouched.
func (t *Touched) ReadAt(b []byte, at int64) (int, error) {
	start, end, n := uint64(at), uint64(at)+uint64(len(b)), 0
	for start < end {
		p, err := t.Next(start, end)
		if err == nil && (p.Start > start || p.Start == p.End) {
			err = ErrUntouched
		}
		if err != nil {
			return n, err
		}
		more, err := t.Memory.ReadAt(b[n:n+int(p.End-start)], int64(start))
		n += max(more, 0)
		if err != nil || more < int(p.End-start) {
			return n, err
		}
		start = p.End
	}
	return n, nil
}
