package testprogs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// HDB returns the path of hdb itself, built from the checkout once in each
// test process; go's own cache makes all but the first build quick.
func HDB(t testing.TB) string {
	t.Helper()
	path, err := buildHDB()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildHDB = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	// Renamed into place: another process may be running the last one.
	path, fresh := filepath.Join(cache, "hdb"), filepath.Join(tmp, "hdb")
	cmd := exec.Command("go", "build", "-o", fresh, "./cmd/hdb")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hdb: %w\n%s", err, out)
	}
	return path, os.Rename(fresh, path)
})
