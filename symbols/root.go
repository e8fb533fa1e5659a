package symbols

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"hdb/internal/procroot"
)

// errNotDir is what opening a path below a file ends with.
const errNotDir = syscall.ENOTDIR

// seen fills in Name and Root for a path through /proc, by which files are opened that were deleted
// or replaced, or that are in another mount namespace (proc(5)).
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
	if n, err := strconv.Atoi(pid); err == nil {
		c.Root = procroot.Of(n)
	}
	return c
}
