package procroot

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOwnRoot(t *testing.T) {
	for _, pid := range []int{os.Getpid(), 0, -1, 1 << 30} {
		if got := Of(pid); got != "" {
			t.Errorf("Of(%d) = %q", pid, got)
		}
	}
}

// Links do not lead out of a root.
func TestIn(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"lib": "/usr/lib", "up": "../../../usr", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/lib/x": "/usr/lib/x", "/up/lib": "/usr/lib", "/none": "/none", "/loop": "/loop"} {
		if got := In(root, path); got != filepath.Join(root, want) {
			t.Errorf("In(%q) = %q", path, got)
		}
	}
	if got := In("/", "/lib/x"); got != "/lib/x" {
		t.Errorf("In(/) = %q", got)
	}
}
