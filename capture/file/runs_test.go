package file

import (
	"math/rand/v2"
	"testing"
	"time"

	"hdb/capture"
	"hdb/testprogs"
)

// Events that come in runs leave what they leave the long way: spans of Go that are swept and filled
// again, with survivors here and there, other sizes, stacks and times, across regions of pages and chunks.
func TestRuns(t *testing.T) {
	for seed := range uint64(testprogs.Rounds(12, 100)) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := newSpans(r, seed)
		c := newEncoderPair(t)
		for range 3 {
			c.encode(s.events(oneOf(r, 1000, 6000, eventsPerChunk)))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// What a run begins with need not be expected from what the run before it, or other threads, left.
func TestRunsBegin(t *testing.T) {
	var seq uint64
	at := func(tid int32, addr uint64) capture.Event {
		seq++
		return capture.Event{Seq: seq, TID: tid, Addr: addr, Size: 56, Stack: 1}
	}
	free := func(tid int32, b capture.Event) capture.Event {
		seq++
		return capture.Event{Seq: seq, TID: tid, Kind: capture.Free, Addr: b.Addr, Size: b.Size, Func: 1, Ended: capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: b.Seq > 0, Seq: b.Seq}}
	}
	t.Run("blocks behind those of another thread", func(t *testing.T) {
		seq = 0
		var events []capture.Event
		for k := range uint64(50) {
			mine, other := 0x100000*(2*k+1), 0x100000*(2*k+2)
			for i := range 3 + k%7 {
				events = append(events, at(3, mine+64*i))
			}
			first := events[len(events)-1]
			events = append(events, at(4, other), at(4, other+64), at(4, other+128), free(3, first))
			for i := range uint64(12) {
				events = append(events, at(3, other+192+64*i))
			}
		}
		newEncoderPair(t).encode(events)
	})
	t.Run("blocks half of all addresses away from another", func(t *testing.T) {
		seq = 0
		var blocks []capture.Event
		for i := range uint64(500) {
			blocks = append(blocks, at(3, 0x100000+64*i))
		}
		c := newEncoderPair(t)
		c.encode(blocks)
		var events []capture.Event
		for i, b := range blocks {
			if i%11 == 7 {
				events = append(events, free(3, capture.Event{Addr: b.Addr ^ 1<<63, Size: b.Size}))
			}
			events = append(events, free(3, b))
		}
		c.encode(events)
	})
	t.Run("times before the start", func(t *testing.T) {
		seq = 0
		var events []capture.Event
		for i := range 12 {
			e := at(3, 0x1000+64*uint64(i))
			e.Time = time.Duration(i-6) * 500 * time.Nanosecond
			events = append(events, e)
		}
		newEncoderPair(t).encode(events)
	})
}

// Most events of such a program are in runs.
func TestRunsAreLong(t *testing.T) {
	s := newSpans(rand.New(rand.NewPCG(1, 1)), 0)
	s.survive, s.change, s.sizes, s.used = 0, 0, []uint64{56}, make([][]capture.Event, 300)
	var c eventEncoder
	c.following = true
	c.room(eventsPerChunk - 1)
	for chunk := range 3 {
		events := s.events(50000)
		c.begin(events[0].Seq, ticks(events[0].Time))
		runs, all := 0, len(events)
		for len(events) > 0 {
			n := 0
			if c.head.count > 0 {
				c.plainRoom()
				some := events[:min(len(events), 100)]
				n = c.run(some)
				if runs += n; n == 0 {
					n = c.plain(some[:1])
				}
			}
			if n == 0 {
				c.event(&events[0], events[0].Seq, ticks(events[0].Time))
				n = 1
			}
			events = events[n:]
		}
		if chunk > 0 && runs < all*9/10 { // in the first some blocks begin and end
			t.Errorf("%d of %d events are in runs", runs, all)
		}
		c.end(eventColumns{})
	}
}

// spans are a heap of spans of equal slots.
type spans struct {
	r               *rand.Rand
	sizes           []uint64 // of blocks, by span
	slot            uint64
	survive, change int // one in so many blocks survives, or is another; 0: none
	used            [][]capture.Event
	next            int // the span that is swept next
	seq, swept      uint64
	now             time.Duration
	pending         []capture.Event
}

func newSpans(r *rand.Rand, seed uint64) *spans {
	s := &spans{r: r, survive: 1 + r.IntN(40), change: 1 + r.IntN(40), slot: 64, sizes: []uint64{56, 56, 60}}
	switch seed % 6 {
	case 1:
		s.slot, s.sizes = 24, []uint64{24, 17}
	case 2:
		s.slot, s.sizes = 48, []uint64{48}
	case 3:
		s.slot, s.sizes = 40960, []uint64{40960, 33000}
	case 4:
		s.slot, s.sizes = wideRange+8192, []uint64{wideRange + 8192, wideRange - 8192}
	}
	s.used = make([][]capture.Event, 1+r.IntN(60))
	return s
}

// events are the next n.
func (s *spans) events(n int) []capture.Event {
	for len(s.pending) < n {
		s.sweep()
	}
	events := s.pending[:n:n]
	s.pending = s.pending[n:]
	return events
}

// is tells one in so many.
func (s *spans) is(one int) bool { return one > 0 && s.r.IntN(one) == 0 }

func (s *spans) put(e capture.Event) uint64 {
	s.seq++
	e.Seq, e.Time = s.seq, s.now
	s.pending = append(s.pending, e)
	return s.seq
}

// sweep frees the blocks of the next span, and fills it.
func (s *spans) sweep() {
	const slots = 100
	i := s.next % len(s.used)
	s.next++
	if s.used[i] == nil {
		s.used[i] = make([]capture.Event, slots)
	} else {
		s.swept++
	}
	last := uint64(0)
	if n := len(s.pending); n > 0 && s.pending[n-1].Allocates() {
		last = s.pending[n-1].Seq
	}
	for k := range s.used[i] {
		b := &s.used[i][k]
		if b.Seq == 0 || s.is(s.survive) {
			continue
		}
		s.put(capture.Event{TID: 3, Kind: capture.Free, Addr: b.Addr, Size: b.Size, Func: 1,
			Ended: capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq, Temporary: b.Seq == last}})
		*b = capture.Event{}
		if s.is(50 * s.change) {
			s.now += time.Microsecond
		}
	}
	base := 0xc000000000 + uint64(i)*slots*s.slot
	size, stack := oneOf(s.r, s.sizes...), capture.StackID(1)
	for k := range s.used[i] {
		b := &s.used[i][k]
		if b.Seq != 0 {
			continue
		}
		if s.is(s.change) {
			size, stack = oneOf(s.r, s.sizes...), capture.StackID(1+s.r.IntN(3))
		}
		s.now += oneOf(s.r, 0, 0, 90, 300*time.Nanosecond, 2*time.Microsecond)
		if s.is(100 * s.change) {
			s.now += time.Second
		}
		*b = capture.Event{TID: 3, Addr: base + uint64(k)*s.slot, Size: size, Stack: stack, Aux: 1<<40 | uint64(stack)}
		if s.is(20 * s.change) {
			b.TID = 4
		}
		b.Seq = s.put(*b)
	}
}
