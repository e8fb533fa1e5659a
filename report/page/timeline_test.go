package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hdb/report"
	"hdb/testprogs/node"
)

// page is the timeline as a page in a file.
func timelinePage(t *testing.T, p *report.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTimeline(&b, p); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b.Bytes()) {
		t.Error("the page is not UTF-8")
	}
	path := filepath.Join(t.TempDir(), "timeline.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// longTimeline has as many points as a profile may have, over hours.
func longTimeline() *report.Profile {
	p := &report.Profile{Title: "long"}
	for i := range 2000 {
		p.Timeline = append(p.Timeline, report.Moment{Seq: uint64(i + 1), Time: time.Duration(i) * 10 * time.Second, Live: uint64(i%97) << 20})
		p.RSS = append(p.RSS, report.Sample{Time: time.Duration(i) * 10 * time.Second, RSS: 1<<30 + uint64(i%31)<<20})
	}
	for i := range 100 {
		p.Marks = append(p.Marks, report.Mark{Seq: uint64(20 * i), Time: time.Duration(i) * 200 * time.Second, Name: fmt.Sprintf("mark %d", i)})
	}
	p.Moment, p.Peak = p.Timeline[1999], p.Timeline[96]
	return p
}

// TestTimelinePage opens pages in a browser.
func TestTimelinePage(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("TIMELINE_PICTURES") // to look at
	if folder == "" {
		folder = t.TempDir()
	}
	out := node.Browse(t, nil, "timeline.mjs", folder, timelinePage(t, sampleProfile("/src/a.c")), timelinePage(t, longTimeline()), timelinePage(t, &report.Profile{}))
	var shown []struct {
		Text   string
		Backs  []string
		Curves []string
		Marks  int
		Values []string
		Keyed  string
		Asked  []string
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	first := shown[0]
	want := []string{
		"0.000 ms",
		"1.500 s · heap 8.8 KiB (9,000) · event #50 · resident 1.0 MiB (1,048,576) · after mark 1, loaded ev\uFFFD[31mil;</script>\uFFFD\"\\\uFFFD (int, char)",
		"2.997 s · heap 8.8 KiB (9,000) · event #50 · resident 2.0 MiB (2,097,152) · after mark 1",
	}
	for i := range want {
		if i < len(first.Values) && !strings.HasPrefix(first.Values[i], want[i]) {
			t.Errorf("below the pointer: %q, want %q", first.Values[i], want[i])
		}
	}
	if want := "3.000 s · heap 1.5 KiB (1,500) · event #99"; !strings.HasPrefix(first.Keyed, want) {
		t.Errorf("End shows %q, want %q", first.Keyed, want)
	}
	for _, want := range []string{"prog --flag", "pid 4711, 2023-11-14 22:13:20 UTC", "peak 8.8 KiB (9000) at 1.000 s, 1.5 KiB (1500) at the end", "#40", "2.0 MiB", "4.0 KiB", "2s"} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("the page lacks %q:\n%s", want, first.Text)
		}
	}
	if len(first.Curves) != 2 || first.Marks != 1 || len(first.Backs) != 2 || first.Backs[0] == first.Backs[1] {
		t.Errorf("curves %v, %d marks, backgrounds %v", first.Curves, first.Marks, first.Backs)
	}
	if shown[1].Marks != 100 || shown[2].Curves[0] != "heap" || len(shown[2].Curves) != 1 {
		t.Errorf("%d marks of the long one, curves of nothing %v", shown[1].Marks, shown[2].Curves)
	}
	if asked := shown[3].Asked; len(asked) > 0 {
		t.Errorf("the pages asked for %v", asked)
	}
}

// TestMarksNearOneAnother has marks that stand together share their number.
func TestMarksNearOneAnother(t *testing.T) {
	p := sampleProfile("/src/a.c")
	p.Marks = []report.Mark{{Time: time.Second, Name: "a"}, {Time: time.Second, Name: "b"}, {Time: time.Second + 1, Name: "c"}, {Time: 2 * time.Second, Name: "d"}}
	var page strings.Builder
	if err := WriteTimeline(&page, p); err != nil {
		t.Fatal(err)
	}
	heap, _, _ := strings.Cut(page.String(), "</svg>")
	if got := strings.Count(heap, `class="marked"`); got != 2 || !strings.Contains(heap, ">1-3</text>") || !strings.Contains(heap, ">4</text>") || strings.Count(heap, `class="mark"`) != 4 {
		t.Errorf("%d numbers of marks:\n%s", got, heap)
	}
}

// TestTimelineOfHostileTimes has curves end for times and sizes of any size.
func TestTimelineOfHostileTimes(t *testing.T) {
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, time.Microsecond, math.MaxInt64} {
		for _, n := range []uint64{0, 1, 7, 8, 1023, 1 << 40, math.MaxUint64} {
			m := report.Moment{Seq: 1, Time: d, Live: n}
			timelinePage(t, &report.Profile{Timeline: []report.Moment{m}, Moment: m, RSS: []report.Sample{{Time: d, RSS: n}}, Marks: []report.Mark{{Time: d}}})
		}
	}
}

// TestPagesOfSums has nothing drawn of which only two points are known.
func TestPagesOfSums(t *testing.T) {
	p := sampleProfile("/src/a.c")
	p.Sums, p.Timeline = true, []report.Moment{p.Peak, p.Moment}
	var timeline, flame strings.Builder
	if err := WriteTimeline(&timeline, p); err != nil {
		t.Fatal(err)
	}
	if got := timeline.String(); strings.Contains(got, "<svg class=\"heap\"") || !strings.Contains(got, "<svg class=\"rss\"") || !strings.Contains(got, report.SumsText) || !strings.Contains(got, `"heap":[]`) {
		t.Error("the page draws the heap")
	}
	if err := WriteFlamegraph(&flame, p, report.Live); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(flame.String(), `"timeline":[[`) {
		t.Error("the flame graph draws the heap")
	}
}

// TestTimelineFromLateOn has the axis of a recording that began within the run begin there.
func TestTimelineFromLateOn(t *testing.T) {
	p := sampleProfile("/src/a.c")
	p.Begin = time.Second / 2
	var page strings.Builder
	if err := WriteTimeline(&page, p); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), ">500ms</text>") || strings.Contains(page.String(), ">0s</text>") {
		t.Error("the axis does not begin where the recording does")
	}
}
