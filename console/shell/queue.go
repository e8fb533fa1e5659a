package shell

import "sync"

// A Queue is what other goroutines want done on one goroutine, in their order.
type Queue struct {
	mu    sync.Mutex
	calls []func()
}

// Add has f run by the next drain. Any goroutine may call it.
func (o *Queue) Add(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, f)
}

// Drain runs what was added. The goroutine that it is done on calls it.
func (o *Queue) Drain() {
	o.mu.Lock()
	calls := o.calls
	o.calls = nil
	o.mu.Unlock()
	for _, f := range calls {
		f()
	}
}
