package session

import (
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
	"hdb/unwind"
)

// SelectGoroutine makes the goroutine of that number the selected one, and the thread that
// runs it.
func (s *Selection) SelectGoroutine(id uint64) (Goroutine, error) {
	if s.target.Mode() == target.Saved {
		return Goroutine{}, fmt.Errorf("goroutine %d: a capture has the stacks of events only: goto #N selects one", id)
	}
	x, err := s.goroutines.Goroutine(id)
	if err != nil {
		return Goroutine{}, err
	}
	t := s.thread
	for _, o := range s.target.Image.Threads() {
		if o.Num == x.Thread {
			t = o
		}
	}
	s.selection = selection{thread: t, routine: &x}
	if st, err := s.Stack(0); err == nil && x.Thread != 0 && s.onThread(st, t) {
		s.selection = selection{thread: t}
	}
	return x, nil
}

// onThread tells that a stack of a goroutine is the one that the thread's registers are of.
func (s *Selection) onThread(st names.Stack, t *inferior.Thread) bool {
	regs, err := t.Regs()
	return err == nil && len(st.Frames) > 0 && st.Frames[0].Regs.SP() == regs.SP() && st.Frames[0].Regs.PC() == regs.PC()
}

// WithoutGoHelpers leaves out of a stack what the compiler and the runtime of Go have put between
// other functions, but for the frame of that number.
func (s *Selection) WithoutGoHelpers(frames []names.Frame, selected int) []names.Frame {
	return s.target.Names.WithoutGoHelpers(frames, func(f *names.Frame) bool { return f.Num == selected })
}

// parked is the selected goroutine for delve, whose stack it is; nil if the stack is the
// thread's.
func (s *Selection) parked(st names.Stack) *inferior.ParkedGoroutine {
	if s.routine == nil || len(st.Frames) == 0 {
		return nil
	}
	regs := st.Frames[0].Regs
	bp, _ := regs.Get(unwind.RBP)
	return &inferior.ParkedGoroutine{G: s.routine.At, PC: regs.PC(), SP: regs.SP(), BP: addr.Run(bp)}
}

// steps is the error where the selected goroutine does not run, and so cannot be stepped.
func (s *Selection) steps() error {
	if s.routine == nil || s.routine.Thread != 0 {
		return nil
	}
	return fmt.Errorf("goroutine %d does not run (%s): `thread N` selects what does", s.routine.ID, s.routine.Does())
}

// Chosen is the number of the goroutine that was selected and has a stack that is no thread's.
func (s *Selection) Chosen() (id uint64, ok bool) {
	if s.routine == nil {
		return 0, false
	}
	return s.routine.ID, true
}

// Goroutine is the selected goroutine: the one whose stack is looked at, or which the selected
// thread runs. ok is false if there is none.
func (s *Selection) Goroutine() (x Goroutine, ok bool) {
	if s.routine != nil {
		return *s.routine, true
	}
	if s.target.Readable() != nil || s.thread == nil {
		return Goroutine{}, false
	}
	return s.goroutines.OfThread(s.thread)
}
