package session

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"hdb/capture/file"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/outfile"
	"hdb/names"
	"hdb/unwind"
)

// Names finds the symbols of the program, the process or the capture.
func (s *Session) Names() *names.Resolver { return s.names }

// newNames makes the part of the session that finds names.
func (s *Session) newNames() *names.Resolver {
	return names.New(names.Config{
		Settings: &s.Settings.Settings, Cache: s.cfg.Cache, Notify: func(line string) { s.cfg.Notify(line) },
		Fetched: s.cfg.Fetched, Injected: injected{s.common}, Change: s.changeNames,
	})
}

// changeNames runs a change of what names were found by, and forgets what was made of them.
func (s *Session) changeNames(change func()) {
	s.exclusive(func() {
		change()
		s.rec.ForgetAnswers()
	})
}

// injected is the probe's code, while there is any.
type injected struct{ *common }

// ModuleAt is the CFI of the probe's code.
func (i injected) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	if i.probe == nil {
		return nil, 0, false
	}
	return i.probe.ModuleAt(pc)
}

// Covers tells the probe's code.
func (i injected) Covers(pc addr.Run) bool { return i.probe != nil && i.probe.Covers(pc) }

// mappings are the modules as names wants them; nil of nil.
func mappings(modules []inferior.Module) []names.Mapping {
	var out []names.Mapping
	for _, m := range modules {
		out = append(out, names.Mapping(m))
	}
	return out
}

// recordModules records which files were mapped where, from the next event on.
func (s *Session) recordModules(added, removed []inferior.Module) {
	s.names.Log.Change(s.rec, s.rec.Seq()+1, mappings(added), mappings(removed))
}

// lastJITNames reads names once more before the memory of the process is gone, if what
// was recorded wants them.
func (s *Session) lastJITNames() {
	if !s.names.JIT.Wanted() {
		s.exclusive(func() {}) // the stack that wants them may be in the ring still
	}
	if s.names.JIT.Wanted() {
		s.names.JIT.Read()
	}
}

// SetDebuginfod changes whether servers are asked. From on the modules that have no
// debug info are looked for at once.
func (s *Session) SetDebuginfod(mode names.DebuginfodMode) {
	before := s.names.Debuginfod.Mode()
	s.names.Debuginfod.SetMode(mode)
	if mode != names.DebuginfodOn || before == names.DebuginfodOn || s.Mode() == Empty {
		return
	}
	if _, err := s.RefreshSymbols(); err != nil {
		s.notify("debuginfod: %v", err)
	}
}

// RefreshSymbols looks for the files that names come from again: with the
// directories that are set now, and with debug files that were not there before.
// It returns the modules whose answers change, and those with an error.
func (s *Session) RefreshSymbols() ([]names.SymbolChange, error) {
	var here names.Frame
	hereErr := ErrNoStack
	if s.Mode() == Live {
		here, hereErr = s.Selection.Frame()
	}
	changes := s.names.Refresh()
	if s.Mode() == Empty {
		return nil, ErrNoProgram
	}
	s.Selection.stack, s.Selection.max = names.Stack{}, 0
	switch s.Mode() {
	case Saved:
		if st, err := s.Selection.savedStack(); err == nil {
			s.Selection.frame = s.Selection.UserFrame(st.Frames)
		}
	case Loaded:
		s.Stops.rebindAll()
	case Live:
		s.Stops.bindPending()
		if hereErr == nil {
			s.Selection.reselect(here)
		}
	}
	return changes, nil
}

// Checkup looks at all modules: of the capture, of the process, or of the program
// with the libraries that the dynamic linker would load.
func (s *Session) Checkup() (names.Checkup, error) {
	if s.Mode() == Empty {
		return names.Checkup{}, ErrNoProgram
	}
	c, err := s.names.Checkup(s.source())
	if err == nil && c.Frames > 0 {
		c.Gaps = s.Gaps()
	}
	return c, err
}

// CheckProcess looks at the modules of a process that is not under the debugger, and
// does not disturb it.
func (s *Session) CheckProcess(pid int) (names.Checkup, error) {
	maps, err := inferior.MapsOf(pid)
	if err != nil {
		return names.Checkup{}, err
	}
	mem, memErr := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
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
	c := s.names.CheckFiles(files, mem)
	if len(c.Modules) == 0 {
		return c, fmt.Errorf("process %d: no file with code is mapped: a thread of the kernel, or it has ended", pid)
	}
	return c, nil
}

// sameInode sees to it that the file is the one that is mapped. Another one in its
// place would be told about instead.
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

// EmbedSymbols writes the opened capture anew with the names and source lines that
// are known now, to path or, if that is "", in its own place. Another file that is
// there is only replaced with force.
func (s *Session) EmbedSymbols(path string, force bool) (SavedInfo, error) {
	if s.saved == nil {
		return SavedInfo{}, errors.New("this is no capture: save FILE keeps names and source lines in one")
	}
	own := path == ""
	to := outfile.File{Path: path, Force: force, Inputs: []string{s.savedPath}}
	if own {
		path = s.savedPath
		to = outfile.File{Path: path, Force: true}
		if d := s.saved.Damage(); d != nil {
			return SavedInfo{}, fmt.Errorf("%w; what can be read goes to another file: symbols embed FILE", d)
		}
	}
	if err := s.writeCapture(to, s.saved); err != nil {
		return SavedInfo{}, fmt.Errorf("symbols embed: %w", err)
	}
	info := savedInfo(path, s.saved)
	if !own {
		return info, nil
	}
	f, err := file.Open(path)
	if err != nil {
		return SavedInfo{}, err
	}
	old := s.saved
	s.saved = f // with the same numbers of events and stacks
	s.names.ReplaceCapture(f)
	return info, old.Close()
}
