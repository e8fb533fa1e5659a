package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPythonTasks compares the tasks of asyncio, with the coroutines that each is in and who
// awaits it, with what the program tells of them.
func TestPythonTasks(t *testing.T) {
	script, err := filepath.Abs("testdata/python/tasks.py")
	if err != nil {
		t.Fatal(err)
	}
	type task struct{ Frames, By []string }
	type frame struct {
		Function, File string
		Line           int
	}
	places := func(frames []frame) (list []string) {
		for _, f := range frames {
			list = append(list, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		}
		return list
	}
	for _, p := range pythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			out, _ := exec.CommandContext(ctx, HDB(t), "--json", "-batch", "-nx", "-ex", "run", "-ex", "py tasks", "-ex", "py bt", "--args", p, script).Output() // its exit code is of the signal
			want, got := map[string]task{}, map[string]task{}
			var ran string
			var awaiters []string
			for line := range bytes.Lines(out) {
				var v struct {
					Task  string
					Tasks []struct {
						Task      string
						Thread    bool     `json:"selected_thread"`
						AwaitedBy []string `json:"awaited_by"`
						Frames    []frame
					}
				}
				var err error
				switch told, ok := bytes.CutPrefix(line, []byte("tasks ")); {
				case ok:
					err = json.Unmarshal(told, &want)
				case bytes.Contains(line, []byte(`"command":"py tasks"`)):
					err = json.Unmarshal(line, &v)
				case bytes.Contains(line, []byte(`"command":"py bt"`)):
					var b struct {
						Task      string
						AwaitedBy []struct{ Task string } `json:"awaited_by"`
					}
					err = json.Unmarshal(line, &b)
					ran = b.Task
					for _, a := range b.AwaitedBy {
						awaiters = append(awaiters, a.Task)
					}
				}
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				for _, x := range v.Tasks {
					if x.Thread != (x.Task == "mid") {
						t.Errorf("task %s runs: %v", x.Task, x.Thread)
					}
					got[x.Task] = task{places(x.Frames), append([]string{}, x.AwaitedBy...)}
				}
			}
			if len(want) < 8 || !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %v\nwant %v", got, want)
			}
			if ran != "mid" || !reflect.DeepEqual(awaiters, []string{"top", "waiter", "direct", "shielded", "main"}) {
				t.Errorf("py bt: task %q is awaited by %v", ran, awaiters)
			}
		})
	}
}
