package diskcache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// FileID tells the contents of a file from others without reading them: by device,
// inode, size, and the times of the last changes of contents and inode, the latter of
// which programs cannot set. It is "" for what is no file, and for a file that was
// changed so lately that the next change can get the same times: git's index calls
// such an entry racily clean.
func FileID(info fs.FileInfo) string { return fileID(info, time.Now()) }

// File systems stamp changes with the kernel's clock as of its last tick, of at most 10
// ms (CONFIG_HZ=100), or with whole seconds, FAT with even ones.
const (
	fineStamp   = 20 * time.Millisecond
	coarseStamp = 2 * time.Second
)

func fileID(info fs.FileInfo, now time.Time) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return ""
	}
	settled := fineStamp
	if st.Ctim.Nsec == 0 {
		settled = coarseStamp
	}
	if now.Sub(time.Unix(st.Ctim.Unix())) < settled { // also of a clock that was set back
		return ""
	}
	return fmt.Sprintf("%d:%d %d %d.%09d %d.%09d", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}

// belongs tells that a file or directory is the user's.
func belongs(info fs.FileInfo) bool { return owner(info) == os.Geteuid() }

// belongsToRoot tells that it is root's, as /tmp is.
func belongsToRoot(info fs.FileInfo) bool { return owner(info) == 0 }

// owner is the user ID, -1 without one.
func owner(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}
