package session

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"hdb/inferior"
	"hdb/internal/procfs"
	"hdb/names"
	"hdb/session/recordings"
	"hdb/session/target"
	"hdb/session/view"
)

// Symbols sees to the files that names come from.
type Symbols struct {
	target   *target.Target
	sel      *view.Selection
	stops    *Stops
	recorded *recordings.Recorded
}

// SetDebuginfod changes whether servers are asked. From on the modules that have no
// debug info are looked for at once.
func (s *Symbols) SetDebuginfod(mode names.DebuginfodMode) {
	before := s.target.Names.Debuginfod.Mode()
	s.target.Names.Debuginfod.SetMode(mode)
	if mode != names.DebuginfodOn || before == names.DebuginfodOn || s.target.Mode() == target.Empty {
		return
	}
	if _, err := s.Refresh(); err != nil {
		s.target.Notify("debuginfod: %v", err)
	}
}

// Refresh looks for the files that names come from again: with the
// directories that are set now, and with debug files that were not there before.
// It returns the modules whose answers change, and those with an error.
func (s *Symbols) Refresh() ([]names.SymbolChange, error) {
	var here names.Frame
	hereErr := target.ErrNoStack
	if s.target.Mode().Readable() {
		here, hereErr = s.sel.Frame()
	}
	changes := s.target.Names.Refresh()
	if s.target.Mode() == target.Empty {
		return nil, target.ErrNoProgram
	}
	s.sel.WalkAgain()
	switch s.target.Mode() {
	case target.Saved:
		if st, err := s.sel.SavedStack(); err == nil {
			s.sel.Cur.Num = s.sel.UserFrame(st.Frames)
		}
	case target.Loaded, target.Core:
		s.stops.rebindAll()
	case target.Live:
		s.stops.bindPending()
	}
	if s.target.Mode().Readable() && hereErr == nil {
		s.sel.Reselect(here)
	}
	return changes, nil
}

// Checkup looks at all modules: of the capture, of the process, or of the program
// with the libraries that the dynamic linker would load.
func (s *Symbols) Checkup() (names.Checkup, error) {
	if s.target.Mode() == target.Empty {
		return names.Checkup{}, target.ErrNoProgram
	}
	c, err := s.target.Names.Checkup(s.recorded.Source())
	if err == nil && c.Frames > 0 {
		c.Gaps = s.recorded.Gaps()
	}
	return c, err
}

// CheckProcess looks at the modules of a process that is not under the debugger, and
// does not disturb it.
func (s *Symbols) CheckProcess(pid int) (names.Checkup, error) {
	maps, err := inferior.MapsOf(pid)
	if err != nil {
		return names.Checkup{}, err
	}
	mem, memErr := os.Open(procfs.Path(pid, "mem"))
	if memErr == nil {
		defer mem.Close()
	}
	type file struct {
		device string
		inode  uint64
	}
	seen := map[file]bool{}
	var files []names.ForeignFile
	for _, m := range maps {
		f := file{m.Device, m.Inode}
		vdso := m.Path == "[vdso]"
		if m.Perm[2] != 'x' || !vdso && (m.Inode == 0 || !strings.HasPrefix(m.Path, "/")) || seen[f] && !vdso {
			continue
		}
		seen[f] = true
		found := names.ForeignFile{Mapping: names.Mapping{Name: m.Path, Low: m.Low, High: m.High, VDSO: vdso}}
		if vdso {
			found.Err = memErr
		} else {
			found.Path = m.Openable(pid)
			found.Err = sameInode(found.Path, pid, m)
		}
		files = append(files, found)
	}
	c := s.target.Names.CheckFiles(files, mem)
	if len(c.Modules) == 0 {
		return c, fmt.Errorf("process %d: no file with code is mapped: it is a kernel thread, or has ended", pid)
	}
	return c, nil
}

// sameInode sees to it that the file is the one that is mapped. Otherwise another one in its place
// would be described.
func sameInode(path string, pid int, m inferior.Mapping) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Ino != m.Inode {
		return fmt.Errorf("%s: replaced since process %d began, and what it was cannot be opened: root may, through /proc/%d/map_files", path, pid, pid)
	}
	return nil
}
