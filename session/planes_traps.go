package session

import (
	"errors"

	"hdb/inferior"
	"hdb/internal/addr"
)

// plant puts a trap where the user wants to stop. In the first instructions of a function
// that the probe follows, its jump makes room for it.
func (p *Planes) plant(a addr.Run, h inferior.Handler) (*inferior.Trap, error) {
	tr, err := p.proc.Plant(a, h)
	var inside *inferior.PatchedError
	if p.probe == nil || !errors.As(err, &inside) {
		return tr, err
	}
	err = p.stopAll(func() (err error) {
		if err = p.probe.MakeRoom(a); err != nil {
			return err
		}
		tr, err = p.proc.Plant(a, h)
		return errors.Join(err, p.reshape())
	})
	return tr, err
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
