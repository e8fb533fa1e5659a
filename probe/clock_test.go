package probe

import (
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"hdb/capture"
)

func TestClock(t *testing.T) {
	c := clock{tsc: [2]uint64{1e9}, time: [2]time.Duration{10 * time.Second}}
	c.present(5e9, 12*time.Second)
	for _, s := range []struct {
		stamp uint64
		want  time.Duration
	}{
		{1e9, 10 * time.Second}, {2e9, 10500 * time.Millisecond}, {4e9, 11500 * time.Millisecond},
		{3e9, 11 * time.Second}, // of another processor, or written late
		{5e9, 12 * time.Second},
	} {
		if got := c.at(s.stamp); got != s.want {
			t.Errorf("stamp %d is %v, want %v", s.stamp, got, s.want)
		}
	}
	still := clock{tsc: [2]uint64{1000}, time: [2]time.Duration{time.Second}}
	still.present(1000, time.Second)
	if got := still.at(1000); got != time.Second {
		t.Errorf("at the resumption: %v", got)
	}
}

// Times are those of the line, cut to whole microseconds, however long it is; what lies
// within a nanosecond of the next one may count as this.
func TestClockIsTheLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		span := 1 + rng.Uint64N(1<<rng.IntN(50)) // up to days
		elapsed := span / (1 + rng.Uint64N(5))
		began := time.Duration(rng.Int64N(1e15))
		now, ago := began+time.Duration(elapsed), rng.Uint64N(span+1)
		c := clock{tsc: [2]uint64{1000}, time: [2]time.Duration{began}}
		c.present(1000+span, now)
		high, low := bits.Mul64(ago, elapsed)
		ns, _ := bits.Div64(high, low, span)
		want := now - time.Duration(ns)
		if got := c.at(1000 + span - ago); got != want.Truncate(capture.Resolution) && got != (want-1).Truncate(capture.Resolution) && got != (want+1).Truncate(capture.Resolution) {
			t.Fatalf("%d ticks before %v, after %d of %v: %v, want %v", ago, now, span, time.Duration(elapsed), got, want)
		}
	}
}

// What is given out between two looks at the clock is whole microseconds, and the same as
// it is for each stamp by itself.
func TestClockIsWhole(t *testing.T) {
	line := func() *clock {
		c := &clock{tsc: [2]uint64{1000}, time: [2]time.Duration{10*time.Second + 123}}
		c.present(1000+3e6, 10*time.Second+123+time.Millisecond)
		return c
	}
	c := line()
	for stamp := uint64(1000); stamp <= 1000+3e6; stamp += 77 {
		got, want := c.at(stamp), line().at(stamp)
		if got != want || got%capture.Resolution != 0 {
			t.Fatalf("stamp %d is %v, by itself %v", stamp, got, want)
		}
	}
}

// Records that are written while hdb takes others have their own times, and what an
// inferior invents does not lie in the future.
func TestClockOfNewerStamps(t *testing.T) {
	var c clock
	c.resume(5 * time.Second)
	time.Sleep(time.Millisecond)
	c.tick()
	before := c.at(readTSC())
	time.Sleep(20 * time.Millisecond)
	first := readTSC()
	time.Sleep(20 * time.Millisecond)
	second := readTSC()
	if a, b := c.at(first), c.at(second); a-before < 15*time.Millisecond || b-a < 15*time.Millisecond {
		t.Errorf("%v, then %v and %v", before, a, b)
	}
	start := time.Now()
	if got, least := c.at(second+1<<62), c.at(second); got < least || got-least > 5*time.Second+time.Since(start) {
		t.Errorf("a stamp of the future is %v, after %v", got, least)
	}
	// Nor does a stamp that is older than any processor, whatever the frequency is.
	for _, hz := range []uint64{20e6, 8e8, 3e9} {
		for _, ago := range []uint64{1<<63 - 1, 1 << 62, 1 << maxTicks, 1<<maxTicks - 1} {
			c = clock{tsc: [2]uint64{1 << 60}, time: [2]time.Duration{10 * time.Second}, wall: time.Now()}
			c.present(1<<60+hz, 11*time.Second)
			if got := c.at(1<<60 + hz - ago); got > time.Minute {
				t.Errorf("at %d Hz a stamp %d ticks old is %v", hz, ago, got)
			}
		}
	}
}

// The time in which the inferior stands still does not count.
func TestClockStandsStill(t *testing.T) {
	var c clock
	c.resume(5 * time.Second)
	first := readTSC()
	time.Sleep(20 * time.Millisecond)
	second := readTSC()
	c.tick()
	began, later := c.at(first), c.at(second)
	if began < 5*time.Second || began > 5*time.Second+10*time.Millisecond || later-began < 15*time.Millisecond || later-began > 5*time.Second {
		t.Errorf("%v, then %v", began, later)
	}
	time.Sleep(20 * time.Millisecond) // the inferior is stopped
	c.resume(6 * time.Second)
	c.tick()
	if again := c.at(readTSC()); again < 6*time.Second || again > 6*time.Second+15*time.Millisecond {
		t.Errorf("after the stop: %v", again)
	}
}

// What comes behind hdb's own work has its own times, though events were shown while it was at it.
func TestClockBehindOwnWork(t *testing.T) {
	var c clock
	c.resume(5 * time.Second)
	time.Sleep(60 * time.Millisecond)
	c.tick()
	before := c.at(readTSC())
	c.work.add(55 * time.Millisecond)
	first := readTSC()
	time.Sleep(20 * time.Millisecond)
	second := readTSC()
	c.tick()
	if a, b := c.at(first), c.at(second); a < before || b-a < 19*time.Millisecond {
		t.Errorf("%v, then %v and %v", before, a, b)
	}
	c.work.add(time.Millisecond)
	third := readTSC()
	c.tick()
	if at := c.at(third); at < c.at(second) {
		t.Errorf("%v after %v", at, c.at(second))
	}
}
