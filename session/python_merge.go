package session

import (
	"slices"
	"strings"

	"hdb/names"
	"hdb/python"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// evalFunction is the interpreter's loop: each of its frames stands for the calls of Python
// up to the one that C called the interpreter for. Every version exports it. The compiler
// may have moved parts of it elsewhere, under its name with a suffix.
const evalFunction = "_PyEval_EvalFrameDefault"

func isEval(f names.Frame) bool {
	name, _, _ := strings.Cut(f.Function, ".")
	return name == evalFunction && !f.Inlined && !f.Tail
}

// A Merge is how calls of Python stand in a stack.
type Merge int

// The ways to merge.
const (
	MergeHiding Merge = iota // in place of the interpreter's own frames
	MergeBoth                // beside them
	MergeNone                // not at all
)

// Merged has the calls of Python stand in the frames of the selected stack where the
// interpreter's frames are that made them. The innermost of those which one native frame
// stands for has that one's number, the others -1. why tells of a stack in which they do
// not agree, which is returned as it is.
func (p *Python) Merged(frames []names.Frame, how Merge) (merged []names.Frame, why string) {
	if how == MergeNone || !slices.ContainsFunc(frames, isEval) {
		return frames, ""
	}
	s, err := p.Stack()
	if err != nil {
		return frames, err.Error()
	}
	if s.Truncated != "" {
		return frames, s.Truncated
	}
	groups, loops := entries(s.Frames), 0
	for _, f := range frames {
		if isEval(f) {
			loops++
		}
	}
	if s.Leaving {
		groups = slices.Insert(groups, 0, nil)
	}
	whole := p.sel.stack.Truncated == ""
	if whole && loops == len(groups)+1 && innermost(frames) {
		groups = slices.Insert(groups, 0, nil) // the loop has just begun, or is about to end
	}
	if loops > len(groups) || whole && loops < len(groups) {
		return frames, "at this instruction they are not those of the interpreter's loop: py bt shows them"
	}
	return merge(frames, groups, how), ""
}

// innermost tells that the thread is in the loop itself, not in what it calls.
func innermost(frames []names.Frame) bool { return isEval(frames[0]) || inLoop(frames, 0) }

// entries cuts calls of Python into those that one native frame stands for.
func entries(all []python.Frame) (groups [][]python.Frame) {
	from := 0
	for i, f := range all {
		if f.Entry {
			groups, from = append(groups, all[from:i+1]), i+1
		}
	}
	return groups
}

// merge is Merged with what is known.
func merge(frames []names.Frame, groups [][]python.Frame, how Merge) (merged []names.Frame) {
	first := slices.IndexFunc(frames, isEval)
	module := frames[first].Path
	kept := 0 // of merged, up to the last that is not what every program begins with
	nth := 0
	for i, f := range frames {
		hidden := inLoop(frames, i) || i > first && f.Path == module
		if isEval(f) {
			hidden = len(groups[0]) > 0
			merged = append(merged, pythonFrames(f, groups[0], nth, how)...)
			nth += len(groups[0])
			groups, kept = groups[1:], len(merged)
		}
		if how == MergeHiding && hidden {
			continue
		}
		merged = append(merged, f)
		if how == MergeBoth || i <= first || !beginning(f) {
			kept = len(merged)
		}
	}
	return merged[:kept]
}

// inLoop tells calls that were inlined into the interpreter's loop.
func inLoop(frames []names.Frame, i int) bool {
	for ; frames[i].Inlined && i+1 < len(frames) && frames[i+1].CFA == frames[i].CFA; i++ {
		if isEval(frames[i+1]) {
			return true
		}
	}
	return false
}

// beginning tells the C library's frames, outside of which there is none of the program.
func beginning(f names.Frame) bool {
	return strings.HasPrefix(f.Module, "libc.") || strings.HasPrefix(f.Module, "libpthread.")
}

// pythonFrames are the calls that one frame of the loop stands for, of which the first is
// the nth of Python.
func pythonFrames(loop names.Frame, calls []python.Frame, nth int, how Merge) (all []names.Frame) {
	for i, c := range calls {
		f := names.Frame{Num: -1, Nth: nth + i, Code: loop.Code, Module: loop.Module, Path: loop.Path, CFA: loop.CFA, How: loop.How, Frame: called(c)}
		if i == 0 && how == MergeHiding {
			f.Num = loop.Num
		}
		all = append(all, f)
	}
	return all
}

// called is what a frame of Python has of the names of any frame.
func called(c python.Frame) symbols.Frame {
	return symbols.Frame{Function: c.Code.Qualname, File: c.Code.File, Line: c.Line, Source: symbols.FromPython, Language: dwarf.LangPython}
}

// Named are the calls as frames of a stack, with their numbers in it.
func (s PythonStack) Named() (all []names.Frame) {
	for i, c := range s.Frames {
		all = append(all, names.Frame{Num: i, Nth: i, Frame: called(c)})
	}
	return all
}
