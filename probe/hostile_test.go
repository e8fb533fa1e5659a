package probe

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// The ring is the inferior's to write: whatever is in it, the consumer comes to
// an end, and what follows is read.
func TestHostileRing(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(r *ring)
	}{
		{"padding of no length", func(r *ring) { r.shared.record(0).Store(recPad) }},
		{"padding longer than the ring", func(r *ring) { r.shared.record(0).Store(recPad | 1<<63) }},
		{"padding as long as the ring at its end", func(r *ring) {
			r.tail = ringSize - recordSize
			r.cleared, r.released = r.tail, r.tail
			for at := r.tail; at < ringSize+10*recordSize; at += recordSize {
				r.shared.record(at).Store(recFree | flagBare)
			}
			r.shared.record(10 * recordSize).Store(recPad | 1<<63)
			r.shared.word(hdHead).Store(2 * ringSize)
		}},
		{"padding whose length overflows", func(r *ring) { r.shared.record(0).Store(recPad | (1<<56-1)<<countShift) }},
		{"a stack of all frames", func(r *ring) { r.shared.record(0).Store(^uint64(typeMask) | recStack) }},
		{"padding of no length ahead", func(r *ring) {
			r.shared.record(0).Store(recFree | 7<<stackShift)
			r.shared.record(recordSize).Store(recPad)
		}},
		{"a stack that is itself with calls of Python", func(r *ring) {
			r.shared.record(0).Store(recPair | 5<<stackShift)
			r.shared.record(16).Store(5)
		}},
		{"stacks that are each other with calls of Python", func(r *ring) {
			for at := uint64(0); at < 64*recordSize; at += recordSize {
				n := at / recordSize
				r.shared.record(at).Store(recPair | n<<stackShift)
				r.shared.record(at + 16).Store((n + 1) % 64)
			}
		}},
		{"a code object as long as the ring", func(r *ring) { r.shared.record(0).Store(recCode | 1<<63 | 0xfff<<countShift) }},
		{"a code object of no length", func(r *ring) { r.shared.record(0).Store(recCode) }},
		{"a code object whose pieces are longer than it is", func(r *ring) {
			r.shared.record(0).Store(recCode | 20<<countShift)
			for at := uint64(16); at < 96; at += 8 {
				r.shared.record(at).Store(1 << 62)
			}
		}},
		{"calls of Python that are sent again and again, and a stack that never comes", func(r *ring) {
			r.shared.record(0).Store(recFree | 7<<stackShift)
			for at := uint64(recordSize); at < ringSize/8; at += 48 {
				r.shared.record(at).Store(recPython | 0<<countShift)
				r.shared.record(at + 16).Store(1)
			}
		}},
		{"no head", func(r *ring) { r.shared.word(hdHead).Store(1 << 63) }},
		{"many calls whose stacks never come", func(r *ring) {
			for at := uint64(0); at < ringSize/32; at += recordSize {
				r.shared.record(at).Store(recFree | at/recordSize<<stackShift)
			}
		}},
		{"noise", func(r *ring) {
			rng := rand.New(rand.NewPCG(1, 2))
			for at := 0; at < ringSize; at += 8 {
				binary.LittleEndian.PutUint64(r.shared.ring[at:], rng.Uint64())
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t)
			r.stopped = false
			c.play(r)
			r.shared.word(hdHead).Store(max(r.shared.word(hdHead).Load(), ringSize))
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.Drain()
			}()
			select {
			case <-done:
			case <-time.After(2 * time.Minute):
				t.Fatal("the consumer does not end")
			}
			clear(r.shared.ring[:ringSize])
			r.lines = nil
			r.shared.word(hdHead).Store(r.tail)
			r.alloc(1, "malloc", 16, 0x123450)
			r.Drain()
			if n := len(r.lines); n == 0 || r.lines[n-1] != "malloc(16) = 0x123450" {
				t.Errorf("events afterwards: %q", r.lines)
			}
		})
	}
}

// TestHostileRingAfterPanic skips padding as long as the ring, behind records that are not
// cleared yet: together they are longer than what is mapped.
func TestHostileRingAfterPanic(t *testing.T) {
	const records = 20
	r := newRing(t)
	r.tail = ringSize - recordSize
	r.cleared, r.released = r.tail, r.tail
	for i := range uint64(records) {
		r.shared.record(r.tail + i*recordSize).Store(recFree | flagBare)
	}
	padding := r.tail + records*recordSize
	r.shared.record(padding).Store(recPad | 1<<63)
	r.shared.word(hdHead).Store(padding + ringSize)
	if n := r.skip(records + 1); n != records+1 {
		t.Errorf("%d records are skipped, not %d", n, records+1)
	}
	if want := padding + ringSize; r.tail != want || r.cleared != want {
		t.Errorf("skipped up to %#x, cleared up to %#x, not %#x", r.tail, r.cleared, want)
	}
}
