package golang

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// buildCgo builds the program of Go and C in testdata with a toolchain.
func buildCgo(t *testing.T, toolchain string, flags ...string) string {
	t.Helper()
	testprogs.Tool(t, "gcc")
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join("testdata", "cgo", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Go 1.19 looks for a module without a dot in its path in GOROOT, if that lies in the module cache.
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module test.example/program\n\ngo 1.18\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testprogs.Tool(t, "go"), append(append([]string{"build", "-o", "program"}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1", testprogs.EagerGo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build with %s %v: %v\n%s", toolchain, flags, err, out)
	}
	return filepath.Join(dir, "program")
}

// jsonFrame is a frame as bt has it.
type jsonFrame struct {
	Function string
	Found    string
	Guess    bool
}

// stackOf is a stack as bt has it.
type stackOf struct {
	Command   string
	Frames    []jsonFrame
	Truncated string
}

// backtraces asks for the stacks of events.
func backtraces(t *testing.T, path string, events []uint64) []stackOf {
	t.Helper()
	var script strings.Builder
	for _, seq := range events {
		fmt.Fprintf(&script, "goto #%d\nbt\n", seq)
	}
	cmd := exec.Command(testprogs.HDB(t), "--json", "-q", path)
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return stacksIn(t, out)
}

// stacksIn are the answers of bt.
func stacksIn(t *testing.T, out []byte) (list []stackOf) {
	t.Helper()
	for line := range bytes.Lines(out) {
		var st stackOf
		if json.Unmarshal(line, &st) == nil && st.Command == "bt" {
			list = append(list, st)
		}
	}
	return list
}

// between are functions between those that the program notes: where Go calls C and C calls Go
// stubs that the cgo tool makes, and the runtime's; parts of those that it notes.
var between = regexp.MustCompile(`^(_cgo.*|main\._Cfunc_.*|crosscall2|runtime\.(cgocall|asmcgocall|cgocallback|cgocallbackg|cgocallbackg1)(\.abi0)?|next|main\.next(\.func\d+)?|main\.play\.(gowrap|func)\d+|main\.play·dwrap·\d+)$`)

// nameless stands for a function without a name.
const nameless = "?"

// chainOf is the part of a stack that the program knows of, and what is behind it.
func chainOf(st stackOf) (chain []string, rest []string) {
	for _, f := range st.Frames {
		switch name := f.Function; {
		case len(rest) > 0:
			rest = append(rest, name)
		case between.MatchString(name):
		case name == "":
			chain = append(chain, nameless)
		case strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "c_") || strings.HasPrefix(name, "go_"):
			chain = append(chain, name)
		case len(chain) > 0:
			rest = append(rest, name)
		default: // of the allocation itself
		}
	}
	return chain, rest
}

// checkChain compares a stack with what the program says of it.
func checkChain(t *testing.T, st stackOf, want []string, stripped bool) {
	t.Helper()
	got, rest := chainOf(st)
	same := slices.EqualFunc(got, want, func(got, want string) bool {
		return got == want || stripped && got == nameless && (strings.HasPrefix(want, "c_") || strings.HasPrefix(want, "go_"))
	})
	ofGoroutine := want[len(want)-1] == "main.work"
	bad := st.Truncated != "" || !same
	switch {
	case ofGoroutine:
		bad = bad || strings.Join(rest, " ") != "runtime.goexit main.play"
	default:
		bad = bad || len(rest) == 0 || strings.Contains(strings.Join(rest, " "), "main.")
	}
	for _, f := range st.Frames {
		bad = bad || f.Guess
	}
	if bad {
		t.Errorf("the program has called\n\t%v\nthe stack is\n\t%v\nand behind it\n\t%v %s\n%v", want, got, rest, st.Truncated, st.Frames)
	}
}

// said reads what the program says: the functions of each chain by the size of its block.
func said(t *testing.T, out string) map[uint64][]string {
	t.Helper()
	all := map[uint64][]string{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		n, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all[n] = words[1:]
	}
	if len(all) < 60 {
		t.Fatalf("the program said %s", out)
	}
	return all
}

// TestCgoStacks compares the stacks of allocations of C and of Go, made behind calls from one to
// the other and back, in goroutines and on threads of C, with what the program knows of them.
func TestCgoStacks(t *testing.T) {
	for _, toolchain := range outerToolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			forms := [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}, {"-ldflags=-linkmode=external"},
				{"-ldflags=-linkmode=external -extldflags=-static"}, {"-race"}, {"-buildmode=pie", "-ldflags=-s -w"}}
			if testing.Short() {
				forms = forms[:2]
			}
			for _, flags := range forms {
				program := buildCgo(t, toolchain, flags...)
				out, path := record(t, program)
				checkChains(t, path, said(t, out), strings.Contains(strings.Join(flags, " "), "-s -w"))
			}
		})
	}
}

// checkChains looks for all that the program has said in a capture.
func checkChains(t *testing.T, path string, want map[uint64][]string, stripped bool) {
	t.Helper()
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []uint64
	var chains [][]string
	for e := range f.Events(1) {
		if chain := want[e.Size]; chain != nil && e.Kind == capture.Alloc {
			ofC := !strings.HasPrefix(f.Functions()[e.Func], "runtime.")
			if ofC != strings.HasPrefix(chain[0], "c_") {
				continue // the race detector's
			}
			delete(want, e.Size)
			events, chains = append(events, e.Seq), append(chains, chain)
		}
	}
	if len(want) > 0 {
		t.Errorf("no allocation was recorded of %v", want)
	}
	stacks := backtraces(t, path, events)
	if len(stacks) != len(events) {
		t.Fatalf("%d stacks of %d events", len(stacks), len(events))
	}
	for i, st := range stacks {
		checkChain(t, st, chains[i], stripped)
	}
}

// TestCgoHosts records programs of C with a library of Go, loaded or linked: the stacks are those of
// a program of Go.
func TestCgoHosts(t *testing.T) {
	for _, toolchain := range outerToolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			host := filepath.Join(t.TempDir(), "host")
			gcc := func(args ...string) {
				t.Helper()
				args = append([]string{"-g", "-O1", "-o", host, filepath.Join("testdata", "host.c")}, args...)
				if out, err := exec.Command(testprogs.Tool(t, "gcc"), args...).CombinedOutput(); err != nil {
					t.Fatalf("gcc: %v\n%s", err, out)
				}
			}
			library := buildCgo(t, toolchain, "-buildmode=c-shared")
			gcc("-ldl")
			out, path := record(t, host, library)
			checkChains(t, path, said(t, out), false)
			if testing.Short() {
				return
			}
			archive := buildCgo(t, toolchain, "-buildmode=c-archive") + ".a"
			if err := os.Rename(strings.TrimSuffix(archive, ".a"), archive); err != nil {
				t.Fatal(err)
			}
			gcc("-DARCHIVE", archive, "-lpthread")
			out, path = record(t, host)
			checkChains(t, path, said(t, out), false)
			gcc("-DARCHIVE", "-s", archive, "-lpthread")
			out, path = record(t, host)
			checkChains(t, path, said(t, out), true)
		})
	}
}

// TestCgoStops stops at allocations of C and of Go, with the probe and with plain breakpoints: bt
// is what the program has called.
func TestCgoStops(t *testing.T) {
	for _, toolchain := range outerToolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			program := buildCgo(t, toolchain)
			out, err := exec.Command(program).Output()
			if err != nil {
				t.Fatal(err)
			}
			chains := said(t, string(out))
			for _, plane := range []string{"on", "off"} {
				var script strings.Builder
				fmt.Fprintf(&script, "set probe %s\n", plane)
				var want [][]string
				for size := uint64(100000); size < 100060; size += 7 {
					fmt.Fprintf(&script, "tbreak alloc if size == %d\n", size)
					want = append(want, chains[size])
				}
				script.WriteString("run\n")
				for range want {
					script.WriteString("bt\ncontinue\n")
				}
				cmd := exec.Command(testprogs.HDB(t), "--json", "-q", program)
				cmd.Stdin = strings.NewReader(script.String())
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				stacks := stacksIn(t, out)
				if len(stacks) != len(want) {
					t.Fatalf("probe %s: %d stacks, want %d\n%s", plane, len(stacks), len(want), out)
				}
				for i, st := range stacks {
					checkChain(t, st, want[i], false)
				}
			}
		})
	}
}

// TestCgoStress records while garbage is collected, stacks move and SIGPROF and SIGURG arrive. No
// allocation is missing, and no stack ends anywhere but in a first function.
func TestCgoStress(t *testing.T) {
	rounds := "10"
	if !testing.Short() {
		rounds = "200"
	}
	for _, toolchain := range outerToolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for _, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
				program := buildCgo(t, toolchain, flags...)
				out, path := record(t, program, rounds)
				var inC, inGo, gotC, gotGo uint64
				if _, err := fmt.Sscanf(out, "c %d go %d", &inC, &inGo); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				f, err := file.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				bad := map[capture.StackID]int{}
				for e := range f.Events(1) {
					if e.Kind != capture.Alloc || e.Size < 100000 || e.Size >= 100060 {
						continue
					}
					if strings.HasPrefix(f.Functions()[e.Func], "runtime.") {
						gotGo++
					} else {
						gotC++
					}
					if st := f.Stack(e.Stack); st.Truncated != "" || slices.Contains(st.Guess, true) {
						bad[e.Stack]++
					}
				}
				if gotC != inC || gotGo != inGo {
					t.Errorf("%v: %d allocations of C and %d of Go were recorded, %d and %d were made", flags, gotC, gotGo, inC, inGo)
				}
				for id, n := range bad {
					t.Errorf("%v: a stack of %d allocations ends with %q: %v", flags, n, f.Stack(id).Truncated, f.Stack(id).PCs)
					break
				}
				f.Close()
			}
		})
	}
}
