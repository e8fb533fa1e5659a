package real

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestLeaksLikeCheckers compares the live blocks of real programs when the process exits with those that memcheck reports
// at the same moment, blocks and bytes by how they are held and by stack; and what is lost with LeakSanitizer's sums.
func TestLeaksLikeCheckers(t *testing.T) {
	testprogs.Tool(t, "valgrind")
	for _, p := range leakers(t) {
		if testing.Short() && !p.quick {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			home := "HOME=" + t.TempDir() // not where the program looks for files: hdb makes some
			p.Env = append(slices.Clone(p.Env), home)
			want := memcheckLeaks(t, &p)
			p.Env = underValgrind(t, &p)
			got := hdbLeaks(t, &p, "record start")
			compareLeaks(t, &p, got, want)
			compareLost(t, &p, got)
			if !p.about {
				compareWalk(t, &p, got)
			}
		})
	}
}

// compareLeaks reports where both answers differ and no exception of the program says that they do.
func compareLeaks(t *testing.T, p *leaker, got, want []lossRow) {
	t.Helper()
	if len(want) == 0 {
		t.Error("memcheck reports no block at all")
	}
	for _, kind := range []string{"definitely lost", "indirectly lost", "possibly lost", "still reachable"} {
		g, w := sumsBy(got, lossRow.kind)[kind], sumsBy(want, lossRow.kind)[kind]
		t.Logf("%s: hdb %d blocks, %d bytes, memcheck %d blocks, %d bytes", kind, g.blocks, g.bytes, w.blocks, w.bytes)
	}
	for _, e := range p.differs {
		var a, b uint64
		got, a = e.without(got)
		want, b = e.without(want)
		if a == 0 && b == 0 {
			t.Errorf("no block is excepted: %+v", e)
		}
		t.Logf("%d blocks of hdb and %d of memcheck are not compared: %s", a, b, e.why)
	}
	if p.about {
		nearly(t, sumsBy(got, lossRow.kind), sumsBy(want, lossRow.kind))
		return
	}
	if p.joined {
		got, want = heldAtAll(got), heldAtAll(want)
	}
	different(t, sumsBy(got, lossRow.kind), sumsBy(want, lossRow.kind))
	if !p.noStacks {
		byLines(t, got, want, cmp.Or(p.calls, 6))
	}
}

// byLines compares rows by their calls. Of those that differ hdb may have taken some for one: calls at different addresses of one
// line. They are compared by their modules.
func byLines(t *testing.T, got, want []lossRow, calls int) {
	t.Helper()
	at := func(r lossRow) string { return r.at(calls) }
	g, w := sumsBy(got, at), sumsBy(want, at)
	same := func(r lossRow) bool { return g[at(r)] == w[at(r)] }
	modules := func(r lossRow) string {
		text := r.reach
		for _, f := range r.frames[:min(calls, len(r.frames))] {
			text += " " + f.module
		}
		return text
	}
	got, want = slices.DeleteFunc(slices.Clone(got), same), slices.DeleteFunc(slices.Clone(want), same)
	if len(got) > len(want) {
		t.Errorf("hdb tells %d stacks apart that memcheck does not, of %d", len(got), len(want))
	}
	different(t, sumsBy(got, modules), sumsBy(want, modules))
}

// heldAtAll are the rows without the difference between still reachable and possibly lost.
func heldAtAll(rows []lossRow) []lossRow {
	rows = slices.Clone(rows)
	for i, r := range rows {
		if r.reach == "possibly lost" || r.reach == "still reachable" {
			rows[i].reach = "held"
		}
	}
	return rows
}

// nearly wants sums that differ by no more than a hundredth.
func nearly(t *testing.T, got, want map[string]lossSum) {
	t.Helper()
	for key := range union(got, want) {
		g, w := got[key], want[key]
		if max(g.blocks, w.blocks)-min(g.blocks, w.blocks) > w.blocks/100 || max(g.bytes, w.bytes)-min(g.bytes, w.bytes) > w.bytes/100 {
			t.Errorf("%s: hdb says %v blocks and bytes, memcheck %v", key, g, w)
		}
	}
}

func different(t *testing.T, got, want map[string]lossSum) {
	t.Helper()
	shown := 0
	for _, key := range slices.Sorted(maps.Keys(union(got, want))) {
		if got[key] != want[key] {
			if shown++; shown > 20 {
				t.Error("and more")
				return
			}
			t.Errorf("%s: hdb says %v blocks and bytes, memcheck %v", key, got[key], want[key])
		}
	}
}

func union(a, b map[string]lossSum) map[string]lossSum {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// A lossRow is some blocks that are held in the same way and were allocated by the same stack.
type lossRow struct {
	reach string
	lossSum
	frames []lossFrame // innermost first, without the allocator
}

type lossSum struct{ blocks, bytes uint64 }

// A lossFrame is a call on a stack. Names depend on which symbol of an address a tool takes: they are for exceptions and messages.
type lossFrame struct {
	module, name string
	call         uint64 // address in the module's file of the last byte of the call; 0 if no module is known
}

func (r lossRow) kind() string { return r.reach }

// at tells how the blocks are held, and their stack by its innermost calls. Not by all: the tools give up at different
// frames of a stack whose end they cannot see.
func (r lossRow) at(calls int) string {
	b := new(strings.Builder)
	b.WriteString(r.reach)
	for i, f := range r.frames {
		if i == calls || f.module == "" {
			break
		}
		fmt.Fprintf(b, " %s+%#x", f.module, f.call)
	}
	return b.String()
}

func sumsBy(rows []lossRow, key func(lossRow) string) map[string]lossSum {
	sums := map[string]lossSum{}
	for _, r := range rows {
		s := sums[key(r)]
		s.blocks += r.blocks
		s.bytes += r.bytes
		sums[key(r)] = s
	}
	return sums
}

// without are the rows that are not excepted, and how many blocks the others have.
func (e exception) without(rows []lossRow) (rest []lossRow, blocks uint64) {
	for _, r := range rows {
		fits := e.size == 0 || r.bytes == e.size*r.blocks
		if fits && slices.ContainsFunc(r.frames, func(f lossFrame) bool { return strings.HasPrefix(f.name, e.in) }) {
			blocks += r.blocks
		} else {
			rest = append(rest, r)
		}
	}
	return rest, blocks
}

// underValgrind is the environment that valgrind gives the program: many keep copies of it.
func underValgrind(t *testing.T, p *leaker) []string {
	t.Helper()
	cmd := exec.Command("valgrind", "-q", "/usr/bin/env")
	cmd.Env, cmd.Dir = p.Env, p.Dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

var (
	reading  = regexp.MustCompile(`Reading syms from (\S+)\n--\d+-- +svma 0x([0-9a-f]+), avma 0x([0-9a-f]+)`)
	directly = regexp.MustCompile(`\(([\d,]+) direct,`)
)

// memcheckLeaks runs the program under memcheck. __libc_freeres and the like of C++, which it calls at the end, are left out.
func memcheckLeaks(t *testing.T, p *leaker) []lossRow {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	dir := t.TempDir()
	report, log := filepath.Join(dir, "xml"), filepath.Join(dir, "log")
	args := []string{"--leak-check=full", "--show-leak-kinds=all", "--leak-check-heuristics=all", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--undef-value-errors=no",
		"--num-callers=12", "--read-inline-info=no", "--show-below-main=yes", "--xml=yes", "--xml-file=" + report, "-v", "-v", "--log-file=" + log, p.Path}
	cmd := exec.CommandContext(ctx, "valgrind", append(args, p.Args...)...)
	cmd.Env, cmd.Dir = p.Env, p.Dir
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != p.status {
		t.Fatalf("%v: %v\n%.2000s", cmd, err, out)
	}
	bias := map[string]uint64{}
	for _, m := range reading.FindAllStringSubmatch(read(t, log), -1) {
		bias[m[1]] = number(t, m[3], 16) - number(t, m[2], 16)
	}
	var x struct {
		Errors []struct {
			Kind string `xml:"kind"`
			What struct {
				Text   string `xml:"text"`
				Bytes  uint64 `xml:"leakedbytes"`
				Blocks uint64 `xml:"leakedblocks"`
			} `xml:"xwhat"`
			Frames []struct {
				IP  string `xml:"ip"`
				Obj string `xml:"obj"`
				Fn  string `xml:"fn"`
			} `xml:"stack>frame"`
		} `xml:"error"`
	}
	if err := xml.Unmarshal([]byte(read(t, report)), &x); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"Leak_DefinitelyLost": "definitely lost", "Leak_IndirectlyLost": "indirectly lost", "Leak_PossiblyLost": "possibly lost", "Leak_StillReachable": "still reachable"}
	var rows []lossRow
	for _, e := range x.Errors {
		if kinds[e.Kind] == "" {
			continue // no report of a leak
		}
		r := lossRow{reach: kinds[e.Kind], lossSum: lossSum{e.What.Blocks, e.What.Bytes}}
		if m := directly.FindStringSubmatch(e.What.Text); m != nil { // else Bytes is with what is lost with it
			r.bytes = number(t, strings.ReplaceAll(m[1], ",", ""), 10)
		}
		for _, f := range e.Frames {
			from, known := bias[f.Obj]
			switch {
			case strings.Contains(f.Obj, "vgpreload"): // the allocator, and wrappers of other functions
			case !known:
				r.frames = append(r.frames, lossFrame{name: f.Fn})
			default:
				r.frames = append(r.frames, lossFrame{filepath.Base(f.Obj), f.Fn, number(t, strings.TrimPrefix(f.IP, "0x"), 16) - from})
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// hdbLeaks asks hdb at the system call by which the process exits, where memcheck looks, too.
func hdbLeaks(t *testing.T, p *leaker, first ...string) []lossRow {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	args := []string{"--json", "-nx", "-q", "-batch"}
	for _, c := range append(first, "set python-frames native", "catch syscall exit_group", "run", "leaks 1000000 --all --strict", "info sharedlibrary", "kill") {
		args = append(args, "-ex", c)
	}
	cmd := exec.CommandContext(ctx, testprogs.HDB(t), append(append(args, "--args", p.Path), p.Args...)...)
	cmd.Env, cmd.Dir = p.Env, p.Dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var leaks struct {
		Rows []struct {
			Reach  string
			Blocks uint64 `json:"live_blocks"`
			Bytes  uint64 `json:"live_bytes"`
			Frames []struct {
				PC, Function, Module string
				Inlined              bool
			}
		}
	}
	var loaded struct{ Modules []struct{ Path, Bias string } }
	answer(t, out, "leaks", &leaks)
	answer(t, out, "info sharedlibrary", &loaded)
	bias := map[string]uint64{}
	for _, m := range loaded.Modules {
		bias[filepath.Base(m.Path)] = number(t, strings.TrimPrefix(m.Bias, "0x"), 16)
	}
	var rows []lossRow
	for _, l := range leaks.Rows {
		r := lossRow{reach: l.Reach, lossSum: lossSum{l.Blocks, l.Bytes}}
		for _, f := range l.Frames {
			if f.Inlined {
				continue
			}
			from, known := bias[f.Module]
			if !known {
				r.frames = append(r.frames, lossFrame{name: f.Function})
				continue
			}
			r.frames = append(r.frames, lossFrame{f.Module, f.Function, number(t, strings.TrimPrefix(f.PC, "0x"), 16) - 1 - from})
		}
		rows = append(rows, r)
	}
	return rows
}

// compareLost compares the sums of what is lost with LeakSanitizer's. Which of them are lost indirectly it tells otherwise.
func compareLost(t *testing.T, p *leaker, rows []lossRow) {
	t.Helper()
	if p.noLSan != "" {
		t.Logf("LeakSanitizer is not compared: %s", p.noLSan)
		return
	}
	for _, e := range p.lsanHolds {
		var n uint64
		if rows, n = e.without(rows); n == 0 {
			t.Errorf("no block is excepted: %+v", e)
		}
		t.Logf("%d blocks are not compared with LeakSanitizer: %s", n, e.why)
	}
	var got lossSum
	for _, r := range rows {
		if r.reach == "definitely lost" || r.reach == "indirectly lost" {
			got.blocks += r.blocks
			got.bytes += r.bytes
		}
	}
	want := lsanLost(t, p)
	t.Logf("lost: LeakSanitizer %d blocks, %d bytes", want.blocks, want.bytes)
	if got != want {
		t.Errorf("lost: hdb says %v blocks and bytes, LeakSanitizer %v", got, want)
	}
}

// compareWalk compares with the blocks that hdb finds in the heap without a recording, how many are held in each way.
func compareWalk(t *testing.T, p *leaker, recorded []lossRow) {
	t.Helper()
	walked := hdbLeaks(t, p)
	if p.sized {
		recorded, walked = heldAtAll(recorded), heldAtAll(walked)
	}
	want, got := sumsBy(recorded, lossRow.kind), sumsBy(walked, lossRow.kind)
	for kind := range union(want, got) {
		if got[kind].blocks != want[kind].blocks || got[kind].bytes < want[kind].bytes {
			t.Errorf("%s: without a recording %v blocks and bytes, with one %v", kind, got[kind], want[kind])
		}
	}
}

// The function signal of gcc's liblsan.so calls address 0 where the library was loaded by LD_PRELOAD.
const ownSignal = `
#define _GNU_SOURCE
#include <signal.h>
sighandler_t signal(int n, sighandler_t h) { return ssignal(n, h); }
`

var leakOf = regexp.MustCompile(`(?m)^(?:Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object`)

// lsanLost runs the program with LeakSanitizer's library, which looks when exit is nearly through.
func lsanLost(t *testing.T, p *leaker) (lost lossSum) {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	dir := t.TempDir()
	source, own := filepath.Join(dir, "own.c"), filepath.Join(dir, "own.so")
	if err := os.WriteFile(source, []byte(ownSignal), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, testprogs.Tool(t, "gcc"), "-shared", "-fPIC", "-o", own, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = append(slices.Clone(p.Env), "LD_PRELOAD="+own+":"+gccSays(t, "-print-file-name=liblsan.so"), "LSAN_OPTIONS=exitcode=0:log_threads=1:log_path="+filepath.Join(dir, "log"))
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != p.status {
		t.Fatalf("%v: %v\n%.2000s", cmd, err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("LeakSanitizer has not looked: %v", err)
	}
	for _, log := range logs {
		for _, m := range leakOf.FindAllStringSubmatch(read(t, log), -1) {
			lost.bytes += number(t, m[1], 10)
			lost.blocks += number(t, m[2], 10)
		}
	}
	return lost
}

// answer decodes what a command printed, among what the program did.
func answer(t *testing.T, out []byte, command string, to any) {
	t.Helper()
	head := fmt.Appendf(nil, `{"v":1,"command":%q,`, command)
	i := bytes.LastIndex(out, head)
	if i < 0 {
		t.Fatalf("no answer to %s:\n%.3000s", command, out)
	}
	if err := json.NewDecoder(bytes.NewReader(out[i:])).Decode(to); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func number(t *testing.T, s string, base int) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
