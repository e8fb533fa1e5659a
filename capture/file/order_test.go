package file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
)

// A disorder makes calls of a Recorder that no program or session should make, out of any
// bytes: numbers that are left out and go back, times that go back, ends without
// beginnings and twice, threads in any order, batches of any length.
type disorder struct {
	b     []byte
	rec   capture.Recorder
	push  func()
	seq   uint64
	now   time.Duration
	live  map[uint64]capture.Ended
	batch []capture.Event
	added int
	rises bool // numbers do not go back
}

func (d *disorder) next() int {
	if len(d.b) == 0 {
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return int(v)
}

// run makes the calls, one for four bytes or so, and tells how many events were added.
func (d *disorder) run() int {
	d.live, d.rises = map[uint64]capture.Ended{}, len(d.b)%2 == 0
	for i := range 4 {
		d.rec.Intern(capturetest.SampleStack(i))
		d.rec.FuncIndex(fmt.Sprint("f", i))
	}
	for len(d.b) > 0 {
		switch what := d.next(); {
		case what < 4:
			d.flush()
			d.push()
		case what < 6:
			d.flush()
			d.rec.Replaced()
			clear(d.live)
		case what < 30:
			d.flush()
		default:
			d.event(what)
		}
	}
	d.flush()
	return d.added
}

func (d *disorder) event(what int) {
	e := capture.Event{Seq: d.number(), TID: int32(what % 3), Stack: capture.StackID(what % 5), Func: uint16(what % 4), Aux: uint64(what / 250)}
	if what%7 == 0 {
		d.now += time.Duration(int8(d.next())) * time.Microsecond
	}
	e.Time = d.now
	how := d.next()
	e.Kind, e.Failed = []capture.Kind{capture.Alloc, capture.Alloc, capture.Alloc, capture.Free, capture.Free, capture.Free, capture.Realloc, capture.Map, capture.Unmap, capture.Mark}[how%10], how > 250
	e.Addr, e.Size = d.address(), uint64(how/10%4*24)
	if e.Kind == capture.Realloc || e.Kind == capture.Map && how > 100 {
		e.Old = d.address()
	}
	if e.Failed && e.Kind.Obtains() {
		e.Addr = 0
	}
	if e.Kind.CanEnd() {
		e.Ended = d.ends(&e)
		if e.Ended.Recorded && e.Kind == capture.Free {
			e.Size = e.Ended.Size
		}
	}
	if g := d.live[e.Addr]; g.Recorded && e.Allocates() { // nobody saw its end
		d.batch = append(d.batch, capture.Event{Seq: e.Seq, Time: e.Time, Kind: capture.Free, Addr: e.Addr, Size: g.Size, Ended: g})
		e.Seq = d.number()
	}
	if e.Allocates() {
		d.live[e.Addr] = capture.Ended{Size: e.Size, Stack: e.Stack, Recorded: true, Seq: e.Seq}
	}
	d.batch = append(d.batch, e)
}

// ends is the block that is live where the event ends one, as whoever follows the heap
// says it.
func (d *disorder) ends(e *capture.Event) capture.Ended {
	for _, a := range []uint64{e.Old, e.Addr} {
		if g, ok := d.live[a]; ok && a != 0 && a == e.EndedAt() && !e.Failed {
			delete(d.live, a)
			g.Temporary = d.next()%8 == 0
			return g
		}
	}
	return capture.Ended{}
}

func (d *disorder) address() uint64 { return uint64(0x1000 + d.next()%24*32) }

// number is that of the next event.
func (d *disorder) number() uint64 {
	switch n := d.next(); {
	case n < 200:
		d.seq++
	case n < 210:
		d.seq += uint64(n - 200)
	case n < 220 && !d.rises:
		d.seq -= min(d.seq, uint64(n-210))
	case n < 222:
		d.seq += 1 << 40
	case n < 223 && !d.rises:
		return 0 // as is to be
	case n < 224 && !d.rises:
		return ^uint64(0) - uint64(d.next())
	default:
		d.seq += 2
	}
	return d.seq
}

// flush adds the events that wait.
func (d *disorder) flush() {
	if len(d.batch) == 0 {
		return
	}
	if len(d.batch)%3 == 1 {
		for i := range d.batch {
			d.rec.AddEvent(&d.batch[i])
		}
	} else {
		d.rec.AddEvents(d.batch)
	}
	d.added += len(d.batch)
	d.batch = d.batch[:0]
}

// checkDisorder fails unless captures of the calls, by a Writer and by a Log, are whole
// and hold all of the events.
func checkDisorder(t *testing.T, b []byte) {
	t.Helper()
	var streamed, saved bytes.Buffer
	w, err := NewWriter(&streamed, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.builder.every = 20
	w.encoder.room(eventsPerChunk - 1) // as behind the first events of a recording
	added := (&disorder{b: b, rec: w, push: w.Push}).run()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := NewLog(capturetest.SampleInfo)
	log.builder.every = 20
	(&disorder{b: b, rec: log, push: log.cut}).run()
	if err := WriteSource(&saved, log, nil); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]*bytes.Buffer{"streamed": &streamed, "saved": &saved} {
		f := readBack(t, file.Bytes())
		checkWhole(t, f)
		for _, line := range f.Verify() {
			t.Errorf("%s: %s", name, line)
		}
		if f.Len() != added {
			t.Errorf("%s: %d events of %d", name, f.Len(), added)
		}
	}
}

// cut has the events so far become a block.
func (l *Log) cut() {
	if n := int(l.filled.Load()); n > 0 {
		l.seal(l.tail[:n])
	}
}

// Events that come in disorder are kept all the same, and nothing is said of them that is
// not so.
func TestDisorder(t *testing.T) {
	seeds, most := uint64(200), 20_000
	if testing.Short() {
		seeds, most = 20, 4_000
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 77))
		b := make([]byte, r.IntN(most))
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], r.Uint64())
		}
		if checkDisorder(t, b); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzDisorder(f *testing.F) {
	f.Add([]byte("an event, and another one, and so on and so forth"))
	f.Fuzz(checkDisorder)
}

// Columns that do not tell the numbers of their events are refused.
func TestColumnsOfOtherEventsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*eventColumns){
		"a gap that was not noted": func(c *eventColumns) { c.head.last++ },
		"another number":           func(c *eventColumns) { c.seqs = append(c.seqs, 1) },
	} {
		var b bytes.Buffer
		w, err := NewWriter(&b, capturetest.SampleInfo)
		if err != nil {
			t.Fatal(err)
		}
		w.Intern(capturetest.SampleStack(1))
		for range 3 {
			w.AddEvent(&capture.Event{Addr: 0x1000, Size: 10, Stack: 1, TID: 1})
		}
		w.Push()
		w.AddEvent(&capture.Event{Addr: 0x2000, Size: 10, Stack: 1, TID: 1})
		spoil(&w.encoder.eventColumns)
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), "not kept apart") {
			t.Errorf("%s: %v", name, err)
		}
		if f := readBack(t, b.Bytes()); f.Len() != 3 {
			t.Errorf("%s: %d events", name, f.Len())
		}
	}
}
