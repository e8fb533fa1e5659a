package session

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/query"
	"hdb/recording"
)

// TestFullRecordingEndsWhileThreadsRun ends a recording as its size does, again and
// again while threads allocate: the race detector, or a number that is there twice,
// tells that events were taken meanwhile.
func TestFullRecordingEndsWhileThreadsRun(t *testing.T) {
	s := open(t, "storm_threads")
	s.Settings.Args = "4 100000000 > /dev/null"
	if err := s.Recorder.Bound(recording.Bounds{MaxSize: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder.Start(); err != nil {
		t.Fatal(err)
	}
	must(t)(s.StartInstruction(nil))
	var ended int
	again := func() {
		if !s.account.Rec.On() {
			ended++
		}
		if err := s.target.StopAll(s.Recorder.Start); err != nil {
			t.Error(err)
		}
	}
	go func() {
		for range 8 {
			time.Sleep(25 * time.Millisecond) // the probe is read about as often
			for _, f := range []func(){s.Recorder.endBounded, again} {
				done := make(chan struct{})
				s.Alongside(func() { f(); close(done) })
				<-done
			}
		}
		if err := s.Interrupt(); err != nil {
			t.Error(err)
		}
	}()
	must(t)(s.Execution.Continue(1))
	if ended != 8 {
		t.Errorf("the recording ended %d times of 8", ended)
	}
	events, err := s.Queries.Events(nil, query.Present)
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
	if st := s.Recorded.Status(); last == 0 || last > st.Seen {
		t.Errorf("the last event is #%d, status %+v", last, st)
	}
}

// takesNoMore has writing to the file without a name fail from now on: its descriptor
// becomes one that can only be read.
func takesNoMore(t *testing.T) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		path := filepath.Join("/proc/self/fd", fd.Name())
		if to, err := os.Readlink(path); err != nil || !strings.Contains(to, "hdb-record-") {
			continue
		}
		n := get[int](t)(strconv.Atoi(fd.Name()))
		f := get[*os.File](t)(os.Open(path))
		if err := syscall.Dup3(int(f.Fd()), n, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// TestRecordingWithoutRoomKeepsWhatItHas has a bounded recording fail after its first
// events: those can be asked and saved.
func TestRecordingWithoutRoomKeepsWhatItHas(t *testing.T) {
	s := open(t, "basic")
	if err := s.Recorder.Bound(recording.Bounds{MaxSize: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	recordFromMain(t, s)
	setBreak(t, s, "basic.c:10")
	must(t)(s.Execution.Continue(1))
	before := recordedCalls(t, s)
	if len(before) == 0 || s.Recorder.Err() != nil {
		t.Fatalf("recorded %q, %v", before, s.Recorder.Err())
	}
	takesNoMore(t)
	must(t)(s.Execution.Continue(1))
	wantCalls(t, s, before...)
	if err := s.Recorder.Err(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("error %v", err)
	}
	if st := s.Recorded.Status(); st.Recorded != uint64(len(before)) || st.Seen <= st.Recorded || st.Recording || !errors.Is(st.Err, syscall.EBADF) {
		t.Errorf("status %+v", st)
	}
	path := filepath.Join(t.TempDir(), "kept.hdb")
	if _, err := s.Captures.Save(path, false); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, path)
	wantCalls(t, again, before...)
	if why := again.Recorded.Partial(); !why.Has(capture.Unwritten) {
		t.Errorf("the capture is partial: %+v", why)
	}
	f, err := file.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lines := f.Verify(); len(lines) > 0 || f.Damage() != nil {
		t.Errorf("the capture is wrong: %q, %v", lines, f.Damage())
	}
}
