package console

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/inferior"
	"hdb/query"
	"hdb/session/recordings"
	"hdb/session/stopped"
)

// monitor is the live view: the screen is its own while the process runs. Keys,
// signals of the terminal and a clock come on other goroutines, which post what is to
// be done; it is done on the console's, in between what the process needs of hdb.
type monitor struct {
	c    *desk.Desk
	data *recordings.Monitor
	view screen.Monitor

	stays bool // at the end of the program, as long as it is watched
	goes  bool // on when something stops the program

	calls shell.Queue   // posted and not done
	wake  chan struct{} // there are some, while nothing runs

	held       line.HeldKeys
	running    bool
	quit       bool
	ticking    atomic.Bool // a tick is posted
	counting   bool        // another goroutine counts the threads' events
	naming     bool        // more names are to be looked up soon
	rows, cols int         // of the terminal when it was painted
	counted    uint64
	at         time.Duration

	functions, threads, opened monitorGrowth       // of the three tables
	path                       []screen.MonitorKey // of opened
	baseSeq                    uint64              // the event from which changes of threads count,
	baseAt                     time.Duration       // and when that was
}

// monitorEvery is the time between two pictures. Names are looked up for namingTime
// at once, and then not for namingPause.
const (
	monitorEvery = time.Second
	namingTime   = 20 * time.Millisecond
	namingPause  = 40 * time.Millisecond
)

// monitorReady is why there can be no live view, or nil.
func monitorReady(c *desk.Desk) error {
	if _, ok := c.In.(line.KeySource); !ok || !c.Split.Ready() {
		return screen.NoTerminal("the live view")
	}
	if rows, cols := c.Split.Size(); !screen.MonitorFits(rows, cols) {
		return screen.SmallMonitor(rows, cols)
	}
	return nil
}

// newMonitor prepares the view of what the session records.
func newMonitor(c *desk.Desk) (*monitor, error) {
	data, err := c.Session.Queries.NewMonitor()
	if err != nil {
		return nil, err
	}
	info := data.Info()
	m := &monitor{c: c, data: data, wake: make(chan struct{}, 1)}
	m.view = screen.Monitor{Program: strings.Join(append([]string{info.Program}, info.Args...), " "), PID: info.PID, ASCII: !screen.BlockElements(c.Opt.Getenv)}
	return m, nil
}

// run shows the process while it runs, until the user quits, it stops or hdb is to
// end. The report is nil when it did not stop for itself.
func (m *monitor) run(ctx context.Context) (*stopped.Report, error) {
	if err := m.begin(); err != nil {
		return nil, err
	}
	defer m.end()
	clock := time.NewTicker(monitorEvery)
	defer clock.Stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-clock.C:
				m.postTick()
			}
		}
	}()
	var last *stopped.Report
	for m.tick(); !m.quit && ctx.Err() == nil; {
		m.running = true
		rep, err := m.c.Session.Execution.Continue(1)
		m.running = false
		if err != nil {
			return nil, err
		}
		m.drain()
		m.c.Exit.Reported(rep)
		last = rep
		switch {
		case desk.Ended(rep):
			m.view.Ended = rep.Headline()
			m.finish(ctx)
			return rep, nil
		case !m.goes && rep.Reason != inferior.Interrupted:
			return rep, nil
		}
	}
	return last, nil
}

// finish shows the end of the program until the user quits.
func (m *monitor) finish(ctx context.Context) {
	for whole := false; !whole && !m.quit && ctx.Err() == nil; m.drain() {
		m.view.Paused = false
		whole = m.take(10 * namingTime)
		m.paint()
	}
	for m.stays && !m.quit && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-m.wake:
			m.drain()
		}
	}
}

// begin takes the terminal.
func (m *monitor) begin() error {
	m.held = line.HeldKeys{From: m.c.In.(line.KeySource), Typed: m.typed}
	if err := m.held.Hold(); err != nil {
		return err
	}
	m.c.Notices.Hold()
	desk.NoteDoubt(m.c, m.c.Session.Recorded.Doubt()) // which the view shows
	m.c.Session.KeepTerminal(true)
	m.c.Split.FullScreen().Begin("", screen.User{Resized: func() { m.post(m.paint) }, Lost: func() { m.post(m.regain) }})
	return nil
}

// end gives it back.
func (m *monitor) end() {
	m.c.Split.FullScreen().End()
	m.c.Session.KeepTerminal(false)
	if err := m.held.Release(); err != nil {
		m.c.Warn(err)
	}
	m.c.Notices.Release()
	m.c.Layout()
}

// regain is called when another program had the terminal.
func (m *monitor) regain() {
	if !m.held.Regain(m.c.Notify) {
		m.quit = true
		return
	}
	m.paint()
}

// post has f run on the console's goroutine. Any may call it.
func (m *monitor) post(f func()) {
	m.calls.Add(f)
	select {
	case m.wake <- struct{}{}:
	default:
	}
	m.c.Session.Alongside(m.drain)
}

// postTick posts a tick, unless one is waiting.
func (m *monitor) postTick() {
	if !m.ticking.Swap(true) {
		m.post(m.tick)
	}
}

// drain does what was posted.
func (m *monitor) drain() {
	m.calls.Drain()
	if m.quit && m.running {
		_ = m.c.Session.Interrupt() // an error would mean that nothing runs
	}
}

// typed is called with keys, on a goroutine of the reader's.
func (m *monitor) typed(keys []byte) { m.post(func() { m.keys(keys) }) }

// keys does what they ask for; none at all is a terminal that has hung up.
func (m *monitor) keys(typed []byte) {
	if len(typed) == 0 {
		m.quit = true
		return
	}
	act := screen.ActNone
	for _, k := range line.SplitKeys(typed) {
		switch a := m.view.Key(k); a {
		case screen.ActQuit:
			m.quit = true
			return
		case screen.ActRows, screen.ActBase:
			if path := m.view.Path(); !slices.Equal(m.path, path) {
				m.path, m.opened = path, monitorGrowth{}
			}
			if !m.view.PerThread {
				m.threads.from, m.threads.to = nil, nil // the last second is not known when they are shown again
			}
			if m.refresh(); a == screen.ActBase {
				m.rebase()
			}
			if m.view.Paused || a == screen.ActBase {
				m.takeRows(m.view.Ended != "")
			}
			act = screen.ActPaint
		case screen.ActPaint:
			act = screen.ActPaint
		}
	}
	if act == screen.ActPaint {
		m.paint()
	}
}

// tick brings the picture up to date.
func (m *monitor) tick() {
	m.ticking.Store(false)
	m.refresh()
	m.paint()
}

// refresh takes in what was recorded since, unless the user has it pause.
func (m *monitor) refresh() {
	if !m.view.Paused && !m.take(namingTime) {
		m.nameMore()
	}
}

// nameMore continues looking up names when the process had its turn.
func (m *monitor) nameMore() {
	if m.naming {
		return
	}
	m.naming = true
	time.AfterFunc(namingPause, func() {
		m.post(func() {
			m.naming = false
			switch {
			case !m.data.Name(namingTime):
				m.nameMore()
			case !m.view.Paused:
				m.take(namingTime)
				m.paint()
			}
		})
	})
}

// unfollowed reports whether nothing is known of what the program allocates.
func (m *monitor) unfollowed() bool {
	return m.data.Totals().Events == 0 && m.data.Info().Partial.Has(capture.NoAllocator)
}

// take has the view show this moment. It reports whether all of it is known.
func (m *monitor) take(budget time.Duration) (whole bool) {
	err := m.data.Update()
	whole = m.data.Name(budget)
	v := &m.view
	v.Note = ""
	switch {
	case err != nil:
		v.Note, whole = err.Error(), true
	case !whole:
		v.Note = "names are being looked up"
	default:
		v.Note = strings.Join(m.c.Session.Recorded.Gaps(), "; ")
	}
	now := m.data.Totals()
	v.Elapsed = m.data.Elapsed()
	if d := v.Elapsed - m.at; d >= monitorEvery/2 || v.Ended != "" || m.at == 0 {
		v.Rate = uint64(float64(now.Events-min(m.counted, now.Events)) / max(d.Seconds(), 0.001))
		m.at, m.counted = v.Elapsed, now.Events
	}
	v.Events, v.Live, v.Blocks, v.Peak = now.Events, now.Live, now.Blocks, m.data.Peak().Live
	v.RSS, v.Lost = m.data.Resident(), m.data.Lost()
	v.Unfollowed = m.unfollowed()
	elapsed := max(v.Elapsed, now.Time)
	v.Columns = func(n int) []uint64 { return m.data.Line().Columns(elapsed, n) }
	v.Message = m.c.Notices.Latest()
	if m.functions.base == nil {
		m.rebase()
	}
	m.functions.note(monitorRows(m.data.Rows()), v.Elapsed, v.Ended != "")
	return m.takeRows(v.Ended != "") && whole
}

// rebase has changes count from this moment on, in all tables.
func (m *monitor) rebase() {
	m.functions.base, m.threads.base, m.opened.base = nil, nil, nil
	m.baseSeq, m.baseAt = m.data.Totals().Seq, m.view.Elapsed
	m.functions.note(monitorRows(m.data.Rows()), m.baseAt, false)
}

// takeRows has the view show the rows of the new events. It reports whether all are known.
func (m *monitor) takeRows(here bool) (whole bool) {
	v := &m.view
	switch path := m.view.Path(); {
	case len(path) > 0:
		keys := make([]query.MonitorKey, len(path))
		for i, k := range path {
			keys[i] = query.MonitorKey(k)
		}
		v.Rows = monitorRows(m.data.Callers(keys))
		m.opened.note(v.Rows, v.Elapsed, v.Ended != "")
		v.Span, v.Since = m.opened.fill(v.Rows, v.Elapsed)
	case v.PerThread:
		return m.takeThreads(here)
	default:
		v.Rows = monitorRows(m.data.Rows())
		v.Span, v.Since = m.functions.fill(v.Rows, v.Elapsed)
	}
	return true
}

// showThreads has the view show the rows of threads, as they were counted last.
func (m *monitor) showThreads() {
	m.view.Rows = monitorRows(m.data.ThreadRows())
	m.view.Span, m.view.Since = m.threads.fill(m.view.Rows, m.threads.toAt)
}

// noteThreads takes in rows of threads that have all events up to a moment.
func (m *monitor) noteThreads(at time.Duration) {
	m.threads.base, m.threads.baseAt = sumsOf(monitorRows(m.data.ThreadBase())), m.baseAt
	m.threads.note(monitorRows(m.data.ThreadRows()), at, m.view.Ended != "")
}

// takeThreads shows what is known of the threads, and has the rest counted: to the end, or while
// the process runs.
func (m *monitor) takeThreads(here bool) (whole bool) {
	v := &m.view
	if m.counting {
		return !here
	}
	base, to, at := m.baseSeq, m.data.Totals().Seq, v.Elapsed
	all := true
	if here {
		if all = m.data.CountThreads(base, to); all {
			m.noteThreads(at)
		}
	}
	v.Threads = map[int32]string{}
	for _, t := range m.data.Threads() {
		v.Threads[t.TID] = screen.Sprintf("%d %s", t.Num, t.Name)
	}
	m.showThreads()
	if here {
		return all
	}
	m.counting = true
	go func() {
		all := m.data.CountThreads(base, to)
		m.post(func() {
			m.counting = false
			if all && base == m.baseSeq {
				m.noteThreads(at)
			}
			if v.PerThread && !v.Paused && len(v.Path()) == 0 {
				m.showThreads()
				m.paint()
				if !all {
					m.takeThreads(m.view.Ended != "")
				}
			}
		})
	}()
	return true
}

// paint shows the view as it is.
func (m *monitor) paint() {
	m.c.Layout()
	m.rows, m.cols = m.c.Split.Size()
	lines := m.view.Lines(m.c.Out, m.rows, m.cols)
	m.c.Split.FullScreen().Show(lines, m.rows)
}

// monitorRows are rows in the form of the view.
func monitorRows(rows []query.MonitorRow) []screen.MonitorRow {
	out := make([]screen.MonitorRow, len(rows))
	for i, r := range rows {
		out[i] = screen.MonitorRow{Key: screen.MonitorKey(r.Key), Site: r.Site, Own: screen.MonitorSum(r.Own), Total: screen.MonitorSum(r.Total)}
	}
	return out
}
