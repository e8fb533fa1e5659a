// Package procroot finds files as another process sees them, which may have another root
// directory or other mounts, as in a container.
package procroot

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hdb/internal/procfs"
)

// Of is the directory below which a process's files are found, through proc(5); "" if they are
// where hdb's own are.
func Of(pid int) string {
	if pid <= 0 || sharesRoot(pid) {
		return ""
	}
	return procfs.Path(pid, "root")
}

// sharesRoot reports whether / is the same directory for a process and for hdb, with the same
// mounts below it.
func sharesRoot(pid int) bool {
	theirs, err := os.Stat(procfs.Path(pid, "root"))
	if err != nil {
		return true // it has ended, or is another's: nothing can be looked at that way
	}
	own, err := os.Stat("/")
	if err != nil || !os.SameFile(own, theirs) {
		return false
	}
	a, errA := os.Readlink(procfs.Path(pid, "ns/mnt"))
	b, errB := os.Readlink("/proc/self/ns/mnt")
	return errA != nil || errB != nil || a == b
}

// maxLinks bounds the symbolic links of one path, as the kernel does (path_resolution(7)).
const maxLinks = 40

// In is the path of a file as the processes whose root directory is root see it:
// absolute links, and .., do not lead out of it.
func In(root, path string) string {
	if root == "/" {
		return path
	}
	if id, ok := strings.CutSuffix(strings.TrimPrefix(root, "/proc/"), "/root"); ok {
		if pid, err := strconv.Atoi(id); err == nil {
			root = procfs.Path(pid, "root") // its first thread may have ended since Of
		}
	}
	at, left := "/", path
	for links := 0; left != ""; {
		var name string
		name, left, _ = strings.Cut(strings.TrimLeft(left, "/"), "/")
		next := filepath.Join(at, name)
		target, err := os.Readlink(filepath.Join(root, next))
		switch {
		case err != nil: // no link, or nothing at all
			at = next
		case links == maxLinks:
			return filepath.Join(root, path)
		default:
			links++
			left = target + "/" + left
			if filepath.IsAbs(target) {
				at = "/"
			}
		}
	}
	return filepath.Join(root, at)
}
