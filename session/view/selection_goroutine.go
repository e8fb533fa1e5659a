package view

import (
	"fmt"

	"hdb/inferior"
	"hdb/inferior/delve"
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
	t := s.Cur.Thread
	for _, o := range s.target.Image.Threads() {
		if o.Num == x.Thread {
			t = o
		}
	}
	s.Cur = Selected{Thread: t, routine: &x}
	if st, err := s.Stack(0); err == nil && x.Thread != 0 && s.onThread(st, t) {
		s.Cur = Selected{Thread: t}
	}
	return x, nil
}

// onThread tells that a stack of a goroutine is the one that the thread's registers are of.
func (s *Selection) onThread(st names.Stack, t *inferior.Thread) bool {
	regs, err := t.Regs()
	return err == nil && len(st.Frames) > 0 && st.Frames[0].Regs.SP() == regs.SP() && st.Frames[0].Regs.PC() == regs.PC()
}

// WithoutGoHelpers leaves out of a stack what the compiler and the runtime of Go have put between
// other functions, except the frame of that number.
func (s *Selection) WithoutGoHelpers(frames []names.Frame, selected int) []names.Frame {
	return s.target.Names.WithoutGoHelpers(frames, func(f *names.Frame) bool { return f.Num == selected })
}

// Parked is the selected goroutine for delve, whose stack it is; nil if the stack is the
// thread's.
func (s *Selection) Parked(st names.Stack) *delve.ParkedGoroutine {
	if s.Cur.routine == nil || len(st.Frames) == 0 {
		return nil
	}
	regs := st.Frames[0].Regs
	bp, _ := regs.Get(unwind.RBP)
	return &delve.ParkedGoroutine{G: s.Cur.routine.At, PC: regs.PC(), SP: regs.SP(), BP: addr.Run(bp)}
}

// Steps is the error where the selected goroutine does not run, and so cannot be stepped.
func (s *Selection) Steps() error {
	if s.Cur.routine == nil || s.Cur.routine.Thread != 0 {
		return nil
	}
	return fmt.Errorf("goroutine %d is not running (%s): select a running thread with `thread N`", s.Cur.routine.ID, s.Cur.routine.Does())
}

// Chosen is the number of the goroutine that was selected and has a stack that is no thread's.
func (s *Selection) Chosen() (id uint64, ok bool) {
	if s.Cur.routine == nil {
		return 0, false
	}
	return s.Cur.routine.ID, true
}

// Goroutine is the selected goroutine: the one whose stack is looked at, or which the selected
// thread runs. ok is false if there is none.
func (s *Selection) Goroutine() (x Goroutine, ok bool) {
	if s.Cur.routine != nil {
		return *s.Cur.routine, true
	}
	if s.target.Readable() != nil || s.Cur.Thread == nil {
		return Goroutine{}, false
	}
	return s.goroutines.OfThread(s.Cur.Thread)
}
