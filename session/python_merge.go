package session

import (
	"slices"
	"strings"

	"hdb/names"
	"hdb/python"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// isEval tells the interpreter's loop: each of its frames stands for the calls of Python
// up to the one that C called the interpreter for.
func isEval(f names.Frame) bool { return names.IsPythonLoop(f.Function) && !f.Inlined && !f.Tail }

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
	whole := p.sel.stack.Truncated == ""
	calls := map[string][][]int{} // by the interpreter's file
	for _, part := range s.parts {
		groups, loops := part.groups, 0
		for _, f := range frames {
			if isEval(f) && f.Path == part.path {
				loops++
			}
		}
		if part.leaving {
			groups = slices.Insert(slices.Clone(groups), 0, nil)
		}
		if whole && loops == len(groups)+1 && innermost(frames, part.path) {
			groups = slices.Insert(slices.Clone(groups), 0, nil) // the loop has just begun, or is about to end
		}
		if loops > len(groups) && !greenletEnds(frames, part.path, len(groups)) || whole && loops < len(groups) {
			return frames, "at this instruction they are not those of the interpreter's loop: py bt shows them"
		}
		calls[part.path] = groups
	}
	return merge(frames, s, calls, how), ""
}

// greenletEnds tells that behind so many frames of the loop a greenlet begins, whose calls
// of Python end there: what is further out is its parent's, which waits.
func greenletEnds(frames []names.Frame, path string, loops int) bool {
	for _, f := range frames {
		switch {
		case isEval(f) && f.Path == path:
			if loops--; loops < 0 {
				return false
			}
		case loops == 0 && strings.HasPrefix(f.Module, "_greenlet."):
			return true
		}
	}
	return false
}

// innermost tells that the thread is in the loop itself, not in what it calls.
func innermost(frames []names.Frame, path string) bool {
	return frames[0].Path == path && (isEval(frames[0]) || inLoop(frames, 0))
}

// merge is Merged with what is known: calls has for each file of an interpreter the numbers
// of the frames of s that its next native frames stand for.
func merge(frames []names.Frame, s PythonStack, calls map[string][][]int, how Merge) (merged []names.Frame) {
	first := slices.IndexFunc(frames, isEval)
	kept := 0      // of merged, up to the last that is not what every program begins with
	other := false // code that is not the interpreter's is further in
	for i, f := range frames {
		_, own := calls[f.Path]
		hidden := own && (inLoop(frames, i) || i > first || other)
		other = other || !own
		if groups := calls[f.Path]; isEval(f) && len(groups) > 0 {
			hidden = len(groups[0]) > 0
			merged = append(merged, s.under(f, groups[0], how)...)
			calls[f.Path], kept = groups[1:], len(merged)
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
	return f.Part().Start
}

// under are the calls that one frame of the loop stands for.
func (s PythonStack) under(loop names.Frame, calls []int, how Merge) (all []names.Frame) {
	for i, nth := range calls {
		f := names.Frame{Num: -1, Nth: nth, Code: loop.Code, Module: loop.Module, Path: loop.Path, CFA: loop.CFA, How: loop.How, Frame: called(s.Frames[nth].Frame)}
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
