package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"hdb/console/allocs"
	"hdb/query"
	"hdb/report"
	"hdb/session"
	"hdb/session/target"
	"hdb/testprogs"
)

// exported are the profile of a recorded program and what hdb export makes of it.
type exported struct {
	t       *testing.T
	profile *report.Profile
	capture string
	flags   []string
}

func recordToExport(t *testing.T, words ...string) exported {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	x := exported{t: t, capture: filepath.Join(t.TempDir(), "x.hdb")}
	var out, errw bytes.Buffer
	if code := run(append([]string{"record", "-q", "-o", x.capture}, words...), os.Stdin, &out, &errw); code != 0 {
		t.Fatalf("hdb record %v: exit %d: %s", words, code, &errw)
	}
	s := session.New(target.Config{})
	defer s.Close()
	if _, err := s.Captures.Open(x.capture); err != nil {
		t.Fatal(err)
	}
	p, err := s.Queries.Profile(query.ProfileParts{})
	if err != nil {
		t.Fatal(err)
	}
	x.profile = p
	return x
}

// as is the capture in a format.
func (x exported) as(words ...string) []byte {
	x.t.Helper()
	var out, errw bytes.Buffer
	if code := run(slices.Concat([]string{"export", "-o", "-"}, x.flags, words, []string{x.capture}), os.Stdin, &out, &errw); code != 0 {
		x.t.Fatalf("hdb export %v: exit %d: %s", words, code, &errw)
	}
	return out.Bytes()
}

// TestExportNumbers has the totals of each format equal those of the profile, for
// programs with all that makes counting hard: inlined functions, threads, blocks
// that move, another program in the same process.
func TestExportNumbers(t *testing.T) {
	for _, words := range [][]string{
		{testprogs.Build(t, "inlined")}, {testprogs.Build(t, "threads"), "4", "2", "30"},
		{testprogs.Build(t, "realloc")}, {testprogs.Build(t, "exec"), "again"}, {testprogs.Build(t, "demo")},
	} {
		t.Run(filepath.Base(words[0]), func(t *testing.T) {
			x := recordToExport(t, words...)
			x.checkDHAT()
			for _, x.flags = range [][]string{nil, {"--threads"}} {
				x.checkPprof()
				x.checkFirefox()
				x.checkSpeedscope()
				x.checkCollapsed()
				x.checkMassif()
			}
		})
	}
}

// checkMassif has the tree of the peak add up to it.
func (x exported) checkMassif() {
	x.t.Helper()
	text := string(x.as("massif"))
	peak, last := strconv.FormatUint(x.profile.Peak.Live, 10), strconv.FormatUint(x.profile.Moment.Live, 10)
	heaps := regexp.MustCompile(`mem_heap_B=([0-9]+)\n`).FindAllStringSubmatch(text, -1)
	if tree := regexp.MustCompile(`mem_heap_B=` + peak + `\n.*\n.*\nheap_tree=peak\nn[0-9]+: ` + peak + ` `); !tree.MatchString(text) || heaps[len(heaps)-1][1] != last {
		x.t.Errorf("massif has no peak of %s bytes, or not %s at the end:\n%.2000s", peak, last, text)
	}
	_, tree, _ := strings.Cut(text, "heap_tree=peak\n")
	tree, _, _ = strings.Cut(tree, "#--")
	sum := uint64(0)
	for _, m := range regexp.MustCompile(`(?m)^ n[0-9]+: ([0-9]+) `).FindAllStringSubmatch(tree, -1) {
		n, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			x.t.Fatal(err)
		}
		sum += n
	}
	if sum != x.profile.Peak.Live {
		x.t.Errorf("the nodes of massif's peak have %d bytes of %s", sum, peak)
	}
}

func (x exported) checkCollapsed() {
	x.t.Helper()
	lines := regexp.MustCompile(` ([0-9]+)\n`).FindAllSubmatch(x.as("collapsed", "--measure", "bytes"), -1)
	sum := uint64(0)
	for _, l := range lines {
		n, err := strconv.ParseUint(string(l[1]), 10, 64)
		if err != nil {
			x.t.Fatal(err)
		}
		sum += n
	}
	if total := x.profile.Total(); sum != total.Bytes || sum == 0 {
		x.t.Errorf("collapsed stacks %v have %d bytes, the profile %d", x.flags, sum, total.Bytes)
	}
}

// TestExportThreads has pprof tell what each thread allocated, by name and by TID, and
// others by the outermost frame.
func TestExportThreads(t *testing.T) {
	x := recordToExport(t, testprogs.Build(t, "workers"))
	path := filepath.Join(t.TempDir(), "x.pb.gz")
	if err := os.WriteFile(path, x.as("pprof", "--threads"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(x.as("pprof", "--threads"))
	if err != nil {
		t.Fatal(err)
	}
	tid := int64(0)
	for _, s := range p.Sample {
		if slices.Contains(s.Label["thread"], "writer") {
			tid = s.NumLabel["tid"][0]
		}
	}
	for focus, want := range map[string]string{"thread=reader": " 64000B ", fmt.Sprintf("tid=%d", tid): " 23000B "} {
		out, err := exec.Command("go", "tool", "pprof", "-symbolize=none", "-unit=B", "-sample_index=alloc_space", "-top", "-tagfocus="+focus, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", focus, err, out)
		}
		if !regexp.MustCompile(want + ".* fetch\n").Match(out) {
			t.Errorf("%s: no%sof fetch:\n%s", focus, want, out)
		}
	}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--threads"}, `(?m)^\[reader \(\d+\)\];.*;fetch 64000$`}, {[]string{"--thread", "writer"}, `\A[^[].*;fetch 23000\n\z`},
		{[]string{"--thread", strconv.FormatInt(tid, 10)}, `\A[^[].*;fetch 23000\n\z`}, {[]string{"--threads", "--thread=writer"}, `\A\[writer \(\d+\)\];.*;fetch 23000\n\z`},
	} {
		if got := x.as(append([]string{"collapsed", "--measure", "bytes"}, c.flags...)...); !regexp.MustCompile(c.want).Match(got) {
			t.Errorf("%v:\n%s\nis not %s", c.flags, got, c.want)
		}
	}
}

func (x exported) checkPprof() {
	x.t.Helper()
	p, err := profile.ParseData(x.as("pprof"))
	if err != nil {
		x.t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		x.t.Error(err)
	}
	var sums [4]int64
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	total := x.profile.Total()
	if want := [4]int64{int64(total.Allocs), int64(total.Bytes), int64(total.LiveBlocks), int64(total.Live)}; sums != want {
		x.t.Errorf("pprof has %v, the profile %v", sums, want)
	}
	if m := p.Mapping[0]; m.File != x.profile.Program || m.BuildID == "" || m.Offset == 0 {
		x.t.Errorf("the first mapping is %+v", m)
	}
}

func (x exported) checkDHAT() {
	x.t.Helper()
	var file struct {
		Lifetimes bool  `json:"bklt"`
		End       int64 `json:"te"`
		Points    []struct {
			TB, TBK, TL, MB, MBK, GB, GBK, EB, EBK uint64
		} `json:"pps"`
	}
	if err := json.Unmarshal(x.as("dhat"), &file); err != nil {
		x.t.Fatal(err)
	}
	var got report.Numbers
	for _, p := range file.Points {
		got.Add(report.Numbers{Bytes: p.TB, Allocs: p.TBK, Peak: p.GB, PeakBlocks: p.GBK, Live: p.EB, LiveBlocks: p.EBK})
		if p.MB < p.GB || p.MB < p.EB || p.MB > p.TB || p.MBK > p.TBK || p.TL > p.TBK*uint64(file.End) {
			x.t.Errorf("point %+v", p)
		}
	}
	want := x.profile.Total()
	want.Temporary = 0
	if got != want || !file.Lifetimes {
		x.t.Errorf("dhat has %+v with lifetimes %v, the profile %+v", got, file.Lifetimes, want)
	}
}

func (x exported) checkFirefox() {
	x.t.Helper()
	var file struct {
		Threads []struct {
			Name    string
			Samples struct{ Weight []uint64 }
			Native  *struct{ Weight []int64 } `json:"nativeAllocations"`
		}
	}
	if err := json.Unmarshal(x.as("firefox"), &file); err != nil {
		x.t.Fatal(err)
	}
	left := int64(0)
	for _, w := range file.Threads[0].Native.Weight {
		left += w
	}
	total := x.profile.Total()
	if uint64(left) != total.Live {
		x.t.Errorf("the allocations of firefox leave %d bytes, the profile has %d", left, total.Live)
	}
	for i, th := range file.Threads[1:] {
		sum := uint64(0)
		for _, w := range th.Samples.Weight {
			sum += w
		}
		if want := report.Measure(i).Of(total); sum != want {
			x.t.Errorf("thread %s of firefox has %d, the profile %d", th.Name, sum, want)
		}
	}
}

func (x exported) checkSpeedscope() {
	x.t.Helper()
	var file struct {
		Profiles []struct {
			Name     string
			EndValue uint64
		}
	}
	if err := json.Unmarshal(x.as("speedscope"), &file); err != nil {
		x.t.Fatal(err)
	}
	for i, p := range file.Profiles {
		if want := report.Measure(i).Of(x.profile.Total()); p.EndValue != want {
			x.t.Errorf("profile %s of speedscope has %d, not %d", p.Name, p.EndValue, want)
		}
	}
}

// TestExportedInstructions has pprof find the program's code in its file, which
// takes mappings that are right to the byte, and the lines of its source.
func TestExportedInstructions(t *testing.T) {
	for _, flags := range [][]string{nil, {"-fuse-ld=lld"}, {"-no-pie"}, {"-static"}} {
		x := recordToExport(t, testprogs.Build(t, "inlined", flags...))
		path := filepath.Join(t.TempDir(), "x.pb.gz")
		if err := os.WriteFile(path, x.as("pprof"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, view := range []string{"-disasm=other_place", "-list=other_place"} {
			out, err := exec.Command("go", "tool", "pprof", "-symbolize=none", "-sample_index=alloc_space", view, path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v %s: %v\n%s", flags, view, err, out)
			}
			if want := "1011B"; !strings.Contains(string(out), want) {
				t.Errorf("%v: %s lacks %q:\n%s", flags, view, want, out)
			}
		}
	}
}

// TestExportKeepsFiles has files replaced only where that was asked for, and none
// appear when nothing could be written.
func TestExportKeepsFiles(t *testing.T) {
	x := recordToExport(t, testprogs.Build(t, "inlined"))
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	export := func(code int, want string, words ...string) {
		t.Helper()
		var out, errw bytes.Buffer
		if got := run(append([]string{"export"}, words...), os.Stdin, &out, &errw); got != code || !strings.Contains(errw.String(), want) {
			t.Errorf("%v: exit %d, %q; want %d, %q", words, got, errw.String(), code, want)
		}
	}
	if err := os.WriteFile(path, []byte("mine"), 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	export(1, "a.json: exists already: --force replaces it", "dhat", x.capture, "-o", path)
	export(1, "link.json: exists already", "dhat", x.capture, "-o", link)
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
	export(0, "exported", "dhat", x.capture, "--force", "-o", link)
	text, err := os.ReadFile(path)
	if st, serr := os.Lstat(link); err != nil || serr != nil || !bytes.HasPrefix(text, []byte(`{"dhatFileVersion":2`)) || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%.30q, %v, %v", text, err, serr)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st, err)
	}
	export(1, "no such file or directory", "dhat", x.capture, "-o", filepath.Join(dir, "no", "a.json"))
	export(1, "is a directory", "dhat", x.capture, "-o", dir)
	export(4, "no such file", "dhat", filepath.Join(dir, "none.hdb"), "-o", filepath.Join(dir, "none.json"))
	export(2, "one capture must follow", "dhat")
	export(2, "no such flag", "dhat", "--all", x.capture)
	export(0, "x.collapsed", "collapsed", x.capture, "--measure=peak")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	// A capture that was cut short is told as that, and exported as far as it goes.
	whole, err := os.ReadFile(x.capture)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.hdb")
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	if run([]string{"export", "collapsed", "-o", "-", cut}, os.Stdin, &out, &errw); errw.Len() == 0 {
		t.Errorf("nothing is said of half a capture: %q", out.String())
	}
}

// TestExportInterrupted leaves no file behind.
func TestExportInterrupted(t *testing.T) {
	x := recordToExport(t, testprogs.Build(t, "inlined"))
	s := session.New(target.Config{})
	defer s.Close()
	if _, err := s.Captures.Open(x.capture); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, f := range report.Formats() {
		if f.Tables != nil {
			continue
		}
		e, _, err := allocs.ParseExport([]string{f.Name, "-o", filepath.Join(t.TempDir(), "x")})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(ctx, s, nil); err == nil {
			t.Errorf("%s: not interrupted", f.Name)
		}
		if _, err := os.Stat(e.File); err == nil {
			t.Errorf("%s: a file is left", f.Name)
		}
	}
}
