package symbols

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errNotDir is what opening a path below a file ends with.
const errNotDir = syscall.ENOTDIR

// seen fills in Name and Root for a path through /proc, by which files are opened that
// were deleted or replaced, or that lie in another mount namespace (proc(5)).
func (c Config) seen(path string) Config {
	rest, ok := strings.CutPrefix(path, "/proc/")
	pid, rest, _ := strings.Cut(rest, "/")
	if !ok || c.Name != "" || c.Root != "" || rest == "" || strings.Trim(pid, "0123456789") != "" {
		return c
	}
	if name, ok := strings.CutPrefix(rest, "root/"); ok {
		c.Name = "/" + name
	} else if name, err := os.Readlink(path); err == nil && filepath.IsAbs(name) {
		c.Name = strings.TrimSuffix(name, " (deleted)")
	}
	if root := "/proc/" + pid + "/root"; !ownRoot(pid) {
		c.Root = root
	}
	return c
}

// ownRoot tells whether / is the same directory for a process, with the same mounts
// below it.
func ownRoot(pid string) bool {
	theirs, err := os.Stat("/proc/" + pid + "/root")
	if err != nil {
		return true // it has ended, or is another's: nothing can be looked at that way
	}
	own, err := os.Stat("/")
	if err != nil || !os.SameFile(own, theirs) {
		return false
	}
	a, errA := os.Readlink("/proc/" + pid + "/ns/mnt")
	b, errB := os.Readlink("/proc/self/ns/mnt")
	return errA != nil || errB != nil || a == b
}

// maxLinks bounds the symbolic links of one path, as the kernel does (path_resolution(7)).
const maxLinks = 40

// inRoot is the path of a file as the processes whose root directory is root see it:
// absolute links, and .., do not lead out of it.
func inRoot(root, path string) string {
	if root == "/" {
		return path
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
