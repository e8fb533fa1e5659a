package report

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"hdb/capture"
)

// WriteFirefox writes a processed profile for profiler.firefox.com. Each measure is a thread whose
// samples weigh what it counts of a stack; the thread of o.Measure is shown first. The live heap
// and the resident memory are counters over time, marks are markers. With o.Recording, unless it
// has more events than firefoxEvents, the first thread has all allocations and frees at their
// times, from which the profiler makes its view of retained memory.
func WriteFirefox(w io.Writer, p *Profile, o Options) error {
	p = p.Counted()
	b := newFirefox(p)
	main := b.thread(path.Base(Plain(p.Program)), p.PID)
	main.IsMainThread, main.ShowMarkers = true, true
	b.marks(&main.Markers)
	stacks := b.stacks()
	if o.Recording != nil && p.Events <= firefoxEvents {
		main.Native = b.allocations(o.Recording)
	}
	threads := []*firefoxThread{main}
	for m := range numMeasures {
		t := b.thread(m.Title(), m.String())
		at := p.Moment.Time
		if m == Peak {
			at = p.Peak.Time
		}
		t.Samples = p.weighed(m, stacks, at)
		threads = append(threads, t)
	}
	visible := make([]int, len(threads))
	for i := range visible {
		visible[i] = i
	}
	b.out.Meta.Visible, b.out.Meta.Selected = visible, []int{1 + int(o.Measure)}
	b.out.Threads = threads
	b.counters()
	b.finish()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(&b.out)
}

// firefoxEvents bounds the events that are written one by one: some 20 MB.
const firefoxEvents = 250000

// firefox collects the tables of a profile, which all threads share.
type firefox struct {
	p       *Profile
	out     firefoxProfile
	strings map[string]int
	sources map[string]int
	libs    map[int]int // resource by module
	funcs   map[firefoxFunc]int
	frames  map[firefoxFrame]int
	nodes   map[[2]int]int // stack by prefix and frame
}

type firefoxFunc struct {
	name, file string
	module     int
}

type firefoxFrame struct {
	function    int
	address     int64 // in the module, -1 unknown
	line, depth int
	category    int
}

// The categories of frames.
const (
	firefoxOther = iota
	firefoxUser
	firefoxLibrary
)

func newFirefox(p *Profile) *firefox {
	b := &firefox{p: p, strings: map[string]int{}, sources: map[string]int{}, libs: map[int]int{}, funcs: map[firefoxFunc]int{}, frames: map[firefoxFrame]int{}, nodes: map[[2]int]int{}}
	m := &b.out.Meta
	*m = firefoxMeta{
		Interval: 1, Product: Plain(p.Title), StackWalk: 1, Version: firefoxGecko, Processed: firefoxVersion,
		Symbolicated: true, ImportedFrom: "hdb", OneStackType: true, NotOnSearchfox: true, KeepOrder: true,
		OS: Plain(strings.TrimSpace("Linux " + p.Kernel)), Platform: "X11", Arguments: Plain(p.Title), EndTime: p.Moment.Time.Seconds() * 1000,
		Categories: []firefoxCategory{
			{"Other", "grey", []string{"Other"}}, {"User", "yellow", []string{"Other"}}, {"Library", "blue", []string{"Other"}},
		},
		Schema: []firefoxSchema{{
			Name: firefoxMark, Display: []string{"marker-chart", "marker-table", "timeline-overview"}, Table: "{marker.data.name}", Chart: "{marker.data.name}", Tooltip: "{marker.data.name}",
			Fields: []firefoxField{{"name", "Name", "string"}, {"event", "Event", "integer"}},
		}},
	}
	if lines := p.Caveats.Lines(); len(lines) > 0 {
		careful := firefoxExtra{Label: "Careful"}
		for _, text := range lines {
			careful.Entries = append(careful.Entries, firefoxExtraEntry{"recording", "string", Plain(text)})
		}
		m.Extra = []firefoxExtra{careful}
	}
	if !p.Start.IsZero() {
		m.Start = float64(p.Start.UnixMicro()) / 1000
	}
	b.out.Libs = []firefoxLib{}
	return b
}

func (b *firefox) text(s string) int {
	s = Plain(s)
	i, ok := b.strings[s]
	if !ok {
		i = len(b.strings)
		b.strings[s] = i
		b.out.Shared.Strings = append(b.out.Shared.Strings, s)
	}
	return i
}

// stacks are the leaves of all stacks of the profile.
func (b *firefox) stacks() []int {
	out := make([]int, len(b.p.Stacks))
	for i := range b.p.Stacks {
		out[i] = b.stack(b.p, &b.p.Stacks[i])
	}
	return out
}

// stack is the row of a stack whose frames count through those of p.
func (b *firefox) stack(p *Profile, s *Stack) int {
	node := -1
	texts, outer := p.outermost(s)
	for _, text := range texts[:outer] {
		node = b.node(node, b.frame(firefoxFrame{function: b.function(text, "", -1), address: -1}))
	}
	var chains [][]int
	for chain := range p.chains(s) {
		chains = append(chains, chain)
	}
	for i := len(chains) - 1; i >= 0; i-- {
		chain := chains[i]
		for depth := range chain {
			f := &p.Frames[chain[len(chain)-1-depth]]
			row := firefoxFrame{function: b.function(f.Function, f.File, f.Module), address: -1, line: f.Line, depth: depth, category: firefoxUser}
			if f.Module >= 0 {
				row.address = signed(f.Address - b.p.Modules[f.Module].Low)
			}
			if f.Library {
				row.category = firefoxLibrary
			}
			node = b.node(node, b.frame(row))
		}
	}
	return node
}

func (b *firefox) node(prefix, frame int) int {
	key := [2]int{prefix, frame}
	i, ok := b.nodes[key]
	if !ok {
		t := &b.out.Shared.Stacks
		i = len(t.Frame)
		b.nodes[key] = i
		t.Frame, t.Prefix = append(t.Frame, frame), append(t.Prefix, prefix)
	}
	return i
}

func (b *firefox) frame(f firefoxFrame) int {
	i, ok := b.frames[f]
	if !ok {
		t := &b.out.Shared.Frames
		i = len(t.Func)
		b.frames[f] = i
		t.Address, t.Depth, t.Func = append(t.Address, f.address), append(t.Depth, f.depth), append(t.Func, f.function)
		t.Category, t.Subcategory = append(t.Category, f.category), append(t.Subcategory, 0)
		t.Symbol, t.Window, t.Column = append(t.Symbol, -1), append(t.Window, -1), append(t.Column, -1)
		line := f.line
		if line == 0 {
			line = -1
		}
		t.Line = append(t.Line, line)
	}
	return i
}

func (b *firefox) function(name, file string, module int) int {
	key := firefoxFunc{name, file, module}
	i, ok := b.funcs[key]
	if !ok {
		t := &b.out.Shared.Funcs
		i = len(t.Name)
		b.funcs[key] = i
		t.Name, t.JS, t.Relevant = append(t.Name, b.text(name)), append(t.JS, false), append(t.Relevant, false)
		t.Resource, t.Source = append(t.Resource, b.resource(module)), append(t.Source, b.source(file))
		t.Line, t.Column = append(t.Line, -1), append(t.Column, -1)
	}
	return i
}

func (b *firefox) source(file string) int {
	if file == "" {
		return -1
	}
	i, ok := b.sources[file]
	if !ok {
		t := &b.out.Shared.Sources
		i = len(t.File)
		b.sources[file] = i
		t.UUID, t.File = append(t.UUID, -1), append(t.File, b.text(file))
	}
	return i
}

// resource is the row of a module, with its library.
func (b *firefox) resource(module int) int {
	if module < 0 {
		return -1
	}
	i, ok := b.libs[module]
	if !ok {
		m := &b.p.Modules[module]
		name := Plain(path.Base(m.Path))
		t := &b.out.Shared.Resources
		i = len(t.Name)
		b.libs[module] = i
		t.Lib, t.Name = append(t.Lib, len(b.out.Libs)), append(t.Name, b.text(name))
		t.Host, t.Type = append(t.Host, -1), append(t.Type, firefoxLibraryResource)
		lib := firefoxLib{
			Arch: strings.ReplaceAll(Plain(b.p.Arch), "-", "_"), Name: name, Path: Plain(m.Path), DebugName: name, DebugPath: Plain(m.Path),
			Breakpad: breakpadID(m.BuildID),
		}
		if m.BuildID != "" {
			lib.Code = &m.BuildID
		}
		b.out.Libs = append(b.out.Libs, lib)
	}
	return i
}

// breakpadID is the first part of a build ID as Breakpad writes GUIDs, with an
// age of 0.
func breakpadID(buildID string) string {
	id, err := hex.DecodeString(buildID)
	if err != nil || len(id) == 0 {
		return ""
	}
	id = append(id, make([]byte, 16)...)[:16]
	for _, field := range [][]byte{id[0:4], id[4:6], id[6:8]} { // little-endian numbers
		for i, j := 0, len(field)-1; i < j; i, j = i+1, j-1 {
			field[i], field[j] = field[j], field[i]
		}
	}
	return strings.ToUpper(hex.EncodeToString(id)) + "0"
}

func (b *firefox) thread(name string, tid any) *firefoxThread {
	return &firefoxThread{
		Process: "default", ProcessName: path.Base(Plain(b.p.Program)), Paused: []int{}, Name: Plain(name), PID: strconv.Itoa(b.p.PID), TID: tid,
		Samples: firefoxSamples{WeightType: "samples", Stack: []int{}, Time: []float64{}, Weight: []uint64{}},
	}
}

// weighed are samples for what a measure counts of each stack.
func (p *Profile) weighed(m Measure, stacks []int, at time.Duration) firefoxSamples {
	out := firefoxSamples{WeightType: "samples", Stack: []int{}, Time: []float64{}, Weight: []uint64{}}
	if m.IsBytes() {
		out.WeightType = "bytes"
	}
	for i := range p.Stacks {
		if n := m.Of(p.Stacks[i].Numbers); n > 0 {
			out.Stack, out.Weight = append(out.Stack, stacks[i]), append(out.Weight, n)
			out.Time = append(out.Time, milliseconds(at))
		}
	}
	out.Length = len(out.Stack)
	return out
}

func milliseconds(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }

// marks are the user's marks as markers.
func (b *firefox) marks(t *firefoxMarkers) {
	for _, m := range b.p.Marks {
		if m.Time > b.p.Moment.Time {
			break
		}
		t.Data = append(t.Data, firefoxMarkData{firefoxMark, Plain(m.Name), m.Seq})
		t.Name = append(t.Name, b.text(firefoxMark))
		t.Start, t.End = append(t.Start, milliseconds(m.Time)), append(t.End, nil)
		t.Phase, t.Category = append(t.Phase, 0), append(t.Category, firefoxOther)
	}
}

// counters are the live heap and the resident memory over time.
func (b *firefox) counters() {
	live := firefoxCounter{Name: "malloc", Category: "Memory", Description: "Requested bytes that were not freed", Color: "orange", PID: strconv.Itoa(b.p.PID)}
	for _, m := range b.p.HeapMoments() {
		live.add(m.Time, m.Live)
	}
	rss := firefoxCounter{Name: "resident", Category: "Memory", Description: "Resident memory of the process", Color: "blue", PID: strconv.Itoa(b.p.PID)}
	for _, s := range b.p.RSS {
		rss.add(s.Time, s.RSS)
	}
	b.out.Counters = []firefoxCounter{}
	for _, c := range []firefoxCounter{live, rss} {
		if c.Samples.Length > 0 {
			b.out.Counters = append(b.out.Counters, c)
		}
	}
}

// add notes a value; the format has differences.
func (c *firefoxCounter) add(t time.Duration, value uint64) {
	s := &c.Samples
	s.Time, s.Count = append(s.Time, milliseconds(t)), append(s.Count, int64(value-c.last))
	s.Length++
	c.last = value
}

// allocations are all blocks with their beginnings and ends.
func (b *firefox) allocations(r *Recording) *firefoxAllocations {
	out := &firefoxAllocations{WeightType: "bytes", Time: []float64{}, Weight: []int64{}, Stack: nullable{}, Address: []uint64{}, Thread: []int32{}}
	rows := map[capture.StackID]int{0: -1}
	row := func(id capture.StackID) int {
		i, ok := rows[id]
		if !ok {
			s := r.Stack(id)
			own := Stack{Truncated: s.Truncated, Frames: make([]int, len(s.Frames))}
			frames := &Profile{Frames: make([]Frame, len(s.Frames))}
			for k, f := range s.Frames {
				own.Frames[k], frames.Frames[k] = k, r.Frame(f)
			}
			i = b.stack(frames, &own)
			rows[id] = i
		}
		return i
	}
	live := map[uint64]uint64{} // bytes by address
	add := func(e *Event, addr uint64, weight int64, stack int) {
		out.Time, out.Weight, out.Stack = append(out.Time, milliseconds(e.Time)), append(out.Weight, weight), append(out.Stack, stack)
		out.Address, out.Thread = append(out.Address, addr), append(out.Thread, e.TID)
		out.Length++
	}
	end := func(e *Event, addr uint64, stack int) {
		if size, ok := live[addr]; ok {
			add(e, addr, -signed(size), stack)
			delete(live, addr)
		}
	}
	runs := runs{execs: r.Execs}
	run := int32(0)
	for e := range r.Events {
		if now := runs.of(e.Seq); now != run { // another program: the heap is gone
			run = now
			for addr := range live {
				end(&e, addr, -1)
			}
		}
		if e.Ended.Recorded {
			end(&e, e.EndedAt(), row(e.Stack))
		}
		if e.Allocates() {
			live[e.Addr] = e.Size
			add(&e, e.Addr, signed(e.Size), row(e.Stack))
		}
	}
	return out
}

// finish tells the tables their lengths.
func (b *firefox) finish() {
	s := &b.out.Shared
	s.Stacks.Length, s.Frames.Length, s.Funcs.Length = len(s.Stacks.Frame), len(s.Frames.Func), len(s.Funcs.Name)
	s.Resources.Length, s.Sources.Length = len(s.Resources.Name), len(s.Sources.File)
	for _, t := range b.out.Threads {
		t.Markers.Length = len(t.Markers.Name)
	}
}
