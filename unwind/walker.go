package unwind

import "io"

// A Walker walks stacks. It keeps its buffers from one walk to the next.
type Walker struct {
	modules Modules
	frames  []Frame
}

// NewWalker returns a walker that finds its tables through m.
func NewWalker(m Modules) *Walker { return &Walker{modules: m} }

// Walk follows the stack from the registers r up.
func (w *Walker) Walk(mem io.ReaderAt, r Regs, max int) Stack {
	w.frames = w.frames[:0]
	return Stack{Frames: w.frames}
}
