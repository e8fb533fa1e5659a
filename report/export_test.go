package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// hostile is a name that means something to terminals, JSON, HTML and collapsed
// stacks, and is no UTF-8.
const hostile = "ev\x1b[31mil;</script>\n\"\\\xff (int, char)"

// sampleProfile has all that formats have to cope with: inlined functions, an
// address without a name, stacks of threads, without an end and without frames.
// Its source is a file at the path.
func sampleProfile(source string) *Profile {
	p := &Profile{
		Title: "prog --flag", Program: "/bin/prog", PID: 4711, Created: "devel", Start: time.Unix(1700000000, 0),
		Moment: Moment{Seq: 99, Time: 3 * time.Second, Live: 1500, Blocks: 6}, Events: 99, Caveats: Caveats{Lost: 2}, Failed: 1,
		Peak: Moment{Seq: 50, Time: time.Second, Live: 9000, Blocks: 9},
		Modules: []Module{
			{Path: "/lib/libc.so.6", BuildID: "93ac61", Low: 0x7f0000000000, High: 0x7f0000200000, Bias: 0x7f0000000000},
			{Path: "/bin/prog", BuildID: "f8a85d", Low: 0x555555554000, High: 0x555555559000, Bias: 0x555555554000},
		},
		Frames: []Frame{
			{Function: "grab(unsigned long)", Linkage: "_Z4grabm", File: source, Line: 2, Address: 0x5555555551a8, Module: 1, Inlined: true, Known: true, Library: true},
			{Function: "keep", File: source, Line: 5, Address: 0x5555555551a8, Module: 1, Known: true},
			{Function: "main", File: source, Line: 9, Address: 0x55555555507f, Module: 1, Known: true},
			{Function: "_start", Address: 0x5555555550d0, Module: 1},
			{Function: "0x7f0000001234", Unnamed: true, Address: 0x7f0000001233, Module: 0},
			{Function: hostile, File: "/tmp/" + hostile, Line: 1, Address: 0x1000, Module: -1, Known: true},
			{Function: "main", File: source, Line: 10, Address: 0x555555555090, Module: 1, Known: true},
		},
		Timeline: []Moment{{Seq: 10, Time: time.Second / 2, Live: 700}, {Seq: 50, Time: time.Second, Live: 9000, Blocks: 9}, {Seq: 99, Time: 3 * time.Second, Live: 1500, Blocks: 6}},
		Marks:    []Mark{{Seq: 40, Time: time.Second * 3 / 4, Name: "loaded " + hostile}},
		RSS:      []Sample{{Time: time.Second, RSS: 1 << 20}, {Time: 2 * time.Second, RSS: 2 << 20}},
	}
	p.Stacks = []Stack{
		{ID: 1, Frames: []int{0, 1, 2, 3}, Site: 1, Thread: "main", Numbers: Numbers{Allocs: 10, Bytes: 10000, Live: 1000, LiveBlocks: 1, Peak: 8000, PeakBlocks: 8, Temporary: 3}},
		{ID: 2, Frames: []int{0, 1, 6, 3}, Site: 1, Thread: "worker", Numbers: Numbers{Allocs: 5, Bytes: 500, Live: 300, LiveBlocks: 3, Peak: 500, PeakBlocks: 5}},
		{ID: 3, Frames: []int{4, 2, 3}, Numbers: Numbers{Allocs: 4, Bytes: 400, Live: 200, LiveBlocks: 2, Peak: 400, PeakBlocks: 4, Temporary: 1}},
		{ID: 4, Frames: []int{5}, Truncated: "no CFI; \x1b at 0x1000", Numbers: Numbers{Allocs: 1, Bytes: 100, Peak: 100, PeakBlocks: 1}},
		{Truncated: "no stack was recorded", Numbers: Numbers{Allocs: 1, Bytes: 7}},
	}
	return p
}

// hugeProfile has n stacks.
func hugeProfile(n int) *Profile {
	p := &Profile{Title: "huge"}
	for i := range 2000 {
		p.Frames = append(p.Frames, Frame{Function: fmt.Sprintf("function%d", i), File: "a.c", Line: i + 1, Address: uint64(0x1000 + i), Module: -1, Known: true})
	}
	for i := range n {
		s := Stack{Numbers: Numbers{Allocs: 2, Bytes: uint64(i) + 2, Live: 1, LiveBlocks: 1, Peak: uint64(i) + 1, PeakBlocks: 1}}
		for k := range 30 {
			s.Frames = append(s.Frames, (i*(k+1)+k)%2000)
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// written is what a format makes of a profile.
func written(t *testing.T, format string, p *Profile, m Measure) []byte {
	t.Helper()
	f, ok := FindFormat(format)
	if !ok {
		t.Fatalf("no format %s", format)
	}
	var b bytes.Buffer
	if err := f.Write(&b, p, Options{Measure: m}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file writes the profile to a file of the test.
func exported(t *testing.T, format string, p *Profile, m Measure) string {
	t.Helper()
	f, _ := FindFormat(format)
	path := filepath.Join(t.TempDir(), "profile"+f.Extension)
	if err := os.WriteFile(path, written(t, format, p, m), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProfilesOfAnySize has each format of profiles cope with nothing, one event,
// and many stacks.
func TestProfilesOfAnySize(t *testing.T) {
	one := &Profile{Frames: []Frame{{Function: "f", Module: -1}}, Stacks: []Stack{{Frames: []int{0}, Numbers: Numbers{Allocs: 1, Bytes: 1}}}}
	stacks := 30000
	if testing.Short() {
		stacks = 2000
	}
	huge := hugeProfile(stacks)
	for _, f := range Formats() {
		if f.Write == nil {
			continue
		}
		for _, p := range []*Profile{{}, one, huge} {
			for m := range numMeasures {
				if p == huge && m > 0 {
					break
				}
				written(t, f.Name, p, m)
			}
		}
	}
}

func TestCollapsed(t *testing.T) {
	line := regexp.MustCompile(`^(.+) ([0-9]+)$`)
	for _, p := range []*Profile{sampleProfile("/src/a.c"), hugeProfile(100)} {
		for m := range numMeasures {
			sum, seen := uint64(0), map[string]bool{}
			for l := range strings.Lines(string(written(t, "collapsed", p, m))) {
				found := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
				if found == nil || seen[found[1]] || strings.ContainsAny(l[:len(l)-1], "\x1b\n") || !utf8.ValidString(l) {
					t.Fatalf("line %q", l)
				}
				seen[found[1]] = true
				n, err := strconv.ParseUint(found[2], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if want := m.Of(p.Total()); sum != want {
				t.Errorf("%s: the lines add up to %d, the profile to %d", m, sum, want)
			}
		}
	}
	got := string(written(t, "collapsed", sampleProfile("/src/a.c"), Live))
	want := "_start;main;0x7f0000001234 200\n_start;main;keep;grab(unsigned long) 1300\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b bytes.Buffer
	p := sampleProfile("/src/a;b.py")
	p.Frames[1].Line = 0
	if err := WriteCollapsed(&b, p, Options{Lines: true}); err != nil {
		t.Fatal(err)
	}
	want = "_start;main (/src/a:b.py:10);keep (/src/a:b.py);grab(unsigned long) (/src/a:b.py:2) 300\n" +
		"_start;main (/src/a:b.py:9);0x7f0000001234 200\n" +
		"_start;main (/src/a:b.py:9);keep (/src/a:b.py);grab(unsigned long) (/src/a:b.py:2) 1000\n"
	if got := b.String(); got != want {
		t.Errorf("with lines: %q, want %q", got, want)
	}
}

func TestPprofHoldsTheProfile(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("/src/a.c"), hugeProfile(1000)} {
		for m := range numMeasures {
			got, err := profile.ParseData(written(t, "pprof", p, m))
			if err != nil {
				t.Fatal(err)
			}
			if err := got.CheckValid(); err != nil {
				t.Error(err)
			}
			var sums [6]int64
			for _, s := range got.Sample {
				for i, v := range s.Value {
					sums[i] += v
				}
			}
			total := p.Total()
			want := [6]int64{int64(total.Allocs), int64(total.Bytes), int64(total.LiveBlocks), int64(total.Live)}
			names := "alloc_objects count, alloc_space bytes, inuse_objects count, inuse_space bytes"
			switch m {
			case Peak:
				names, want[4] = names+", peak_space bytes", int64(total.Peak)
			case Temporary:
				names, want[4] = names+", temporary_objects count", int64(total.Temporary)
			}
			var types []string
			for _, v := range got.SampleType {
				types = append(types, v.Type+" "+v.Unit)
			}
			if sums != want || strings.Join(types, ", ") != names {
				t.Errorf("%s: %v %v, want %s %v", m, types, sums, names, want)
			}
			shown := [numMeasures]string{"inuse_space", "peak_space", "alloc_space", "alloc_objects", "temporary_objects", "inuse_objects"}[m]
			if got.DefaultSampleType != shown {
				t.Errorf("%s: %s is shown first", m, got.DefaultSampleType)
			}
		}
	}
}

func TestPprofTables(t *testing.T) {
	got, err := profile.ParseData(written(t, "pprof", sampleProfile("/src/a.c"), Live))
	if err != nil {
		t.Fatal(err)
	}
	if m := got.Mapping[0]; m.File != "/bin/prog" || m.BuildID != "f8a85d" || m.Start != 0x555555554000 || !m.HasFunctions || !m.HasInlineFrames {
		t.Errorf("the first mapping is %+v, not the program's", m)
	}
	first, second := got.Sample[0], got.Sample[1]
	if len(first.Location) != 3 || first.Location[0] != second.Location[0] || first.Location[1] == second.Location[1] {
		t.Errorf("locations %v and %v", first.Location, second.Location)
	}
	lines := first.Location[0].Line
	if len(lines) != 2 || lines[0].Function.Name != "grab(unsigned long)" || lines[0].Function.SystemName != "_Z4grabm" || lines[0].Line != 2 || lines[1].Function.Name != "keep" || lines[1].Line != 5 {
		t.Errorf("lines %+v", lines)
	}
	if first.Label["thread"][0] != "main" || second.Label["thread"][0] != "worker" || got.Sample[3].Label["truncated"] == nil {
		t.Errorf("labels %v %v %v", first.Label, second.Label, got.Sample[3].Label)
	}
	if l := got.Sample[2].Location[0]; len(l.Line) != 0 || l.Address != 0x7f0000001233 || l.Mapping.File != "/lib/libc.so.6" {
		t.Errorf("an address without a name is %+v", l)
	}
	if got.TimeNanos != 1700000000e9 || got.DurationNanos != 3e9 {
		t.Errorf("time %d, duration %d", got.TimeNanos, got.DurationNanos)
	}
	if text := got.String(); strings.Contains(text, "\x1b") || !utf8.ValidString(text) || !strings.Contains(text, "2 calls are missing") {
		t.Errorf("%q", text)
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"std::vector<int>::push_back(int&&)":  "std::vector<int>::push_back(int&&)",
		"größe_大小":                            "größe_大小",
		"a\x1b[2Jb\u202ec\u200bd\u2028e\xfff": "a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf",
	} {
		if got := Plain(s); got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
	if got := collapsedName("f<a;b>\n(\u202e)\t"); got != "f<a:b> (\ufffd) " {
		t.Errorf("%q", got)
	}
}

// timed adds snapshots to a profile: half of all at the first, what is live at the
// last.
func timed(p *Profile) *Profile {
	half, end := Snapshot{Moment: Moment{Seq: 40, Time: time.Second}}, Snapshot{Moment: p.Moment}
	for i, s := range p.Stacks {
		at := s.Peak / 2
		if i%3 == 1 {
			at = 0
		}
		half.Stacks, end.Stacks = append(half.Stacks, at), append(end.Stacks, s.Live)
		half.Live += at
	}
	end.Live = p.Total().Live
	p.Snapshots = []Snapshot{half, end}
	return p
}

// deepProfile has stacks of many frames that part near their ends.
func deepProfile(stacks, deep int) *Profile {
	p := &Profile{Title: "deep", Frames: []Frame{{Function: "main", Module: -1, Known: true}}}
	for i := range 40 {
		p.Frames = append(p.Frames, Frame{Function: fmt.Sprintf("recurse%d", i), File: "r.c", Line: i, Module: -1, Known: true})
	}
	for i := range stacks {
		s := Stack{Numbers: Numbers{Allocs: 1, Bytes: 64, Live: 64, LiveBlocks: 1, Peak: 64, PeakBlocks: 1}}
		for k := range deep {
			s.Frames = append(s.Frames, 1+k%3)
			if k < 4 {
				s.Frames[k] = 1 + (i>>(k*4))%40
			}
		}
		s.Frames = append(s.Frames, 0)
		p.Stacks = append(p.Stacks, s)
	}
	return p
}
