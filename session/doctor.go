package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
)

// A Diagnosis is what is known of one module's names and lines, and what would help.
type Diagnosis struct {
	Path, Name string // to open, and as the process knows it
	symbols.Info
	Err error // why nothing could be read

	Frames uint64 // of the recorded events' stacks that are in the module
	Lines  uint64 // of these, the frames with a source line
	// Kept: the file is not here, and the capture kept its names.
	Kept     bool
	Remedies []string // most useful first; none when nothing is missing

	obj *symbols.Object
}

// Good tells that source lines are known, or cannot be: the kernel's own library has none.
func (d *Diagnosis) Good() bool {
	switch {
	case d.Name == vdsoName:
		return true
	case d.Kept:
		return d.Lines > 0 // not all: assembly, such as _start, has none
	case d.Err != nil || d.MissingDwo > 0 || d.MissingAlt != "":
		return false
	}
	return d.Debug == symbols.DebugDWARF || d.Debug == symbols.DebugPclntab
}

const vdsoName = "[vdso]"

// A Checkup is the modules of a program, a process or a capture, those that most
// frames are in first.
type Checkup struct {
	Modules []Diagnosis
	Events  int    // recorded ones whose stacks were counted
	Frames  uint64 // of these stacks
	Problem string // why modules may be missing, "" otherwise

	Gaps []string // see Session.Gaps: why the frames may not be those of the run
}

// Good tells that nothing is missing in any module that frames are in, or in any at
// all when no stacks are recorded.
func (c *Checkup) Good() bool {
	return !slices.ContainsFunc(c.Modules, func(d Diagnosis) bool { return c.Matters(&d) && !d.Good() })
}

// Matters tells whether the module is in the stacks, as far as there are any.
func (c *Checkup) Matters(d *Diagnosis) bool { return c.Frames == 0 || d.Frames > 0 }

// Checkup looks at all modules: of the capture, of the process, or of the program
// with the libraries that the dynamic linker would load.
func (s *Session) Checkup() (Checkup, error) {
	var c Checkup
	switch s.Mode() {
	case Empty:
		return c, ErrNoProgram
	case Saved:
		c.Modules = s.savedDiagnoses()
	case Live:
		for _, mod := range s.mods.list {
			if s.reading.GivenUp() {
				break
			}
			obj := s.mods.object(mod) // which sets err
			c.Modules = append(c.Modules, Diagnosis{Path: mod.Path, Name: mod.Name, obj: obj, Err: mod.err})
		}
	case Loaded:
		c.Modules, c.Problem = s.linked()
	}
	if src := s.source(); src != nil {
		if s.countFrames(&c, src); c.Frames > 0 {
			c.Gaps = s.Gaps()
		}
	}
	if err := s.reading.Cut(); err != nil {
		return c, err
	}
	c.finish(s.remedies(c.Modules))
	return c, nil
}

// CheckProcess looks at the modules of a process that is not under the debugger, and
// does not disturb it.
func (s *Session) CheckProcess(pid int) (Checkup, error) {
	var c Checkup
	maps, err := inferior.MapsOf(pid)
	if err != nil {
		return c, err
	}
	type file struct {
		device string
		inode  uint64
	}
	seen := map[file]bool{}
	for _, m := range maps {
		f := file{m.Device, m.Inode}
		vdso := m.Path == vdsoName
		if m.Perm[2] != 'x' || !vdso && (m.Inode == 0 || !strings.HasPrefix(m.Path, "/")) || seen[f] && !vdso {
			continue
		}
		seen[f] = true
		d := Diagnosis{Name: m.Path}
		if vdso {
			d.obj, d.Err = s.readVDSO(pid, m)
		} else {
			d.Path = m.Openable(pid)
			if d.Err = sameInode(d.Path, pid, m); d.Err == nil {
				d.obj, d.Err = s.mods.open(d.Path)
			}
		}
		if errors.Is(d.Err, symbols.ErrNotELF) {
			continue // code that a program maps from a file of its own kind
		}
		c.Modules = append(c.Modules, d)
	}
	if len(c.Modules) == 0 {
		return c, fmt.Errorf("process %d: no file with code is mapped: a thread of the kernel, or it has ended", pid)
	}
	c.finish(s.remedies(c.Modules))
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

// readVDSO reads the kernel's library out of a process. Its object stays open as long
// as the session.
func (s *Session) readVDSO(pid int, m inferior.Mapping) (*symbols.Object, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	size := int64(m.High - m.Low)
	obj, err := symbols.OpenReaderAt(m.Path, io.NewSectionReader(mem, int64(m.Low), size), size, symbols.Config{})
	if err == nil {
		s.mods.retired = append(s.mods.retired, obj)
	}
	return obj, err
}

// savedDiagnoses are the modules of the capture, each path once.
func (s *Session) savedDiagnoses() []Diagnosis {
	var all []Diagnosis
	for i, m := range s.saved.Modules() {
		if s.reading.GivenUp() {
			break
		}
		name := cmp.Or(m.Path, savedName(m))
		if slices.ContainsFunc(all, func(d Diagnosis) bool { return d.Name == name }) {
			continue
		}
		d := Diagnosis{Path: m.Path, Name: name, Info: symbols.Info{BuildID: m.BuildID}}
		if m.Path != "" {
			late := s.lateModule(i)
			d.obj, d.Err = late.obj, late.err
			if d.obj != nil {
				d.Path = d.obj.Path()
			}
		}
		all = append(all, d)
	}
	return all
}

// countFrames counts for each module the frames of the events' stacks.
func (s *Session) countFrames(c *Checkup, src capture.Source) {
	type use struct{ events, first uint64 }
	stacks := map[capture.StackID]use{}
	for e := range src.Events(0) {
		if e.Stack != 0 {
			u := stacks[e.Stack]
			if u.events == 0 {
				u.first = e.Seq
			}
			u.events++
			stacks[e.Stack] = u
			c.Events++
		}
	}
	type place struct {
		module int // in c.Modules, -1 none
		lines  bool
	}
	byName := map[string]int{}
	for i := range c.Modules {
		byName[c.Modules[i].Name], byName[c.Modules[i].Path] = i, i
	}
	known := map[addr.Code]place{}
	find := func(code addr.Code, seq uint64) place {
		p, ok := known[code]
		if ok {
			return p
		}
		p.module = -1
		if m, ok := moduleOf(src, code.Lookup(), seq); ok {
			if i, ok := byName[cmp.Or(m.Path, savedName(m))]; ok {
				p.module = i
			}
		}
		p.lines = slices.ContainsFunc(s.recordedChain(code, seq), func(f capture.Frame) bool { return f.Line > 0 })
		known[code] = p
		return p
	}
	// In the order of the file: a chunk of stacks is unpacked once.
	for _, id := range slices.Sorted(maps.Keys(stacks)) {
		if s.reading.GivenUp() {
			return
		}
		u, st := stacks[id], src.Stack(id)
		for i := range st.PCs {
			c.Frames += u.events
			p := find(st.Code(i), u.first)
			if p.module < 0 {
				continue
			}
			d := &c.Modules[p.module]
			d.Frames += u.events
			if p.lines {
				d.Lines += u.events
			}
		}
	}
}

// finish fills in what was found for each module and what would help, and sorts them.
func (c *Checkup) finish(r *remedies) {
	for i := range c.Modules {
		d := &c.Modules[i]
		switch {
		case d.obj != nil:
			d.Info = d.obj.Info()
		case d.Lines > 0:
			d.Kept = true
		}
	}
	var bad []*Diagnosis
	for i := range c.Modules {
		if d := &c.Modules[i]; !d.Good() {
			bad = append(bad, d)
		}
	}
	r.find(bad)
	slices.SortStableFunc(c.Modules, func(a, b Diagnosis) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(order(&a), order(&b)))
	})
}

// order puts what is missing something first.
func order(d *Diagnosis) int {
	switch {
	case d.Name == vdsoName:
		return 2
	case d.Good():
		return 1
	}
	return 0
}

// Found says in a few words where names come from.
func (d *Diagnosis) Found() string {
	switch {
	case d.Kept && d.Frames > 0 && d.Lines == d.Frames:
		return "kept in the capture, with lines"
	case d.Kept && d.Frames > 0:
		return fmt.Sprintf("kept in the capture, with lines in %d%% of its frames", d.Lines*100/d.Frames)
	case d.Err != nil:
		return "nothing"
	case d.Debug == symbols.DebugDWARF && d.MissingDwo > 0:
		return fmt.Sprintf("DWARF %d; %d of %d .dwo files missing", d.DWARFVersion, d.MissingDwo, d.Units)
	case d.Debug == symbols.DebugDWARF && d.MissingAlt != "":
		return fmt.Sprintf("DWARF %d, dwz file missing", d.DWARFVersion)
	case d.Debug == symbols.DebugDWARF:
		return fmt.Sprintf("DWARF %d", d.DWARFVersion)
	case d.Debug == symbols.DebugNone:
		return "nothing"
	}
	return d.Debug.String()
}

// Why says what is wrong with the module's files, "" when they are only missing.
func (d *Diagnosis) Why() string {
	if d.Err != nil {
		return d.Err.Error()
	}
	return d.Problem
}

// ShortName is the module's name without its directory.
func (d *Diagnosis) ShortName() string { return filepath.Base(d.Name) }
