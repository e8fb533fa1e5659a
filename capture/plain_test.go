package capture

import (
	"bytes"
	"reflect"
	"testing"
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
	older := []Event{alloc(1, 0x1000, small), alloc(2, 0x2000, large), alloc(3, 0x3000, small), alloc(4, 0x4000, large), alloc(5, 0x5000, small)}
	for _, test := range []struct {
		name   string
		events []Event
		plain  int // of them
	}{
		{"made last in the chunk before", []Event{free(6, 0x1000, small, 1), free(7, 0x5000, small, 5)}, 1},
		{"of another size than the one before", []Event{free(6, 0x1000, small, 1), free(7, 0x2000, large, 2), free(8, 0x3000, small, 3)}, 2},
		{"and a realloc of one as large as the last", []Event{free(6, 0x1000, small, 1), free(7, 0x2000, large, 2),
			{Seq: 8, TID: tid, Kind: Realloc, Old: 0x4000, Addr: 0x7000, Size: small, Stack: freed, Gone: gone(4, large)}}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newEncoderPair(t)
			c.encode(older)
			c.plain = 0
			c.encode(test.events)
			if c.plain != test.plain {
				t.Errorf("%d events are plain, want %d", c.plain, test.plain)
			}
		})
	}
}

// An encoderPair encodes the same chunks twice.
type encoderPair struct {
	t           *testing.T
	short, long eventEncoder
	counted     eventEncoder // as short
	plain       int          // events that were plain
}

func newEncoderPair(t *testing.T) *encoderPair {
	following := eventEncoder{following: true}
	return &encoderPair{t: t, short: following, long: following, counted: following}
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
	got.columns, want.columns = eventColumns{}.columns, eventColumns{}.columns
	if !reflect.DeepEqual(got, want) {
		p.t.Errorf("from #%d on: %+v, want %+v", first, got, want)
	}
}

// count does what eventEncoder.events does, and counts the plain ones.
func (p *encoderPair) count(events []Event) {
	c := &p.counted
	for len(events) > 0 {
		if c.usual() {
			n := c.plain(events)
			p.plain += n
			if events = events[n:]; len(events) == 0 {
				return
			}
		}
		c.event(&events[0], events[0].Seq, ticks(events[0].Time))
		events = events[1:]
	}
}
