package heap

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hdb/capture"
	"hdb/capture/file"
)

// TestTimelineOfLongRuns has runs that last long drawn as the heap was within them,
// however many events there are: neither as it was before nor as their peak.
func TestTimelineOfLongRuns(t *testing.T) {
	const runs, each = 40, 1 << 16
	log := file.NewLog(capture.Info{})
	stack := log.Intern(capture.Stack{Truncated: "none"})
	add := func(e capture.Event) {
		e.Stack = stack
		log.AddEvent(&e)
	}
	at := time.Duration(0)
	for run := range runs {
		for i := 0; i < each/2; i++ {
			addr := uint64(0x1000)
			size := uint64(8)
			switch {
			case run == 20 && i == 0: // stays for ten seconds, within which all else is quick
				addr, size = 0x2000, 2400000
			case run == 20 && i == 2:
				at += 10 * time.Second
			}
			add(capture.Event{Kind: capture.Alloc, Addr: addr, Size: size, Time: at})
			if addr == 0x1000 {
				if run == 20 && i == each/2-1 {
					add(capture.Event{Kind: capture.Free, Addr: 0x2000, Time: at, Ended: capture.Ended{Recorded: true, Size: 2400000, Stack: stack}})
				}
				if run == 20 && i == each/4 { // the peak, for a moment
					add(capture.Event{Kind: capture.Alloc, Addr: 0x3000, Size: 1 << 20, Time: at})
					add(capture.Event{Kind: capture.Free, Addr: 0x3000, Time: at, Ended: capture.Ended{Recorded: true, Size: 1 << 20, Stack: stack}})
				}
				add(capture.Event{Kind: capture.Free, Addr: 0x1000, Time: at, Ended: capture.Ended{Recorded: true, Size: 8, Stack: stack}})
			}
			at += time.Microsecond
		}
	}
	x, err := NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	live := uint64(0) // after five of the ten seconds
	for _, p := range x.Timeline(End, 2000) {
		if p.Time > 20*each/2*time.Microsecond+5*time.Second {
			break
		}
		live = p.Live
	}
	if live < 2400000 || live > 2400008 {
		t.Errorf("%d bytes are drawn where 2400000 live for ten seconds", live)
	}
}

// TestTimelineIsReplay compares the points of a timeline with the events.
func TestTimelineIsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		s := newStory(t, &b)
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			s.step(t)
		}
		if err := s.writer.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := file.NewFile("test", bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		to := rapid.OneOf(rapid.Uint64Range(0, s.seq+1), rapid.Just(uint64(End))).Draw(t, "to")
		n := rapid.IntRange(1, 30).Draw(t, "n")
		for name, src := range map[string]capture.Source{"log": s.log, "file": f} {
			x, err := NewIndex(src)
			if err != nil {
				t.Fatal(err)
			}
			points := x.Timeline(to, n)
			if len(points) > max(n, 2)+2 {
				t.Fatalf("%s: %d points, %d asked for", name, len(points), n)
			}
			high, last := uint64(0), uint64(0)
			for i, p := range points {
				if i > 0 && (p.Time < points[i-1].Time || p.Seq <= last) {
					t.Fatalf("%s: points are not ascending: %v", name, points)
				}
				last = p.Seq
				high = max(high, p.Live)
				totals := totalsOf(src, p.Seq)
				if p.Live != totals.Live || p.Blocks != totals.Blocks && p.Blocks != 0 || p.Time != totals.Time {
					t.Fatalf("%s: point %+v, the heap there is %d in %d at %v", name, p, totals.Live, totals.Blocks, totals.Time)
				}
			}
			if _, peak := x.PeakBefore(to); high != peak {
				t.Fatalf("%s: the highest point is %d, the peak %d", name, high, peak)
			}
			if want := totalsOf(src, to); last != want.Seq {
				t.Fatalf("%s: it ends at #%d, want #%d", name, last, want.Seq)
			}
		}
	})
}
