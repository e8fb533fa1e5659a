package capture

import (
	"context"
	"iter"
	"sync/atomic"
)

// A Reading is what one question reads of recordings, until it is answered or no caller waits for
// the answer any longer. Its methods may be called from any goroutine; a nil Reading is never given
// up.
type Reading struct {
	ctx    context.Context
	events atomic.Uint64
	cut    atomic.Bool
}

// NewReading begins a reading that is given up when ctx is done.
func NewReading(ctx context.Context) *Reading { return &Reading{ctx: ctx} }

// Of is src with events that end early when the reading is given up. What was made of
// them then is no answer, as Cut tells.
func (r *Reading) Of(src Source) Source {
	if r == nil || src == nil {
		return src
	}
	return readSource{src, r}
}

// GivenUp tells whoever reads to stop, and that the reading is cut.
func (r *Reading) GivenUp() bool {
	if r == nil || r.ctx.Err() == nil {
		return false
	}
	r.cut.Store(true)
	return true
}

// Cut is the context's error if something was left out because of it, else nil: an
// answer that was whole before the context ended is one.
func (r *Reading) Cut() error {
	if r == nil || !r.cut.Load() {
		return nil
	}
	return r.ctx.Err()
}

// Bound is a context that ends with ctx, or when the reading is given up.
func (r *Reading) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if r == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(r.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// Events is how many events were read so far.
func (r *Reading) Events() uint64 { return r.events.Load() }

// readPart is how many events are read between two looks at the context: less than a
// millisecond's.
const readPart = 4096

type readSource struct {
	Source
	reading *Reading
}

func (s readSource) Events(from uint64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if s.reading.GivenUp() {
			return
		}
		n := 0
		for e := range s.Source.Events(from) {
			if !yield(e) {
				return
			}
			if n++; n%readPart == 0 {
				s.reading.events.Add(readPart)
				if s.reading.GivenUp() {
					return
				}
			}
		}
	}
}
