package session

import (
	"slices"

	"hdb/query"
)

// callers answers what conditions ask of a stack. It is found when one of them
// asks, and then once.
type callers struct {
	find  func() []Frame
	owner func([]Frame) int // Session.UserFrame

	found  bool
	frames []Frame
}

func (c *callers) stack() []Frame {
	if !c.found {
		c.found = true
		c.frames = c.find()
	}
	return c.frames
}

// Func tells whether a function of that name is on the stack.
func (c *callers) Func(pattern string) bool {
	return slices.ContainsFunc(c.stack(), func(f Frame) bool { return query.MatchFunction(pattern, f.Function, f.Linkage) })
}

// Module tells whether a frame of that module is on the stack.
func (c *callers) Module(name string) bool {
	return slices.ContainsFunc(c.stack(), func(f Frame) bool { return query.MatchModule(name, f.Module) })
}

// Caller tells whether that is the name of the function that the block belongs to.
func (c *callers) Caller(pattern string) bool {
	fs := c.stack()
	if len(fs) == 0 {
		return false
	}
	f := &fs[c.owner(fs)]
	return query.MatchFunction(pattern, f.Function, f.Linkage)
}
