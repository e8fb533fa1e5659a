package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestTimelineOfHostileTimes has curves end for times and sizes of any size.
func TestTimelineOfHostileTimes(t *testing.T) {
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, time.Microsecond, math.MaxInt64} {
		for _, n := range []uint64{0, 1, 7, 8, 1023, 1 << 40, math.MaxUint64} {
			p := &Profile{Timeline: []Moment{{Seq: 1, Time: d, Live: n}}, Moment: Moment{Time: d, Live: n}, RSS: []Sample{{Time: d, RSS: n}}, Marks: []Mark{{Time: d}}}
			for _, width := range []int{0, 1, 20, 300} {
				onScreen(t, p, Text{Width: width, Unicode: true}, WriteTimeline)
			}
		}
	}
}

// longTimeline has as many points as a profile may have, over hours.
func longTimeline() *Profile {
	p := &Profile{Title: "long"}
	for i := range 2000 {
		p.Timeline = append(p.Timeline, Moment{Seq: uint64(i + 1), Time: time.Duration(i) * 10 * time.Second, Live: uint64(i%97) << 20})
		p.RSS = append(p.RSS, Sample{Time: time.Duration(i) * 10 * time.Second, RSS: 1<<30 + uint64(i%31)<<20})
	}
	for i := range 100 {
		p.Marks = append(p.Marks, Mark{Seq: uint64(20 * i), Time: time.Duration(i) * 200 * time.Second, Name: fmt.Sprintf("mark %d", i)})
	}
	p.Moment, p.Peak = p.Timeline[1999], p.Timeline[96]
	return p
}

func TestHighs(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		curve Curve
		whole time.Duration
		parts int
		want  string
	}{
		{Curve{{0, 1}}, 0, 3, "[1 1 1]"},
		{Curve{{0, 0}, {5 * s, 7}}, 10 * s, 4, "[0 0 7 7]"},
		{Curve{{0, 3}, {5 * s, 7}, {6 * s, 0}}, 10 * s, 10, "[3 3 3 3 3 7 7 0 0 0]"},
		{Curve{{0, 3}, {s, 9}, {s + 1, 2}}, 10 * s, 5, "[9 2 2 2 2]"},
		{nil, 10 * s, 3, "[0 0 0]"},
	} {
		if got := fmt.Sprint(c.curve.highs(Span{0, c.whole}, c.parts)); got != c.want {
			t.Errorf("%v in %d parts of %v: %s, want %s", c.curve, c.parts, c.whole, got, c.want)
		}
	}
}

func TestTimelineOnScreen(t *testing.T) {
	p := oddProfile()
	got := onScreen(t, p, Text{Width: 60}, WriteTimeline)
	want := `prog --flag, pid 4711, 2023-11-14 22:13:20 UTC
live bytes: peak 8.8 KiB (9000) at 1.000 s, 1.5 KiB (1500...
  ! 2 calls are missing from the recording: counts are too
    low, live and peak are uncertain
   8.8 KiB |                ################################
           |                ################################
           |                ################################
           |                ################################
   4.8 KiB |                ################################
           |                ################################
           |                ################################
           |                ################################
           |                ################################
         0 |        ########################################
           +------------------------------------------------
            0                                        3.000 s
                        a
  mark        time  after  live, about  name
     a  750.000 ms    #40        700 B  loaded ev?[31mil;...

resident memory, with hdb's own: 2 samples
   2.0 MiB |                                ################
   1.2 MiB |                                ################
           |                ################################
         0 |                ################################
           +------------------------------------------------
            0                                        3.000 s
`
	if got := strings.ReplaceAll(got, "\uFFFD", "?"); got != want {
		t.Errorf("the timeline is\n%s\nwant\n%s", got, want)
	}
}

// TestTimelineOfSums has nothing drawn of which only two points are known.
func TestTimelineOfSums(t *testing.T) {
	p := oddProfile()
	p.Sums, p.Timeline = true, []Moment{p.Peak, p.Moment}
	text := onScreen(t, p, Text{Width: 80}, WriteTimeline)
	if strings.Contains(text, "8.8 KiB |") || strings.Contains(text, "700 B") || !strings.Contains(text, "peak 8.8 KiB (9000) at 1.000 s, 1.5 KiB (1500) at the end\n") || !strings.Contains(text, "\n  This recording has totals and no events") || !strings.Contains(text, "2.0 MiB |") {
		t.Errorf("the timeline is\n%s", text)
	}
	if v := TimelineOf(p); !v.Sums || len(v.Heap) != 2 {
		t.Errorf("as JSON: %+v", v)
	}
}
