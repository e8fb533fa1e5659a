package session

import (
	"errors"

	"hdb/inferior"
	"hdb/internal/addr"
)

// plant puts a trap where the user wants to stop. In the first instructions of a function
// that the probe follows, its jump makes room for it.
func (p *Planes) plant(a addr.Run, h inferior.Handler) (*inferior.Trap, error) {
	var tr *inferior.Trap
	err := p.makingRoom(a, func() (err error) {
		tr, err = p.proc.Plant(a, h)
		return err
	})
	return tr, err
}

// breakAt is plant by a debug register. Threads that run would not get it.
func (p *Planes) breakAt(a addr.Run, h inferior.Handler) (*inferior.Watch, error) {
	var w *inferior.Watch
	err := p.makingRoom(a, func() (err error) {
		return p.stopAll(func() (err error) {
			w, err = p.proc.BreakAt(a, h)
			return err
		})
	})
	return w, err
}

// makingRoom has do stop threads at an address, where the probe's jump may be in the way.
func (p *Planes) makingRoom(a addr.Run, do func() error) error {
	err := do()
	var inside *inferior.PatchedError
	if p.probe == nil || !errors.As(err, &inside) {
		return err
	}
	return p.stopAll(func() error {
		if err := p.probe.MakeRoom(a); err != nil {
			return err
		}
		return errors.Join(do(), p.reshape())
	})
}

// reshape has the probe's jumps go where no traps are any more, and traps lead to its
// code where others are in their way.
func (p *Planes) reshape() error {
	if p.proc == nil || p.probe == nil || !p.probe.Armed() {
		return nil
	}
	t := p.proc.StoppedThread()
	if _, gone := p.proc.Exited(); gone || t == nil || p.probe.Shaped() {
		return nil
	}
	err := p.stopAll(func() error { return p.probe.Reshape(t, p.demand.entered()) })
	if err == nil {
		return nil
	}
	p.fallBack(err)
	return p.stopAll(p.arm)
}

// noteCrowded says which stops make calls cost more.
func (d *dataPlane) noteCrowded() {
	if d.probe == nil || !d.probe.Armed() {
		return
	}
	for _, st := range d.demand.stops.All() {
		b := d.demand.binds[st.ID]
		if b == nil || b.crowds {
			continue
		}
		for _, tr := range b.traps {
			if name, ok := d.probe.Crowded(tr.Addr()); ok {
				b.crowds = true
				d.notify("probe: breakpoint %d stands in the first instructions of %s: a trap is put at its entry instead of a jump, each of its calls costs tens of microseconds", st.ID, name)
				break
			}
		}
	}
}
