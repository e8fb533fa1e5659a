package inferior

// pin keeps the tracing thread on the processor of the tracee.
type pin struct{}

func (*pin) off() {}
