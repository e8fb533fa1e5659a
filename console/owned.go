package console

import "sync"

// owned is what other goroutines want done on the console's, in their order.
type owned struct {
	mu    sync.Mutex
	calls []func()
}

// add has f run by the next drain. Any goroutine may call it.
func (o *owned) add(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, f)
}

// drain runs what was added. The console's goroutine calls it.
func (o *owned) drain() {
	o.mu.Lock()
	calls := o.calls
	o.calls = nil
	o.mu.Unlock()
	for _, f := range calls {
		f()
	}
}
