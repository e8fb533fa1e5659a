package cpython

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hdb/internal/procfs"
	"hdb/internal/procroot"
	"hdb/symbols"
)

// Sources finds sources as a process does.
type Sources struct {
	Sources *symbols.Sources
	Dir     string          // the process's working directory, "" if it is not known
	Path    func() []string // sys.path
}

func (p *Python) files() Sources {
	dir := ""
	if p.target.Proc != nil {
		dir = workingDirectory(p.target.Proc.PID())
	}
	return Sources{&p.target.Names.Sources, dir, func() []string {
		path, err := p.path()
		if err != nil {
			return nil // the error that sources are not found tells where they were looked for
		}
		return path
	}}
}

// Find has the text of a file of Python looked for as the process finds it, so that names'
// Source has it from then on: a relative name in the process's working directory and along
// sys.path, frozen modules among those of the library. A capture may have kept it, and knows no
// process that could tell.
func (p *Python) Find(file string) error {
	if p.target.Saved != nil {
		return nil
	}
	return p.files().Find(file)
}

// Find finds the source of a file that code of Python names, also the source of frozen modules, and has it shown under
// that name.
func (p Sources) Find(file string) error {
	frozen, isFrozen := strings.CutPrefix(file, "<frozen ")
	switch {
	case isFrozen:
		module := strings.TrimSuffix(frozen, ">")
		if strings.Trim(module, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" {
			return fmt.Errorf("%s: no such module", file)
		}
		name := strings.ReplaceAll(module, ".", "/")
		return p.adopt(file, p.along(name+".py", name+"/__init__.py"))
	case strings.HasPrefix(file, "<"):
		return fmt.Errorf("%s: this code was not read from a file", file)
	case filepath.IsAbs(file):
		_, err := p.Sources.Open(file)
		if archive := p.archiveOf(file); err != nil && archive != "" {
			return fmt.Errorf("%s: in the archive %s, which is not opened; unpack it and use `directory DIR`", file, archive)
		}
		return err
	case p.Dir == "": // of a core: only what the user has told
		_, err := p.Sources.Open(file)
		return err
	}
	return p.adopt(file, append([]string{filepath.Join(p.Dir, file)}, p.along(file)...))
}

// adopt has the first of the paths that is there be the file.
func (p Sources) adopt(file string, paths []string) error {
	failed := &symbols.SourceError{File: file}
	for _, path := range paths {
		if root := p.Sources.Root; root != "" {
			path = procroot.In(root, path)
		}
		_, err := p.Sources.Adopt(p.Sources.User, file, path)
		if err == nil {
			return nil
		}
		failed.Tried = append(failed.Tried, path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // archives are in sys.path, too
			failed.Cause = err
		}
	}
	if len(p.Sources.Dirs) > 0 { // as `directory` says
		if _, err := p.Sources.Open(file); err == nil {
			return nil
		}
	}
	return failed
}

// along are names in the directories of sys.path.
func (p Sources) along(names ...string) (paths []string) {
	for _, dir := range p.Path() {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
		for _, name := range names {
			if filepath.IsAbs(dir) {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

// archiveOf is the file that a path leads through, as zipimport's do.
func (p Sources) archiveOf(file string) string {
	for dir := filepath.Dir(file); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		at := dir
		if root := p.Sources.Root; root != "" {
			at = procroot.In(root, dir)
		}
		if st, err := os.Stat(at); err == nil {
			if st.Mode().IsRegular() {
				return dir
			}
			return ""
		}
	}
	return ""
}

// workingDirectory is a process's, "" if it is not known.
func workingDirectory(pid int) string {
	dir, err := os.Readlink(procfs.Path(pid, "cwd"))
	if err != nil {
		return ""
	}
	return dir
}

func (p *Python) path() ([]string, error) {
	s, n, err := p.stackHere()
	if err != nil {
		return nil, err
	}
	in := s.Frames[n].in
	state, err := p.state(in, p.sel.Cur.Thread)
	if err != nil {
		return nil, err
	}
	return in.Path(state)
}

// Changed reports whether a file was changed after the process began: then its lines may not be
// those that run.
func (p *Python) Changed(path string) bool {
	if p.target.Proc == nil {
		return false
	}
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	began, ok := began(p.target.Proc.PID())
	return ok && st.ModTime().After(began.Add(beganWithin))
}

// beganWithin is how much later than began tells a process may have begun: the times that it is
// made of count hundredths of seconds, and an interpreter reads no file of the user's sooner.
const beganWithin = 30 * time.Millisecond

// ticks is how many of proc(5)'s there are in a second on x86-64, USER_HZ.
const ticks = 100

// began is when a process was made: proc_pid_stat(5) counts from when the machine came up.
func began(pid int) (time.Time, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return time.Time{}, false
	}
	const starttime = 22 - 3 // the fields behind the name in parentheses begin with the third
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= starttime {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(fields[starttime], 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}, false
	}
	word, _, _ := strings.Cut(string(up), " ")
	seconds, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return time.Time{}, false
	}
	age := time.Duration(seconds*float64(time.Second)) - time.Duration(n)*time.Second/ticks
	return time.Now().Add(-age), true
}
