package testprogs

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lsanDiffers are blocks of held.c that LeakSanitizer sees otherwise. It takes pointers into a block
// for pointers to it, so that nothing is possibly lost; it does not search mappings that the program
// made itself, nor the argument and the result of a thread; and of a circle all blocks are indirectly lost.
var lsanDiffers = map[string]string{
	"maybe_interior": "", "maybe_large": "", "maybe_under": "",
	"keep_private_map": "definitely lost", "keep_shared_map": "definitely lost", "keep_thread_argument": "definitely lost", "keep_thread_result": "definitely lost",
	"lose_cycle": "indirectly lost",
}

// TestHeldLikeLeakSanitizer compares what is lost in held.c with LeakSanitizer's report at the same
// moment, each difference explained.
func TestHeldLikeLeakSanitizer(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for name, kind := range heldFunctions(t, "held.c", 35) {
		if other, ok := lsanDiffers[name]; ok {
			kind = other
		}
		if kind != "" && kind != "still reachable" {
			want[name] = kind
		}
	}
	out, err := exec.Command(Build(t, "held", "-fsanitize=leak")).CombinedOutput()
	if err == nil {
		t.Error("LeakSanitizer found nothing")
	}
	first, _, _ := strings.Cut(string(out), "SUMMARY:") // at the end the threads are gone
	kinds := map[string]string{"Direct": "definitely lost", "Indirect": "indirectly lost"}
	checkerAgrees(t, first, regexp.MustCompile(`(?m)^(Direct|Indirect) leak of|\b((?:keep|maybe|lose|under)_\w+) `), kinds, want)
}

// memcheckDiffers are blocks that memcheck sees otherwise: the argument of realloc, which it replaces, leaves
// the address in memory of its own function.
var memcheckDiffers = map[string]string{"lose_realloced": "still reachable"}

// TestHeldLikeMemcheck compares all blocks of the programs with valgrind's report of the same moment, each
// difference explained.
func TestHeldLikeMemcheck(t *testing.T) {
	if testing.Short() {
		t.Skip("valgrind takes seconds")
	}
	t.Parallel()
	kinds := map[string]string{"definitely lost": "definitely lost", "indirectly lost": "indirectly lost", "possibly lost": "possibly lost", "still reachable": "still reachable"}
	for _, p := range heldPrograms {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			want := heldFunctions(t, p.source, p.least)
			for name, kind := range memcheckDiffers {
				if want[name] != "" {
					want[name] = kind
				}
			}
			out, err := exec.Command("valgrind", "--leak-check=full", "--show-leak-kinds=all", "--leak-check-heuristics=all", "--num-callers=20", "--keep-debuginfo=yes", Build(t, p.name)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			first, _, _ := strings.Cut(string(out), "HEAP SUMMARY")
			checkerAgrees(t, first, regexp.MustCompile(`(definitely lost|indirectly lost|possibly lost|still reachable) in loss record|\b((?:keep|maybe|lose|under)_\w+)[ (]`), kinds, want)
		})
	}
}

// checkerAgrees compares the report of a leak checker: heads has the word of a kind, or a function's name, which
// belongs to the last word before it.
func checkerAgrees(t *testing.T, report string, heads *regexp.Regexp, kinds, want map[string]string) {
	t.Helper()
	got, kind, taken := map[string]string{}, "", false
	for _, m := range heads.FindAllStringSubmatch(report, -1) {
		switch {
		case m[1] != "":
			kind, taken = kinds[m[1]], false
		case !taken:
			got[m[2]], taken = kind, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: hdb expects %q, the checker says %q", name, want[name], got[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] == "" {
			t.Errorf("%s: the checker says %q, hdb nothing", name, got[name])
		}
	}
}
