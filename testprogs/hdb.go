package testprogs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// HDB returns the path of hdb itself, built from the checkout that the test
// runs in once in each test process; go's own cache makes all but the first
// build quick.
func HDB(t testing.TB) string {
	t.Helper()
	path, err := plainHDB()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// RaceHDB is HDB built with the race detector, which reports to standard error and
// makes the exit code 66.
func RaceHDB(t testing.TB) string {
	t.Helper()
	path, err := raceHDB()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	plainHDB = sync.OnceValues(func() (string, error) { return buildHDB("hdb", "CGO_ENABLED=0", "-ldflags=-E main.enter") }) // as make build does
	raceHDB  = sync.OnceValues(func() (string, error) { return buildHDB("hdb-race", "CGO_ENABLED=1", "-race") })
)

// DependOnModule keeps go test from taking the result of the running test from
// its cache once a file of the module has changed. It is for tests that have
// another program read the module's sources, which the cache does not see.
func DependOnModule(t testing.TB) {
	t.Helper()
	root, err := Root()
	if err == nil {
		err = dependOn(root)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dependOn reads every folder of the module. The testing package notes the
// folders, and go test then compares the size and time of each file in them.
func dependOn(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a temporary folder of another test
			return nil
		case err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."): // .git, .cache
			return fs.SkipDir
		}
		return err
	})
}

// buildHDB builds hdb under that name with a variable of go's environment and flags.
func buildHDB(name, env string, flags ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := dependOn(root); err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	// One for each checkout: another's is of other sources.
	sum := sha256.Sum256([]byte(root))
	dir := filepath.Join(cache, fmt.Sprintf("hdb-%x", sum[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	// Renamed into place: another process may be running the last one.
	path, fresh := filepath.Join(dir, name), filepath.Join(tmp, name)
	if old, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(fresh, old, 0o755); err != nil { // go does not link one again that is as it would be
			return "", err
		}
	}
	// Trimmed, checkouts share what go has compiled, and with it make test.
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", fresh}, flags, []string{"./cmd/hdb"})...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hdb: %w\n%s", err, out)
	}
	return path, os.Rename(fresh, path)
}
