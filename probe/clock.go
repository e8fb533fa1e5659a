package probe

import (
	"sync/atomic"
	"time"

	"hdb/capture"
)

// readTSC reads the processor's time stamp counter.
func readTSC() uint64

// A clock turns time stamps of the core into times of the session. It knows both
// at two moments, the last resumption and the present, and draws a line through
// them, so it needs no frequency; the counter must run at one, as processors
// with constant_tsc and nonstop_tsc have it.
type clock struct {
	tsc  [2]uint64
	time [2]time.Duration
	unit float64       // nanoseconds of a tick of the counter, 0 while unknown
	wall time.Time     // at the resumption
	last time.Duration // given out: times do not go back
	next uint64        // the first stamp that may be of a later time than that
	idle atomic.Int64  // nanoseconds since then that hdb's own work has taken
}

// resume begins anew after the inferior stood still. now is the session's time.
func (c *clock) resume(now time.Duration) {
	t := readTSC()
	c.tsc, c.time, c.wall = [2]uint64{t, t}, [2]time.Duration{now, now}, time.Now()
	c.unit, c.next = 0, 0
	c.idle.Store(0)
}

// tick notes the present.
func (c *clock) tick() {
	elapsed := time.Since(c.wall) - time.Duration(c.idle.Load())
	c.present(readTSC(), max(c.time[1], c.time[0]+elapsed))
}

// present draws the line to a moment.
func (c *clock) present(tsc uint64, now time.Duration) {
	c.tsc[1], c.time[1], c.next = tsc, now, 0
	if span := c.tsc[1] - c.tsc[0]; span > 0 {
		c.unit = float64(c.time[1]-c.time[0]) / float64(span)
	}
}

// at is the time of a stamp, in whole units of capture.Resolution: in most, there are
// many events.
func (c *clock) at(stamp uint64) time.Duration {
	if stamp >= c.next {
		c.pass(stamp)
	}
	return c.last
}

// pass brings the time up to a stamp.
func (c *clock) pass(stamp uint64) {
	ago := int64(c.tsc[1] - stamp)
	if ago < 0 { // written since, perhaps long since: hdb may have lost its processor
		c.tick()
		ago = int64(c.tsc[1] - stamp)
	}
	if ago <= 0 || c.unit == 0 { // no stamp is newer than the present, or the clock stood still
		c.last = max(c.last, c.time[1].Truncate(capture.Resolution))
		return
	}
	d := c.time[1] - time.Duration(float64(ago)*c.unit)
	whole := d.Truncate(capture.Resolution)
	c.last = max(c.last, whole)
	c.next = stamp + uint64(float64(whole+capture.Resolution-d-1)/c.unit) // a nanosecond early: d is cut to one
}
