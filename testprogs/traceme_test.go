package testprogs

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestTraceMe has children be traced by their parents though hdb traces these, or be refused.
func TestTraceMe(t *testing.T) {
	program := Build(t, "traceme")
	for _, c := range []struct{ how, want string }{{"v", "20 of 20 traced\n"}, {"f", "20 of 20 traced\n"}, {"r", "0 of 20 traced\n"}} {
		for _, do := range [][]string{nil, {"record start"}, {"set probe off", "record start"}, {"break ptrace if 0 == 1"}, {"set kill-on-exit off", "record start"}} {
			t.Run(c.how+","+strings.Join(do, ","), func(t *testing.T) {
				t.Parallel()
				args := []string{"-batch", "-nx"}
				for _, line := range append(do, "run") {
					args = append(args, "-ex", line)
				}
				said, err := exec.Command(HDB(t), append(args, "--args", program, c.how)...).CombinedOutput()
				if err != nil || !bytes.Contains(said, []byte(c.want)) || !bytes.Contains(said, []byte("exited with code 0")) {
					t.Errorf("%v: not %q\n%s", err, c.want, said)
				}
			})
		}
	}
}

// TestDebuggerUnderHDB has debuggers that hdb follows debug a program.
func TestDebuggerUnderHDB(t *testing.T) {
	program := Build(t, "basic")
	for _, c := range []struct {
		name    string
		command []string
		want    string
	}{
		{"gdb", []string{Tool(t, "gdb"), "-q", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", "continue", "--args", program}, "exited normally"},
		{"hdb", []string{HDB(t), "-batch", "-nx", "-ex", "break main", "-ex", "run", "-ex", "continue", "--args", program}, "exited with code 0\nexited with code 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, err := exec.Command(HDB(t), append([]string{"-batch", "-nx", "-ex", "run", "--args"}, c.command...)...).CombinedOutput()
			for _, want := range []string{c.want, "exited with code 0"} {
				if err != nil || !bytes.Contains(said, []byte(want)) {
					t.Errorf("%v: not %q\n%s", err, want, said)
				}
			}
		})
	}
}
