package recordings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/query"
	"hdb/session/target"
)

// A Monitor sums up by function what is recorded, while the process runs. All of it
// belongs to the session's goroutine but CountThreads. It costs the process nothing
// but hdb's share of the machine.
type Monitor struct {
	*query.Monitor
	c        *target.Target
	recorder recorder
	log      *file.Log
}

// NewMonitor watches the recording of the process, or of the one that was last.
func (q *Queries) NewMonitor() (*Monitor, error) {
	if bounds, ok := q.recorded.recorder.Bounded(); ok {
		return nil, fmt.Errorf("the live view needs all events, and the recording keeps %s", bounds)
	}
	log := q.recorded.Account.Rec.Log()
	if log == nil {
		return nil, target.ErrNotRunning
	}
	return &Monitor{query.NewMonitor(q.RecordingOf(log, nil), log, q.recorded.Account.Rec.Seq), q.target, q.recorded.recorder, log}, nil
}

// Name names stacks for about as long, 0 without end, and reports whether all are named. It does
// not wait for debug files from servers.
func (m *Monitor) Name(budget time.Duration) (whole bool) {
	defer m.c.Names.Debuginfod.DoNotWait()()
	return m.Monitor.Name(budget, m.c.Exclusive) // a record filter names frames, too, on another goroutine
}

// Elapsed is the process's own time since it was launched or attached to.
func (m *Monitor) Elapsed() time.Duration { return m.c.Now() }

// Resident is how much of the process's memory is resident, 0 when it has ended.
func (m *Monitor) Resident() uint64 {
	if m.c.Proc == nil {
		return 0
	}
	rss, _ := inferior.Resident(m.c.Proc.PID())
	return rss
}

// Lost is how many calls are in no event.
func (m *Monitor) Lost() uint64 { return m.recorder.Progress().Lost }

// Info is what is known of the process.
func (m *Monitor) Info() capture.Info { return m.log.Info() }

// Threads are those that the events speak of, as they are called now or were last.
func (m *Monitor) Threads() []capture.Thread {
	all := slices.Clone(m.log.Threads())
	if m.c.Proc == nil {
		return all
	}
	for _, t := range m.c.Proc.Threads() {
		if i := slices.IndexFunc(all, func(o capture.Thread) bool { return o.Num == t.Num }); i >= 0 {
			all[i].Name = cmp.Or(t.Name(), all[i].Name)
		}
	}
	return all
}
