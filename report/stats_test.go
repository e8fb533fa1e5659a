package report

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"hdb/capture"
)

// odd is a name that means something to terminals and HTML, and is no UTF-8.
const odd = "ev\x1b[31mil;</script>\n\"\\\xff (int, char)"

// oddProfile is sampleProfile, named so that what is printed does not change with
// that one's names.
func oddProfile() *Profile {
	p := sampleProfile("/src/a.c")
	p.Frames[5].Function, p.Frames[5].File, p.Marks[0].Name = odd, "/tmp/"+odd, "loaded "+odd
	return p
}

// onScreen is a report as text, which must be fit for a screen.
func onScreen(t *testing.T, p *Profile, to Text, write func(io.Writer, *Profile, Text) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, p, to); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool {
			return unicode.IsControl(r) || !to.Unicode && r > unicode.MaxASCII && r != unicode.ReplacementChar
		}); i >= 0 {
			t.Errorf("%q has a character that is not for the screen at %d", line, i)
		}
		if w := runewidth.StringWidth(line); to.Width > 0 && w > to.Width {
			t.Errorf("%d columns, %d are there: %s", w, to.Width, line)
		}
	}
	return text
}

func writeTree(o TreeOptions) func(io.Writer, *Profile, Text) error {
	return func(w io.Writer, p *Profile, t Text) error { return WriteTree(w, p, o, t) }
}

// TestReportsOfAnySize has each report cope with nothing, one event, hostile names
// and many stacks, on screens of any width.
func TestReportsOfAnySize(t *testing.T) {
	one := &Profile{Frames: []Frame{{Function: "f", Module: -1}}, Stacks: []Stack{{Frames: []int{0}, Numbers: Numbers{Allocs: 1, Bytes: 1}}}}
	stacks := 20000
	if testing.Short() {
		stacks = 1000
	}
	for _, p := range []*Profile{{}, one, sampleProfile("/src/a.c"), longTimeline(), hugeProfile(stacks)} {
		for _, width := range []int{0, 10, 40, 80, 200} {
			to := Text{Width: width, Unicode: width != 40}
			for _, write := range []func(io.Writer, *Profile, Text) error{
				WriteStats, WriteSummary, WriteTimeline, writeTree(TreeOptions{Measure: Bytes, Min: 0.01}), writeTree(TreeOptions{Measure: Peak, Min: 0.001, Inverted: true, Full: true}),
			} {
				onScreen(t, p, to, write)
			}
		}
		for _, data := range []any{StatsOf(p), SummaryOf(p), TimelineOf(p), NewTree(p, TreeOptions{Min: 0.05}).View()} {
			if _, err := json.Marshal(data); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestStatsAddUp(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("/src/a.c"), hugeProfile(500)} {
		s, total := StatsOf(p), p.Total()
		if s.Allocs != total.Allocs || s.Bytes != total.Bytes || s.Temporary != total.Temporary {
			t.Errorf("%+v, the profile has %+v", s, total)
		}
		var sum Numbers
		for _, a := range p.places(true) {
			sum.Add(a.Numbers)
		}
		if sum != total {
			t.Errorf("the places have %+v, the profile %+v", sum, total)
		}
	}
}

func TestStats(t *testing.T) {
	p := oddProfile()
	p.Sizes = []SizeClass{{}, {1, 1, 2, 2}, {2, 3, 0, 0}, {4, 7, 1, 5}, {8, 15, 0, 0}, {16, 31, 0, 0}, {32, 63, 18, 10993}, {64, 127, 0, 0}}
	p.Calls = []Calls{{"malloc", 20}, {odd, 1}}
	got := onScreen(t, p, Text{Width: 90}, WriteStats)
	want := `prog --flag, pid 4711, 2023-11-14 22:13:20 UTC
  duration      3.000 s, 99 events
  allocated     10.7 KiB (11007) in 21 blocks
  rate          7 allocations and 3.6 KiB a second
  temporary     4 blocks, 19.0 % of the allocations
  peak          8.8 KiB (9000) in 9 blocks at 1.000 s, event #50
  live          1.5 KiB (1500) in 6 blocks, 13.6 % of what was allocated
  resident      2.0 MiB, with hdb's own memory, in the highest of 2 samples
  failed        1 allocation
  lost          2 calls
  no stack      1 allocation
  truncated     stacks of 1 allocation

       size  allocations   share     bytes
        1 B            2   9.5 %       2 B  #####
    2 - 3 B            0
    4 - 7 B            1   4.8 %       5 B  ##
        ...            0
  32 - 63 B           18  85.7 %  10.7 KiB  ############################################

  calls  function
     20  malloc
      1  ev?[31mil;</script>?"\? (int, char)

     bytes   share  allocations  where most bytes are allocated
  10.3 KiB  95.4 %           15  keep                                 /src/a.c:5
     400 B   3.6 %            4  0x7f0000001234                       [libc.so.6]
     100 B   0.9 %            1  ev?[31mil;</script>?"\? (int, char)  /tmp/ev?[31mil;</...
       7 B   0.1 %            1  (no stack)

  allocations   share     bytes  where most blocks are allocated
           15  71.4 %  10.3 KiB  keep                                 /src/a.c:5
            4  19.0 %     400 B  0x7f0000001234                       [libc.so.6]
            1   4.8 %       7 B  (no stack)
            1   4.8 %     100 B  ev?[31mil;</script>?"\? (int, char)  /tmp/ev?[31mil;</...
`
	if got := strings.ReplaceAll(got, "\uFFFD", "?"); got != want {
		t.Errorf("the numbers are\n%s\nwant\n%s", got, want)
	}
}

func TestSummary(t *testing.T) {
	got := onScreen(t, oddProfile(), Text{Width: 80, Unicode: true}, WriteSummary)
	want := `prog --flag, pid 4711, 2023-11-14 22:13:20 UTC

  It allocated 10.7 KiB (11007) in 21 blocks, within 3.000 s: 7 blocks a second.
  4 of them (19.0 %) were temporary: freed before another one was allocated.
  Its peak was 8.8 KiB (9000) in 9 blocks, at 1.000 s (event #50); 2.0 MiB were
  resident, with hdb's own memory, in the highest of 2 samples.
  Not freed: 1.5 KiB (1500) in 6 blocks, 13.6 % of all bytes.

What matters most:
  10.3 KiB  95.4 %  of all bytes   keep                                 /src/a.…
         4  19.0 %  of all blocks  0x7f0000001234                       [libc.s…
         1   4.8 %  of all blocks  ev?[31mil;</script>?"\? (int, char)  /tmp/ev…
         1   4.8 %  of all blocks  (no stack)

Careful:
  ! 2 calls are missing from the recording: counts are too low, live and peak
    are uncertain
  ! 1 allocation is recorded without a stack (4.8 %)
  ! outer frames of 1 allocation are missing (4.8 %): no CFI; ? at 0x1000
  ! 4 allocations are in functions without a name (19.0 %): hdb doctor shows
    what is missing
  ! 1 allocation failed: the program got no memory, or requested too much
`
	if got := strings.ReplaceAll(got, "\uFFFD", "?"); got != want {
		t.Errorf("the summary is\n%s\nwant\n%s", got, want)
	}
}

// TestReportsOfAPart has each report say that the recording has not all events, and
// why, in the words of a hostile filter.
func TestReportsOfAPart(t *testing.T) {
	p := oddProfile()
	p.Partial = capture.Reasons{{Kind: capture.OnlyEvents, Text: `func("` + odd + `")`}, {Kind: capture.Paused}}
	p.Moment.Live, p.Moment.Blocks = 0, 0
	for name, write := range map[string]func(io.Writer, *Profile, Text) error{
		"summary": WriteSummary, "stats": WriteStats, "tree": writeTree(TreeOptions{Measure: Bytes}), "timeline": WriteTimeline,
		"table": func(w io.Writer, p *Profile, _ Text) error { return WriteTable(w, p, Options{Measure: Bytes}, 1) },
		"sarif": func(w io.Writer, p *Profile, _ Text) error { return WriteSARIF(w, p, Options{Measure: Bytes}) },
	} {
		var b strings.Builder
		if err := write(&b, p, Text{}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		if !strings.Contains(text, "only events with func(") || !strings.Contains(text, "; it was paused") || strings.Contains(text, "\x1b") {
			t.Errorf("%s does not say what is missing:\n%s", name, b.String())
		}
		if strings.Contains(text, "All blocks were freed") {
			t.Errorf("%s knows of what was not recorded:\n%s", name, b.String())
		}
	}
	if got := p.remarks(); !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, "it was paused") }) {
		t.Errorf("pprof has %q", got)
	}
	if s := SummaryOf(p); len(s.Stats.Partial) != 2 || len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], "it was paused") {
		t.Errorf("as JSON: %v, %q", s.Stats.Partial, s.Warnings)
	}
}

// TestReportsFromLateOn has a recording that began within the run count and draw its
// own time.
func TestReportsFromLateOn(t *testing.T) {
	p := oddProfile()
	p.Partial, p.Begin = capture.Reasons{{Kind: capture.DroppedOlder}}, time.Second/2
	p.RSS = append([]Sample{{Time: time.Second / 4, RSS: 1 << 30}}, p.RSS...)
	s := StatsOf(p)
	if s.Duration != 3*time.Second || s.Begin != time.Second/2 || s.AllocRate != 21/2.5 {
		t.Errorf("%v from %v on, %g allocations a second", s.Duration, s.Begin, s.AllocRate)
	}
	if got := onScreen(t, p, Text{}, WriteSummary); !strings.Contains(got, "within 2.500 s from 500.000 ms on:\n  8 blocks a second") {
		t.Errorf("summary:\n%s", got)
	}
	lines := strings.Split(onScreen(t, p, Text{Width: 60}, WriteTimeline), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, " 500.000 ms") })
	if at < 0 || !strings.HasSuffix(lines[at], " 3.000 s") || !strings.Contains(lines[at-2], "0 |##") {
		t.Errorf("timeline:\n%s", strings.Join(lines, "\n"))
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "1.0 GiB") {
		t.Errorf("what was resident before is drawn:\n%s", text)
	}
	p.Moment = Moment{} // before it
	if s := StatsOf(p); s.Begin != 0 || s.AllocRate != 0 {
		t.Errorf("before the first event: from %v on, %g a second", s.Begin, s.AllocRate)
	}
}

// TestReportsOfNoAllocation has no allocation, though events: of mappings.
func TestReportsOfNoAllocation(t *testing.T) {
	p := &Profile{Title: "no", PID: 7, Events: 2, Moment: Moment{Seq: 2, Time: time.Second}, Timeline: []Moment{{Seq: 1}, {Seq: 2, Time: time.Second}}}
	p.RSS = []Sample{{Time: time.Second / 2, RSS: 1 << 20}}
	if got := onScreen(t, p, Text{}, WriteSummary); !strings.Contains(got, "It allocated no block, within 1.000 s.\n") || strings.Contains(got, "given back") {
		t.Errorf("summary:\n%s", got)
	}
	p.LiveMapped = LiveMapped{Program: MappedSum{Bytes: 5 << 20, Count: 2, Reserved: 1 << 30}, Arenas: MappedSum{Bytes: 1 << 20, Count: 1}, Unknown: 3, Most: "load (a.c:7)", MostBytes: 4 << 20}
	if got := onScreen(t, p, Text{}, WriteSummary); !strings.Contains(got, `It allocated no block, within 1.000 s.
  Mapped: 5.0 MiB in 2 mappings, not unmapped, 4.0 MiB by load (a.c:7).
  Mapped: 1.0 GiB reserved, which cannot be accessed.
  Mapped: 1.0 MiB in 1 arena of pymalloc, which has Python's small objects.
  Mapped: what 3 calls of mmap mapped is unknown; the recording was made by an
  older hdb.
`) {
		t.Errorf("summary:\n%s", got)
	}
	if got := onScreen(t, p, Text{}, WriteTimeline); !strings.Contains(got, "no allocation was recorded") || strings.Contains(got, "peak") || !strings.Contains(got, "1.0 MiB |") {
		t.Errorf("timeline:\n%s", got)
	}
}
