package file

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/panics"
)

// faultyDisk panics at one of its writes.
type faultyDisk struct {
	bytes.Buffer
	left int
}

func (f *faultyDisk) Write(b []byte) (int, error) {
	if f.left--; f.left == 0 {
		panic("the disk is at fault")
	}
	return f.Buffer.Write(b)
}

// After a panic, wherever it was, the file is completed: it is whole, and says that it was
// ended by an error and how many events it lacks.
func TestAbort(t *testing.T) {
	const chunks, each = 4, 1000
	for _, tc := range []struct {
		name  string
		write int // of all, at which there is a panic
		sums  bool
		spoil func(*Writer)
		all   bool // no event is lost
	}{
		{name: "elsewhere", all: true},
		{name: "elsewhere, sums", sums: true, all: true},
		{name: "in the last event", spoil: func(w *Writer) { w.encoder.put(secSize, 1) }},
		{name: "at no event that can be told", spoil: func(w *Writer) { w.encoder.opOf = nil }},
		{name: "in the keeper", all: true, spoil: func(w *Writer) {
			w.out.queue.wait()
			w.builder.next = new(checkpointDraft)
			for i := range w.builder.next.smallAt {
				w.builder.next.smallAt[i] = 1 << 30
			}
			w.Push()
			if w.Flush() == nil {
				panic("the keeper takes anything")
			}
		}},
		{name: "in a job", spoil: func(w *Writer) { w.out.queue.add(func() { panic("a job") }) }},
		{name: "in a job, sums", sums: true, spoil: func(w *Writer) { w.out.queue.add(func() { panic("a job") }) }},
		{name: "in the 4th write", write: 4},
		{name: "in the 9th write", write: 9},
		{name: "in the 9th write, sums", write: 9, sums: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			disk := &faultyDisk{left: tc.write}
			w, err := NewWriter(disk, capturetest.SampleInfo)
			if err != nil {
				t.Fatal(err)
			}
			w.Bound(Bound{Aggregate: tc.sums})
			events := capturetest.SampleEvents(7, chunks*each)
			for i := range events {
				w.Intern(capturetest.SampleStack(i / 100))
				w.FuncIndex("f")
				e := &events[i]
				e.Stack, e.Func = capture.StackID(1+i/100), 0
				if e.Ended.Recorded {
					e.Ended = capture.Ended{}
				}
				w.AddEvent(e)
				if i%each == each-1 && i < len(events)-1 {
					for range sumsEvery {
						w.Push()
					}
				}
			}
			if tc.spoil != nil {
				tc.spoil(w)
			}
			if err := w.Abort(errors.New("of the test")); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Embed(capturetest.FakeSymbols{From: NewLog(capturetest.SampleInfo)}), w.Close()); err != nil {
				t.Fatal(err)
			}
			f := readBack(t, disk.Bytes())
			checkWhole(t, f)
			for _, line := range f.Verify() {
				t.Error(line)
			}
			info := f.Info()
			if !slices.Contains(info.Partial, capture.Reason{Kind: capture.Failed, Text: "of the test"}) {
				t.Errorf("reasons %q", info.Partial)
			}
			if total := info.Totals; total.Events+total.Lost != chunks*each || (total.Lost == 0) != tc.all || !tc.sums && uint64(f.Len()) != total.Events {
				t.Errorf("%d events in the file, totals %+v", f.Len(), total)
			}
		})
	}
}

// A panic in the queue is an error of the Writer, and holds nothing up.
func TestPanicIsAnError(t *testing.T) {
	w, err := NewWriter(&faultyDisk{left: 9}, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Intern(capturetest.SampleStack(1))
	for range 3 * maxQueued {
		for range 100 {
			w.AddEvent(&capture.Event{Addr: 0x1000, Size: 10, Stack: 1, TID: 1})
		}
		w.Push()
	}
	var failed *panics.Error
	if err := w.Flush(); !errors.As(err, &failed) || !strings.Contains(string(failed.Stack), "faultyDisk") {
		t.Errorf("error %v", err)
	}
}

// A Log whose events cannot be encoded keeps them.
func TestPanicInALog(t *testing.T) {
	l := NewLog(capturetest.SampleInfo)
	l.spill.create = func() (store, error) { panic("no store") }
	l.spill.keep = 0
	for range 2*eventsPerChunk + 5 {
		l.AddEvent(&capture.Event{Addr: 0x1000, Size: 10, TID: 1})
	}
	l.queue.wait()
	if n := len(slices.Collect(l.Events(0))); n != 2*eventsPerChunk+5 {
		t.Errorf("%d events", n)
	}
	if err := l.Damage(); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Errorf("damage %v", err)
	}
}
