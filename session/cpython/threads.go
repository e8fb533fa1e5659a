package cpython

import (
	"path/filepath"
	"slices"
	"strings"

	"hdb/names"
	"hdb/python"
	"hdb/python/eval"
	"hdb/python/inspect"
)

// threadName is the name that Python's threading has for the thread of a frame, "" if the frame
// is not where such a thread begins, or the name is no plain text. The kernel may know another.
func threadName(in *python.Interpreter, f python.Frame) string {
	if f.Code == nil || f.Code.Name != "_bootstrap_inner" || filepath.Base(f.Code.File) != "threading.py" {
		return ""
	}
	v, err := eval.Expression(in.Objects(), in.Names(f), "self._name")
	if err != nil || v.At == 0 {
		return ""
	}
	text := in.Objects().Bounded(inspect.MaxSearch).Repr(v.At, inspect.DefaultLimits)
	if n := len(text); n >= 2 && strings.IndexByte(`'"`, text[0]) >= 0 && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return ""
}

// inEventLoop reports whether frames are those of a thread that runs an event loop of asyncio.
func inEventLoop(frames []names.Frame) bool {
	return slices.ContainsFunc(frames, func(f names.Frame) bool {
		return f.Python() && (f.Function == "_run_once" || strings.HasSuffix(f.Function, "._run_once"))
	})
}

// addTasks adds the tasks of asyncio that an interpreter has, once.
func (s *Snapshot) addTasks(in *python.Interpreter, state python.State) {
	all, err := in.Tasks(state)
	if err != nil && s.NoTasks == "" {
		s.NoTasks = err.Error()
	}
	for _, t := range all {
		if !slices.ContainsFunc(s.Tasks, func(o Task) bool { return o.At == t.At }) {
			s.Tasks = append(s.Tasks, Task{Task: t})
		}
	}
}
