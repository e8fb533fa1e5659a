package heap

import (
	"math"
	"runtime"
	"slices"
	"time"

	"hdb/capture"
	"hdb/internal/panics"
)

// historyParts is the most parts that are read at a time.
const historyParts = 4

// History goes through the recording up to event #to, once for all that it is asked:
// the heap over time, see Timeline, in at most some n points, none for 0; and the
// totals after each of the moments, which are events that ascend. For these it calls
// at with the index of the moment, the totals being only valid until it returns, each
// once but in any order and from several goroutines. Where events were not kept they
// are as of the last moment before that is known.
func (x *Index) History(to uint64, n int, moments []uint64, at func(i int, t *Totals)) []Point {
	runs := x.runs
	if i := slices.IndexFunc(runs, func(r *capture.Summary) bool { return r.First > to }); i >= 0 {
		runs = runs[:i]
	}
	whole := thinner{spans: 1}
	if len(runs) > 0 && n > 0 {
		whole = newThinner(runs[0].Start, runs[len(runs)-1].End, n)
	}
	all := pass{x: x, runs: runs, to: to, moments: moments, at: at, line: whole, whole: math.MaxInt64, drawn: n > 0}
	if n > 0 && !x.src.Info().Aggregate {
		all.whole = drawnWhole(runs)
	}
	parts := all.parts(min(runtime.GOMAXPROCS(0), historyParts))
	var wait panics.Group
	for i := range parts {
		wait.Go(parts[i].run)
	}
	wait.Wait()
	if n == 0 {
		return nil
	}
	for i := range parts {
		for _, p := range parts[i].line.points() {
			whole.add(p)
		}
	}
	return whole.points()
}

// A pass goes through consecutive runs.
type pass struct {
	x       *Index
	runs    []*capture.Summary // of the index, up to the last that it goes through
	next    int                // of runs
	to      uint64
	moments []uint64 // still to come
	before  int      // how many have been
	at      func(i int, t *Totals)
	whole   time.Duration // runs that last longer are read
	drawn   bool          // line is wanted
	line    thinner
	t       *Totals // after what it went through
}

// inside reports whether a run is to be read event by event.
func (p *pass) inside(r *capture.Summary, moments []uint64) bool {
	i, _ := slices.BinarySearch(moments, r.First)
	return r.End-r.Start > p.whole || i < len(moments) && moments[i] < r.Last || r.Last > p.to && p.drawn
}

// parts are passes for at most n parts of the runs of which as many are to be read.
func (p *pass) parts(n int) []pass {
	reads := 0
	for _, r := range p.runs {
		if p.inside(r, p.moments) {
			reads++
		}
	}
	var out []pass
	rest, done := *p, 0
	for i, r := range p.runs {
		if p.inside(r, p.moments) {
			done++
		}
		if last := i == len(p.runs)-1; last || len(out) < n-1 && done > 0 && done*n >= reads*(len(out)+1) {
			part := rest
			part.runs = p.runs[:i+1]
			if !last {
				k, _ := slices.BinarySearch(rest.moments, p.runs[i+1].First)
				part.moments = rest.moments[:k]
			}
			rest.next, rest.before = i+1, rest.before+len(part.moments)
			rest.moments = rest.moments[len(part.moments):]
			out = append(out, part)
		}
	}
	if len(out) == 0 {
		out = append(out, rest)
	}
	return out
}

func (p *pass) run() {
	p.t = p.x.none()
	for _, r := range p.runs[:p.next] {
		p.t.begin(r)
		p.t.add(r)
	}
	for p.next < len(p.runs) && (p.drawn || len(p.moments) > 0) && !p.x.read.GivenUp() {
		r := p.runs[p.next]
		p.reach(r.First)
		p.t.begin(r)
		if p.inside(r, p.moments) {
			if p.events() {
				break
			}
			continue
		}
		p.t.add(r)
		if r.Peak > 0 && r.PeakSeq != r.Last {
			p.draw(Point{Seq: r.PeakSeq, Time: r.PeakTime, Live: r.Peak})
		}
		p.draw(Point{Seq: r.Last, Time: r.End, Live: r.Live, Blocks: r.Blocks})
		p.next++
	}
	p.reach(End)
}

// draw adds a point to the heap over time.
func (p *pass) draw(at Point) {
	if p.drawn {
		p.line.add(at)
	}
}

// reach calls at for the moments before event #next, for all before End.
func (p *pass) reach(next uint64) {
	for len(p.moments) > 0 && (p.moments[0] < next || next == End) {
		p.at(p.before, p.t)
		p.before++
		p.moments = p.moments[1:]
	}
}

// events reads the events of the next run, and of those behind it as long as that is to be done,
// and reports whether the last event that counts was among them.
func (p *pass) events() (over bool) {
	read := 0
	for e := range p.x.src.Events(p.runs[p.next].First) {
		r := p.runs[p.next]
		if e.Seq > r.Last || read == 0 && e.Seq != r.First {
			break // not kept
		}
		if e.Seq > p.to {
			return true
		}
		p.reach(e.Seq)
		p.t.event(&e)
		p.draw(Point{Seq: e.Seq, Time: e.Time, Live: p.t.Live, Blocks: p.t.Blocks})
		if read++; read < r.Events {
			continue
		}
		if p.next++; p.next == len(p.runs) || !p.inside(p.runs[p.next], p.moments) {
			return false // without reading an event more, for which a run would have to be decoded
		}
		p.reach(p.runs[p.next].First)
		p.t.begin(p.runs[p.next])
		read = 0
	}
	r := p.runs[p.next]
	p.reach(r.Last) // within the run nothing more is known
	*p.t = *p.x.Totals(min(r.Last, p.to))
	p.next++
	return false
}
