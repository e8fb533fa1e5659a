package inferior

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spinTime is how long to look for the next event before sleeping: longer
	// than a tracee takes from one trap to the next in a busy program, and
	// about what waking a sleeping CPU costs.
	spinTime = 50 * time.Microsecond
	// spinRest is after how many events to try again when that was too short.
	spinRest = 64
)

// A spinner waits for events. While they come quickly one after the other it
// polls for the next: to sleep and be woken would take several times as long
// as the event itself. It sleeps as soon as polling does not pay,
// so a program that computes has the CPUs for itself.
type spinner struct {
	rest int // events until polling is tried again
}

// next waits for an event of any tracee, by wait. EINTR: it was woken, or asked says so
// before it sleeps.
func (s *spinner) next(wait func(options int) (int, unix.WaitStatus, error), asked func() bool) (int, unix.WaitStatus, error) {
	if runtime.NumCPU() == 1 {
		return wait(0) // the tracee could not run while we poll
	}
	if s.rest > 0 {
		s.rest--
		return wait(0)
	}
	for begun := time.Now(); time.Since(begun) < spinTime; {
		if tid, ws, err := wait(unix.WNOHANG); tid != 0 || err != nil {
			return tid, ws, err
		}
	}
	s.rest = spinRest
	if asked() {
		return 0, 0, unix.EINTR // the signal came while we polled
	}
	return wait(0)
}
