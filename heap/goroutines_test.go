package heap

import (
	"math"
	"testing"

	"hdb/capture"
)

type functionsOnly struct{ capture.Source }

func (functionsOnly) Functions() []string { return []string{"malloc", "runtime.mallocgc"} }

func TestThreadsByGoroutine(t *testing.T) {
	of := func(function uint16, goroutine uint64) *capture.Event {
		return &capture.Event{Kind: capture.Alloc, TID: 5, Func: function, Aux: uint64(capture.NewGoAux(goroutine, 0, 0))}
	}
	threads := NewThreads(functionsOnly{})
	if got := threads.runner(of(1, 17)); got != 5 {
		t.Errorf("by thread: %d", got)
	}
	threads.ByGoroutine()
	for _, c := range []struct {
		e    *capture.Event
		want int32
	}{
		{of(1, 17), -17}, {of(0, 17), 5}, {of(1, 0), 5}, {of(7, 17), 5}, {of(1, math.MaxInt32), -math.MaxInt32}, {of(1, math.MaxInt32+1), MoreGoroutines},
	} {
		if got := threads.runner(c.e); got != c.want {
			t.Errorf("%+v: %d, want %d", c.e, got, c.want)
		}
	}
	for id := uint64(1); id < 2*maxGoroutines; id++ {
		threads.runner(of(1, id))
	}
	if a, b := threads.runner(of(1, 17)), threads.runner(of(1, 2*maxGoroutines)); a != -17 || b != MoreGoroutines || len(threads.goroutines) != maxGoroutines {
		t.Errorf("%d and %d of %d", a, b, len(threads.goroutines))
	}
}
