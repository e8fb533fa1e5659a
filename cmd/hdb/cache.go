package main

import (
	"os"
	"path/filepath"

	"hdb/internal/diskcache"
)

// cache is the folder hdb below the user's cache directory, $XDG_CACHE_HOME or
// ~/.cache: names and unwinding tables that hdb can make anew. It belongs to this very
// binary; what another one has left there is not used.
func cache() *diskcache.Dir {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil
	}
	info, err := os.Stat(own)
	if err != nil {
		return nil
	}
	return diskcache.Open(filepath.Join(dir, "hdb"), diskcache.FileID(info))
}
