package inferior

import (
	"fmt"

	"hdb/internal/addr"
)

// Kept is the saved state of a stopped thread.
type Kept struct {
	Regs    Registers
	Vectors Vectors

	shown, real, at addr.Run
	site            callSite
}

// Keep saves the registers of the thread, and which traps and system calls it has arrived at.
func (t *Thread) Keep() (k Kept, err error) {
	t.p.check()
	if k.Regs, err = t.Regs(); err != nil {
		return k, err
	}
	if k.Vectors, err = t.Vectors(); err != nil {
		return k, err
	}
	k.shown, k.real, k.at, k.site = t.shown, t.real, t.at, t.call.site
	return k, nil
}

// Restore returns a stopped thread to a saved state. Memory is not restored.
func (t *Thread) Restore(k Kept) error {
	t.p.check()
	if err := t.settle(); err != nil {
		return err
	}
	if err := t.SetVectors(k.Vectors); err != nil {
		return err
	}
	t.regs, t.regsValid, t.regsDirty = k.Regs, true, true
	t.shown, t.real, t.at, t.call.site = k.shown, k.real, k.at, k.site
	if err := t.flush(); err != nil {
		return fmt.Errorf("restore the registers of thread %d: %w", t.TID, err)
	}
	return nil
}
