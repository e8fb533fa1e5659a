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
		tr, err = p.target.Proc.Plant(a, h)
		return err
	})
	return tr, err
}

// breakAt is plant by a debug register. Threads that run would not get it.
func (p *Planes) breakAt(a addr.Run, h inferior.Handler) (*inferior.Watch, error) {
	var w *inferior.Watch
	err := p.makingRoom(a, func() (err error) {
		return p.target.StopAll(func() (err error) {
			w, err = p.target.Proc.BreakAt(a, h)
			return err
		})
	})
	return w, err
}

// makingRoom has do stop threads at an address, where the probe's jump may be in the way.
func (p *Planes) makingRoom(a addr.Run, do func() error) error {
	err := do()
	var inside *inferior.PatchedError
	if p.target.Probe == nil || !errors.As(err, &inside) {
		return err
	}
	return p.target.StopAll(func() error {
		if err := p.target.Probe.MakeRoom(a); err != nil {
			return err
		}
		return errors.Join(do(), p.reshape())
	})
}

// reshape has the probe's jumps go where no traps are any more, and traps lead to its
// code where others are in their way.
func (p *Planes) reshape() error {
	if p.target.Proc == nil || p.target.Probe == nil || !p.target.Probe.Armed() {
		return nil
	}
	t := p.target.Proc.StoppedThread()
	if _, gone := p.target.Proc.Exited(); gone || t == nil || p.target.Probe.Shaped() {
		return nil
	}
	err := p.target.StopAll(func() error { return p.target.Probe.Reshape(t, p.demand.entered()) })
	if err == nil {
		return nil
	}
	p.fallBack(err)
	return p.target.StopAll(p.arm)
}

// noteCrowded says which stops make calls cost more.
func (d *dataPlane) noteCrowded() {
	if d.target.Probe == nil || !d.target.Probe.Armed() {
		return
	}
	for _, st := range d.demand.stops.All() {
		b := d.demand.counts[st.ID]
		if b == nil || b.crowds {
			continue
		}
		for _, tr := range d.demand.traps(st.ID) {
			if name, ok := d.target.Probe.Crowded(tr.Addr()); ok {
				b.crowds = true
				d.target.Notify("probe: breakpoint %d is in the first instructions of %s: a trap at its entry replaces the jump, and each call costs tens of microseconds", st.ID, name)
				break
			}
		}
	}
}
