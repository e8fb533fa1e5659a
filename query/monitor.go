package query

import (
	"slices"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/names"
)

// maxMonitorNames bounds the cache of the frames of addresses.
const maxMonitorNames = 1 << 16

// A Monitor adds up a recording by function while it is recorded. One goroutine owns it,
// but for CountThreads. Each stack is named once, for a few milliseconds at a time.
type Monitor struct {
	r         *Recording // without an index
	seq       func() uint64
	running   *heap.Running
	threads   *heap.Threads     // nil: never asked for
	base      []heap.ThreadFlow // of the threads at event #baseSeq; nil: not known
	baseSeq   uint64
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
	own    int32
	total  []int32        // each once; own is the first
	frames []monitorPlace // own's and all further out
}

// A monitorPlace is where a frame of a stack is.
type monitorPlace struct{ function, line int32 }

// unnamed is the index of the function that represents stacks without names.
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

// A monitorFrame is a function that an address represents.
type monitorFrame struct {
	monitorPlace
	role Role
	part names.Part
}

// stack names a stack by the modules that are mapped now, as it was seen just before.
func (m *Monitor) stack(id capture.StackID) monitorStack {
	rec := m.r.Source.Stack(id)
	m.frames = m.frames[:0]
	for i := range rec.PCs {
		m.frames = append(m.frames, m.chain(&rec, i)...)
	}
	m.merge(&rec)
	if len(m.frames) == 0 {
		i := m.function(heap.Site{Function: noStack})
		return monitorStack{own: i, total: []int32{i}}
	}
	m.roles = m.roles[:0]
	for _, f := range m.frames {
		m.roles = append(m.roles, f.role)
	}
	user := Owner(m.roles)
	m.distinct = m.distinct[:0]
	places := make([]monitorPlace, 0, len(m.frames)-user)
	for _, f := range m.frames[user:] {
		places = append(places, f.monitorPlace)
		for int(f.function) >= len(m.marked) {
			m.marked = append(m.marked, 0)
		}
		if m.marked[f.function] != uint32(id)+1 {
			m.marked[f.function] = uint32(id) + 1
			m.distinct = append(m.distinct, f.function)
		}
	}
	return monitorStack{m.distinct[0], slices.Clone(m.distinct), places}
}

// merge leaves out of the frames what is not shown of a program in Python.
func (m *Monitor) merge(rec *capture.Stack) {
	if !slices.ContainsFunc(rec.PCs, capture.IsInterpreted) {
		return
	}
	parts := make([]names.Part, len(m.frames))
	for i := range m.frames {
		parts[i] = m.frames[i].part
	}
	m.frames = names.Keep(m.frames, m.r.Names.ShownParts(parts))
}

// chain is the frames that address i of a stack represents. Only those of files are cached: other
// code may be replaced while the program runs.
func (m *Monitor) chain(rec *capture.Stack, i int) []monitorFrame {
	code := rec.Code(i)
	if known, ok := m.chains[code]; ok {
		return known
	}
	var out []monitorFrame
	kept := true
	for _, f := range m.r.Names.AppendRecorded(nil, m.r.Source, rec, i, m.seq()) {
		site := heap.Site{Function: f.Name(), Linkage: f.Linkage, File: f.File, Line: f.Line, Module: f.Module}
		out = append(out, monitorFrame{monitorPlace{m.function(site), int32(f.Line)}, m.r.Attribution.Role(&f), f.Part()})
		kept = kept && (f.Path != "" || f.Python())
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

// function is the index of a function. Its line is the first stack's.
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
	Key        MonitorKey
	Site       heap.Site
	Own, Total MonitorSum
}

// A MonitorKey tells rows apart.
type MonitorKey struct {
	TID      int32 // of the thread, 0 all threads; below 0 a goroutine, see heap.Threads.ByGoroutine
	Function int32
	Line     int32 // 0: the rows represent whole functions
}

// A MonitorSum is a sum of flows.
type MonitorSum struct {
	Bytes, Count         uint64 // allocated in all
	LiveBytes, LiveCount uint64 // not freed
	Temporary            uint64 // blocks freed before another one was allocated
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

// ThreadRows are rows for each function and thread, or goroutine, of the events that CountThreads has read.
func (m *Monitor) ThreadRows() []MonitorRow {
	if m.threads == nil {
		return nil
	}
	return m.threadRows(m.threads.Flows())
}

// ThreadBase are what ThreadRows were at the moment for CountThreads.
func (m *Monitor) ThreadBase() []MonitorRow { return m.threadRows(m.base) }

func (m *Monitor) threadRows(flows []heap.ThreadFlow) []MonitorRow {
	sums := m.newSums()
	for _, f := range flows {
		sums.add(f.TID, &f.Flow)
	}
	return sums.rows
}

// monitorSums gathers rows.
type monitorSums struct {
	m     *Monitor
	index map[MonitorKey]int
	rows  []MonitorRow
}

func (m *Monitor) newSums() monitorSums {
	return monitorSums{m: m, index: make(map[MonitorKey]int, len(m.functions))}
}

// stackOf is what is known of a flow's stack.
func (m *Monitor) stackOf(f *capture.Flow) monitorStack {
	if int(f.Stack) < len(m.stacks) {
		return m.stacks[f.Stack]
	}
	return monitorStack{own: unnamed, total: []int32{unnamed}}
}

// add adds what was allocated with a stack to the rows of its functions.
func (c *monitorSums) add(tid int32, f *capture.Flow) {
	if f.Allocs == 0 {
		return
	}
	st := c.m.stackOf(f)
	c.row(MonitorKey{TID: tid, Function: st.own}).Own.Add(f)
	for _, i := range st.total {
		c.row(MonitorKey{TID: tid, Function: i}).Total.Add(f)
	}
}

// row is the row of a key, valid until the next call.
func (c *monitorSums) row(key MonitorKey) *MonitorRow {
	i, ok := c.index[key]
	if !ok {
		i = len(c.rows)
		c.index[key] = i
		site := heap.Site{Function: noCaller}
		if key.Function >= 0 {
			site = c.m.functions[key.Function]
		}
		if key.Line > 0 {
			site.Line = int(key.Line)
		}
		c.rows = append(c.rows, MonitorRow{Key: key, Site: site})
	}
	return &c.rows[i]
}

// noCaller represents what called the outermost function of a stack.
const noCaller = "(no caller)"

// Callers are rows for what led to a function, of all threads. Path begins with a function's key:
// the rows are its lines. A line behind it has the rows of its callers, each with its line, a
// caller behind that its own callers, and so on. Own is what belongs to the function, total what
// all stacks did that go through it that way. Of a function that called itself its innermost
// frame counts.
func (m *Monitor) Callers(path []MonitorKey) []MonitorRow {
	sums := m.newSums()
	for _, f := range m.running.Totals().Flows {
		if f.Allocs == 0 {
			continue
		}
		key, own, ok := m.stackOf(&f).callers(path)
		if !ok {
			continue
		}
		row := sums.row(key)
		row.Total.Add(&f)
		if own {
			row.Own.Add(&f)
		}
	}
	return sums.rows
}

// callers is the row that the stack counts for, and whether its blocks belong to the function.
func (st monitorStack) callers(path []MonitorKey) (key MonitorKey, own, ok bool) {
	first := slices.IndexFunc(st.frames, func(p monitorPlace) bool { return p.function == path[0].Function })
	if first < 0 {
		return key, false, false
	}
	way := st.frames[first:]
	for i, k := range path[1:] {
		if i >= len(way) || way[i] != (monitorPlace{k.Function, k.Line}) {
			return key, false, false
		}
	}
	key = MonitorKey{Function: -1}
	if i := len(path) - 1; i < len(way) {
		key = MonitorKey{Function: way[i].function, Line: way[i].line}
	}
	return key, first == 0, true
}

// Totals are the totals of what Update has added.
func (m *Monitor) Totals() *heap.Totals { return m.running.Totals() }

// Peak is the moment at which most bytes were live.
func (m *Monitor) Peak() heap.Point { return m.running.Peak() }

// Line is the live bytes over time.
func (m *Monitor) Line() *heap.Line { return m.running.Line() }

// CountThreads reads some of the events up to #to that it has not read, for some tenths of a second,
// and reports whether it has read all. base is the event behind which changes count, for ThreadBase; it has not been
// read when it is given first. Any goroutine may call it, one at a time, and not during ThreadRows.
func (m *Monitor) CountThreads(base, to uint64) (all bool) {
	if m.threads == nil {
		m.threads = heap.NewThreads(m.r.Source).ByGoroutine()
	}
	if m.base == nil || m.baseSeq != base {
		if !m.threads.UpdateTo(threadEvents, base) {
			return false
		}
		m.base, m.baseSeq = append([]heap.ThreadFlow{}, m.threads.Flows()...), base
	}
	return m.threads.UpdateTo(threadEvents, to)
}

// threadEvents is how many events CountThreads reads at a time.
const threadEvents = 2 << 20
