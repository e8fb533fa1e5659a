package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hdb/capture"
	"hdb/testprogs/node"
)

// leakyProfile has, by stack:
//
//	0  1000 bytes of grow, inlined in main, live; 600 of them at the peak
//	1  500 bytes of grow, too, from another address of the same line
//	2  24 bytes of grow from another line of main
//	3  4096 bytes of stdio's
//	4  72 KiB of libstdc++'s start
//	5  nothing live; 5000 bytes at the peak, temporary, in hostile names
//	6  8 bytes without a frame
func leakyProfile() *Profile {
	return &Profile{
		Title: "leaky --file \x1b[31m<&>", Program: "/src/build/leaky", PID: 7, Host: "h<1>", Created: "1.0", Start: testStart,
		Events: 100, Moment: Moment{Seq: 100, Time: 2 * time.Second, Live: 79_356, Blocks: 9},
		Peak: Moment{Seq: 50, Time: time.Second, Live: 84_928, Blocks: 20},
		Modules: []Module{
			{Path: "/src/build/leaky", Low: 0x1000, High: 0x2000}, {Path: "/lib/x86_64-linux-gnu/libc.so.6"},
			{Path: "/usr/lib/libstdc++.so.6.0.30"}, {Path: "/lib64/ld-linux-x86-64.so.2"},
		},
		Frames: []Frame{
			0:  {Function: "malloc", Address: 0x7000, Module: 1, Library: true},
			1:  {Function: "grow(std::vector<int>&)::{lambda()#1}::operator[](int)", File: "/src/a b/grow.cc", Line: 42, Address: 0x1100, Module: 0, Inlined: true, Known: true},
			2:  {Function: "main", File: "/src/main.cc", Line: 7, Address: 0x1100, Module: 0, Known: true},
			3:  {Function: "main", File: "/src/main.cc", Line: 7, Address: 0x1180, Module: 0, Known: true},
			4:  {Function: "main", File: "/src/main.cc", Line: 9, Address: 0x1200, Module: 0, Known: true},
			5:  {Function: "_IO_file_doallocate", Address: 0x7100, Module: 1, Library: true},
			6:  {Function: "0x8000", Unnamed: true, Address: 0x8000, Module: 2},
			7:  {Function: "_dl_init", Address: 0x9000, Module: 3},
			8:  {Function: "[click](http://evil)\x1b]0;\u202e\n\xff<script>", File: "../x\ny.c", Line: 1, Module: -1},
			9:  {Function: "__libc_start_main", Address: 0x7200, Module: 1, Library: true},
			10: {Function: "grow(std::vector<int>&)::{lambda()#1}::operator[](int)", File: "/src/a b/grow.cc", Line: 50, Address: 0x1300, Module: 0, Known: true},
		},
		Stacks: []Stack{
			{Frames: []int{0, 1, 2, 9}, Site: 1, Numbers: Numbers{Allocs: 10, Bytes: 1000, Live: 1000, LiveBlocks: 2, Peak: 600, PeakBlocks: 1}},
			{Frames: []int{0, 1, 3, 9}, Site: 1, Numbers: Numbers{Allocs: 5, Bytes: 500, Live: 500, LiveBlocks: 1, Peak: 500, PeakBlocks: 1}},
			{Frames: []int{0, 10, 4, 9}, Site: 1, Numbers: Numbers{Allocs: 1, Bytes: 24, Live: 24, LiveBlocks: 1}},
			{Frames: []int{0, 5, 2, 9}, Site: 2, Numbers: Numbers{Allocs: 1, Bytes: 4096, Live: 4096, LiveBlocks: 1, Peak: 4096, PeakBlocks: 1}},
			{Frames: []int{0, 6, 7}, Site: 1, Numbers: Numbers{Allocs: 1, Bytes: 73_728, Live: 73_728, LiveBlocks: 1, Peak: 73_728, PeakBlocks: 1}},
			{Frames: []int{0, 8}, Site: 1, Truncated: "bad\x1b", Numbers: Numbers{Allocs: 100, Bytes: 50_000, Peak: 6004, PeakBlocks: 3, Temporary: 90}},
			{Truncated: "no stack was recorded", Numbers: Numbers{Allocs: 1, Bytes: 8, Live: 8, LiveBlocks: 1}},
		},
	}
}

func words(all []Verdict) string {
	var out []string
	for _, v := range all {
		word := v.Name + "-"
		switch {
		case v.Held:
			word = v.Name + "+"
		case v.Undecided:
			word = v.Name + "?"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func TestCheck(t *testing.T) {
	p := leakyProfile()
	early := &Baseline{Name: "10%", Moment: Moment{Seq: 10, Live: 5700}, Live: []uint64{900, 500, 204, 4096}}
	grow, err := ParseSuppressions(strings.NewReader("# ours\n\nleak:grow(*lambda\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limits Limits
		want   string
		text   string // in the last verdict's
	}{
		{Limits{MaxPeak: new(uint64(84_928))}, "max-peak+", "of at most 82.9 KiB (84928)"},
		{Limits{MaxPeak: new(uint64(84_927)), MaxAllocs: new(uint64(119))}, "max-peak- max-allocs+", "119 blocks allocated, of at most 119 blocks"},
		{Limits{MaxAllocs: new(uint64(118))}, "max-allocs-", "more than 118 blocks"},
		{Limits{NoLeaks: true}, "no-leaks-", "1.5 KiB (1532) in 5 blocks live at the end; not counted: 76.0 KiB (77824) in 2 blocks, kept by language runtimes for themselves"},
		{Limits{NoLeaks: true, Suppressions: grow}, "no-leaks-", "8 bytes in 1 block live"},
		{Limits{NoLeaks: true, Strict: true, Suppressions: grow}, "no-leaks-", "76.0 KiB (77832) in 3 blocks live at the end; suppressed: 1.5 KiB (1524) in 4 blocks"},
		{Limits{MaxLeaked: new(uint64(1532))}, "max-leaked+", "not counted"},
		{Limits{MaxLeaked: new(uint64(1531))}, "max-leaked-", "more than 1.5 KiB (1531)"},
		{Limits{MaxLiveGrowth: new(uint64(0)), Since: early}, "max-live-growth+", "since 10% (0.000 ms, after event #10) from 1.6 KiB (1604) to 1.5 KiB (1532)"},
		{Limits{MaxLiveGrowth: new(uint64(1427)), Since: &Baseline{Live: []uint64{100, 4}}}, "max-live-growth-", "1.4 KiB (1428) live more"},
		{Limits{MaxTemporary: new(uint64(89))}, "max-temporary-", "90 blocks"},
		{Limits{MaxTemporary: new(uint64(0)), NoLeaks: true, MaxPeak: new(uint64(0))}, "max-peak- no-leaks- max-temporary-", ""},
	} {
		all := Check(p, &c.limits)
		if got := words(all); got != c.want {
			t.Errorf("%+v: %s, want %s", c.limits, got, c.want)
		}
		if got := all[len(all)-1].Text; !strings.Contains(got, c.text) {
			t.Errorf("%s, want %s", got, c.text)
		}
	}
	// Nothing is too much of nothing.
	zero := new(uint64(0))
	none := Check(&Profile{}, &Limits{MaxPeak: zero, MaxAllocs: zero, MaxLeaked: zero, NoLeaks: true, MaxLiveGrowth: zero, MaxTemporary: zero, Since: &Baseline{}, Strict: true})
	if got := words(none); got != "max-peak+ max-allocs+ no-leaks+ max-leaked+ max-live-growth+ max-temporary+" {
		t.Errorf("an empty profile: %s", got)
	}
}

func TestWriteVerdicts(t *testing.T) {
	p := leakyProfile()
	var out bytes.Buffer
	if err := WriteVerdicts(&out, p, Check(p, &Limits{NoLeaks: true, MaxTemporary: new(uint64(1)), MaxAllocs: new(uint64(1000))}), WholeStacks); err != nil {
		t.Fatal(err)
	}
	want := `ok     max-allocs: 119 blocks allocated, of at most 1,000 blocks
FAILED no-leaks: 1.5 KiB (1532) in 5 blocks live at the end; not counted: 76.0 KiB (77824) in 2 blocks, kept by language runtimes for themselves
  1.5 KiB (1500) in 3 blocks (97.9 %) from 2 stacks, 1000 bytes of it from this one
    malloc                                              [libc.so.6]
    grow(std::vector<int>&)::{lambda()#1}::operator[](int) [inlined]  /src/a b/grow.cc:42
    main                                                /src/main.cc:7
    __libc_start_main                                   [libc.so.6]
  24 bytes in 1 block (1.6 %)
    malloc                                              [libc.so.6]
    grow(std::vector<int>&)::{lambda()#1}::operator[](int)  /src/a b/grow.cc:50
    main                                                /src/main.cc:9
    __libc_start_main                                   [libc.so.6]
  8 bytes in 1 block (0.5 %)
    (outer frames are missing: no stack was recorded)
FAILED max-temporary: 90 blocks freed before the next allocation, more than 1 block
  90 blocks (100.0 %)
    malloc                               [libc.so.6]
    [click](http://evil)�]0;���<script>  ../x�y.c:1
    (outer frames are missing: bad�)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestFingerprint(t *testing.T) {
	p := leakyProfile()
	of := func(i int) string { return p.fingerprint(&p.Stacks[i]) }
	if of(0) != of(1) || of(0) != of(2) {
		t.Error("a stack has another fingerprint at another address or line")
	}
	if of(0) == of(3) || of(3) == of(4) {
		t.Error("stacks of other functions have the same fingerprint")
	}
	// A moved program, calls of itself, another C library, Rust's hash.
	q := leakyProfile()
	for i := range q.Frames {
		f := &q.Frames[i]
		f.Address += 0x100
		f.Line++
		if f.Known {
			f.Function += "::h0123456789abcdef"
		} else if f.Unnamed {
			f.Function = "0x8100"
		}
	}
	q.Frames[9].Function = "__libc_start_call_main"
	q.Stacks[0].Frames = []int{0, 1, 1, 1, 2, 9}
	for i := range q.Stacks {
		if p.fingerprint(&p.Stacks[i]) != q.fingerprint(&q.Stacks[i]) {
			t.Errorf("stack %d has another fingerprint in another build", i)
		}
	}
	var prints []string
	for _, f := range p.findings(func(_ int, st *Stack) (uint64, uint64) { return st.Live, st.LiveBlocks }) {
		prints = append(prints, f.fingerprint)
	}
	slices.Sort(prints)
	if n := len(slices.Compact(prints)); n != 5 {
		t.Errorf("%d distinct fingerprints of 5 places", n)
	}
}

// sarifFile is what the tests look at of a log.
type sarifFile struct {
	Runs []struct {
		Invocations []struct {
			ToolExecutionNotifications []sarifNotification
		}
		Results []sarifResult
	}
}

// validSARIF holds the log against the schema and reads it.
func validSARIF(t *testing.T, log []byte) sarifFile {
	t.Helper()
	if wrong := node.Run(t, log, "sarif.mjs"); len(wrong) > 0 {
		t.Errorf("against the schema: %s\nin %s", wrong, log)
	}
	var f sarifFile
	if err := json.Unmarshal(log, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := leakyProfile()
	p.Lost = 3
	if err := WriteSARIF(&out, p, Options{Root: "/src"}); err != nil {
		t.Fatal(err)
	}
	run := validSARIF(t, out.Bytes()).Runs[0]
	var got []string
	var bytes float64
	for _, r := range run.Results {
		phys := r.Locations[0].PhysicalLocation
		line := 0
		if phys.Region != nil {
			line = phys.Region.StartLine
		}
		got = append(got, fmt.Sprintf("%s %s %s:%d %d", r.Level, phys.ArtifactLocation.URIBaseID, phys.ArtifactLocation.URI, line, len(r.Stacks[0].Frames)))
		bytes += r.Properties["weight"].(float64)
	}
	want := []string{
		"warning ROOT a%20b/grow.cc:42 3",
		"note ROOT a%20b/grow.cc:50 3",
		"note ROOT build/leaky:0 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if uint64(bytes) != 1532 {
		t.Errorf("%v bytes in the results", bytes)
	}
	notes := run.Invocations[0].ToolExecutionNotifications
	if len(notes) != 2 || !strings.HasPrefix(notes[0].Message.Text, "3 calls are missing") || !strings.HasPrefix(notes[1].Message.Text, "76.0 KiB (77824) in 2 blocks") {
		t.Errorf("notifications: %v", notes)
	}
}

func TestSARIFOfVerdicts(t *testing.T) {
	t.Parallel()
	p := leakyProfile()
	p.Partial = capture.Reasons{{Kind: capture.Paused}}
	allowed, err := ParseSuppressions(strings.NewReader("leak:no[thing]\n"))
	if err != nil {
		t.Fatal(err)
	}
	zero := new(uint64(0))
	var out bytes.Buffer
	if err := WriteVerdictsSARIF(&out, p, Check(p, &Limits{MaxPeak: zero, MaxAllocs: new(uint64(1 << 40)), NoLeaks: true, MaxTemporary: zero}), allowed.Count(), Options{}); err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	notes := validSARIF(t, out.Bytes()).Runs[0].Invocations[0].ToolExecutionNotifications
	if got := notes[len(notes)-2]; got.Level != "warning" || got.Message.Text != PartialText(p.Partial)+"." {
		t.Errorf("notification %+v", got)
	}
	if got, want := notes[len(notes)-1].Message.Text, `suppressions not used: no\[thing\] (line 1).`; got != want {
		t.Errorf("notification %q, want %q", got, want)
	}
	if !strings.Contains(out.String(), `"name": "no[thing]"`) {
		t.Error("the run does not tell its suppressions")
	}
	for _, r := range validSARIF(t, out.Bytes()).Runs[0].Results {
		rules[r.RuleID]++
		if strings.Contains(r.Message.Text, "from 2 stacks, 1000 bytes of it from this one") {
			rules["of several"]++
		}
		if r.Level != "error" {
			t.Errorf("level %s of %s", r.Level, r.RuleID)
		}
		if r.RuleID == "max-temporary" {
			if uri := r.Locations[0].PhysicalLocation.ArtifactLocation.URI; uri != "../x%0Ay.c" {
				t.Errorf("URI %s", uri)
			}
			if name := r.Locations[0].LogicalLocations[0].Name; strings.ContainsAny(name, "\x1b\n\u202e") {
				t.Errorf("name %q", name)
			}
		}
	}
	if got, want := fmt.Sprint(rules), "map[leak:3 max-peak:4 max-temporary:1 of several:1]"; got != want {
		t.Errorf("results %s, want %s", got, want)
	}
}

// TestSARIFOfGo: blocks that a collector frees are no leaks in it, as assert has it.
func TestSARIFOfGo(t *testing.T) {
	p := leakyProfile()
	p.Calls = []Calls{{Function: "runtime.mallocgc"}}
	p.Stacks[2].Collected = true
	var out bytes.Buffer
	if err := WriteSARIF(&out, p, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, `"startLine": 50`) || !strings.Contains(got, `"startLine": 42`) || !strings.Contains(got, "24 bytes in 1 block of Go are left out") {
		t.Error(got)
	}
}

// TestSARIFBounds leaves out what is too much, and says how much that is.
func TestSARIFBounds(t *testing.T) {
	t.Parallel()
	p := leakyProfile()
	p.Stacks = nil
	const places = sarifResults + 200 // each of another line
	for i := range places {
		p.Frames = append(p.Frames, Frame{Function: fmt.Sprintf("f%d", i), File: "x.c", Line: i + 1, Module: 0})
		s := Stack{Numbers: Numbers{Live: 10, LiveBlocks: 1}}
		for range 3 * sarifFrames {
			s.Frames = append(s.Frames, len(p.Frames)-1)
		}
		p.Stacks = append(p.Stacks, s)
	}
	var out bytes.Buffer
	if err := WriteSARIF(&out, p, Options{}); err != nil {
		t.Fatal(err)
	}
	run := validSARIF(t, out.Bytes()).Runs[0]
	if len(run.Results) != sarifResults || len(run.Results[0].Stacks[0].Frames) != sarifFrames {
		t.Errorf("%d results of %d frames", len(run.Results), len(run.Results[0].Stacks[0].Frames))
	}
	notes := run.Invocations[0].ToolExecutionNotifications
	if got := notes[len(notes)-1].Message.Text; got != "200 further places with 2.0 KiB (2000) are left out." {
		t.Errorf("notification %q", got)
	}
	out.Reset()
	if err := WriteSARIF(&out, &Profile{}, Options{Root: "relative"}); err != nil {
		t.Fatal(err)
	}
	if n := len(validSARIF(t, out.Bytes()).Runs[0].Results); n != 0 {
		t.Errorf("%d results of an empty profile", n)
	}
}

func TestJUnit(t *testing.T) {
	p := leakyProfile()
	p.Partial = capture.Reasons{{Kind: capture.Paused}, {Kind: capture.Trimmed}}
	var out bytes.Buffer
	all := Check(p, &Limits{NoLeaks: true, MaxAllocs: new(uint64(1000)), MaxTemporary: new(uint64(0))})
	allowed, err := ParseSuppressions(strings.NewReader("leak:nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteJUnit(&out, p, all, "leaky: killed by SIGSEGV\x1b", allowed.Count()); err != nil {
		t.Fatal(err)
	}
	lint := exec.Command("xmllint", "--noout", "--nonet", "-")
	lint.Stdin = bytes.NewReader(out.Bytes())
	if text, err := lint.CombinedOutput(); err != nil {
		t.Fatalf("xmllint: %v\n%s", err, text)
	}
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suites[0]
	if s.Tests != 5 || s.Failures != 2 || s.Errors != 1 || got.Tests != 5 || s.Timestamp != "2026-11-21T23:59:59" || s.Time != "2.000000" {
		t.Errorf("suite %+v", s)
	}
	if got, want := s.Cases[1].Output, "suppressions not used: nothing (line 1)\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	var cases []string
	for _, c := range s.Cases {
		cases = append(cases, fmt.Sprintf("%s %t %t", c.Name, c.Failure != nil, c.Error != nil))
	}
	if got, want := strings.Join(cases, "; "), "program false true; recording false false; max-allocs 1,000 blocks false false; no-leaks true false; max-temporary 0 blocks true false"; got != want {
		t.Errorf("cases %s, want %s", got, want)
	}
	if got := s.Cases[1].Warning; got != "not all events of the run were recorded: it was paused; it was trimmed" {
		t.Errorf("warning %q", got)
	}
	if f := s.Cases[3].Failure; f == nil || !strings.Contains(f.Text, "in 3 blocks (97.9 %) from 2 stacks, 1000 bytes of it from this one") {
		t.Errorf("of how many stacks one is shown: %+v", f)
	}
	if f := s.Cases[3].Failure; f == nil || !strings.Contains(f.Text, "main.cc:7") || !strings.Contains(f.Message, "1.5 KiB (1532)") {
		t.Errorf("failure %+v", f)
	}
	if strings.Contains(out.String(), "\x1b") || !utf8.Valid(out.Bytes()) {
		t.Error("control characters")
	}
}

func TestSuppressions(t *testing.T) {
	for in, want := range map[string]string{
		"race:x":                              "line 1: \"race:x\": leak:PATTERN, or { of an entry of valgrind's, expected",
		"\nleak:":                             "line 2: \"leak:\": leak:PATTERN, or { of an entry of valgrind's, expected",
		"leak:" + strings.Repeat("a", 10_000): "line 1: longer than 4096 bytes",
		strings.Repeat("leak:a\n", 10_001):    "line 10001: more than 10000 patterns",
	} {
		if _, err := ParseSuppressions(strings.NewReader(in)); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", in, err, want)
		}
	}
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"foo", "a::foo_bar", true}, {"^foo", "a::foo", false}, {"foo$", "foo2", false}, {"a*c", "xabbcx", true},
		{"a.c", "abc", false}, {"operator new(*)", "operator new(unsigned long)", true}, {"^a*z$", "a\nz", true},
	} {
		if got := suppressionPattern(c.pattern).MatchString(c.name); got != c.want {
			t.Errorf("%s on %s: %t", c.pattern, c.name, got)
		}
	}
}

// FuzzSuppressions reads files of suppressions and applies them.
func FuzzSuppressions(f *testing.F) {
	f.Add("leak:^a*b$\n# c\nleak:operator new(*)", "operator new(unsigned long)")
	f.Add("leak:*", "")
	f.Add("{\nn\nMemcheck:Leak\nmatch-leak-kinds: all\nfun:m*\n...\nfun:?a\n}", "ma")
	f.Add("leak:^$", "\xff")
	f.Add(runtimeOwned, "setlocale")
	f.Fuzz(func(t *testing.T, file, name string) {
		s, err := ParseSuppressions(strings.NewReader(file))
		if err != nil {
			return
		}
		p := &Profile{Frames: []Frame{{Function: name, Module: -1}}}
		p.Suppressor(s).Find(&Stack{Frames: []int{0}}, LeakAny)
	})
}
