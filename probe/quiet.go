package probe

// A process may have seccomp(2) kill it for system calls, at any time. So the core makes none in a
// process that dies with hdb: where it would make one it comes to an int3, which nobody but hdb
// will ever have to answer; it waits for room in the ring by spinning, and nobody wakes the
// consumer. A process that is to outlive hdb must not come to an int3 when hdb has been killed.

// Quieten has the core make system calls in a process that outlives hdb, or is about to, and none in
// another.
func (p *Probe) Quieten(outlives bool) error {
	quiet := uint64(0)
	if !outlives {
		quiet = quietCalls | quietWaits
	}
	return p.quieten(quiet)
}

// quieten writes stQuiet.
func (p *Probe) quieten(quiet uint64) error {
	if err := p.poke(stQuiet, quiet); err != nil {
		return err
	}
	p.reader.poll(quiet&quietWaits != 0)
	return nil
}

// confined has threads wait without system calls: one of them may make none.
func (p *Probe) confined() error {
	if p.reader.polls() {
		return nil
	}
	return p.quieten(quietWaits)
}
