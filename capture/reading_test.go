package capture_test

import (
	"context"
	"errors"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
)

// TestReadingEndsEarly gives up before the first event, in the middle and after the
// last: what is read then is at most one part more.
func TestReadingEndsEarly(t *testing.T) {
	log := file.NewLog(capture.Info{})
	malloc := log.FuncIndex("malloc")
	const part = 4096 // events between two looks at the context
	const events = 10*part - 1
	for i := range events {
		log.AddEvent(&capture.Event{TID: 1, Kind: capture.Alloc, Func: malloc, Addr: 0x1000 + uint64(i)*16, Size: 8})
	}
	for _, at := range []int{0, events / 2, events} {
		ctx, cancel := context.WithCancel(context.Background())
		if at == 0 {
			cancel()
		}
		r, n := capture.NewReading(ctx), 0
		for range r.Of(log).Events(0) {
			if n++; n == at {
				cancel()
			}
		}
		whole := at == events
		if after := n - at; after < 0 || after > part || (r.Cut() == nil) != whole || !whole && !errors.Is(r.Cut(), context.Canceled) {
			t.Errorf("given up after event %d: read %d, cut: %v", at, n, r.Cut())
		}
		if r.Events() > uint64(n) {
			t.Errorf("given up after event %d: %d counted of %d", at, r.Events(), n)
		}
		cancel()
	}
	var none *capture.Reading
	if none.GivenUp() || none.Cut() != nil || none.Of(log) != capture.Source(log) {
		t.Error("no reading is given up")
	}
}
