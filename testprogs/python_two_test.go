package testprogs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestTwoPythons has two interpreters of different files in one process, one inside the
// other and in a thread beside: each native frame is decided by the file that it is in.
func TestTwoPythons(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	libs := map[string]string{}
	for _, v := range []string{"3.8", "3.9", "3.10", "3.11", "3.12", "3.13"} {
		if found, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions", v+".*/lib/libpython"+v+".so.1.0")); len(found) > 0 {
			libs[v] = found[0]
		}
	}
	prog := filepath.Join(t.TempDir(), "two")
	if out, err := exec.Command(Tool(t, "gcc"), "-g", "-o", prog, "testdata/python/two.c", "-ldl", "-pthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pair := range [][2]string{{"3.8", "3.12"}, {"3.11", "3.13"}, {"3.13", "3.9"}, {"3.10", "3.11"}} {
		outer, inner := libs[pair[0]], libs[pair[1]]
		if outer == "" || inner == "" {
			t.Logf("not compared: CPython %s around %s, whose libraries are not both below ~/.pyenv/versions", pair[0], pair[1])
			continue
		}
		t.Run(pair[0]+"-"+pair[1], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			homeOf := func(lib string) string { return filepath.Dir(filepath.Dir(lib)) }
			out, _ := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-ex", "run", "-ex", "py bt", "-ex", "bt 5000", "-ex", "thread 2", "-ex", "py bt", "-ex", "kill",
				"--args", prog, outer, homeOf(outer), inner, homeOf(inner)).Output() // its exit code is of the signal
			var stacks []string
			for line := range bytes.Lines(out) {
				var v struct {
					Command string
					Frames  []struct{ Function, Module, Source string }
				}
				if !bytes.Contains(line, []byte(`bt","`)) {
					continue
				}
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				var stack []string
				for _, f := range v.Frames {
					if v.Command == "py bt" || f.Source == "python" {
						stack = append(stack, strings.TrimSpace(f.Function+" "+strings.TrimSuffix(f.Module, ".so.1.0")))
					}
				}
				stacks = append(stacks, strings.Join(stack, ", "))
			}
			in, out2 := " libpython"+pair[1], " libpython"+pair[0]
			nested := "leaf" + in + ", leaf" + in + ", leaf" + in + ", <module>" + in + ", <module>" + out2
			want := []string{nested, nested, "waits, <module>"}
			if !reflect.DeepEqual(stacks, want) {
				t.Errorf("\n got %q\nwant %q\n%.600s", stacks, want, out)
			}
			if pair[0] != "3.11" {
				return
			}
			// A recording has the functions of the first, and says so.
			out, _ = exec.CommandContext(ctx, HDB(t), "-batch", "-nx", "-ex", "start", "-ex", "record start", "-ex", "continue", "-ex", "record status", "-ex", "kill",
				"--args", prog, outer, homeOf(outer), inner, homeOf(inner)).CombinedOutput()
			says := "the Python functions of libpython3.13.so.1.0 only: those of libpython3.11.so.1.0 are native" // which is loaded first
			if n := bytes.Count(out, []byte(says)); n != 2 {                                                      // when the second comes, and in the status
				t.Errorf("it says %d times that %s\n%s", n, says, out)
			}
		})
	}
}
