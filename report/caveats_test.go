package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hdb/capture"
	"hdb/capture/file"
)

// TestUndecided has limits that what is missing may turn be neither kept nor exceeded.
// The profile has 5 leaked blocks of 1532 bytes among 7, 119 allocated ones, 90 of them
// temporary, and a peak of 84,928 bytes.
func TestUndecided(t *testing.T) {
	lost := Caveats{Lost: 4}
	open := Caveats{Lost: 4, LostOpen: true, Partial: capture.Reasons{{Kind: capture.OpenEnd}}}
	damaged := Caveats{Damage: &capture.DamageError{Missing: 1}}
	unseen := Caveats{Partial: capture.Reasons{{Kind: capture.FreedUnseen}}}
	golang := Caveats{Partial: capture.Reasons{{Kind: capture.GoHeap}}}
	unfollowed := Caveats{Partial: capture.Reasons{{Kind: capture.NoAllocator}}}
	late := Caveats{Partial: capture.Reasons{{Kind: capture.BeganLate}}}
	filtered := Caveats{Partial: capture.Reasons{{Kind: capture.OnlyEvents, Text: "size > 5"}}}
	n := func(v uint64) *uint64 { return &v }
	for _, c := range []struct {
		name   string
		of     Caveats
		limits Limits
		want   string
	}{
		{"lost, room enough for them", lost, Limits{MaxAllocs: n(123), MaxTemporary: n(98)}, "max-allocs+ max-temporary+"},
		{"lost, they may exceed it", lost, Limits{MaxAllocs: n(122), MaxTemporary: n(97)}, "max-allocs? max-temporary?"},
		{"lost, exceeded without them", lost, Limits{MaxAllocs: n(118), MaxTemporary: n(81)}, "max-allocs- max-temporary-"},
		{"lost, they may be why it is exceeded", lost, Limits{MaxTemporary: n(82)}, "max-temporary?"},
		{"lost, one leak remains", lost, Limits{NoLeaks: true}, "no-leaks-"},
		{"lost, no leak may remain", Caveats{Lost: 5}, Limits{NoLeaks: true}, "no-leaks?"},
		{"lost, of unknown sizes", lost, Limits{MaxPeak: n(84_927), MaxLeaked: n(1 << 40), MaxLiveGrowth: n(0), Since: &Baseline{}}, "max-peak? max-leaked? max-live-growth?"},
		{"lost, taken as it is", lost, Limits{MaxPeak: n(84_927), MaxAllocs: n(119), Incomplete: true}, "max-peak- max-allocs+"},
		{"open", open, Limits{MaxAllocs: n(1 << 40), NoLeaks: true}, "max-allocs? no-leaks?"},
		{"open, exceeded before", open, Limits{MaxAllocs: n(118)}, "max-allocs-"},
		{"damaged", damaged, Limits{MaxPeak: n(1 << 40), MaxAllocs: n(118), NoLeaks: true, MaxTemporary: n(1 << 40)}, "max-peak? max-allocs- no-leaks? max-temporary?"},
		{"frees unseen", unseen, Limits{MaxPeak: n(84_927), MaxAllocs: n(119), NoLeaks: true, MaxLeaked: n(1532)}, "max-peak? max-allocs+ no-leaks? max-leaked+"},
		{"a Go program's C code", golang, Limits{MaxPeak: n(84_928), MaxAllocs: n(118), NoLeaks: true, MaxTemporary: n(89)}, "max-peak? max-allocs- no-leaks- max-temporary?"},
		{"a Go program's C code, taken for the whole", golang, Limits{MaxPeak: n(84_928), Incomplete: true}, "max-peak+"},
		{"a part of the run without an allocator", unfollowed, Limits{MaxPeak: n(84_928), MaxAllocs: n(118), NoLeaks: true, MaxTemporary: n(89)}, "max-peak? max-allocs- no-leaks- max-temporary?"},
		{"the same, taken for the whole", unfollowed, Limits{MaxPeak: n(84_928), Incomplete: true}, "max-peak+"},
		{"attached", late, Limits{MaxPeak: n(1 << 40), MaxAllocs: n(119), NoLeaks: true, MaxLeaked: n(1 << 40), MaxTemporary: n(90)}, "max-peak? max-allocs+ no-leaks- max-leaked? max-temporary+"},
		{"attached, exceeded without what was before", late, Limits{MaxPeak: n(84_927), MaxAllocs: n(118), MaxLeaked: n(1531), MaxTemporary: n(89)}, "max-peak- max-allocs- max-leaked- max-temporary-"},
		{"attached, what was before may have been freed", late, Limits{MaxLiveGrowth: n(0), Since: &Baseline{}}, "max-live-growth?"},
		{"attached, grew less", late, Limits{MaxLiveGrowth: n(1 << 40), Since: &Baseline{}}, "max-live-growth+"},
		{"attached, taken for the whole", late, Limits{MaxPeak: n(84_928), MaxLeaked: n(1532), MaxLiveGrowth: n(0), Since: &Baseline{}, Incomplete: true}, "max-peak+ max-leaked+ max-live-growth-"},
		{"filtered, as the user wished", filtered, Limits{MaxPeak: n(84_928), NoLeaks: true}, "max-peak+ no-leaks-"},
	} {
		p := leakyProfile()
		p.Caveats = c.of
		if got := words(Check(p, &c.limits)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// Where sums are recorded, mappings may have been there at the peak.
	for _, c := range []struct {
		mapped     uint64
		incomplete bool
		want       string
	}{{500, false, "max-peak?"}, {500, true, "max-peak+"}, {90_000, false, "max-peak-"}, {90_000, true, "max-peak-"}, {0, false, "max-peak+"}} {
		p := leakyProfile()
		p.MostMapped = c.mapped
		if got := words(Check(p, &Limits{MaxPeak: n(85_000), Incomplete: c.incomplete})); got != c.want {
			t.Errorf("%d bytes mapped at some moment, incomplete %v: %s, want %s", c.mapped, c.incomplete, got, c.want)
		}
	}
	// Of a Go program without C code nothing is known, whatever the user wishes.
	p := &Profile{Caveats: golang}
	all := Check(p, &Limits{MaxPeak: n(1 << 40), MaxAllocs: n(0), NoLeaks: true, Incomplete: true})
	if got := words(all); got != "max-peak? max-allocs? no-leaks?" {
		t.Errorf("a Go program: %s", got)
	}
	var text, junit, sarif bytes.Buffer
	if err := WriteVerdicts(&text, p, all, NoStacks); err != nil || !strings.Contains(text.String(), "UNDECIDED no-leaks: no block is live at the end; undecided: what the Go runtime allocates is not counted\n") {
		t.Errorf("%v: %s", err, &text)
	}
	if err := WriteJUnit(&junit, p, all, "", nil); err != nil || strings.Count(junit.String(), "<error ") != 3 || strings.Contains(junit.String(), "<failure") {
		t.Errorf("%v: %s", err, &junit)
	}
	if err := WriteVerdictsSARIF(&sarif, p, all, nil, Options{}); err != nil || strings.Count(sarif.String(), "undecided: ") != 3 {
		t.Errorf("%v: %s", err, &sarif)
	}
}

// allCaveats is one of each.
var allCaveats = Caveats{
	Partial: capture.Reasons{{Kind: capture.OnlyEvents, Text: `func("pa<rse")`}}, Lost: 1234,
	Damage: &capture.DamageError{Missing: 7}, Doubt: UnfollowedThen, NoTypes: "/bin/server: no such file",
}

// carries checks that a text has all of them, however its format writes odd characters.
func carries(t *testing.T, name, text string) {
	t.Helper()
	text = strings.NewReplacer("&lt;", "<", "&#34;", `"`, "&#39;", "'", `\u003c`, "<", `\"`, `"`, "&#xA;", "\n", "  lost          1,234 calls", "1,234 calls are missing").Replace(text) // stats has a row for it
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{`only events with func("pa<rse")`, "1,234 calls are missing", "7 events are missing", "types of Go are not known: /bin/server: no such file; ", "blocks that appear live may be freed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say: %s", name, want)
		}
	}
}

// TestCaveatsEverywhere has all that is written of a profile or a recording say what
// makes its numbers less sure. A new writer has to stand here.
func TestCaveatsEverywhere(t *testing.T) {
	p, r := oddProfile(), testRecording()
	p.Caveats, r.Caveats, r.Damage = allCaveats, allCaveats, func() error { return nil }
	onPage := func(write func(io.Writer, *Profile, Text) error) func(io.Writer) error {
		return func(w io.Writer) error { return write(w, p, Text{Width: 160}) }
	}
	asFile := func(write func(io.Writer, *Profile, Options) error) func(io.Writer) error {
		return func(w io.Writer) error { return write(w, p, Options{}) }
	}
	verdicts := Check(p, &Limits{NoLeaks: true})
	writers := map[string]func(io.Writer) error{
		"WriteStats": onPage(WriteStats), "WriteSummary": onPage(WriteSummary), "WriteTimeline": onPage(WriteTimeline),
		"WriteTree":          onPage(writeTree(TreeOptions{})),
		"WriteTable":         func(w io.Writer) error { return WriteTable(w, p, Options{}, 1) },
		"WriteJUnit":         func(w io.Writer) error { return WriteJUnit(w, p, verdicts, "", nil) },
		"WriteVerdictsSARIF": func(w io.Writer) error { return WriteVerdictsSARIF(w, p, verdicts, nil, Options{}) },
		"WriteMarkdown": func(w io.Writer) error {
			var b bytes.Buffer
			err := WriteMarkdown(&b, p, verdicts, "")
			return cmp.Or(err, func() error { _, err := io.WriteString(w, strings.ReplaceAll(b.String(), `\`, "")); return err }())
		},
		"WriteSpeedscope": asFile(WriteSpeedscope), "WriteFirefox": asFile(WriteFirefox), "WriteDHAT": asFile(WriteDHAT),
		"WriteMassif": asFile(WriteMassif), "WriteSARIF": asFile(WriteSARIF),
		"WriteNDJSON": func(w io.Writer) error { return WriteNDJSON(w, r) },
		"WritePprof": func(w io.Writer) error {
			var packed bytes.Buffer
			if err := WritePprof(&packed, p, Options{}); err != nil {
				return err
			}
			unpacked, err := gzip.NewReader(&packed)
			if err != nil {
				return err
			}
			_, err = io.Copy(w, unpacked)
			return err
		},
		"WriteParquet": func(w io.Writer) error {
			dir := t.TempDir()
			if err := WriteParquet(dir, r); err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "*"))
			if err != nil || len(files) != 1 {
				return fmt.Errorf("%v, %w", files, err)
			}
			rows, err := parquet.ReadFile[parquetRun](files[0])
			for _, row := range rows {
				fmt.Fprintln(w, row.Warnings)
			}
			return err
		},
	}
	// None has a place for them: whoever writes them prints the caveats, too.
	for _, name := range []string{"WriteCollapsed", "WriteVerdicts", "WriteAnnotations", "WriteCodeQuality"} {
		writers[name] = nil
	}
	source, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range source {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Write[A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			found++
			write, ok := writers[m[1]]
			if !ok {
				t.Errorf("%s: does it say what makes its numbers less sure?", m[1])
			}
			if write == nil {
				continue
			}
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatalf("%s: %v", m[1], err)
			}
			carries(t, m[1], b.String())
		}
	}
	if found != len(writers) {
		t.Errorf("%d writers are tried, %d found", len(writers), found)
	}
	for name, view := range map[string]any{"stats": StatsOf(p), "summary": SummaryOf(p), "timeline": TimelineOf(p)} {
		text, err := json.Marshal(view)
		if err != nil {
			t.Fatal(err)
		}
		carries(t, name+" as JSON", string(text))
	}
	carries(t, "the tree with keys", NewBrowser(NewTree(p, TreeOptions{})).Head())
}

// TestOpenEnds: nobody knows how much a recording lacks that could not be written, or was
// cut; one that was ended or filtered is what was asked for.
func TestOpenEnds(t *testing.T) {
	for reason, open := range map[capture.ReasonKind]bool{
		capture.OpenEnd: true, capture.Unwritten: true, capture.EndedEarly: false, capture.OnlyEvents: false, capture.Paused: false,
	} {
		info := capture.Info{Program: "p"}
		info.Partial = capture.Reasons{{Kind: reason}}
		c := CaveatsOf(file.NewLog(info))
		if c.Whole() == open {
			t.Errorf("%d: whole %v", reason, c.Whole())
		}
	}
}
