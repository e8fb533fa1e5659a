package recording

import (
	"testing"
	"time"
)

// The time stands still with the process, and does not go back.
func TestClock(t *testing.T) {
	var c Clock
	if c.Now() != 0 {
		t.Error("there is a time without a process")
	}
	c.Start()
	if c.Now() != 0 {
		t.Errorf("%v before it runs", c.Now())
	}
	c.Resume()
	for c.Now() == 0 {
	}
	c.Stop()
	stood := c.Now()
	time.Sleep(time.Millisecond)
	if c.Now() != stood {
		t.Errorf("%v, then %v while it stands", stood, c.Now())
	}
	c.LeaveOut(time.Hour)
	if c.Now() != stood {
		t.Errorf("%v, then back to %v", stood, c.Now())
	}
}
