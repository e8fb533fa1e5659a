package names

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"hdb/capture"
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
	Remedies []Remedy // most useful first; none when nothing is missing

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

// A Checkup is the modules of a program, a process or a capture, those that most
// frames are in first.
type Checkup struct {
	Modules []Diagnosis
	Events  int    // recorded ones whose stacks were counted
	Frames  uint64 // of these stacks
	// Nameless are those of Frames in code that is in no file, as a JIT compiler makes it, and that nothing names.
	Nameless uint64
	Problem  string // why modules may be missing, "" otherwise

	Gaps []string // why the frames may not be those of the run; the caller fills it in
}

// Good tells that nothing is missing in any module that frames are in, or in any at
// all when no stacks are recorded.
func (c *Checkup) Good() bool {
	return !c.LacksJITNames() && !slices.ContainsFunc(c.Modules, func(d Diagnosis) bool { return c.Matters(&d) && !d.Good() })
}

// LacksJITNames reports whether more than a stray frame in a hundred is in code without a file and without a name.
func (c *Checkup) LacksJITNames() bool { return c.Nameless > c.Frames/100 }

// Matters reports whether the module is in the stacks, as far as there are any.
func (c *Checkup) Matters(d *Diagnosis) bool { return c.Frames == 0 || d.Frames > 0 }

// Checkup looks at all modules: of the capture, of the process, or of the program with the
// libraries that the dynamic linker would load. src is the recording whose frames are
// counted; nil is none.
func (r *Resolver) Checkup(src capture.Source) (Checkup, error) {
	var c Checkup
	switch {
	case r.opened != nil:
		c.Modules = r.opened.diagnoses()
	case r.mem != nil:
		for _, mod := range r.Modules.list {
			if r.reading.GivenUp() {
				break
			}
			d := Diagnosis{Path: mod.Path, Name: mod.Name}
			d.obj, d.Err = r.Modules.Object(mod)
			c.Modules = append(c.Modules, d)
		}
	case r.Program != nil:
		c.Modules, c.Problem = r.linked()
	default:
		return c, ErrNoProgram
	}
	if src != nil {
		c.countFrames(r, src)
	}
	if err := r.reading.Cut(); err != nil {
		return c, err
	}
	c.finish(newRemedies(r, c.Modules))
	return c, nil
}

// A ForeignFile is a file with code in a process that is not under the debugger.
type ForeignFile struct {
	Mapping
	Err error // why it cannot be opened
}

// CheckFiles looks at the files of a process with that memory that is not under the
// debugger.
func (r *Resolver) CheckFiles(list []ForeignFile, mem io.ReaderAt) Checkup {
	var c Checkup
	for _, f := range list {
		d := Diagnosis{Name: f.Name, Path: f.Path, Err: f.Err}
		switch {
		case d.Err != nil:
		case f.VDSO:
			d.Path = ""
			d.obj, d.Err = r.files.readVDSO(f.Mapping, mem)
		default:
			d.obj, d.Err = r.files.get(d.Path)
		}
		if errors.Is(d.Err, symbols.ErrNotELF) {
			continue // code that a program maps from a file of its own kind
		}
		c.Modules = append(c.Modules, d)
	}
	c.finish(newRemedies(r, c.Modules))
	return c
}

// readVDSO reads the kernel's library out of a process. Its object stays open as long
// as the resolver.
func (f *files) readVDSO(m Mapping, mem io.ReaderAt) (*symbols.Object, error) {
	size := int64(m.High - m.Low)
	obj, err := symbols.OpenReaderAt(m.Name, io.NewSectionReader(mem, int64(m.Low), size), size, symbols.Config{})
	if err == nil {
		f.retire(obj)
	}
	return obj, err
}

// diagnoses are the modules of the capture, each path once.
func (o *opened) diagnoses() []Diagnosis {
	var all []Diagnosis
	for i, m := range o.Modules() {
		if o.r.reading.GivenUp() {
			break
		}
		name := cmp.Or(m.Path, ModuleName(m))
		if slices.ContainsFunc(all, func(d Diagnosis) bool { return d.Name == name }) {
			continue
		}
		d := Diagnosis{Path: m.Path, Name: name, Info: symbols.Info{BuildID: m.BuildID}}
		if m.Path != "" {
			file := o.file(i)
			d.obj, d.Err = file.obj, file.err
			if d.obj != nil {
				d.Path = d.obj.File.Path()
			}
		}
		all = append(all, d)
	}
	return all
}

// countFrames counts for each module the frames of the events' stacks.
func (c *Checkup) countFrames(r *Resolver, src capture.Source) {
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
		module   int // in c.Modules, -1 none
		lines    bool
		nameless bool // in no module, and nothing names it
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
		p.module, p.nameless = -1, true
		if m, ok := ModuleAt(src, code.Lookup(), seq); ok {
			p.nameless = false
			if i, ok := byName[cmp.Or(m.Path, ModuleName(m))]; ok {
				p.module = i
			}
		}
		chain := r.Chain(code, seq)
		p.lines = slices.ContainsFunc(chain, func(f capture.Frame) bool { return f.Line > 0 })
		p.nameless = p.nameless && !slices.ContainsFunc(chain, func(f capture.Frame) bool { return f.Function != "" })
		known[code] = p
		return p
	}
	// In the order of the file: a chunk of stacks is unpacked once.
	for _, id := range slices.Sorted(maps.Keys(stacks)) {
		if r.reading.GivenUp() {
			return
		}
		u, st := stacks[id], src.Stack(id)
		for i := range st.PCs {
			c.Frames += u.events
			p := find(st.Code(i), u.first)
			if p.nameless {
				c.Nameless += u.events
			}
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
