package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Events that are encoded the short way leave what they leave the long way, and most are.
func TestPlainEventsAreEncodedAsOthers(t *testing.T) {
	for seed := range uint64(20) {
		events := traceGone(seed, 10000)
		nameMakers(events)
		for i := range events {
			if events[i].Kind == Free && i%101 == 0 {
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
	alloc := func(seq, addr, size uint64) Event {
		return Event{Seq: seq, TID: tid, Addr: addr, Size: size, Stack: made}
	}
	gone := func(seq, size uint64) Gone { return Gone{Size: size, Stack: made, Recorded: true, Seq: seq} }
	free := func(seq, addr, size, of uint64) Event {
		return Event{Seq: seq, TID: tid, Kind: Free, Addr: addr, Size: size, Stack: freed, Gone: gone(of, size)}
	}
	const small, large = 24, 24 + numOrigins // sizes with one origin
	older := []Event{alloc(1, 0xa000, small), alloc(2, 0xb000, large), alloc(3, 0xc000, small), alloc(4, 0xd000, large),
		alloc(5, 0x1000, small), alloc(6, 0x2000, large), alloc(7, 0x3000, small), alloc(8, 0x4000, large), alloc(9, 0x5000, small)}
	// Of those no event has made room for what plain events note.
	first := []Event{free(10, 0xa000, small, 1), free(11, 0xb000, large, 2), free(12, 0xc000, small, 3), free(13, 0xd000, large, 4)}
	for _, test := range []struct {
		name   string
		events []Event
		plain  int // of them and the first
	}{
		{"made last in the chunk before", []Event{free(14, 0x1000, small, 5), free(15, 0x5000, small, 9)}, 2},
		{"of another size than the one before", []Event{free(14, 0x1000, small, 5), free(15, 0x2000, large, 6), free(16, 0x3000, small, 7)}, 4},
		{"and a realloc of one as large as the last", []Event{free(14, 0x1000, small, 5), free(15, 0x2000, large, 6),
			{Seq: 16, TID: tid, Kind: Realloc, Old: 0x4000, Addr: 0x7000, Size: small, Stack: freed, Gone: gone(8, large)}}, 3},
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

// Events that no program makes, with numbers at the bounds of what the short way takes, leave
// what they leave the long way.
func TestPlainEventsOfAnything(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 12))
		c := newEncoderPair(t)
		seq, now := uint64(0), time.Duration(0)
		for range 3 {
			events := make([]Event, 300)
			for i := range events {
				seq++
				now += oneOf(r, 0, 0, 0, time.Microsecond, time.Millisecond, 20*time.Millisecond, 400*time.Second)
				events[i] = anyEvent(r, seq)
				events[i].Time = now
			}
			c.encode(events)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyEvent is an event, mostly near to plain.
func anyEvent(r *rand.Rand, seq uint64) Event {
	size := func() uint64 {
		return oneOf[uint64](r, 24, 24, 24, 40, 280, maxSmall, maxSmall+1, 3000, plainNumber-1, plainNumber, wideRange, longPlain-1, longPlain, 1<<33, 0)
	}
	addr := func() uint64 {
		return oneOf[uint64](r, 0, 0, 0, 1<<20, 1<<40, 1<<addrBits-32, 1<<50)*uint64(r.IntN(40)/39) + 0x10000 + 32*uint64(r.IntN(12))
	}
	e := Event{
		Seq: seq, TID: oneOf[int32](r, 1, 1, 1, 1, 1, 1, 1, 2), Kind: oneOf(r, Alloc, Alloc, Free, Free, Free, Realloc),
		Addr: addr(), Size: size(), Stack: StackID(r.IntN(5)), Func: uint16(r.IntN(2)), Aux: oneOf[uint64](r, 0, 0, 0, 0, 1, 16, plainNumber, 1<<40),
	}
	if e.Kind == Free && r.IntN(4) > 0 {
		e.Aux = 0
	}
	if e.Kind != Alloc && r.IntN(3) > 0 {
		e.Gone = Gone{Size: oneOf(r, e.Size, e.Size, size()), Stack: StackID(r.IntN(5)), Recorded: true, Seq: seq - min(seq, uint64(r.IntN(1+int(oneOf(r, 4, seq)))))}
	}
	if e.Kind == Realloc {
		e.Old = oneOf(r, 0, addr())
	}
	if r.IntN(50) == 0 {
		e.Failed, e.Addr = true, 0
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
func (p *encoderPair) encode(events []Event) {
	p.t.Helper()
	short, long := &p.short, &p.long
	first, now := events[0].Seq, ticks(events[0].Time)
	short.begin(first, now)
	short.events(events)
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
func (p *encoderPair) count(events []Event) {
	c := &p.counted
	for len(events) > 0 {
		if c.usual() {
			c.plainRoom()
			n := c.plain(events[:min(len(events), plainBatch)])
			p.plain += n
			if events = events[n:]; len(events) == 0 {
				return
			}
		}
		c.event(&events[0], events[0].Seq, ticks(events[0].Time))
		events = events[1:]
	}
}
