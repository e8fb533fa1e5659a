package testprogs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPythonMarks has a program tell of itself by hdb_mark: under hdb, in both planes, and
// without.
func TestPythonMarks(t *testing.T) {
	script, err := filepath.Abs("testdata/python/marks.py")
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("../annotations")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if testing.Short() && p != "/usr/bin/python3" {
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(p, script, module).CombinedOutput()
			if err != nil || string(out) != "9 False\n" {
				t.Fatalf("without hdb: %v\n%s", err, out)
			}
			for _, plane := range []string{"auto", "off"} {
				if testing.Short() && plane == "off" {
					continue
				}
				t.Run("probe "+plane, func(t *testing.T) { playMarks(t, plane, p, script, module) })
			}
		})
	}
}

func playMarks(t *testing.T, plane, python, script, module string) {
	commands := "set probe " + plane + "\nstart\nrecord start --paused\ncontinue\nmark\nallocs all if size > 100000\ncontinue\n"
	file := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), HDB(t), "-nx", "-batch", "--json", "-x", file, "--args", python, script, module)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("hdb_mark.break_()")) || !bytes.Contains(out, []byte("9 False\n")) {
		t.Errorf("break_ did not stop it, or it did not go on:\n%s", out)
	}
	var names []string
	type event struct {
		Kind string
		Size uint64
	}
	var events []event
	for line := range bytes.Lines(out) {
		var v struct {
			Command string
			Marks   []struct{ Name string }
			Events  []event
		}
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		for _, m := range v.Marks {
			names = append(names, m.Name)
		}
		events = append(events, v.Events...)
	}
	if want := []string{"loaded", "step begin", "step end", "step begin.2", "step end.2", "step begin.3", "step end.3", "a=b", "start.1"}; !slices.Equal(names, want) {
		t.Errorf("marks %q, want %q", names, want)
	}
	var sizes []uint64
	freed := 0
	for _, e := range events {
		if e.Kind == "free" {
			freed++
			continue
		}
		sizes = append(sizes, e.Size/1000)
	}
	if want := []uint64{102, 103, 104, 107}; !slices.Equal(sizes, want) || freed != 1 {
		t.Errorf("recorded blocks of %v thousand bytes and %d frees, want %v and 1\n%s", sizes, freed, want, out)
	}
}
