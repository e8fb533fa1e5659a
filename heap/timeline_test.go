package heap

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"hdb/capture"
)

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
		f, err := capture.NewFile("test", bytes.NewReader(b.Bytes()), int64(b.Len()))
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
