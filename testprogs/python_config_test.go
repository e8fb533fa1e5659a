package testprogs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestPythonConfig compares what hdb reads of an interpreter's build and start with what
// the program tells itself, by sys, sysconfig and the name that CPython has for its allocator.
func TestPythonConfig(t *testing.T) {
	script, err := filepath.Abs("testdata/python/config.py")
	if err != nil {
		t.Fatal(err)
	}
	allocators := []string{"", "debug", "malloc", "malloc_debug", "pymalloc", "pymalloc_debug", "mimalloc"}
	if testing.Short() {
		allocators = allocators[1:3]
	}
	for _, p := range allPythons(t) {
		for _, a := range allocators {
			t.Run(strings.TrimPrefix(p, "/")+",PYTHONMALLOC="+a, func(t *testing.T) {
				t.Parallel()
				if a == "mimalloc" && !strings.Contains(p, "/3.13") {
					t.Skip("it came with 3.13")
				}
				configOfPython(t, p, script, a)
			})
		}
	}
}

func configOfPython(t *testing.T, p, script, allocator string) {
	ctx, cancel := Context(t)
	defer cancel()
	args := []string{"--json", "-batch", "-nx", "-ex", "run", "-ex", "py config", "-ex", "kill", "--args", p, "-X", "dev", "-W", "ignore", script, "", "a 'word'"}
	cmd := exec.CommandContext(ctx, HDB(t), args...)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=3")
	if allocator != "" {
		cmd.Env = append(cmd.Env, "PYTHONMALLOC="+allocator)
	}
	out, _ := cmd.Output() // its exit code is of the signal
	var want, got map[string]any
	references := 0
	for line := range bytes.Lines(out) {
		var v struct {
			Command      string
			Interpreters []map[string]any
		}
		switch {
		case bytes.HasPrefix(line, []byte(`{"full_version"`)):
			if err := json.Unmarshal(line, &want); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		case bytes.Contains(line, []byte(`"py config"`)):
			if err := json.Unmarshal(line, &v); err != nil || len(v.Interpreters) != 1 {
				t.Fatalf("%v: %s", err, line)
			}
			got = v.Interpreters[0]
		default:
			if n, err := strconv.Atoi(strings.TrimSpace(string(line))); err == nil {
				references = n
			}
		}
	}
	if want == nil || got == nil {
		t.Fatalf("%.2000s", out)
	}
	for key, w := range want {
		if w != nil && !reflect.DeepEqual(got[key], w) {
			t.Errorf("%s:\n got %v\nwant %v", key, got[key], w)
		}
	}
	if n, ok := got["references"].(float64); ok != (references > 0) || ok && (n < float64(references)-200 || n > float64(references)+200) {
		t.Errorf("%v references, sys.gettotalrefcount() told %d", got["references"], references)
	}
}
