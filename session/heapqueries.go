package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// Per is what the rows of Top stand for.
type Per uint8

// What rows stand for.
const (
	PerFunction Per = iota
	PerLine
	PerModule
	PerThread
	PerSize
	PerStack
)

// Pers are the words for them, in their order.
var Pers = [...]string{"function", "line", "module", "thread", "size", "stack"}

func (p Per) String() string { return Pers[p] }

// Top is the recorded allocations up to the moment, summed by what the rows stand
// for. A function is the first frame of the user's code.
func (s *Session) Top(by heap.Measure, per Per) ([]heap.Row, error) {
	src, x, err := s.summedBy(per)
	if err != nil {
		return nil, err
	}
	return s.topAt(src, x, s.moment(), by, per), nil
}

// summedBy is the recording, if it tells apart what the rows stand for.
func (s *Session) summedBy(per Per) (capture.Source, *heap.Index, error) {
	src, x, err := s.countedSums()
	if err == nil && src.Info().Aggregate && (per == PerThread || per == PerSize) {
		err = errSums
	}
	return src, x, err
}

func (s *Session) topAt(src capture.Source, x *heap.Index, to uint64, by heap.Measure, per Per) []heap.Row {
	switch per {
	case PerThread:
		threads := src.Threads()
		return heap.TopBy(x, to, by, heap.KeyThread, func(tid uint64) heap.Site {
			i := slices.IndexFunc(threads, func(t capture.Thread) bool { return t.TID == int32(uint32(tid)) })
			if i < 0 {
				return heap.Site{Function: fmt.Sprintf("thread of TID %d", int32(uint32(tid)))}
			}
			return heap.Site{Function: fmt.Sprintf("thread %d %q", threads[i].Num, threads[i].Name)}
		})
	case PerSize:
		return heap.TopBy(x, to, by, heap.KeySize, func(size uint64) heap.Site {
			return heap.Site{Function: strconv.FormatUint(size, 10) + " bytes"}
		})
	}
	frames := newProfileFrames(s, src, &report.Profile{})
	return heap.Top(x, to, by, func(id capture.StackID) heap.Site {
		if per == PerLine {
			return frames.lineOf(id, x.Named(id))
		}
		site := frames.siteOf(id, x.Named(id))
		if per == PerModule {
			return heap.Site{Function: site.Module, Module: site.Module}
		}
		return site
	})
}

// A StackRow is what was allocated with one stack.
type StackRow struct {
	heap.Row
	Stack Stack
}

// TopStacks are the stacks with the largest numbers, at most limit of them, and
// how many there are of which the measure says something.
func (s *Session) TopStacks(by heap.Measure, limit int) (rows []StackRow, total int, err error) {
	src, x, err := s.countedSums()
	if err != nil {
		return nil, 0, err
	}
	all := heap.Top(x, s.moment(), by, func(id capture.StackID) heap.Site { return heap.Site{Function: strconv.FormatUint(uint64(id), 10)} })
	all = slices.DeleteFunc(all, func(r heap.Row) bool { return !by.Some(r) })
	total = len(all)
	for _, r := range all[:min(limit, total)] {
		n, _ := strconv.ParseUint(r.Site.Function, 10, 32)
		id := capture.StackID(n)
		seq := x.Named(id)
		r.Site = s.site(src, id, seq)
		rows = append(rows, StackRow{r, s.names.RecordedStack(src, id, seq)})
	}
	return rows, total, nil
}

// Whence is what is known of an address of the heap at the moment.
type Whence struct {
	Addr         uint64
	Start        uint64 // of the live block that holds it; 0: none does
	Event        *Event // that made the block
	Age          time.Duration
	Frames       []Frame // of the event, innermost first, up to the user's code
	Below, Above uint64  // where there is none: the next live blocks, 0 without
	BelowSize    uint64
	Last         *Event // where there is none: the last event about a block that held it
}

// Whence finds the recorded block around an address.
func (s *Session) Whence(addr uint64) (*Whence, error) {
	src, x, err := s.countedEvents()
	if err != nil {
		return nil, err
	}
	blocks := x.Held(s.moment())
	w := &Whence{Addr: addr}
	b := heap.Containing(blocks, addr)
	if b == nil {
		below, above := heap.Nearest(blocks, addr)
		if below != nil {
			w.Below, w.BelowSize = below.Addr, below.Size
		}
		if above != nil {
			w.Above = above.Addr
		}
		for e := range x.About(addr, s.moment()) {
			w.Last = withName(src, *e)
			break
		}
		return w, nil
	}
	w.Start = b.Addr
	e, st, err := s.EventStack(b.Seq)
	if e == nil {
		return nil, err
	}
	w.Event = e
	w.Age = x.Totals(s.moment()).Time - e.Time
	if err == nil && len(st.Frames) > 0 {
		w.Frames = st.Frames[:s.UserFrame(st.Frames)+1]
	}
	return w, nil
}

// historyReads is how many events History goes on to read when it has all that it
// shows, to count the others: some tenths of a second.
const historyReads = 2_000_000

// History are the recorded events up to the moment about blocks that held the
// address, oldest first: at most limit, the last ones, and how many there are. Where
// very many events may be about the address, more says that there may be more.
func (s *Session) History(addr uint64, limit int) (events []*Event, total int, more bool, err error) {
	src, x, err := s.recordedEvents()
	if err != nil {
		return nil, 0, false, err
	}
	for e, read := range x.About(addr, s.moment()) {
		if more = limit > 0 && total >= limit && read > historyReads; more {
			break
		}
		if total++; limit <= 0 || total <= limit {
			events = append(events, withName(src, *e))
		}
	}
	slices.Reverse(events)
	return events, total, more, nil
}

// A Diff is how the heap differs between two moments or captures.
type Diff struct {
	From, To               string // what was compared
	Changes                []heap.Change
	FromBytes, ToBytes     uint64 // live
	FromBlocks, ToBlocks   uint64
	FromAllocs, ToAllocs   uint64 // allocations up to there
	FromElapsed, ToElapsed time.Duration
	Gaps                   []string // see Session.Gaps: of both recordings
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

// side is one side of a comparison, at a moment that MomentOf understands; "" is
// the present one.
func (s *Session) side(moment string, per Per) (side, error) {
	src, x, err := s.summedBy(per)
	if err != nil {
		return side{}, err
	}
	to := s.moment()
	if moment != "" {
		if to, err = s.MomentOf(moment); err != nil {
			return side{}, err
		}
	}
	return side{s.topAt(src, x, to, heap.ByLive, per), x.Totals(to)}, nil
}

// Diff compares two moments of the recording; to may be "", the present one.
func (s *Session) Diff(from, to string, per Per) (*Diff, error) {
	a, err := s.side(from, per)
	if err != nil {
		return nil, err
	}
	b, err := s.side(to, per)
	if err != nil {
		return nil, err
	}
	d := &Diff{From: from, To: to, Gaps: s.Gaps()}
	if to == "" {
		d.To = "now"
	}
	d.compare(a, b)
	return d, nil
}

// DiffCapture compares the end of another capture with the present moment.
func (s *Session) DiffCapture(path string, per Per) (*Diff, error) {
	other := New(Config{Version: s.cfg.Version, Cache: s.cfg.Cache})
	other.Settings, other.reading = s.Settings, s.reading
	defer other.Close()
	if _, err := other.OpenWhole(path); err != nil {
		return nil, err
	}
	a, err := other.side("", per)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := s.side("", per)
	if err != nil {
		return nil, err
	}
	heap.SameFiles(a.rows, b.rows)
	d := &Diff{From: filepath.Base(path), To: "now", Gaps: s.Gaps()}
	for _, line := range other.Gaps() {
		d.Gaps = append(d.Gaps, d.From+": "+line)
	}
	d.compare(a, b)
	return d, nil
}
