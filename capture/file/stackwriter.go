package file

import (
	"sync"

	"hdb/capture"
	"hdb/capture/intern"
	"hdb/internal/addr"
)

// A stackWriter interns the stacks of a recording and writes each once.
type stackWriter struct {
	out      *chunkWriter
	interned *intern.Stacks
	pending  *stackEncoder // the stacks that are not yet written
	spares   sync.Pool     // of *stackEncoder
}

// Stack is the stack that was interned as id, which must exist.
func (w *stackWriter) Stack(id capture.StackID) capture.Stack { return w.interned.Stack(id) }

// Stacks is the number of stacks interned.
func (w *stackWriter) Stacks() int { return w.interned.Len() }

// StackReasons is how many different reasons the interned stacks have for missing frames.
func (w *stackWriter) StackReasons() int { return w.interned.Reasons() }

// Frames is how many frames are kept in memory for the interned stacks, which share
// most of their outer ones.
func (w *stackWriter) Frames() int { return w.interned.Frames() }

// Intern is the ID of a stack; equal stacks of the same modules have one ID.
func (w *stackWriter) Intern(s capture.Stack) capture.StackID {
	s = clampStack(s)
	id, added := w.interned.Intern(s)
	if added {
		w.addStack(s)
	}
	return id
}

// AddStack gives a stack an ID of its own, whether or not there is an equal one.
func (w *stackWriter) AddStack(s capture.Stack) capture.StackID {
	s = clampStack(s)
	w.addStack(s)
	return w.interned.Add(s)
}

// Occupy is as Log.Occupy.
func (w *stackWriter) Occupy(low, high addr.Run, module uint32) { w.interned.Occupy(low, high, module) }

// adopt takes the stacks of a log, under their IDs.
func (w *stackWriter) adopt(l *Log) {
	l.mu.RLock()
	w.interned = l.stacks.Clone()
	l.mu.RUnlock()
	for id := range w.Stacks() {
		w.addStack(w.Stack(capture.StackID(id + 1)))
	}
}

// addStack writes the stack with the next ID.
func (w *stackWriter) addStack(s capture.Stack) {
	if w.pending.full() {
		w.flushStacks()
	}
	w.pending.add(s)
}

// flushStacks has the stacks written that are not yet.
func (w *stackWriter) flushStacks() {
	s := w.pending
	if s.count == 0 {
		return
	}
	next, _ := w.spares.Get().(*stackEncoder)
	if next == nil {
		next = new(stackEncoder)
	}
	next.start(s.first + capture.StackID(s.count))
	w.pending = next
	w.out.queue.add(func() {
		w.out.stacks(s)
		w.spares.Put(s)
	})
}
