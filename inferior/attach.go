package inferior

import "fmt"

// An AttachError says why a process cannot be attached to and what to do.
type AttachError struct {
	PID   int
	Cause string
	Hint  string
}

func (e *AttachError) Error() string {
	s := fmt.Sprintf("attach to process %d: %s", e.PID, e.Cause)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}
