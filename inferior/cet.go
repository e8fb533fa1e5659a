package inferior

// ShadowStack tells whether the kernel guards return addresses of the target
// (CET): no code may then return where it was not called from.
func (p *Process) ShadowStack() bool { return p.hasShadowStack() }

// StoppedThread is a thread of the target that can be worked with now: in a
// hook or a handler the one that it is about, as a rule. nil if none is stopped.
func (p *Process) StoppedThread() *Thread {
	for _, t := range p.cur.order {
		if t.state == stopped {
			return t
		}
	}
	return nil
}
