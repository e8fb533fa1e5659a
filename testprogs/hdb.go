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
	"syscall"
	"testing"
)

// HDB returns the path of hdb itself, built from the checkout that the test
// runs in. Test processes share it for as long as no source changes.
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
	plainHDB = sync.OnceValues(func() (string, error) { return buildHDB("hdb", "CGO_ENABLED=0", "-ldflags=-s -w -E main.enter") }) // as make build does
	raceHDB  = sync.OnceValues(func() (string, error) { return buildHDB("hdb-race", "CGO_ENABLED=1", "-race") })
)

// DependOnModule keeps go test from taking the result of the running test from
// its cache once a file of the module has changed. It is for tests that have
// another program read the module's sources, which the cache does not see.
func DependOnModule(t testing.TB) {
	t.Helper()
	root, err := Root()
	if err == nil {
		_, err = dependOn(root)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dependOn reads every folder of the module. The testing package notes the
// folders, and go test then compares the size and time of each file in them.
// It returns what these are of all files that may be part of a program: two
// equal answers are of the same sources.
func dependOn(root string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a temporary folder of another test
			return nil
		case err != nil:
			return err
		case path != root && strings.HasPrefix(d.Name(), "."): // .git, .cache
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// buildHDB builds hdb under that name with a variable of go's environment and flags,
// unless a process before this one has done so from the same sources.
func buildHDB(name, env string, flags ...string) (string, error) {
	root, err := Root()
	if err != nil {
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
	// The processes of go test begin together: one builds, the others wait for it.
	lock, err := os.Create(filepath.Join(dir, name+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	sources, err := dependOn(root) // before go reads them: what changes meanwhile is built the next time
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, builtFrom(path, fmt.Sprintf("%s %s %q\n", sources, env, flags), func(tmp string) error {
		// Trimmed, checkouts share what go has compiled, and with it make test.
		cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", tmp}, flags, []string{"./cmd/hdb"})...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), env, EagerGo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build hdb: %w\n%s", err, out)
		}
		return nil
	})
}

// builtFrom leaves the program at path alone if the file path.from says that it was
// built from that, by this version of go; otherwise it builds it.
func builtFrom(path, from string, build func(tmp string) error) error {
	version, err := compilerVersion("go")
	if err != nil {
		return err
	}
	from += version
	said := path + ".from"
	if was, err := os.ReadFile(said); err == nil && string(was) == from {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, filepath.Base(path))
	if old, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(fresh, old, 0o755); err != nil { // go does not link one again that is as it would be
			return err
		}
	}
	if err := build(fresh); err != nil {
		return err
	}
	// Renamed into place: another process may be running the last one. What it is built
	// from is said last.
	if err := os.Remove(said); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return os.WriteFile(said, []byte(from), 0o644)
}
