package testprogs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSuppressionsOfValgrind has valgrind write entries for all leaks of programs. hdb leaves out
// the same blocks by them, counted for each entry as valgrind does.
func TestSuppressionsOfValgrind(t *testing.T) {
	if testing.Short() {
		t.Skip("valgrind takes seconds")
	}
	t.Parallel()
	memcheck := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("valgrind", slices.Concat([]string{"--leak-check=full", "--show-leak-kinds=all", "--num-callers=40", "--run-libc-freeres=no", "--run-cxx-freeres=no"}, args)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	program := Build(t, "suppressed")
	var entries []string
	for _, e := range regexp.MustCompile(`(?ms)^\{\n.*?^\}\n`).FindAllString(memcheck("-q", "--gen-suppressions=all", program), -1) {
		if !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	text := ""
	for i, e := range entries {
		text += strings.Replace(e, "<insert_a_suppression_name_here>", "entry "+strconv.Itoa(i), 1)
	}
	file := filepath.Join(t.TempDir(), "all.supp")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`used_suppression: +\d+ (entry \d+) .* suppressed: ([\d,]+) bytes in ([\d,]+) blocks`).FindAllStringSubmatch(memcheck("-v", "--suppressions="+file, program), -1) {
		want[m[1]] = strings.ReplaceAll(m[2]+" in "+m[3], ",", "")
	}
	if len(want) < 6 {
		t.Fatalf("valgrind has used %d entries: %s", len(want), text)
	}
	all := "leaks 100 --all --strict --suppressions " + file
	for name, in := range map[string][]string{"at rest": {"record start", "break at_rest", "run", all, "kill"}, "at its exit": {"record start", "leaks 1 --exit", all, "kill"}} {
		t.Run(name, func(t *testing.T) {
			suppresses(t, ask(t, true, []string{program}, in)[in[len(in)-2]], want, len(entries))
		})
	}
	if t.Failed() {
		t.Log(text)
	}
}

// suppresses holds the answer of leaks against what valgrind has for each of its entries, which are about all blocks.
func suppresses(t *testing.T, answer string, want map[string]string, entries int) {
	t.Helper()
	var got struct {
		leaksAnswer
		Suppressions []struct {
			Name   string
			Blocks uint64 `json:"live_blocks"`
			Bytes  uint64 `json:"live_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	for _, s := range got.Suppressions {
		if counted := strconv.FormatUint(s.Bytes, 10) + " in " + strconv.FormatUint(s.Blocks, 10); want[s.Name] != counted {
			t.Errorf("%s: %s blocks, valgrind has %q", s.Name, counted, want[s.Name])
		}
	}
	if len(got.Suppressions) != entries || len(got.Rows) > 0 {
		t.Errorf("%d of %d entries, %d rows are left: %v", len(got.Suppressions), entries, len(got.Rows), got.Rows)
	}
}
