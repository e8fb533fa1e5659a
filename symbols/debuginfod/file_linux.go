package debuginfod

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// accessed is when the file was last read.
func accessed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return info.ModTime()
}

// belongs tells that a directory is the user's.
func belongs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
