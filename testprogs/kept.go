package testprogs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hdb/internal/diskcache"
)

// Kept is where sessions that a test opens in its own process keep what takes long to find out of
// files, as those of hdb do in the user's cache folder: most tests read the debug info of
// the same C library. What another binary has left there is not used.
func Kept(t testing.TB) *diskcache.Dir {
	t.Helper()
	dir, err := kept()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var kept = sync.OnceValues(func() (*diskcache.Dir, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(own)
	if err != nil {
		return nil, err
	}
	return diskcache.Open(filepath.Join(cache, "kept"), diskcache.FileID(info)), nil
})
