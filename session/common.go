package session

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
)

// common is what all parts of a session share: what it is about, how it is wired to its
// user, and its settings.
type common struct {
	cfg      Config
	settings *Settings

	names        *names.Resolver
	proc         *inferior.Process                // the one that runs; nil without
	image        *inferior.Process                // what is read: proc, or what a core file has; nil without either
	target       atomic.Pointer[inferior.Process] // proc, for other goroutines
	probe        *probe.Probe                     // nil before it was needed
	golang       *goRuntime                       // of the process
	saved        *file.File                       // nil: no capture is open
	clock        recording.Clock
	attribution  *query.Attribution   // of blocks to functions, by the settings
	reading      *capture.Reading     // of the command that runs, see Session.Within; nil: to the end
	exit         *inferior.ExitStatus // of the last process that ended, nil: none has
	said         map[string]bool      // warnings given in this run
	births       int                  // processes that it has made
	going        atomic.Bool          // all threads run, but those that are being looked at
	keepTerminal bool                 // hdb keeps its terminal while a process runs
	past         bool                 // an event that was recorded before is selected, see Travel
	beside       bool                 // the verbs are called while the process runs, see Session.Beside
}

// unread is why what a file of the process holds is not known: it is not there, or another one has its
// place; nil: all are read.
func (c *common) unread() error {
	for _, m := range c.image.Modules() {
		mod := c.names.Modules.At(m.Low)
		if m.VDSO || mod == nil {
			continue
		}
		_, err := c.names.Modules.Object(mod)
		switch {
		case err == nil:
		case c.mode() == Core:
			return fmt.Errorf("%w; `hdb core FILE CORE` has the program from elsewhere", err)
		default:
			return err
		}
	}
	return nil
}

func (c *common) notify(format string, args ...any) {
	c.cfg.Notify(fmt.Sprintf(format, args...))
}

// mode is Session.Mode.
func (c *common) mode() Mode {
	switch {
	case c.saved != nil:
		return Saved
	case c.proc != nil:
		return Live
	case c.image != nil:
		return Core
	case c.names.Program != nil:
		return Loaded
	}
	return Empty
}

// recalled tells that what is selected is an event as it was recorded: of a capture, or of
// the recording that the process goes on with.
func (c *common) recalled() bool { return c.saved != nil || c.past }

// pastError is the error of what the process has where the view is in its past.
func (c *common) pastError() error {
	if c.proc == nil {
		return ErrNotRunning
	}
	return ErrPast
}

// live is the error of a verb that runs or changes a process, or nil.
func (c *common) live() error {
	if c.mode() == Core {
		return c.image.Alive()
	}
	return c.readable()
}

// readable is the error of a verb that reads a process: its threads and memory, which a
// core file has, too.
func (c *common) readable() error {
	switch mode := c.mode(); {
	case mode == Saved:
		return ErrSaved
	case mode == Live && c.beside:
		return ErrNotStopped
	case mode == Live && c.past:
		return ErrPast
	case mode.Readable():
		return nil
	}
	return ErrNotRunning
}

// now is the inferior's own time since it was launched or attached: the time it
// stood for the user or for hdb's own work is not counted.
func (c *common) now() time.Duration {
	return c.clock.Now()
}

// ownWork leaves the time until the returned function is called out of the
// inferior's.
func (c *common) ownWork() func() {
	begun := time.Now()
	return func() {
		d := time.Since(begun)
		c.clock.LeaveOut(d)
		if c.probe != nil {
			c.probe.Idle(d)
		}
	}
}

// exclusive runs f while no event is being taken from the probe.
func (c *common) exclusive(f func()) {
	if c.probe != nil {
		c.probe.Exclusive(f)
		return
	}
	f()
}

// stopAll runs f while all threads stand, between two events: those that they made
// before have been taken from the probe, so that f may look at the trace.
func (c *common) stopAll(f func() error) error {
	return c.proc.StopAll(func() error {
		c.exclusive(func() {})
		defer c.exclusive(func() {}) // orders what f did before the events to come
		return f()
	})
}

// readPointer reads an address from the inferior's memory.
func (c *common) readPointer(a addr.Run) (addr.Run, error) {
	var b [8]byte
	if _, err := c.image.ReadAt(b[:], int64(a)); err != nil {
		return 0, err // which names the address
	}
	return addr.Run(binary.LittleEndian.Uint64(b[:])), nil
}

// within is Session.Within.
func (c *common) within(r *capture.Reading) (before *capture.Reading) {
	before, c.reading = c.reading, r
	c.names.Within(r)
	return before
}

// interrupt is Session.Interrupt.
func (c *common) interrupt() error {
	c.names.Debuginfod.Interrupt()
	if p := c.target.Load(); p != nil {
		return p.Interrupt()
	}
	return nil
}

// account is what is known of the allocator calls of this run.
type account struct {
	rec    *recording.Recording
	losses recording.Losses // what is in no event
	gaps   recording.Gaps   // what is in doubt
}

// begin follows the begin of a run.
func (a *account) begin() {
	a.rec.Reset()
	a.losses, a.gaps = recording.Losses{}, recording.Gaps{}
}
