package query

import (
	"slices"
	"strconv"
	"strings"

	"hdb/internal/cond"
	"hdb/names"
)

// Predicates answer what conditions ask of a stack. It is found when one of them
// asks, and then once.
type Predicates struct {
	Find        func() []names.Frame
	Attribution *Attribution

	found  bool
	frames []names.Frame
}

// Stack is the frames of the stack.
func (p *Predicates) Stack() []names.Frame {
	if !p.found {
		p.found = true
		p.frames = p.Find()
	}
	return p.frames
}

// Func reports whether a function of that name is on the stack.
func (p *Predicates) Func(pattern string) bool {
	return slices.ContainsFunc(p.Stack(), func(f names.Frame) bool { return matchFrame(pattern, &f) })
}

// Module reports whether a frame of that module is on the stack.
func (p *Predicates) Module(name string) bool {
	return slices.ContainsFunc(p.Stack(), func(f names.Frame) bool { return MatchModule(name, f.Module) })
}

// PyFile reports whether a function of Python in such a file is on the stack, "app/*.py:10": at
// that line of it.
func (p *Predicates) PyFile(pattern string) bool {
	line := 0
	if i := strings.LastIndexByte(pattern, ':'); i >= 0 {
		if n, err := strconv.Atoi(pattern[i+1:]); err == nil && n > 0 {
			pattern, line = pattern[:i], n
		}
	}
	return slices.ContainsFunc(p.Stack(), func(f names.Frame) bool {
		return f.Python() && (line == 0 || f.Line == line) && MatchFile(pattern, f.File)
	})
}

// Caller reports whether that is the name of the function that the block belongs to.
func (p *Predicates) Caller(pattern string) bool {
	fs := p.Stack()
	if len(fs) == 0 {
		return false
	}
	f := &fs[p.Attribution.Owner(fs)]
	return matchFrame(pattern, f)
}

// matchFrame is MatchFunction of a frame's function. Functions of Python may be named without
// their classes, too.
func matchFrame(pattern string, f *names.Frame) bool {
	if MatchFunction(pattern, f.Function, f.Linkage) {
		return true
	}
	name := f.Function
	for f.Python() {
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			break
		}
		if name = rest; cond.Match(pattern, name) {
			return true
		}
	}
	return false
}
