package testprogs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharedChild: what a process allocates while a child runs in its memory for which it does not wait is
// recorded.
func TestSharedChild(t *testing.T) {
	for _, probe := range []string{"auto", "off"} {
		file := filepath.Join(t.TempDir(), "a.hdb")
		said, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "set probe "+probe, "-ex", "record start", "-ex", "run", "-ex", "top 1", "-ex", "save "+file,
			Build(t, "sharedchild")).CombinedOutput()
		if err != nil || !strings.Contains(string(said), "39.1 KiB     400  hold ") {
			t.Errorf("probe %s: %v\n%s", probe, err, said)
		}
	}
}
