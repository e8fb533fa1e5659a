package recording

import (
	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/cond"
)

// A Watch is shown the events that the probe has recorded in its ring, whether they are
// recorded here or not. Those that the owner of the process follows it is not shown.
type Watch struct {
	filter Filter
	see    func(e *capture.Event, fn *breakpoints.Function, env cond.Env)
	seen   func()
}

// NewWatch has see told of each event, with what conditions may ask of it, and seen after
// each batch of them. While see runs, the Recording is locked. What the condition asks of
// stacks is asked once for each stack, until the modules change; c may be nil.
func NewWatch(c *cond.Cond, see func(e *capture.Event, fn *breakpoints.Function, env cond.Env), seen func()) *Watch {
	w := &Watch{see: see, seen: seen}
	if c != nil {
		w.filter = *NewFilter(c)
	}
	return w
}

// SetWatches replaces those that watch.
func (r *Recording) SetWatches(ws []*Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.watches = ws
}

// watch shows an event of the probe, whose stack is the probe's.
func (n *run) watch(e *capture.Event, fn *breakpoints.Function) {
	for _, w := range n.watches {
		w.filter.env = filterEnv{run: n, filter: &w.filter, e: e, fn: fn}
		w.see(e, fn, &w.filter.env)
	}
}
