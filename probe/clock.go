package probe

import (
	"math"
	"math/bits"
	"sync"
	"time"

	"hdb/capture"
)

// readTSC reads the processor's time stamp counter.
func readTSC() uint64

// workTimes are the times that hdb's own work has taken, while a thread was stopped.
type workTimes struct {
	mu  sync.Mutex // who works need not hold the reader's
	all []workTime
}

// A workTime is one of them, of d, by the clocks at its end.
type workTime struct {
	tsc  uint64
	wall time.Time
	d    time.Duration
}

func (g *workTimes) add(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, workTime{readTSC(), time.Now(), d})
}

func (g *workTimes) take() (all []workTime) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, g.all = g.all, nil
	return all
}

// A clock turns time stamps of the core into times of the session. It knows both
// at two moments, the last resumption and the present, and draws a line through
// them, so it needs no frequency; the counter must run at one, as processors
// with constant_tsc and nonstop_tsc have it.
type clock struct {
	tsc  [2]uint64
	time [2]time.Duration
	wall time.Time // at the resumption
	work workTimes // since then

	// The same in units of capture.Resolution, which are all that is given out, and in
	// parts of one, 2^64 of which it has.
	unit uint64 // parts that a tick of the counter has; 0 if unknown, or if it has a unit or more
	now  uint64 // the present,
	part uint64 // and parts beyond it
}

// resume begins anew after the inferior was stopped. now is the session's time.
func (c *clock) resume(now time.Duration) {
	t := readTSC()
	c.tsc[0], c.time[0], c.wall = t, now, time.Now()
	c.work.take()
	c.present(t, now)
}

// tick notes the present.
//
// Behind each of hdb's own works the line begins anew. One through it would be flatter than time is, and end before
// what has been given out meanwhile: what the inferior does next would all be at one moment.
func (c *clock) tick() {
	for _, g := range c.work.take() {
		c.time[0] = max(c.time[1], c.time[0]+g.wall.Sub(c.wall)-g.d)
		c.tsc[0], c.wall = g.tsc, g.wall
		c.present(g.tsc, c.time[0])
	}
	c.present(readTSC(), max(c.time[1], c.time[0]+time.Since(c.wall)))
}

// present draws the line to a moment.
func (c *clock) present(tsc uint64, now time.Duration) {
	const resolution = uint64(capture.Resolution)
	c.tsc[1], c.time[1] = tsc, now
	c.now, c.part = uint64(now/capture.Resolution), uint64(now%capture.Resolution)*(math.MaxUint64/resolution)
	c.unit = 0
	elapsed, ticks := uint64(now-c.time[0]), tsc-c.tsc[0]
	less := max(0, bits.Len64(ticks)+bits.Len64(resolution)-64) // of bits, so that the product is one of 64
	if ticks = ticks >> less * resolution; ticks > elapsed>>less {
		c.unit, _ = bits.Div64(elapsed>>less, 0, ticks)
	}
}

// at is the time of a stamp, in whole units of capture.Resolution; 0 if it is older than
// the session.
func (c *clock) at(stamp uint64) time.Duration {
	ticks, ok := c.since(stamp)
	if !ok { // written since, perhaps long since: hdb may have lost its processor
		c.tick()
		if ticks, ok = c.since(stamp); !ok {
			ticks = 0 // no stamp is newer than the present; this one was invented
		}
	}
	return max(0, time.Duration(c.before(ticks))*capture.Resolution)
}

// since is how long before the present a stamp was made, and false if it was later, or
// so long before that no processor made it.
func (c *clock) since(stamp uint64) (ticks uint64, ok bool) {
	ticks = c.tsc[1] - stamp
	return ticks, ticks < 1<<maxTicks
}

// maxTicks is the logarithm of more ticks than there are in half a year, and of fewer than
// before can multiply.
const maxTicks = 56

// before is the time that many ticks before the present, which since tells, in units of
// capture.Resolution. It is reckoned anew for each event: there are several in a unit of time, but
// a processor does not guess which of them is the first, and would continue on the wrong way at
// each. It is below 0 for ticks from before the session, and, while the clock is fine and the
// session younger than 2^maxTicks ticks, for those that since does not tell.
func (c *clock) before(ticks uint64) int64 {
	whole, parts := bits.Mul64(c.unit, ticks)
	_, borrow := bits.Sub64(c.part, parts, 0)
	units, _ := bits.Sub64(c.now, whole, borrow)
	return int64(units)
}

// fine reports whether a unit of time is some ticks of the counter or more.
func (c *clock) fine() bool { return c.unit != 0 && c.unit>>62 == 0 }
