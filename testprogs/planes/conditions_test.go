package planes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConditionsSaved: a condition holds for the same events while the program runs, in
// both planes, and in its recording.
func TestConditionsSaved(t *testing.T) {
	j := program(t, "kinds", nil)
	conditions := []struct {
		text string
		want int // of the program's own events; -1: its libraries' are not known
	}{
		{`kind("malloc") && size < 400 && size >= 300`, 3},
		{`kind("malloc")`, -1},
		{`kind("operator new")`, 6},
		{`kind("_Znwm")`, 6},
		{`kind == memalign`, 0}, // in glibc it is aligned_alloc
		{`kind == alloc`, -1},
		{`!kind("malloc")`, -1},
		{`func("make_unique")`, 5},
		{`func("std::make_unique")`, 5},
		{`align >= 64`, 2},
		{`align < 64`, 0},
		{`count >= 0`, 2},
	}
	file := filepath.Join(t.TempDir(), "kinds.hdb")
	var script []string
	for _, c := range conditions {
		script = append(script, "echo condition "+c.text+`\n`, "allocs all if ("+c.text+") && !(kind == free || kind == map || kind == unmap)")
	}
	said, err := hdb(t, j, append([]string{"record start", "run > /dev/null", "save " + file}, script...), "--args", j.Path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	saved := map[string]int{}
	for _, part := range strings.Split(said, "condition ")[1:] {
		text, list, _ := strings.Cut(part, "\n")
		saved[text] = len(regexp.MustCompile(`(?m)^ +#\d+ `).FindAllString(list, -1))
	}
	for _, p := range planes {
		var script strings.Builder
		for i, c := range conditions {
			fmt.Fprintf(&script, "break alloc if %s\ncommands %d\nsilent\ncontinue\nend\n", c.text, i+1)
		}
		name := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(name, []byte(script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := hdb(t, j, append(p.settings(), "source "+name, "run > /dev/null", "info breakpoints"), "--args", j.Path)
		if err != nil {
			t.Fatalf("%s plane: %v\n%s", p, err, said)
		}
		hits := regexp.MustCompile(`(?m)^ +(?:not hit|hit (\d+) time)`).FindAllStringSubmatch(said, -1)
		if len(hits) != len(conditions) {
			t.Fatalf("%s plane: %d of %d stops\n%s", p, len(hits), len(conditions), said)
		}
		for i, c := range conditions {
			live := 0
			fmt.Sscan(hits[i][1], &live)
			if live != saved[c.text] || c.want >= 0 && live != c.want {
				t.Errorf("%s plane: %s: %d live, %d saved, want %d", p, c.text, live, saved[c.text], c.want)
			}
		}
	}
}
