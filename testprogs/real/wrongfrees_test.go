package real

import (
	"os/exec"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestNoWrongFrees: nothing is said of programs that give back what they have got.
func TestNoWrongFrees(t *testing.T) {
	programs := []Program{Git(t), Perl(t), SQLite(t)}
	if !testing.Short() {
		programs = All(t)
	}
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := testprogs.Context(t)
			defer cancel()
			args := []string{"-nx", "-q", "-batch", "-ex", "set python-allocators on", "-ex", "record start", "-ex", "run", "-ex", "wrong-frees", "--args", p.Path}
			cmd := exec.CommandContext(ctx, testprogs.HDB(t), append(args, p.Args...)...)
			cmd.Env, cmd.Dir = p.Env, p.Dir
			out, err := cmd.CombinedOutput()
			text := string(out)
			if i := strings.LastIndex(text, "exited with code 0"); i < 0 || !strings.Contains(text[i:], "no recorded call freed something that was not a live block") {
				t.Errorf("%v\n%s", err, text[max(0, len(text)-3000):])
			}
		})
	}
}
