package golang

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestHeap compares what hdb says of the blocks of a Go program, without a recording, with what the
// program knows of them: how each is held and by which words, and how many there are.
func TestHeap(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			forms := [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}}
			if testing.Short() && toolchain != "local" {
				forms = forms[:2] // the third has the whole library compiled anew
			}
			for _, flags := range forms {
				t.Run(strings.Join(flags, ""), func(t *testing.T) { compareHeap(t, build(t, "heap", toolchain, flags...), len(flags) == 0) })
			}
		})
	}
}

// TestHeapWithoutQueue has a program whose queue of finalizers is not found: that is said once, and all else of the
// heap is told.
func TestHeapWithoutQueue(t *testing.T) {
	path := build(t, "idle", "local")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runtime.allfin\x00", "runtime.queuefinalizer\x00"} { // nor by the code that uses it
		text = bytes.ReplaceAll(text, []byte(name), []byte(strings.Replace(name, "fin", "fun", 1)))
	}
	if err := os.WriteFile(path, text, 0o777); err != nil {
		t.Fatal(err)
	}
	p := start(t, path)
	p.waits(t)
	c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
	c.want("leaks", "heap of Go: runtime.allfin: not in the symbol table", "blocks live, which is not yet collected", "reachable")
	if text := c.want("leaks", "reachable"); strings.Contains(text, "allfin") {
		t.Errorf("the missing variable was told again:\n%s", text)
	}
	c.quit()
	p.end(t)
}

// TestHeapOfC compares what hdb says of blocks of C and of Go that hold each other with what the program says.
func TestHeapOfC(t *testing.T) {
	program := build(t, "heapofc", "local")
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "GODEBUG=cgocheck=0")
	said, end := saidBy(t, cmd)
	defer end()
	var asked strings.Builder
	for _, l := range said {
		if to := l.target(); to != "" {
			fmt.Fprintf(&asked, "refs %s\n", to)
		}
	}
	answers := answersOf(t, asked.String(), "-p", fmt.Sprint(cmd.Process.Pid))
	if len(answers) != 6 {
		t.Fatalf("%d answers: %s", len(answers), answers)
	}
	for i, raw := range answers {
		var a refsAnswer
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		args := said[i].args
		if want := strings.ReplaceAll(args[len(args)-2], "-", " "); a.Reach != want {
			t.Errorf("%v: %s", args, raw)
		}
	}
}

// A heapLine is a line that the program has said.
type heapLine struct {
	what string // block, edge, global, stack, live
	args []string
}

// compareHeap runs the program until it says what is live, and asks hdb, of the process and of a core file of it.
func compareHeap(t *testing.T, program string, symbols bool) {
	cmd := exec.Command(program)
	said, end := saidBy(t, cmd)
	defer end()
	var asked strings.Builder
	for _, l := range said {
		if to := l.target(); to != "" {
			fmt.Fprintf(&asked, "refs %s all\n", to)
		}
	}
	asked.WriteString("leaks 1000\n") // which finds all types: behind what has to find them itself
	core := filepath.Join(t.TempDir(), "core")
	compareSaid(t, said, answersOf(t, asked.String()+"gcore "+core+"\n", "-p", fmt.Sprint(cmd.Process.Pid)), symbols)
	cmd.Process.Kill()
	compareSaid(t, said, answersOf(t, asked.String(), "core", program, core), symbols)
}

// saidBy starts a program, and returns what it says until it waits. end ends it.
func saidBy(t *testing.T, cmd *exec.Cmd) (said []heapLine, end func()) {
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewScanner(out); r.Scan(); {
		what, args, _ := strings.Cut(r.Text(), " ")
		said = append(said, heapLine{what, strings.Fields(args)})
		if what == "live" {
			break
		}
	}
	return said, func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// target is the address of the block that a line is about, "" of none.
func (l *heapLine) target() string {
	switch l.what {
	case "block":
		return l.args[len(l.args)-3]
	case "edge", "global":
		return l.args[1]
	case "stack", "member":
		return l.args[0]
	}
	return ""
}

// A refsAnswer is the answer of refs.
type refsAnswer struct {
	Block   string `json:"block"`
	Reach   string `json:"reach"`
	Type    string `json:"type"`
	Total   int    `json:"total"`
	Holders []struct {
		Kind  string `json:"kind"`
		Name  string `json:"name"`
		Block *struct {
			Block string `json:"block"`
		} `json:"in_block"`
	} `json:"holders"`
}

// answersOf types commands at hdb's console, and returns what it prints of them.
func answersOf(t *testing.T, commands string, args ...string) (all []json.RawMessage) {
	t.Helper()
	ask := exec.Command(testprogs.HDB(t), append(args, "-q", "--json")...)
	ask.Stdin = strings.NewReader(commands)
	var failed strings.Builder
	ask.Stderr = &failed
	b, err := ask.Output()
	if err != nil {
		t.Fatalf("hdb: %v\n%s\n%s", err, b, &failed)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, `"command":"gcore"`) {
			continue
		}
		if strings.Contains(line, `"command":"refs"`) || strings.Contains(line, `"command":"leaks"`) || strings.Contains(line, `"error"`) {
			all = append(all, json.RawMessage(line))
		}
	}
	return all
}

func compareSaid(t *testing.T, said []heapLine, answers []json.RawMessage, symbols bool) {
	var leaks struct {
		Blocks  uint64 `json:"collected_live_blocks"`
		Bytes   uint64 `json:"collected_live_bytes"`
		Garbage int    `json:"collected_garbage_blocks"`
		Rows    []struct {
			Type   string
			Slot   uint64 `json:"slot_bytes"`
			Blocks uint64 `json:"live_blocks"`
		} `json:"collected_rows"`
	}
	asked := 1
	for _, l := range said {
		if l.target() != "" {
			asked++
		}
	}
	if len(answers) != asked || asked < 100 {
		t.Fatalf("%d answers, of %d questions: %s", len(answers), asked, answers[max(len(answers)-1, 0):])
	}
	if err := json.Unmarshal(answers[len(answers)-1], &leaks); err != nil {
		t.Fatal(err)
	}
	for _, l := range said {
		if l.what == "live" {
			if got := []string{fmt.Sprint(leaks.Blocks), fmt.Sprint(leaks.Bytes)}; got[0] != l.args[0] || got[1] != l.args[1] {
				t.Errorf("live are %v blocks and bytes, the runtime has counted %v", got, l.args)
			}
			continue
		}
		if l.target() == "" {
			continue
		}
		var a refsAnswer
		if err := json.Unmarshal(answers[0], &a); err != nil {
			t.Fatalf("%v: %v: %s", l, err, answers[0])
		}
		if why := l.compare(&a, symbols); why != "" {
			t.Errorf("%s %v: %s: %s", l.what, l.args, why, answers[0])
		}
		answers = answers[1:]
	}
	blocks, seen := uint64(0), map[string]bool{}
	for _, r := range leaks.Rows {
		blocks += r.Blocks
		key := fmt.Sprint(r.Type, " ", r.Slot)
		if seen[key] {
			t.Errorf("leaks has two rows of %q", key)
		}
		seen[key] = true
	}
	if blocks != leaks.Blocks {
		t.Errorf("the rows of leaks have %d blocks of %d", blocks, leaks.Blocks)
	}
	if leaks.Garbage < 14 {
		t.Errorf("%d blocks of garbage", leaks.Garbage)
	}
}

// compare tells what an answer should not say.
func (l *heapLine) compare(a *refsAnswer, symbols bool) string {
	has := func(kind, name string) bool {
		for _, h := range a.Holders {
			if h.Kind != kind {
				continue
			}
			if kind == "block" && h.Block.Block == name || kind == "global" && (ofVariable(h.Name, name) || !symbols && h.Name == "") || kind == "goroutine" {
				return true
			}
		}
		return false
	}
	switch l.what {
	case "block": // the program counts the words in blocks and variables
		n := len(l.args)
		if a.Reach != l.args[n-2] {
			return "it is not " + l.args[n-2]
		}
		total := a.Total
		for _, h := range a.Holders {
			if h.Kind == "goroutine" { // a slot that is not used any more may have what lay there before
				total--
			}
		}
		if words := l.args[n-1]; words != "0" && words != fmt.Sprint(total) || words == "0" && a.Reach == "garbage" && total != 0 {
			return words + " words point to it"
		}
	case "edge":
		if !has("block", l.args[0]) {
			return "the block is not among the holders"
		}
	case "global":
		if !has("global", l.args[0]) {
			return "the variable is not among the holders"
		}
	case "member":
		for _, h := range a.Holders {
			if l.args[1] != "-" && h.Kind == "block" && h.Name != l.args[1] && (symbols || h.Name != "") {
				return "its member is not told"
			}
		}
		if a.Type != l.args[2] && (symbols || a.Type != "") {
			return "its type is not told"
		}
	case "stack":
		if a.Reach != "reachable" || !has("goroutine", "") {
			return "no goroutine holds it"
		}
	}
	return ""
}

// ofVariable tells that a place has the name of a variable, or of what is in it.
func ofVariable(place, name string) bool {
	rest, ok := strings.CutPrefix(place, name)
	return ok && (rest == "" || strings.ContainsRune(".[+", rune(rest[0])))
}
