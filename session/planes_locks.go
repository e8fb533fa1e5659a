package session

import (
	"fmt"

	"hdb/inferior"
	"hdb/internal/modkind"
)

// awaitLocks has the C library's mlockall leave out the probe's memory. The table of the states of blocks covers the whole
// address space, and the kernel makes all pages of locked memory.
func (d *dataPlane) awaitLocks(modules []inferior.Module) error {
	for _, m := range modules {
		if d.locks[m.Low] || m.Name != d.target.Proc.Exe() && !modkind.IsCLibrary(m.Name) {
			continue
		}
		found, err := d.symbols.Defined(m, []string{"mlockall"})
		if err != nil {
			continue // said when allocators were looked for there
		}
		for _, sym := range found {
			if _, err := d.target.Proc.Plant(sym.Addr, d.lockAll); err != nil {
				return fmt.Errorf("mlockall in %s: %w", m.Name, err)
			}
		}
		d.locks[m.Low] = true
	}
	return nil
}

// locksChanged follows dlopen and dlclose.
func (d *dataPlane) locksChanged(added, removed []inferior.Module) {
	for _, m := range removed {
		delete(d.locks, m.Low)
	}
	if d.target.Probe == nil || !d.target.Probe.Armed() {
		return
	}
	if err := d.awaitLocks(added); err != nil {
		d.target.Notify("%v: the kernel would lock the probe's memory, too", err)
	}
}

// lockAll is the handler at the entry of mlockall.
func (d *dataPlane) lockAll(t *inferior.Thread) inferior.Action {
	if d.target.Probe != nil {
		if err := d.target.Probe.LockAll(t); err != nil {
			d.target.Notify("mlockall: %v", err)
		}
	}
	return inferior.Resume
}
