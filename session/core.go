package session

import (
	"errors"
	"fmt"
	"path/filepath"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/names"
)

// ErrCoreOpen is the error of verbs that a core file is in the way of.
var ErrCoreOpen = errors.New("a core file is open: core-file alone lets it go")

// CoreInfo is what a core file tells before its threads and memory are read.
type CoreInfo struct {
	Path    string
	Program string // the file that ran, as far as it is known
	PID     int
	Command string // the name of the thread that died
	Args    string // the command line, at most 80 bytes of it
	Threads int
	Missing uint64 // bytes that the file lacks at its end
	Damage  error  // why some of its notes could not be read
}

// OpenCore makes the session one about a core file. program is the file that ran: "" is
// the one that is loaded, if it is that, or else the one that the core names.
func (s *Session) OpenCore(path, program string) (CoreInfo, *Report, error) {
	switch s.Mode() {
	case Saved:
		return CoreInfo{}, nil, ErrSaved
	case Live:
		return CoreInfo{}, nil, ErrRunning
	}
	core, err := corefile.Open(absolute(path))
	if err != nil {
		return CoreInfo{}, nil, err
	}
	core.Report = func(line string) { s.notify("%s", line) }
	prog, err := s.coreProgram(core, program)
	if err != nil {
		return CoreInfo{}, nil, errors.Join(err, core.Close())
	}
	s.CloseCore()
	s.names.Program = prog
	if prog != nil {
		if name := core.Program(); prog.Object != nil && prog.Path != name {
			core.Use(name, prog.Path)
		}
		core.FollowLinkMap(prog.Path)
	}
	s.takeCore(core)
	info, _ := s.Core()
	return info, s.Execution.reportCore(), nil
}

// Core is the core file that is open; ok is false without one.
func (s *Session) Core() (info CoreInfo, ok bool) {
	if s.Mode() != Core {
		return info, false
	}
	core := s.image.Core()
	info = CoreInfo{Path: core.Path(), PID: core.Process.PID, Command: core.Process.Command, Args: core.Process.Args,
		Threads: len(core.Threads), Missing: core.Missing, Damage: core.Damage}
	if s.names.Program != nil {
		info.Program = s.names.Program.Path
	}
	return info, true
}

// absolute is a path that holds when the working directory changes.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// takeCore makes the process of a core the one that is read.
func (s *Session) takeCore(core *corefile.File) {
	exe := ""
	if s.names.Program != nil {
		exe = s.names.Program.Path
	}
	s.image = inferior.OpenCore(core, exe)
	s.names.Attach(0, s.image) // whatever has its number now is another process
	s.sourcesOf(0)
	s.names.Modules.Update(mappings(s.image.Modules()))
	s.said, s.exit = map[string]bool{}, nil
	s.Selection.clear()
	s.Selection.selectDefault()
	s.Stops.rebindAll()
}

// CloseCore lets the core file go, if one is open, and tells whether.
func (s *Session) CloseCore() bool {
	if s.Mode() != Core {
		return false
	}
	if err := s.image.Close(); err != nil {
		s.notify("%v", err)
	}
	s.image = nil
	s.Selection.clear()
	s.names.Detach()
	s.Stops.rebindAll()
	return true
}

// coreProgram is the program that ran, nil if nobody knows which.
func (s *Session) coreProgram(core *corefile.File, given string) (*names.Program, error) {
	id := core.ProgramID()
	if given != "" {
		return s.openProgram(given, id)
	}
	own := core.Program()
	if loaded := s.names.Program; loaded != nil && loaded.Object != nil {
		if sameProgram(loaded.Object.File.BuildID(), id) && (id != "" || own == "" || filepath.Base(own) == filepath.Base(loaded.Path)) {
			return loaded, nil
		}
		s.notify("%s is not the program of the core", loaded.Path)
	}
	if own == "" {
		return nil, nil
	}
	prog, err := s.openProgram(own, id)
	if err != nil { // which is told when its memory or its names are wanted
		return &names.Program{Path: own}, nil
	}
	return prog, nil
}

// openProgram opens the program of a core, which has the build ID, "" unknown.
func (s *Session) openProgram(path, id string) (*names.Program, error) {
	full, err := findProgram(path)
	if err != nil {
		return nil, err
	}
	obj, err := s.names.Open(full)
	if err != nil {
		return nil, explainForeign(full, err)
	}
	if have := obj.File.BuildID(); !sameProgram(have, id) {
		return nil, fmt.Errorf("%s: not the program of the core: build ID %s, the core has %s", full, have, id)
	}
	return &names.Program{Path: full, Object: obj}, nil
}

// sameProgram tells whether a file may be the program whose build ID the core has.
func sameProgram(have, want string) bool { return want == "" || have == want }

// reportCore tells why the process of a core died, and where.
func (x *Execution) reportCore() *Report {
	r := &Report{Reason: inferior.Stepped, Signal: x.image.Died(), Verb: "core"}
	if r.Signal != nil {
		r.Reason = inferior.Signaled
	}
	r.Thread = x.sel.threadInfo(x.sel.thread)
	x.showFrames(r)
	return r
}
