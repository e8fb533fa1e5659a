//go:build !linux

package diskcache

import "io/fs"

// FileID is "": what changed in a file is known on Linux only, and nothing is kept
// elsewhere.
func FileID(fs.FileInfo) string { return "" }

func belongs(fs.FileInfo) bool { return false }

func belongsToRoot(fs.FileInfo) bool { return false }
