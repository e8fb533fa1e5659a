package cpython

import (
	"slices"
	"strings"

	"hdb/names"
	"hdb/python"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// IsEval tells the interpreter's loop: each of its frames represents the calls of Python up to the
// one that C called the interpreter for.
func IsEval(f names.Frame) bool { return names.IsPythonLoop(f.Function) && !f.Inlined && !f.Tail }

// A Merge is how calls of Python are in a stack.
type Merge int

// The ways to merge.
const (
	MergeHiding Merge = iota // in place of the interpreter's own frames
	MergeBoth                // in addition to them
	MergeNone                // not at all
)

// Merged puts the calls of Python into the frames of the selected stack where the interpreter's
// frames are that made them. The innermost of those which one native frame represents has that
// one's number, the others -1. why describes a stack in which they do not agree, which is returned
// as it is.
func (p *Python) Merged(frames []names.Frame, how Merge) (merged []names.Frame, why string) {
	if how == MergeNone {
		return frames, ""
	}
	if how == MergeHiding {
		defer func() { merged = Hidden(merged) }()
	}
	if !slices.ContainsFunc(frames, IsEval) {
		return frames, ""
	}
	s, err := p.Stack()
	if err != nil {
		return frames, err.Error()
	}
	if s.Truncated != "" {
		return frames, s.Truncated
	}
	whole := p.sel.Cur.Stack.Truncated == ""
	calls := map[string][][]int{} // by the interpreter's file
	for _, part := range s.parts {
		at := loopsOf(frames, part.Where)
		groups, ok := FitLoops(part.groups, at, LoopState{
			Leaving: part.leaving, Whole: whole, Innermost: frames[0].Path == part.Where && len(at) > 0 && (at[0] == 0 || inlinedUpTo(frames, at[0])),
			Module: func(i int) string { return frames[i].Module },
		})
		if !ok {
			return frames, "at this instruction they are not those of the interpreter's loop: py bt shows them"
		}
		calls[part.Where] = groups
	}
	return merge(frames, s, calls, how), ""
}

// loopsOf are the indexes of the frames of the interpreter's loop in a file.
func loopsOf(frames []names.Frame, path string) (at []int) {
	for i, f := range frames {
		if IsEval(f) && f.Path == path {
			at = append(at, i)
		}
	}
	return at
}

// inlinedUpTo tells that the frames inner than one are inlined in it.
func inlinedUpTo(frames []names.Frame, i int) bool {
	return !slices.ContainsFunc(frames[:i], func(f names.Frame) bool { return !f.Inlined || f.CFA != frames[i].CFA })
}

// A LoopState says what decides whether calls of Python fit to a stack.
type LoopState struct {
	Leaving   bool             // as python.Stack.Leaving
	More      bool             // there are calls further out that are not known
	Whole     bool             // the stack has all its frames
	Innermost bool             // its first is in the loop itself, not in what that calls
	Module    func(int) string // the base name of the file of a frame
}

// FitLoops are the calls of Python for each frame of the interpreter's loop that a stack has at the
// indexes. They do not fit while a call begins or ends, except at the moments that can be
// recognized.
func FitLoops[T any](groups [][]T, at []int, s LoopState) (fitting [][]T, ok bool) {
	if s.Leaving {
		groups = slices.Insert(slices.Clone(groups), 0, nil)
	}
	if s.Whole && s.Innermost && len(at) == len(groups)+1 && !s.More {
		groups = slices.Insert(slices.Clone(groups), 0, nil) // the loop has just begun, or is about to end
	}
	missing := len(at) - len(groups)
	switch {
	case missing > 0 && !s.More && !greenletEnds(at, len(groups), s.Module):
		return nil, false
	case missing > 0:
		return append(slices.Clone(groups), make([][]T, missing)...), true
	case s.Whole && missing < 0:
		return nil, false
	}
	return groups, true
}

// greenletEnds tells that behind this number of frames of the loop a greenlet begins, whose calls
// of Python end there: what is further out is its parent's, which waits.
func greenletEnds(at []int, loops int, module func(int) string) bool {
	from := 0
	if loops > 0 {
		from = at[loops-1] + 1
	}
	for i := from; i < at[loops]; i++ {
		if strings.HasPrefix(module(i), "_greenlet.") {
			return true
		}
	}
	return false
}

// merge is Merged with what is known: calls has for each file of an interpreter the numbers of the
// frames of s that its next native frames represent. They come before the frame and what is inlined
// in it, as in a recorded stack.
func merge(frames []names.Frame, s Stack, calls map[string][][]int, how Merge) (all []names.Frame) {
	for i := 0; i < len(frames); {
		last := i
		for frames[last].Inlined && last+1 < len(frames) && frames[last+1].CFA == frames[i].CFA {
			last++
		}
		if loop := frames[last]; IsEval(loop) && len(calls[loop.Path]) > 0 {
			all = append(all, s.under(loop, calls[loop.Path][0], how)...)
			calls[loop.Path] = calls[loop.Path][1:]
		}
		all = append(all, frames[i:last+1]...)
		i = last + 1
	}
	return all
}

// Hidden leaves out the frames that are not shown of a merged stack.
func Hidden(frames []names.Frame) []names.Frame {
	parts := make([]names.Part, len(frames))
	for i := range frames {
		parts[i] = frames[i].Part()
	}
	if shown := names.Merged(parts); shown != nil {
		return names.Keep(slices.Clone(frames), shown)
	}
	return frames
}

// under are the calls that one frame of the loop represents.
func (s Stack) under(loop names.Frame, calls []int, how Merge) (all []names.Frame) {
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
