package names

import (
	"slices"
	"strings"

	"hdb/internal/modkind"
	"hdb/python/cython"
)

// PythonFrames says what recorded stacks show of a program in Python.
type PythonFrames int

// What they show.
const (
	PythonMerged PythonFrames = iota // its functions in place of the interpreter's own
	PythonNative                     // the native frames alone
	PythonBoth                       // both
)

// loopFunction is the interpreter's loop: each of its frames represents the calls of Python up to
// the one that C called the interpreter for. Every version exports it. The compiler may have moved
// parts of it elsewhere, under its name with a suffix.
const loopFunction = "_PyEval_EvalFrameDefault"

// IsPythonLoop tells the name of CPython's loop, or of a part of it.
func IsPythonLoop(function string) bool {
	name, _, _ := strings.Cut(function, ".")
	return name == loopFunction
}

// A Part is what decides whether a frame is shown where functions of Python are in place of the
// interpreter's own.
type Part struct {
	Python, Loop, Inlined bool
	Start                 bool   // what every program begins with: the C library's, and what calls that
	Path                  string // of the module

	// Of what Cython has made: its function in C, and the name of the function of the source.
	Generated, Name string
}

// Part is the frame's.
func (f *Frame) Part() Part {
	p := Part{
		Python: f.Python(), Loop: IsPythonLoop(f.Function) && !f.Inlined && !f.Tail, Inlined: f.Inlined, Path: f.Path,
		Start: modkind.IsCLibrary(f.Module) || f.Function == "_start",
	}
	if c := LinkageOf(&f.Frame); cython.IsGenerated(c) {
		p.Generated, p.Name = c, f.Function
	}
	return p
}

// Merged tells which frames of a stack, innermost first, are shown: not the interpreter's loop
// where the calls that it made are there, nor the interpreter's other frames further out than its
// innermost loop or than an extension, nor what every program begins with, nor what Cython has made
// in addition to the functions of its source. nil shows all of a stack without Python.
func Merged(parts []Part) (shown []bool) { return hideGenerated(parts, mergedPython(parts)) }

// mergedPython is Merged by what is Python's.
func mergedPython(parts []Part) (shown []bool) {
	python := func(p Part) bool { return p.Python }
	if !slices.ContainsFunc(parts, python) {
		return nil
	}
	first := slices.IndexFunc(parts, func(p Part) bool { return p.Loop })
	if first < 0 {
		return nil
	}
	interpreters := map[string]bool{} // files: a process may have loaded several
	for _, p := range parts {
		if p.Loop {
			interpreters[p.Path] = true
		}
	}
	shown = make([]bool, len(parts))
	last := 0      // of those that are not what every program begins with
	other := false // code that is not the interpreter's is inner
	for i, p := range parts {
		own := interpreters[p.Path]
		machinery := own && (i > first || other) || inLoop(parts, i)
		other = other || !own && !p.Python
		if p.Python || !machinery && !(p.Loop && calls(parts, i)) {
			shown[i] = true
			if p.Python || i <= first || !p.Start {
				last = i
			}
		}
	}
	clear(shown[last+1:])
	return shown
}

// inLoop tells a call that was inlined into the loop whose calls of Python are there.
func inLoop(parts []Part, i int) bool {
	for ; parts[i].Inlined && i+1 < len(parts); i++ {
		if parts[i+1].Loop {
			return calls(parts, i+1)
		}
	}
	return false
}

// calls reports whether calls of Python represent the frame of the loop: before it, and before what
// is inlined in it.
func calls(parts []Part, loop int) bool {
	i := loop - 1
	for ; i >= 0 && parts[i].Inlined; i-- {
	}
	return i >= 0 && parts[i].Python
}

// ShownParts tells which frames of a recorded stack are shown, nil: all.
func (r *Resolver) ShownParts(parts []Part) (shown []bool) {
	switch r.cfg.Settings.Python {
	case PythonMerged:
		return Merged(parts)
	case PythonNative:
		for i := range parts {
			shown = append(shown, !parts[i].Python)
		}
	}
	return shown
}

// shown leaves out of the frames of a recorded stack what is not wanted of a program in
// Python, and numbers those that are left.
func (r *Resolver) shown(frames []Frame) []Frame {
	if !slices.ContainsFunc(frames, func(f Frame) bool { return f.Python() }) {
		return frames
	}
	parts := make([]Part, len(frames))
	for i := range frames {
		parts[i] = frames[i].Part()
	}
	frames = Keep(frames, r.ShownParts(parts))
	for i := range frames {
		frames[i].Num = i
	}
	return frames
}

// Keep are those of a stack's frames, of whatever type, that are shown, in the same memory;
// nil shows all.
func Keep[T any](frames []T, shown []bool) []T {
	if shown == nil {
		return frames
	}
	kept := frames[:0]
	for i, f := range frames {
		if shown[i] {
			kept = append(kept, f)
		}
	}
	return kept
}
