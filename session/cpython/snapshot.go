package cpython

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/procfs"
	"hdb/internal/procroot"
	"hdb/internal/rights"
	"hdb/names"
	"hdb/python"
	"hdb/python/inspect"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
)

// A Snapshot is what all threads of a process do in Python.
type Snapshot struct {
	PID      int
	Program  string
	Runtimes []Runtime
	Threads  []Thread
	Tasks    []Task        // of asyncio that are not done, where a thread runs an event loop
	NoTasks  string        // why there may be more
	Stopped  time.Duration // how long the process was stopped; 0 of a core file

	files Sources
}

// A Thread is what one thread does.
type Thread struct {
	Thread  view.ThreadInfo
	Name    string        // that Python has for it, "" if none is known
	Holds   bool          // an interpreter's lock
	Frames  []names.Frame // of Python, or native ones with these among them
	Locals  [][]Variable
	Unclear string // why frames are missing, or not merged
}

// SnapshotWants is what a snapshot has besides the functions of Python.
type SnapshotWants struct{ Locals, Native bool }

// Source is the line of a frame, "" if it is not found.
func (s *Snapshot) Source(f names.Frame) string {
	if s.files.Find(f.File) != nil {
		return ""
	}
	src, err := s.files.Sources.Open(f.File)
	if err != nil || f.Line < 1 || f.Line > len(src.Lines) {
		return ""
	}
	return src.Lines[f.Line-1]
}

// localsOfPython are the variables of frames, as far as they can be read.
func localsOfPython(in *python.Interpreter, f python.Frame) (all []Variable) {
	vars, err := in.Locals(f)
	if err != nil {
		return nil
	}
	size := 0
	objects := in.Objects().Bounded(inspect.MaxSearch)
	for _, v := range vars {
		if v.At != 0 && size < maxLocalsText {
			x := Variable{v.Name, objects.Repr(v.At, inspect.DefaultLimits)}
			size += len(x.Name) + len(x.Value)
			all = append(all, x)
		}
	}
	return all
}

// Process is the snapshot of a running process. What can be read while it runs is: the
// interpreters, and the code that its threads are in. It is stopped only while its frames are read,
// and is not changed.
func (p *Python) Process(pid int, w SnapshotWants) (s *Snapshot, err error) {
	if err := inferior.CheckAttach(pid); err != nil {
		return nil, err
	}
	mem, err := os.Open(procfs.Path(pid, "mem"))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	defer mem.Close()
	all, err := openRuntimes(pid, mem)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	s = &Snapshot{PID: pid, files: Sources{Sources: &symbols.Sources{Root: procroot.Of(pid), User: rights.OfProcess(pid)}, Dir: workingDirectory(pid)}}
	s.Program, _ = os.Readlink(procfs.Path(pid, "exe")) // what is unknown is not told
	var path []string
	for _, r := range all {
		s.Runtimes = append(s.Runtimes, Runtime{r.In.Version(), r.Where})
		states, _ := r.In.States() // whatever fails here is reported when it is read again
		for i, state := range states {
			_, _ = r.In.Stack(state)
			if i == 0 {
				path, _ = r.In.Path(state)
			}
		}
	}
	s.files.Path = func() []string { return path }
	begun := time.Now()
	proc, err := inferior.Attach(pid)
	if err != nil {
		return nil, err
	}
	states := make([][]python.State, len(all))
	stacks, _ := new(Stacks).among(pid, proc.Threads(), proc.Maps) // without, states stay with those that made them
	for i, r := range all {
		states[i], _ = r.In.States() // of a list that is broken, up to there
		r.In.Locate(states[i], stacks)
	}
	for _, t := range proc.Threads() {
		row := pythonThread(t, mem, all, states, w.Locals)
		s.Threads = append(s.Threads, row)
		for i, r := range all {
			if len(states[i]) > 0 && inEventLoop(row.Frames) {
				s.addTasks(r.In, states[i][0])
			}
		}
	}
	err = proc.Detach()
	s.Stopped = time.Since(begun)
	return s, errors.Join(err, proc.Close())
}

// pythonThread reads one thread. known are all states of each interpreter.
func pythonThread(t *inferior.Thread, mem *os.File, all []File, known [][]python.State, locals bool) Thread {
	row := Thread{Thread: view.ThreadInfo{Num: t.Num, TID: t.TID, Name: t.Name()}}
	regs, err := t.Regs()
	if err != nil {
		row.Unclear = err.Error()
		return row
	}
	for i, r := range all {
		var self [8]byte
		if _, err := mem.ReadAt(self[:], int64(regs.FsBase)); err != nil {
			row.Unclear = err.Error()
			return row
		}
		states, err := r.In.StatesAmong(known[i], target.Uint(self[:]))
		if err != nil {
			if !errors.Is(err, python.ErrNoState) {
				row.Unclear = err.Error()
			}
			continue
		}
		row.Holds = row.Holds || r.In.Holds(states[0])
		for _, state := range states {
			st, err := r.In.Stack(state)
			if err != nil {
				row.Unclear = err.Error()
			}
			for _, f := range st.Frames {
				n := names.Frame{Num: len(row.Frames), Nth: len(row.Frames), Frame: called(f)}
				if len(all) > 1 {
					n.Module = filepath.Base(r.Where)
				}
				row.Frames = append(row.Frames, n)
				row.Name = cmp.Or(row.Name, threadName(r.In, f))
				if locals {
					row.Locals = append(row.Locals, localsOfPython(r.In, f))
				}
			}
		}
	}
	return row
}

// openRuntimes are the interpreters of a process that is not under the debugger.
func openRuntimes(pid int, mem *os.File) (all []File, err error) {
	maps, err := inferior.MapsOf(pid)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var refused error
	for _, m := range maps {
		id := fmt.Sprintf("%s %d", m.Device, m.Inode)
		if m.Inode == 0 || m.Perm[2] != 'x' || !filepath.IsAbs(m.Path) || seen[id] {
			continue
		}
		seen[id] = true
		obj, err := symbols.Open(m.Openable(pid), symbols.Config{})
		if err != nil {
			continue // no ELF file, or gone
		}
		defer obj.Close()
		bias, ok := biasOf(obj, m)
		find := func(name string) (addr.Run, bool) {
			sym, ok := obj.Symtab.Exported(name)
			return sym.Addr.Run(bias), ok
		}
		if _, has := find("_PyRuntime"); !has || !ok {
			continue
		}
		in, err := python.Open(mem, find)
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s: %w", filepath.Base(m.Path), err))
			continue
		}
		all = append(all, File{In: in, Where: m.Path})
	}
	switch {
	case len(all) > 0:
		return all, nil
	case refused != nil:
		return nil, refused
	}
	return nil, python.ErrNoPython
}

// biasOf is what is added to the addresses of a file's code to get those of the mapping.
func biasOf(obj *symbols.Object, m inferior.Mapping) (addr.Bias, bool) {
	const page = 4096
	for _, seg := range obj.File.Segments() {
		if seg.Exec && m.Offset >= seg.Off&^(page-1) && m.Offset < seg.Off+seg.Filesz {
			return addr.Bias(uint64(m.Low) - m.Offset + seg.Off - uint64(seg.Addr)), true
		}
	}
	return 0, false
}

// All is the snapshot of the process under the debugger, or of a core file.
func (p *Python) All(w SnapshotWants) (*Snapshot, error) {
	all, _, err := p.Interpreters()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{files: p.files()}
	for _, r := range all {
		s.Runtimes = append(s.Runtimes, Runtime{r.In.Version(), r.Where})
	}
	if prog := p.target.Names.Program; prog != nil {
		s.Program = prog.Path
	}
	before := p.sel.Cur
	defer func() { p.sel.Cur = before }()
	for _, t := range p.target.Image.Threads() {
		p.sel.Look(t, addr.Code{})
		row := p.threadNow(w)
		s.Threads = append(s.Threads, row)
		if inEventLoop(row.Frames) {
			for _, r := range all {
				if state, err := p.state(r.In, t); err == nil {
					s.addTasks(r.In, state)
				}
			}
		}
	}
	path, _ := p.path() // without it fewer sources are found
	s.files.Path = func() []string { return path }
	return s, nil
}

// threadNow is what the selected thread does.
func (p *Python) threadNow(w SnapshotWants) Thread {
	row := Thread{Thread: p.sel.ThreadInfo(p.sel.Cur.Thread)}
	s, err := p.Stack()
	if err != nil && !errors.Is(err, python.ErrNoState) {
		row.Unclear = err.Error()
	}
	if s.Truncated != "" {
		row.Unclear = s.Truncated
	}
	for _, part := range s.parts {
		if state, err := p.state(part.In, p.sel.Cur.Thread); err == nil {
			row.Holds = row.Holds || part.In.Holds(state)
		}
	}
	for _, f := range s.Frames {
		row.Name = cmp.Or(row.Name, threadName(f.in, f.Frame))
	}
	if w.Locals {
		for _, f := range s.Frames {
			row.Locals = append(row.Locals, localsOfPython(f.in, f.Frame))
		}
	}
	if !w.Native {
		row.Frames = s.Named()
		return row
	}
	st, err := p.sel.Stack(0)
	if err != nil {
		row.Unclear = err.Error()
		return row
	}
	merged, why := p.Merged(st.Frames, MergeHiding)
	if row.Frames = slices.Clone(merged); why != "" {
		row.Unclear = why
	}
	return row
}
