package query

import (
	"slices"

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

// Func tells whether a function of that name is on the stack.
func (p *Predicates) Func(pattern string) bool {
	return slices.ContainsFunc(p.Stack(), func(f names.Frame) bool { return MatchFunction(pattern, f.Function, f.Linkage) })
}

// Module tells whether a frame of that module is on the stack.
func (p *Predicates) Module(name string) bool {
	return slices.ContainsFunc(p.Stack(), func(f names.Frame) bool { return MatchModule(name, f.Module) })
}

// Caller tells whether that is the name of the function that the block belongs to.
func (p *Predicates) Caller(pattern string) bool {
	fs := p.Stack()
	if len(fs) == 0 {
		return false
	}
	f := &fs[p.Attribution.Owner(fs)]
	return MatchFunction(pattern, f.Function, f.Linkage)
}
