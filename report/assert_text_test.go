package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// foldedProfile is leakyProfile with outer frames that a thread library has, and more places than are shown.
func foldedProfile() *Profile {
	p := leakyProfile()
	for i := range p.Stacks {
		if st := &p.Stacks[i]; len(st.Frames) == 4 {
			st.Outer, st.Callers = 2, "std::thread"
		}
	}
	return p
}

// TestVerdictForms has a failed limit with its lines, and with its stacks folded.
func TestVerdictForms(t *testing.T) {
	p := foldedProfile()
	all := Check(p, &Limits{NoLeaks: true, Strict: true})
	for _, tc := range []struct {
		form StackForm
		want string
	}{{NoStacks, `FAILED no-leaks: 77.5 KiB (79356) in 7 blocks live at the end
  72.0 KiB (73728) in 1 block (92.9 %)  0x8000                                              [libstdc++.so.6.0.30]
  4.0 KiB (4096) in 1 block (5.2 %)     main                                                /src/main.cc:7
  1.5 KiB (1500) in 3 blocks (1.9 %)    grow(std::vector<int>&)::{lambda()#1}::operator[](int)  /src/a b/grow.cc:42
  32 bytes in 2 blocks (<0.1 %) in 2 further places
`}, {FoldedStacks, "    (1 frame of allocators and libraries hidden)\n    grow(std::vector<int>&)::{lambda()#1}::operator[](int) [inlined]  /src/a b/grow.cc:42\n    (2 outer frames of std::thread hidden)\n"}} {
		var b bytes.Buffer
		if err := WriteVerdicts(&b, p, all, tc.form); err != nil {
			t.Fatal(err)
		}
		if tc.form == NoStacks && b.String() != tc.want || !strings.Contains(b.String(), tc.want) {
			t.Errorf("form %d: got\n%s\nwant\n%s", tc.form, &b, tc.want)
		}
	}
}

// TestMarkdown: no name means anything in the summary.
func TestMarkdown(t *testing.T) {
	p := foldedProfile()
	p.Frames[8].Function = "a|b *c* `d` [click](http://evil) <script> @you #1"
	var b bytes.Buffer
	if err := WriteMarkdown(&b, p, Check(p, &Limits{NoLeaks: true, MaxTemporary: new(uint64(1)), MaxAllocs: new(uint64(1000))}), "leaky: exited with code 1"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### hdb assert: 2 of 3 limits failed\n",
		"| ok | max-allocs 1,000 blocks | 119 blocks allocated, of at most 1,000 blocks |\n",
		"| **failed** | max-temporary 1 block | 90 blocks freed before the next allocation, more than 1 block |\n",
		"| failed | program | leaky: exited with code 1 |\n",
		"| 90 blocks (100.0 %) | a\\|b \\*c\\* \\`d\\` \\[click\\](http&#58;//evil) &lt;script&gt; &#64;you \\#1 |",
		"      (2 outer frames of std::thread hidden)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &b)
		}
	}
}

// TestAnnotations has the places of each failed limit, in the forms of GitHub and GitLab.
func TestAnnotations(t *testing.T) {
	p := foldedProfile()
	all := Check(p, &Limits{NoLeaks: true, MaxPeak: new(uint64(1))})
	var b bytes.Buffer
	if err := WriteAnnotations(&b, p, all, Options{Root: "/src"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := "::error file=a b/grow.cc,line=42,title=hdb assert%3A no-leaks::1.5 KiB (1500) in 3 blocks (97.9 %25) in grow(std::vector<int>&)::{lambda()#1}::operator[](int); 1.5 KiB (1532) in 5 blocks live at the end"
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) || len(lines) > maxAnnotations {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "::error file=") {
			t.Errorf("no annotation: %q", l)
		}
	}
	b.Reset()
	if err := WriteCodeQuality(&b, p, all, Options{Root: "/src"}); err != nil {
		t.Fatal(err)
	}
	var issues []struct {
		Description, Severity, Fingerprint string
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &issues); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, i := range issues {
		if i.Description == "" || i.Location.Path == "" || i.Location.Lines.Begin < 1 || i.Severity != "major" || seen[i.Fingerprint] {
			t.Errorf("%+v", i)
		}
		seen[i.Fingerprint] = true
	}
	if len(issues) < 4 {
		t.Errorf("%d issues", len(issues))
	}
}

// TestAgainst compares with an earlier recording: equal, with more, with less, and with a stack that is new.
func TestAgainst(t *testing.T) {
	check := func(now, before *Profile, tolerance float64) string {
		all := Check(now, &Limits{Against: &Earlier{Name: "base.hdb", Profile: before, Tolerance: tolerance}})
		return words(all) + "; " + all[1].Text
	}
	more, fresh := leakyProfile(), leakyProfile()
	more.Stacks[0].Live += 100
	more.Peak.Live += 100
	fresh.Frames[10].Function = "new"
	for _, tc := range []struct {
		now, before *Profile
		tolerance   float64
		want        string
	}{
		{leakyProfile(), leakyProfile(), 0, "against-peak+ against-leaks+; no stack leaves more at the end than in base.hdb, beyond --tolerance 0%"},
		{more, leakyProfile(), 0, "against-peak- against-leaks-; 100 bytes more live at the end than in base.hdb (--tolerance 0%), from 1 stack"},
		{more, leakyProfile(), 0.1, "against-peak+ against-leaks+; no stack leaves more at the end than in base.hdb, beyond --tolerance 10%"},
		{leakyProfile(), more, 0, "against-peak+ against-leaks+; no stack leaves more at the end than in base.hdb, beyond --tolerance 0%"},
		{fresh, leakyProfile(), 0, "against-peak+ against-leaks-; 24 bytes more live at the end than in base.hdb (--tolerance 0%), from 1 stack, 1 of them new"},
	} {
		if got := check(tc.now, tc.before, tc.tolerance); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
		if e := (&Earlier{Profile: tc.before}); !e.Related(tc.now) {
			t.Errorf("%s: the recordings have no stack in common", tc.want)
		}
	}
	other := leakyProfile()
	other.Stacks = other.Stacks[:1] // blocks without a stack are alike everywhere
	for i := range other.Frames {
		other.Frames[i].Function += "_of_another_program"
	}
	if e := (&Earlier{Profile: leakyProfile()}); e.Related(other) || !e.Related(&Profile{}) {
		t.Error("a program is related to another one, or not to a run without allocations")
	}
}
