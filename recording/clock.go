package recording

import "time"

// A Clock tells the process's own time since it was launched or attached to: the time for which it
// was stopped for the user or for hdb's own work is not counted. It belongs to the goroutine that
// owns the process. The zero value is of no process.
type Clock struct {
	started time.Time
	stopped time.Time     // when it was stopped, zero while it runs
	left    time.Duration // out
	latest  time.Duration // that Now has returned: time does not go back
}

// Start begins at 0, with the process standing.
func (c *Clock) Start() {
	now := time.Now()
	*c = Clock{started: now, stopped: now}
}

// Started is when it began.
func (c *Clock) Started() time.Time { return c.started }

// Now is the time.
func (c *Clock) Now() time.Duration {
	if c.started.IsZero() {
		return 0
	}
	end := time.Now()
	if !c.stopped.IsZero() {
		end = c.stopped
	}
	c.latest = max(c.latest, end.Sub(c.started)-c.left)
	return c.latest
}

// Stop says that the process is stopped from now on.
func (c *Clock) Stop() { c.stopped = time.Now() }

// Resume says that it runs.
func (c *Clock) Resume() {
	if !c.stopped.IsZero() {
		c.left += time.Since(c.stopped)
		c.stopped = time.Time{}
	}
}

// LeaveOut does not count so much of the time in which it ran.
func (c *Clock) LeaveOut(d time.Duration) { c.left += d }
