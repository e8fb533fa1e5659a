package testprogs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// storms are programs in which libraries, namespaces, threads and signals come and go at once.
var storms = []struct {
	name  string
	flags []string
	args  string
}{
	{"storm_namespaces", nil, "12 3"},
	{"storm_namespaces", nil, "12 3 100 apart"},
	{"storm_namespaces", nil, "30 2 20"},
	{"storm_dlopen", nil, "40"},
	{"storm_threads", nil, "16 3000"},
	{"storm_churn", nil, "1000"},
	{"storm_signals", nil, "5000 300 2"},
	{"storm_signals", []string{"-DOWN"}, "2000 300 2 alt"},
	{"storm_realloc", nil, "4 3000"},
	{"storm_jump", nil, "raise 2000"},
}

// TestRecordingsAreWhole records storms to files, each of which hdb capture check has to
// find whole.
func TestRecordingsAreWhole(t *testing.T) {
	times := 10
	if testing.Short() {
		times = 1
	}
	hdb := HDB(t)
	ctx, cancel := Context(t)
	defer cancel()
	for n := range times {
		for _, p := range storms {
			if testing.Short() && p.args != "12 3 100 apart" && p.name != "storm_threads" && p.name != "storm_dlopen" {
				continue
			}
			file := filepath.Join(t.TempDir(), "storm.hdb")
			line := append([]string{"record", "-q", "-o", file, Build(t, p.name, p.flags...)}, strings.Fields(p.args)...)
			title := fmt.Sprintf("%s %s, %d", p.name, p.args, n+1)
			cmd := exec.CommandContext(ctx, hdb, line...)
			cmd.Dir = filepath.Dir(line[4])
			if said, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(said), "hdb:") {
				t.Errorf("%s: %v\n%s", title, err, said)
			}
			if said, err := exec.CommandContext(ctx, hdb, "capture", "check", file).CombinedOutput(); err != nil || !strings.Contains(string(said), ": whole, ") {
				t.Errorf("%s: %v\n%s", title, err, said)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
