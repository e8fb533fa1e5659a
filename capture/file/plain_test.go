package file

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/testprogs"
)

// Events that are encoded the short way leave what they leave the long way, and most are.
func TestPlainEventsAreEncodedAsOthers(t *testing.T) {
	for seed := range uint64(20) {
		events := capturetest.SampleEventsWithEnds(seed, 10000)
		capturetest.NameMakers(events)
		for i := range events {
			if events[i].Kind == capture.Free && i%101 == 0 {
				events[i].Aux = 3 // which no recorder tells, but the format has room for
			}
		}
		events = events[3000:] // there are older blocks than the chunk
		c := newEncoderPair(t)
		c.encode(events[:3000])
		c.encode(events[3000:])
		if 2*c.plain <= len(events) {
			t.Errorf("seed %d: %d of %d events are plain", seed, c.plain, len(events))
		}
	}
}

// Plain frees of blocks that are older than the chunk leave what others do, for
// what comes behind them, too.
func TestPlainFreesOfOlderBlocks(t *testing.T) {
	const tid, made, freed = 1, 5, 6 // thread and stacks
	alloc := func(seq, addr, size uint64) capture.Event {
		return capture.Event{Seq: seq, TID: tid, Addr: addr, Size: size, Stack: made}
	}
	gone := func(seq, size uint64) capture.Ended {
		return capture.Ended{Size: size, Stack: made, Recorded: true, Seq: seq}
	}
	free := func(seq, addr, size, of uint64) capture.Event {
		return capture.Event{Seq: seq, TID: tid, Kind: capture.Free, Addr: addr, Size: size, Stack: freed, Ended: gone(of, size)}
	}
	const small, large = 24, 24 + numOrigins // sizes with one origin
	older := []capture.Event{alloc(1, 0xa000, small), alloc(2, 0xb000, large), alloc(3, 0xc000, small), alloc(4, 0xd000, large),
		alloc(5, 0x1000, small), alloc(6, 0x2000, large), alloc(7, 0x3000, small), alloc(8, 0x4000, large), alloc(9, 0x5000, small)}
	// Of those no event has made room for what plain events note.
	first := []capture.Event{free(10, 0xa000, small, 1), free(11, 0xb000, large, 2), free(12, 0xc000, small, 3), free(13, 0xd000, large, 4)}
	for _, test := range []struct {
		name   string
		events []capture.Event
		plain  int // of them and the first
	}{
		{"made last in the chunk before", []capture.Event{free(14, 0x1000, small, 5), free(15, 0x5000, small, 9)}, 2},
		{"of another size than the one before", []capture.Event{free(14, 0x1000, small, 5), free(15, 0x2000, large, 6), free(16, 0x3000, small, 7)}, 4},
		{"and a realloc of one as large as the last", []capture.Event{free(14, 0x1000, small, 5), free(15, 0x2000, large, 6),
			{Seq: 16, TID: tid, Kind: capture.Realloc, Old: 0x4000, Addr: 0x7000, Size: small, Stack: freed, Ended: gone(8, large)}}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newEncoderPair(t)
			c.encode(older)
			c.plain = 0
			c.encode(slices.Concat(first, test.events))
			if c.plain != test.plain {
				t.Errorf("%d events are plain, want %d", c.plain, test.plain)
			}
		})
	}
}

// What a program of Go does is plain: blocks of other goroutines and types, each with the stack
// of the one before, and frees without a stack.
func TestPlainEventsOfGo(t *testing.T) {
	var s story
	for i := range uint64(400) {
		s.made(capture.Event{TID: 1, Addr: 0xc000001000 + i%100*64, Size: 56, Stack: 5, Aux: 7<<40 | i%7 + 1})
		if i >= 100 {
			b := s[len(s)-100]
			if b.Kind == capture.Alloc {
				s.made(capture.Event{TID: 1, Kind: capture.Free, Addr: b.Addr, Size: b.Size, Ended: capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq}})
			}
		}
	}
	c := newEncoderPair(t)
	c.encode(s)
	if c.plain < len(s)*9/10 {
		t.Errorf("%d of %d events are plain", c.plain, len(s))
	}
}

// A block of a large class is not told when the one below it, which was smaller, was given back.
func TestPlainBlockLargerThanTheTop(t *testing.T) {
	const small, large = 1200, 1200 + 16*largeClasses*10 // of one class
	var s story
	alloc := func(addr, size uint64, stack capture.StackID) {
		s.made(capture.Event{TID: 1, Addr: addr, Size: size, Stack: stack})
	}
	alloc(0x100000, large, 5)
	for range 5 {
		s.freed()
		alloc(0x100000, large, 5)
	}
	alloc(0x110000, small, 7)
	s.freed()
	alloc(0x110000, large, 5)
	for len(s) < touchedFrom { // of fewer, the addresses are not told
		alloc(0x200000, 24, 5)
		s.freed()
	}
	newEncoderPair(t).encode(s)
}

// Events of thread 0 and without a stack, which no program makes, are encoded as the others.
func TestPlainEventsOfNothing(t *testing.T) {
	var s story
	for range 3 {
		s.made(capture.Event{Addr: 0x1000, Size: 24, Stack: 5})
	}
	s.made(capture.Event{Addr: 0x1000, Size: 24, Stack: 5, Aux: 1 << 40})
	s.made(capture.Event{Addr: 0x1000, Size: 24})
	newEncoderPair(t).encode(s)
}

// A story is events that follow on each other.
type story []capture.Event

// made appends an event that makes a block, freed one that gives back the one made last.
func (s *story) made(e capture.Event) {
	e.Seq = uint64(len(*s)) + 1
	*s = append(*s, e)
}

func (s *story) freed() {
	b := (*s)[len(*s)-1]
	s.made(capture.Event{TID: b.TID, Kind: capture.Free, Addr: b.Addr, Size: b.Size, Stack: 6, Ended: capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq}})
}

// Events that no program makes, with numbers at the bounds of what the short way takes, leave
// what they leave the long way.
func TestPlainEventsOfAnything(t *testing.T) {
	for seed := range uint64(testprogs.Rounds(12, 60)) {
		r := rand.New(rand.NewPCG(seed, 12))
		c := newEncoderPair(t)
		a := anything{r: r, gaps: seed%6 == 5, step: oneOf[uint64](r, 32, 32, 0x8000)}
		for range 3 {
			// Ages are as long as a chunk; and the last one shall be full.
			c.encode(a.events(oneOf(r, 300, 300, 2000, 40000, eventsPerChunk)))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if c.plain < 100 && !a.gaps { // behind a gap none is
			t.Fatalf("seed %d: only %d events are plain", seed, c.plain)
		}
	}
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// An anything makes events most of which are plain or nearly so.
type anything struct {
	r    *rand.Rand
	seq  uint64
	now  time.Duration
	gaps bool            // numbers are left out now and then
	step uint64          // of addresses
	live []capture.Event // that made blocks which live, as far as they tell
}

func (a *anything) events(n int) []capture.Event {
	events := make([]capture.Event, n)
	for i := range events {
		a.seq++
		if a.gaps && a.r.IntN(5000) == 0 {
			a.seq += uint64(a.r.IntN(3))
		}
		a.now += oneOf(a.r, 0, 0, 0, time.Microsecond, time.Millisecond, 20*time.Millisecond, 400*time.Second)
		switch {
		case len(a.live) > 0 && a.r.IntN(20) < 8:
			events[i] = a.free()
		case a.r.IntN(4) == 0:
			events[i] = a.odd()
		default:
			events[i] = a.alloc()
			a.live = append(a.live, events[i])
		}
	}
	return events
}

func (a *anything) size() uint64 {
	return oneOf[uint64](a.r, 24, 24, 24, 40, 280, maxSmall, maxSmall+1, 3000, plainNumber-1, plainNumber, wideRange, longPlain-1, longPlain, 1<<33)
}

func (a *anything) addr() uint64 {
	far := oneOf[uint64](a.r, 0, 0, 0, 1<<20, 1<<40, 1<<addrBits-1<<12, 1<<50)
	return far*uint64(a.r.IntN(40)/39) + 0x10000 + a.step*uint64(a.r.IntN(64))
}

func (a *anything) alloc() capture.Event {
	return capture.Event{
		Seq: a.seq, Time: a.now, TID: 1 + int32(a.r.IntN(30)/29), Kind: oneOf(a.r, capture.Alloc, capture.Alloc, capture.Alloc, capture.Realloc), Addr: a.addr(), Size: a.size(),
		Stack: capture.StackID(1 + a.r.IntN(4)), Func: uint16(a.r.IntN(2)), Aux: oneOf[uint64](a.r, 0, 0, 0, 0, 0, 1, 16, plainNumber, 1<<40, 1<<64-1),
	}
}

// free gives back a block: one of the last ones, most often.
func (a *anything) free() capture.Event {
	i := len(a.live) - 1 - min(a.r.IntN(1+oneOf(a.r, 0, 3, len(a.live)-1)), len(a.live)-1)
	b := a.live[i]
	a.live = slices.Delete(a.live, i, i+1)
	return capture.Event{
		Seq: a.seq, Time: a.now, TID: 1, Kind: capture.Free, Addr: b.Addr, Size: b.Size, Stack: oneOf[capture.StackID](a.r, 5, 6, 0),
		Ended: capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Seq: b.Seq},
	}
}

// odd is an event that nothing keeps from being nonsense.
func (a *anything) odd() capture.Event {
	e := a.alloc()
	e.Kind, e.Stack = oneOf(a.r, capture.Alloc, capture.Free, capture.Free, capture.Realloc, capture.Map, capture.Unmap), capture.StackID(a.r.IntN(7))
	e.Size *= uint64(a.r.IntN(2))
	if a.r.IntN(3) > 0 {
		e.Ended = capture.Ended{Size: oneOf(a.r, e.Size, a.size()), Stack: capture.StackID(a.r.IntN(6)), Recorded: true, Seq: a.seq - min(a.seq, uint64(a.r.IntN(9)))}
	}
	if a.r.IntN(3) == 0 {
		e.Old = a.addr()
	}
	switch a.r.IntN(100) {
	case 0, 1:
		e.Failed, e.Addr = true, 0
	case 2:
		e.Failed = true
	case 3:
		e.Abandoned = true
	case 4:
		e.TID = 0
	}
	return e
}

// An encoderPair encodes the same chunks twice.
type encoderPair struct {
	t           *testing.T
	short, long eventEncoder
	counted     eventEncoder // as short
	plain       int          // events that were plain
}

func newEncoderPair(t *testing.T) *encoderPair {
	p := &encoderPair{t: t}
	for _, c := range []*eventEncoder{&p.short, &p.long, &p.counted} {
		c.following = true
		c.room(eventsPerChunk - 1) // as after the first events
	}
	return p
}

// encode encodes a chunk the short way where it can be taken, and the long way, and compares
// what they leave.
func (p *encoderPair) encode(events []capture.Event) {
	p.t.Helper()
	short, long := &p.short, &p.long
	first, now := events[0].Seq, ticks(events[0].Time)
	short.begin(first, now)
	for n := 0; n < len(events); { // in batches of any length
		most := min(len(events)-n, 1+n%999)
		short.events(events[n : n+most])
		n += most
	}
	long.begin(first, now)
	for i := range events {
		long.event(&events[i], events[i].Seq, ticks(events[i].Time))
	}
	p.counted.begin(first, now)
	p.count(events)
	p.counted.end(eventColumns{})
	got, want := short.end(eventColumns{}), long.end(eventColumns{})
	for id := range want.columns {
		if !bytes.Equal(got.columns[id], want.columns[id]) {
			p.t.Errorf("from #%d on: %s is % x, want % x", first, eventSectionNames[id], got.columns[id], want.columns[id])
		}
	}
	if got, want := noted(got), noted(want); got != want {
		p.t.Errorf("from #%d on: %s, want %s", first, got, want)
	}
}

// noted is what is known of a chunk beside its columns.
func noted(c eventColumns) string {
	c.columns, c.made = eventColumns{}.columns, c.made[:c.head.count]
	return fmt.Sprintf("%+v", c)
}

// count does what eventEncoder.events does, and counts the plain ones.
func (p *encoderPair) count(events []capture.Event) {
	c := &p.counted
	for len(events) > 0 {
		if some := events[:min(len(events), plainBatch)]; c.usual() && consecutive(some) && some[0].Seq == c.head.last+1 {
			c.plainRoom()
			n := c.plain(some)
			p.plain += n
			if events = events[n:]; len(events) == 0 {
				return
			}
		}
		c.event(&events[0], events[0].Seq, ticks(events[0].Time))
		events = events[1:]
	}
}
