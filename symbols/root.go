package symbols

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errNotDir is what opening a path below a file ends with.
const errNotDir = syscall.ENOTDIR

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
