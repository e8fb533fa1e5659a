package debuginfod

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A GivenUpError is why servers are not asked any more: see Config.Whole.
type GivenUpError struct {
	Bytes int64 // that came
	Limit time.Duration
}

func (e *GivenUpError) Error() string {
	return fmt.Sprintf("servers are no longer asked: %d bytes in %s of waiting, for all files together (DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME)", e.Bytes, e.Limit)
}

// A patience is one deadline for all files together. Its clock runs while a file is
// waited for, begins anew when a file or leastPerTimeout bytes have come, and ends all
// requests of the client when it has run out.
type patience struct {
	limit time.Duration // 0: no deadline

	mu      sync.Mutex
	waiting int           // requests
	since   time.Time     // the clock runs, while any waits
	spent   time.Duration // before
	bytes   int64         // that came since the clock began
	timer   *time.Timer
	cancels map[int]context.CancelCauseFunc // of the requests
	next    int                             // of cancels
	over    error
}

// begin is the context of a request, until end is called.
func (p *patience) begin(parent context.Context) (ctx context.Context, end func()) {
	if p.limit <= 0 {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		cancel(p.over)
		return ctx, func() {}
	}
	if p.waiting++; p.waiting == 1 {
		p.start()
	}
	id := p.next
	p.next++
	if p.cancels == nil {
		p.cancels = map[int]context.CancelCauseFunc{}
	}
	p.cancels[id] = cancel
	return ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		cancel(nil)
		delete(p.cancels, id)
		if p.waiting--; p.waiting == 0 {
			p.timer.Stop()
			p.spent += time.Since(p.since)
		}
	}
}

// start lets the clock run; the lock is held.
func (p *patience) start() {
	p.since = time.Now()
	p.timer = time.AfterFunc(p.limit-p.spent, p.expire)
}

// received notes bytes that a server has sent, or with whole a file.
func (p *patience) received(n int64, whole bool) {
	if p.limit <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += n; p.bytes < leastPerTimeout && !whole {
		return
	}
	p.bytes, p.spent = 0, 0
	if p.waiting > 0 && p.over == nil {
		p.timer.Stop()
		p.start()
	}
}

// expire ends all requests, unless the clock was restarted meanwhile.
func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == 0 || p.spent+time.Since(p.since) < p.limit {
		return
	}
	p.over = &GivenUpError{p.bytes, p.limit}
	for _, cancel := range p.cancels {
		cancel(p.over)
	}
}
