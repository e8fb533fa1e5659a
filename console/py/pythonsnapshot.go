package py

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session/cpython"
)

// PrintPython prints what all threads of a process do in Python, with the lines of their
// source.
func PrintPython(w io.Writer, s *cpython.Snapshot, asJSON bool) error {
	c := shell.NewPrinter(shell.Options{Out: w, JSON: asJSON})
	v := viewPythonSnapshot(s)
	c.Show(shell.Input{Name: "py"}, v, func(o *screen.Output) {
		o.Line(screen.Plain(pythonTitle(s)))
		for i, t := range s.Threads {
			printPythonThread(o, v.Threads[i], t)
		}
		for i, t := range s.Tasks {
			printTask(o, v.Tasks[i], t)
		}
		if s.NoTasks != "" {
			o.Line(screen.Guess("(there may be more tasks: " + s.NoTasks + ")"))
		}
	})
	return c.Out.Err()
}

// pythonTitle is what a snapshot is of.
func pythonTitle(s *cpython.Snapshot) string {
	var parts []string
	if s.PID != 0 {
		parts = append(parts, fmt.Sprintf("process %d: %s", s.PID, screen.ShortPath(s.Program)))
	} else {
		parts = append(parts, "core of "+screen.ShortPath(s.Program))
	}
	for _, r := range s.Runtimes {
		name := "CPython " + r.Version
		if len(s.Runtimes) > 1 {
			name += " in " + screen.ShortPath(r.Path)
		}
		parts = append(parts, name)
	}
	parts = append(parts, units.Count(len(s.Threads), "thread"))
	if s.Stopped > 0 {
		parts = append(parts, fmt.Sprintf("stopped for %.1f ms", float64(s.Stopped)/float64(time.Millisecond)))
	}
	return strings.Join(parts, ", ")
}

func printPythonThread(o *screen.Output, v pythonThreadView, t cpython.Thread) {
	head := fmt.Sprintf("thread %d (tid %d) %s", v.Num, v.TID, desk.Quoted(v.Name))
	if v.PythonName != "" && v.PythonName != v.Name {
		head += ", in Python " + desk.Quoted(v.PythonName)
	}
	switch {
	case v.Holds:
		head += ", holds the interpreter's lock"
	case len(v.Frames) == 0:
		head += ": not in Python"
	}
	o.Line(screen.Plain(head))
	if v.Unclear != "" {
		o.Line(screen.Guess("(" + v.Unclear + ")"))
	}
	for i, f := range t.Frames {
		desk.PrintFrames(o, t.Frames[i:i+1])
		if text := strings.TrimSpace(v.Frames[i].Text); text != "" {
			o.Line(screen.Plain("      " + text))
		}
		if f.Python() && f.Nth < len(t.Locals) {
			for _, x := range t.Locals[f.Nth] {
				o.Text("      " + x.Name + " = " + x.Value + "\n")
			}
		}
	}
}

type pythonRuntimeView struct {
	Version string `json:"version"`
	Path    string `json:"path"`
}

type pythonThreadView struct {
	Num        int                 `json:"thread"`
	TID        int                 `json:"tid"`
	Name       string              `json:"name"`
	PythonName string              `json:"python_name,omitempty"`
	Holds      bool                `json:"holds_lock,omitempty"`
	Unclear    string              `json:"truncated,omitempty"`
	Frames     []snapshotFrameView `json:"frames"`
}

// snapshotFrameView is a frame of a snapshot: of Python, or a native one.
type snapshotFrameView struct {
	Num      int              `json:"frame"`
	Function string           `json:"function"`
	File     string           `json:"file,omitempty"`
	Line     int              `json:"line,omitempty"`
	Module   string           `json:"module,omitempty"`
	Text     string           `json:"text,omitempty"`
	Source   string           `json:"source"`
	Locals   []desk.ValueView `json:"locals,omitempty"`
}

type pythonSnapshotView struct {
	PID      int                 `json:"pid,omitempty"`
	Program  string              `json:"program"`
	Stopped  int64               `json:"stopped_ns,omitempty"`
	Runtimes []pythonRuntimeView `json:"interpreters"`
	Threads  []pythonThreadView  `json:"threads"`
	Tasks    []pythonTaskView    `json:"tasks,omitempty"`
	NoTasks  string              `json:"tasks_truncated,omitempty"`
}

func viewPythonSnapshot(s *cpython.Snapshot) pythonSnapshotView {
	v := pythonSnapshotView{PID: s.PID, Program: s.Program, Stopped: s.Stopped.Nanoseconds(), Threads: []pythonThreadView{}}
	for _, r := range s.Runtimes {
		v.Runtimes = append(v.Runtimes, pythonRuntimeView{r.Version, r.Path})
	}
	for _, t := range s.Threads {
		tv := pythonThreadView{t.Thread.Num, t.Thread.TID, t.Thread.Name, t.Name, t.Holds, t.Unclear, []snapshotFrameView{}}
		for _, f := range t.Frames {
			fv := snapshotFrameView{Num: f.Num, Function: f.Name(), File: f.File, Line: f.Line, Module: f.Module, Source: f.Frame.Source.String()}
			if f.Python() {
				fv.Num, fv.Text = f.Nth, s.Source(f)
				if f.Nth < len(t.Locals) {
					for _, x := range t.Locals[f.Nth] {
						fv.Locals = append(fv.Locals, desk.ValueView{Name: x.Name, Value: x.Value})
					}
				}
			}
			tv.Frames = append(tv.Frames, fv)
		}
		v.Threads = append(v.Threads, tv)
	}
	v.NoTasks = s.NoTasks
	for _, t := range s.Tasks {
		v.Tasks = append(v.Tasks, viewPythonTask(t))
	}
	return v
}
