package session

import (
	"testing"
	"time"
)

// TestFullRecordingEndsWhileThreadsRun ends a recording as its size does, again and
// again while threads allocate: the race detector, or a number that is there twice,
// tells that events were taken meanwhile.
func TestFullRecordingEndsWhileThreadsRun(t *testing.T) {
	s := open(t, "storm_threads")
	s.Settings.Args = "4 100000000 > /dev/null"
	if err := s.BoundRecord(Bounds{MaxSize: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.StartInstruction(nil))
	var ended int
	end := func() {
		s.stream.file.isFull.Store(true)
		s.endFull()
	}
	again := func() { // is called behind what endFull asked for
		if !s.trace.recording {
			ended++
		}
		s.stream.file.isFull.Store(false)
		if err := s.stopAll(s.Record); err != nil {
			t.Error(err)
		}
	}
	go func() {
		for range 20 {
			time.Sleep(25 * time.Millisecond) // the probe is read about as often
			asked := make(chan struct{})
			s.Beside(func() { end(); close(asked) })
			<-asked
			s.Beside(again)
		}
		if err := s.Interrupt(); err != nil {
			t.Error(err)
		}
	}()
	must(t)(s.Continue(1))
	if ended != 20 {
		t.Errorf("the recording ended %d times of 20", ended)
	}
	events, err := s.Recorded(nil)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for e := range events {
		if e.Seq <= last {
			t.Fatalf("#%d after #%d", e.Seq, last)
		}
		last = e.Seq
	}
	if st := s.RecordStatus(); last == 0 || last > st.Seen {
		t.Errorf("the last event is #%d, status %+v", last, st)
	}
}
