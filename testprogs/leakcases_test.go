package testprogs

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A heldSum is blocks and bytes.
type heldSum struct{ Blocks, Bytes int }

// heldSums are definitely, indirectly and possibly lost ones, and those still reachable.
type heldSums [4]heldSum

func lost(definite, indirect heldSum) heldSums { return heldSums{definite, indirect} }
func reachable(sum heldSum) heldSums           { return heldSums{3: sum} }

// leakCases are the programs of leakcases.c with what is lost at their exit.
var leakCases = map[string]heldSums{
	"in_main":          lost(heldSum{1, 100}, heldSum{}),
	"callee_list":      lost(heldSum{1, 64}, heldSum{9, 576}),
	"calls_library":    lost(heldSum{1, 64}, heldSum{9, 576}),
	"allocates":        lost(heldSum{2, 72}, heldSum{9, 576}),
	"prints_and_exits": {{1, 30}, {}, {}, {1, 4096}},
	"exits_with_local": reachable(heldSum{1, 200}), // as memcheck and LeakSanitizer have it: the frame of main is there
	"exits_deep":       reachable(heldSum{5, 50}),
	"exits_at_once":    lost(heldSum{1, 77}, heldSum{}),
	"exits_quickly":    lost(heldSum{1, 78}, heldSum{}),
	"global":           reachable(heldSum{3, 192}),
	"circle":           lost(heldSum{1, 64}, heldSum{2, 128}),
	"tree_lost":        lost(heldSum{1, 64}, heldSum{14, 896}),
	"trees_linked":     lost(heldSum{2, 128}, heldSum{8, 512}),
	"interior":         {2: {1, 500}},
	"interior_in_main": lost(heldSum{1, 500}, heldSum{}),
	"overwritten":      {{1, 40}, {}, {}, {1, 60}},
	"regrown":          lost(heldSum{1, 20480}, heldSum{}),
	"thread_joined":    {{1, 333}, {}, {}, {1, 272}},
	"thread_holds":     reachable(heldSum{2, 716}),
	"thread_key":       reachable(heldSum{1, 90}),
	"aligned":          lost(heldSum{1, 1000}, heldSum{}),
	"empty":            lost(heldSum{1, 0}, heldSum{}),
	"copies":           lost(heldSum{3, 27}, heldSum{}),
	"behind_freed":     lost(heldSum{1, 64}, heldSum{}),
	"recursion":        lost(heldSum{6, 111}, heldSum{}),
	"unaligned":        lost(heldSum{1, 70}, heldSum{}),
	"array_in_callee":  lost(heldSum{7, 161}, heldSum{}),
	"jumped_over":      lost(heldSum{1, 65}, heldSum{}),
	"freed_at_exit":    reachable(heldSum{1, 55}),
}

// leakCasesOfMemcheck are those that memcheck has otherwise. To the vector of a thread's thread-local storage only pointers
// into it lead, from the thread itself: memcheck has it as possibly lost. It looks when functions of atexit have run.
var leakCasesOfMemcheck = map[string]heldSums{
	"thread_joined": {{1, 333}, {}, {1, 272}},
	"thread_holds":  {{}, {}, {1, 272}, {1, 444}},
	"freed_at_exit": {},
}

// TestLeakCases has each program's blocks held as the table says at its exit, as memcheck says in its report of the same program.
func TestLeakCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(Source(t, "leakcases"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^static inline int \w+\(void\)`).FindAll(text, -1)); n != len(leakCases) {
		t.Errorf("leakcases.c has %d programs, the table %d", n, len(leakCases))
	}
	for _, name := range slices.Sorted(maps.Keys(leakCases)) {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(name+level, func(t *testing.T) {
				t.Parallel()
				want := leakCases[name]
				if name == "interior" && level == "-O2" {
					want = lost(heldSum{1, 500}, heldSum{}) // nobody reads the variable, which is left out
				}
				path := Build(t, "leakcases", "-g", level, "-w", "-fno-builtin", "-pthread", "-DCASE="+name)
				const leaks = "leaks 100 --all --strict --exit"
				if got := heldSumsOf(t, ask(t, true, []string{path}, []string{"record start", leaks, "kill"})[leaks]); got != want {
					t.Errorf("hdb has %v, want %v", got, want)
				}
				if other, ok := leakCasesOfMemcheck[name]; ok {
					want = other
				}
				if testing.Short() {
					return // valgrind takes seconds
				}
				if got := memcheckSums(t, path); got != want {
					t.Errorf("memcheck has %v, want %v", got, want)
				}
			})
		}
	}
}

// TestLeakCasesLater asks at the system call that ends the programs, from which the C library's frames are left behind that
// have run what atexit was given.
func TestLeakCasesLater(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"in_main", "callee_list", "exits_with_local", "copies", "tree_lost", "exits_deep", "array_in_callee"} {
		for at, stop := range map[string]string{"call": "catch syscall exit_group", "function": "break _exit"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				path := Build(t, "leakcases", "-g", "-O0", "-w", "-fno-builtin", "-pthread", "-DCASE="+name)
				const leaks = "leaks 100 --all --strict"
				got := heldSumsOf(t, ask(t, true, []string{path}, []string{"record start", "break main", "run", stop, "continue", leaks, "kill"})[leaks])
				if want := leakCases[name]; got != want {
					t.Errorf("hdb has %v, want %v", got, want)
				}
			})
		}
	}
}

// TestLeakCasesAtEntry asks at the first instruction of a function of another module, where what the function called before
// has left below the stack pointer and in registers is of no use.
func TestLeakCasesAtEntry(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		path := Build(t, "leakcases", "-g", level, "-w", "-fno-builtin", "-pthread", "-DCASE=calls_library")
		for _, plane := range []string{"set probe on", "set probe off"} {
			t.Run(level+"/"+plane, func(t *testing.T) {
				t.Parallel()
				const leaks = "leaks 100 --all --strict"
				got := heldSumsOf(t, ask(t, true, []string{path}, []string{plane, "record start", "break main", "run", "break *free", "continue", leaks, "kill"})[leaks])
				if want := leakCases["calls_library"]; got != want {
					t.Errorf("hdb has %v, want %v", got, want)
				}
			})
		}
	}
}

// TestLeakCasesAtAllocation asks where a call of malloc has returned, as stops at allocations do.
func TestLeakCasesAtAllocation(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		path := Build(t, "leakcases", "-g", level, "-w", "-fno-builtin", "-pthread", "-DCASE=allocates")
		for _, plane := range []string{"set probe on", "set probe off"} {
			for _, stop := range []string{"break alloc if size == 8", "break when blocks > 10"} {
				t.Run(level+"/"+plane+"/"+stop, func(t *testing.T) {
					t.Parallel()
					const leaks = "leaks 100 --all --strict"
					got := heldSumsOf(t, ask(t, true, []string{path}, []string{plane, "record start", stop, "run", leaks, "kill"})[leaks])
					if want := (heldSums{{1, 64}, {9, 576}, {}, {1, 8}}); got != want {
						t.Errorf("hdb has %v, want %v", got, want)
					}
				})
			}
		}
	}
}

func heldSumsOf(t *testing.T, answer string) (sums heldSums) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(answer)); ; {
		var one map[string]any
		if err := dec.Decode(&one); err != nil {
			t.Fatalf("no answer of leaks: %v: %.1000s", err, answer)
		}
		if one["definitely_lost_blocks"] == nil {
			continue // the stop
		}
		for i, kind := range []string{"definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"} {
			sums[i] = heldSum{int(one[kind+"_blocks"].(float64)), int(one[kind+"_bytes"].(float64))}
		}
		return sums
	}
}

// memcheckSums are the sums of memcheck's report of a program that runs to its end.
func memcheckSums(t *testing.T, path string) (sums heldSums) {
	t.Helper()
	out, err := exec.Command("valgrind", "--leak-check=full", "--show-leak-kinds=all", "--run-libc-freeres=no", path).CombinedOutput()
	if len(out) == 0 {
		t.Fatalf("valgrind: %v: install valgrind", err)
	}
	for i, kind := range []string{"definitely lost", "indirectly lost", "possibly lost", "still reachable"} {
		m := regexp.MustCompile(kind + `: ([\d,]+) bytes in ([\d,]+) blocks`).FindSubmatch(out)
		if m == nil {
			continue // all blocks were freed
		}
		number := func(b []byte) int {
			n, err := strconv.Atoi(strings.ReplaceAll(string(b), ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		sums[i] = heldSum{number(m[2]), number(m[1])}
	}
	return sums
}
