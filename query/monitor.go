package query

import (
	"slices"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
)

// maxMonitorNames bounds the cache of the frames of addresses.
const maxMonitorNames = 1 << 16

// A Monitor adds up a recording by function while it is recorded. One goroutine owns it,
// but for CountThreads. Each stack is named once, for a few milliseconds at a time.
type Monitor struct {
	r         *Recording // without an index
	seq       func() uint64
	running   *heap.Running
	threads   *heap.Threads // nil: never asked for
	functions []heap.Site
	index     map[siteKey]int32
	stacks    []monitorStack // by ID; named up to there

	chains   map[addr.Code][]monitorFrame
	modules  [2]int         // the numbers of modules and of unmapped ones that chains were made with
	frames   []monitorFrame // of one stack
	roles    []Role         // of one stack
	distinct []int32        // of one stack
	marked   []uint32       // by function: 1 more than the last stack that it is on
}

// siteKey tells functions apart.
type siteKey struct{ function, file, module string }

// A monitorStack is the functions of a stack, by their index.
type monitorStack struct {
	own   int32
	total []int32 // each once; own is the first
}

// unnamed is the index of the function that stands for stacks without names.
const unnamed = 0

// NewMonitor watches a recording, which needs no index. seq returns the number of its last
// event.
func NewMonitor(r *Recording, log *file.Log, seq func() uint64) *Monitor {
	m := &Monitor{r: r, seq: seq, running: heap.NewRunning(log), index: map[siteKey]int32{}, chains: map[addr.Code][]monitorFrame{}}
	m.functions = []heap.Site{{Function: "(names are being looked up)"}}
	return m
}

// Update adds what was recorded since the last call.
func (m *Monitor) Update() error { return m.running.Update() }

// Name names stacks for about the duration of budget, 0 without limit, and reports whether
// all are named. It names a few at a time, inside calls of alone.
func (m *Monitor) Name(budget time.Duration, alone func(func())) (whole bool) {
	begun := time.Now()
	for n := m.r.Source.Stacks(); len(m.stacks) <= n; {
		if budget > 0 && time.Since(begun) > budget {
			return false
		}
		m.sameModules()
		alone(func() {
			for range min(16, n+1-len(m.stacks)) {
				m.stacks = append(m.stacks, m.stack(capture.StackID(len(m.stacks))))
			}
		})
	}
	return true
}

// A monitorFrame is a function that an address stands for.
type monitorFrame struct {
	function int32
	role     Role
}

// stack names a stack by the modules that are mapped now, as it was seen just before.
func (m *Monitor) stack(id capture.StackID) monitorStack {
	rec := m.r.Source.Stack(id)
	m.frames = m.frames[:0]
	for i := range rec.PCs {
		m.frames = append(m.frames, m.chain(&rec, i)...)
	}
	if len(m.frames) == 0 {
		i := m.function(heap.Site{Function: noStack})
		return monitorStack{i, []int32{i}}
	}
	m.roles = m.roles[:0]
	for _, f := range m.frames {
		m.roles = append(m.roles, f.role)
	}
	user := Owner(m.roles)
	m.distinct = m.distinct[:0]
	for _, f := range m.frames[user:] {
		for int(f.function) >= len(m.marked) {
			m.marked = append(m.marked, 0)
		}
		if m.marked[f.function] != uint32(id)+1 {
			m.marked[f.function] = uint32(id) + 1
			m.distinct = append(m.distinct, f.function)
		}
	}
	return monitorStack{m.distinct[0], slices.Clone(m.distinct)}
}

// chain is the frames that address i of a stack stands for. Only those of files are
// cached: other code may be replaced while the program runs.
func (m *Monitor) chain(rec *capture.Stack, i int) []monitorFrame {
	code := rec.Code(i)
	if known, ok := m.chains[code]; ok {
		return known
	}
	var out []monitorFrame
	kept := true
	for _, f := range m.r.Names.AppendRecorded(nil, m.r.Source, rec, i, m.seq()) {
		site := heap.Site{Function: f.Name(), Linkage: f.Linkage, File: f.File, Line: f.Line, Module: f.Module}
		out = append(out, monitorFrame{m.function(site), m.r.Attribution.Role(&f)})
		kept = kept && f.Path != ""
	}
	if kept && len(m.chains) < maxMonitorNames {
		m.chains[code] = out
	}
	return out
}

// sameModules clears the cache of frames if files were mapped or unmapped.
func (m *Monitor) sameModules() {
	state := [2]int{}
	for _, mod := range m.r.Source.Modules() {
		state[0]++
		if mod.To != 0 {
			state[1]++
		}
	}
	if state != m.modules {
		m.modules = state
		clear(m.chains)
	}
}

// function is the index of a function. Its line is that of the first stack.
func (m *Monitor) function(s heap.Site) int32 {
	key := siteKey{s.Function, s.File, s.Module}
	i, ok := m.index[key]
	if !ok {
		i = int32(len(m.functions))
		m.index[key] = i
		m.functions = append(m.functions, s)
	}
	return i
}

// A MonitorRow is the blocks that belong to a function, and those of all stacks that it
// is on.
type MonitorRow struct {
	Site       heap.Site
	TID        int32 // of the thread, 0 all threads
	Own, Total MonitorSum
}

// A MonitorSum is a sum of flows.
type MonitorSum struct {
	Bytes, Count         uint64 // allocated in all
	LiveBytes, LiveCount uint64 // not given back
	Temporary            uint64 // blocks given back before another one was allocated
}

// Add adds a flow.
func (n *MonitorSum) Add(f *capture.Flow) {
	bytes, blocks := heap.LiveOf(f)
	n.Bytes += f.Bytes
	n.Count += f.Allocs
	n.LiveBytes += bytes
	n.LiveCount += blocks
	n.Temporary += f.Temporary
}

// Rows are the functions that allocated, in no order.
func (m *Monitor) Rows() []MonitorRow {
	sums := m.newSums()
	for _, f := range m.running.Totals().Flows {
		sums.add(0, &f)
	}
	return sums.rows
}

// ThreadRows are rows for each function and thread, of the events that CountThreads has read.
func (m *Monitor) ThreadRows() []MonitorRow {
	sums := m.newSums()
	if m.threads != nil {
		for _, f := range m.threads.Flows() {
			sums.add(f.TID, &f.Flow)
		}
	}
	return sums.rows
}

// monitorSums gathers rows.
type monitorSums struct {
	m     *Monitor
	index map[monitorKey]int
	rows  []MonitorRow
}

// monitorKey is a function in a thread.
type monitorKey struct{ tid, function int32 }

func (m *Monitor) newSums() monitorSums {
	return monitorSums{m: m, index: make(map[monitorKey]int, len(m.functions))}
}

// add adds what was allocated with a stack to the rows of its functions.
func (c *monitorSums) add(tid int32, f *capture.Flow) {
	if f.Allocs == 0 {
		return
	}
	st := monitorStack{unnamed, []int32{unnamed}}
	if int(f.Stack) < len(c.m.stacks) {
		st = c.m.stacks[f.Stack]
	}
	c.row(tid, st.own).Own.Add(f)
	for _, i := range st.total {
		c.row(tid, i).Total.Add(f)
	}
}

// row is the row of a function in a thread, valid until the next call.
func (c *monitorSums) row(tid, function int32) *MonitorRow {
	i, ok := c.index[monitorKey{tid, function}]
	if !ok {
		i = len(c.rows)
		c.index[monitorKey{tid, function}] = i
		c.rows = append(c.rows, MonitorRow{Site: c.m.functions[function], TID: tid})
	}
	return &c.rows[i]
}

// Totals are the totals of what Update has added.
func (m *Monitor) Totals() *heap.Totals { return m.running.Totals() }

// Peak is the moment at which most bytes were live.
func (m *Monitor) Peak() heap.Point { return m.running.Peak() }

// Line is the live bytes over time.
func (m *Monitor) Line() *heap.Line { return m.running.Line() }

// CountThreads reads some of the events that it has not read, for some tenths of a second,
// and reports whether it has read all. Any goroutine may call it, one at a time, and not
// during ThreadRows.
func (m *Monitor) CountThreads() (all bool) {
	if m.threads == nil {
		m.threads = heap.NewThreads(m.r.Source)
	}
	return m.threads.Update(threadEvents)
}

// threadEvents is how many events CountThreads reads at a time.
const threadEvents = 2 << 20
