package query

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/internal/modkind"
	"hdb/names"
	"hdb/recording"
	"hdb/report"
)

// A Layer says whose a live mapping is. Each is counted for itself: blocks are in mappings, and no
// sum of both means anything.
type Layer uint8

// The layers of mappings.
const (
	ProgramMapped Layer = iota // the program's own, also those of its libraries
	PythonArenas               // CPython's, from which pymalloc serves small blocks
	OthersMapped               // of the C library (stacks of threads), the dynamic linker and allocators
)

// Layers are the words for them in JSON.
var Layers = [...]string{"mmap", "python_arena", "other"}

func (l Layer) String() string { return Layers[l] }

// A MappedBlock is what is left of the mapping that one call made.
type MappedBlock struct {
	heap.Mapped
	Layer Layer
}

// addMapped adds a mapping to a sum.
func addMapped(s *report.MappedSum, m *heap.Mapped) {
	s.Bytes += m.Size
	s.Reserved += m.Reserved
	if m.Size > 0 {
		s.Count++
	}
}

// Mappings are those that are live at a moment.
type Mappings struct {
	Blocks  []MappedBlock // that have memory, but for OthersMapped, ascending by event
	Sums    [len(Layers)]report.MappedSum
	Unknown uint64 // calls of mmap of which an older version did not record what they mapped

	reserved []MappedBlock // those without memory, which only a sum has
}

// Mapped are the mappings that recorded calls made behind since, and that are live at the moment.
func (r *Recording) Mapped(since Moment) (*Mappings, error) {
	from, err := r.After(since)
	if err != nil {
		return nil, err
	}
	return r.mappedBetween(from, r.Moment), nil
}

// mappedBetween are the mappings that were made behind event #from and are live after event #to.
func (r *Recording) mappedBetween(from, to uint64) *Mappings {
	all := r.Index.Mappings(to)
	out := &Mappings{Unknown: all.Unknown()}
	layers, blocks := map[capture.StackID]*mapper{}, r.followsPymalloc()
	for _, m := range all.Held() {
		if m.Seq <= from {
			continue
		}
		by := layers[m.Stack]
		if by == nil {
			by = r.mapper(m.Stack)
			layers[m.Stack] = by
		}
		layer := by.layer(&m)
		if layer == PythonArenas && blocks { // which are counted themselves
			layer = OthersMapped
		}
		if layer == OthersMapped { // calls of mprotect by the C library are no events
			m.Size, m.Reserved = m.Size+m.Reserved, 0
		}
		addMapped(&out.Sums[layer], &m)
		switch b := (MappedBlock{m, layer}); {
		case layer == OthersMapped:
		case m.Size > 0:
			out.Blocks = append(out.Blocks, b)
		default:
			out.reserved = append(out.reserved, b)
		}
	}
	return out
}

// liveMapped is what a profile has of the mappings that were made behind event #from and are live after
// event #to.
func (r *Recording) liveMapped(from, to uint64) report.LiveMapped {
	m := r.mappedBetween(from, to)
	out := report.LiveMapped{Program: m.Sums[ProgramMapped], Arenas: m.Sums[PythonArenas], Unknown: m.Unknown}
	for _, row := range r.MappedTop(m, PerFunction) {
		if row.Layer == ProgramMapped { // the largest comes first
			out.Most, out.MostBytes = row.Site.Function, row.LiveBytes
			if row.Site.Line > 0 {
				out.Most += fmt.Sprintf(" (%s:%d)", filepath.Base(row.Site.File), row.Site.Line)
			}
			break
		}
	}
	return out
}

// only leaves the mappings that match a condition, which may be nil.
func (r *Recording) only(ctx context.Context, m *Mappings, c *cond.Cond) error {
	if c == nil {
		return nil
	}
	env := r.newEnvironment()
	m.Sums = [len(Layers)]report.MappedSum{}
	for _, list := range []*[]MappedBlock{&m.Blocks, &m.reserved} {
		kept := (*list)[:0]
		for _, b := range *list {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if c.Eval(env.at(withName(r.Source, b.Event()), nil)) {
				kept = append(kept, b)
				addMapped(&m.Sums[b.Layer], &b.Mapped)
			}
		}
		*list = kept
	}
	return nil
}

// Event is what is known of the event that made the mapping, of the size that is left: of the memory, if there is any.
func (b *MappedBlock) Event() capture.Event {
	return capture.Event{Seq: b.Seq, Addr: b.Low, Size: cmp.Or(b.Size, b.Reserved), Aux: uint64(b.Mode), Stack: b.Stack, TID: b.TID, Func: b.Func, Kind: capture.Map}
}

// A MappedEvent is the call that made a mapping.
type MappedEvent struct {
	*recording.Event
	Left MappedBlock
}

// MappedLive are the mappings that were made behind since and match a condition, which may be nil, and the
// calls that made the largest, at most limit; 0 is all.
func (r *Recording) MappedLive(ctx context.Context, c *cond.Cond, since Moment, limit int) ([]MappedEvent, *Mappings, error) {
	m, err := r.Mapped(since)
	if err != nil {
		return nil, nil, err
	}
	if c != nil && slices.ContainsFunc([]cond.Field{cond.Live, cond.Blocks}, c.Uses) { // of the heap then
		m.Blocks, m.Sums = nil, [len(Layers)]report.MappedSum{}
	}
	if err := r.only(ctx, m, c); err != nil {
		return nil, nil, err
	}
	rows := slices.Clone(m.Blocks)
	slices.SortStableFunc(rows, func(a, b MappedBlock) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(b.Size, a.Size))
	})
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	out := make([]MappedEvent, len(rows))
	for i, b := range rows {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		e, ok := r.Source.Event(b.Seq)
		if !ok { // lost with a damaged part
			e = b.Event()
		}
		out[i] = MappedEvent{withName(r.Source, e), b}
	}
	return out, m, nil
}

// A MappedRow is the mappings of a layer that a row of Top represents: only what is live counts.
type MappedRow struct {
	heap.Row
	Layer Layer
}

// MappedTop adds up mappings as Top does blocks, the largest rows of each layer first.
func (r *Recording) MappedTop(m *Mappings, per Per) []MappedRow {
	var out []MappedRow
	for layer, lines := range r.mappedLines(m, per) {
		for _, row := range heap.Join(lines, heap.ByLive) {
			out = append(out, MappedRow{row, Layer(layer)})
		}
	}
	return out
}

// mappedLines is MappedTop with a row for each line of a site.
func (r *Recording) mappedLines(m *Mappings, per Per) [len(Layers)][]heap.Row {
	frames := r.newStackSites()
	site := func(b *MappedBlock) heap.Site {
		switch per {
		case PerLine:
			return frames.lineOf(b.Stack, r.Index.Named(b.Stack))
		case PerThread:
			return threadSite(r.Source.Threads(), b.TID)
		case PerSize:
			return heap.Site{Size: b.Size}
		}
		s := frames.siteOf(b.Stack, r.Index.Named(b.Stack))
		if per == PerModule {
			return heap.Site{Function: s.Module, Module: s.Module}
		}
		return s
	}
	return m.rows(r.Reading, site)
}

// rows adds up the mappings of each layer by site and line, the largest first.
func (m *Mappings) rows(r *capture.Reading, site func(*MappedBlock) heap.Site) (out [len(Layers)][]heap.Row) {
	for i := range m.Blocks {
		if r.GivenUp() {
			return [len(Layers)][]heap.Row{}
		}
		b := &m.Blocks[i]
		rows := &out[b.Layer]
		*rows = append(*rows, heap.Row{Site: site(b), LiveBytes: b.Size, LiveBlocks: 1})
	}
	for layer := range out {
		out[layer] = heap.JoinLines(out[layer], heap.ByLive)
	}
	return out
}

// A MappedStack is the mappings of a layer that calls with one stack made.
type MappedStack struct {
	StackRow
	Layer Layer
}

// MappedStacks are the stacks of mappings, at most limit, the largest first, and how many there are.
func (r *Recording) MappedStacks(m *Mappings, limit int) (rows []MappedStack, total int) {
	alike := r.alikeStacks()
	for layer, all := range m.rows(r.Reading, func(b *MappedBlock) heap.Site { return alike.site(b.Stack) }) {
		total += len(all)
		for _, row := range all[:min(limit-len(rows), len(all))] {
			id := stackOf(row.Site)
			row.Site = r.Site(id, r.Index.Named(id))
			rows = append(rows, MappedStack{StackRow{row, r.namedStack(id)}, Layer(layer)})
		}
	}
	return rows, total
}

// followsPymalloc tells that the recording has the blocks of CPython's allocators.
func (r *Recording) followsPymalloc() bool {
	python := breakpoints.PythonFunctions()
	return slices.ContainsFunc(r.Source.Functions(), func(name string) bool {
		return slices.ContainsFunc(python, func(f breakpoints.Function) bool { return f.Name == name })
	})
}

// A mapper tells the layer of the mappings of one stack.
type mapper struct {
	others bool // whatever it maps
	python bool // CPython itself maps
	other  bool // but not for itself: it is the module mmap
}

// mapper is the mapper of a stack, by the innermost function: the one that calls mmap.
func (r *Recording) mapper(id capture.StackID) *mapper {
	st := r.namedStack(id)
	for i := range st.Frames {
		f := &st.Frames[i]
		if f.Function == "syscall" || catalogue()[f.Function] && mapsMemory(f.Function) {
			continue
		}
		return &mapper{mapsForOthers(f), r.Attribution.Role(f).interpreter, strings.Contains(f.Function, "mmap_object")}
	}
	return &mapper{}
}

func mapsMemory(function string) bool {
	f, ok := breakpoints.Named(function)
	return ok && f.Group == breakpoints.GroupVM
}

// mapsForOthers tells the functions whose mappings are no memory of the program: those of the C library, which
// has stacks of threads and files of its own, of allocators, and of the runtime of Go.
func mapsForOthers(f *names.Frame) bool {
	base := filepath.Base(f.Path)
	if modkind.IsCLibrary(base) || isAllocator(f) {
		return true
	}
	return slices.ContainsFunc(othersPrefixes, func(p string) bool { return strings.HasPrefix(f.Function, p) })
}

// othersPrefixes are how functions of the C library, allocators and runtimes begin that are linked into a
// program.
var othersPrefixes = []string{
	"allocate_stack", "pthread_create", "__pthread_create", "_dl_", "dl_", "__libc_", "_IO_", "_nl_",
	"je_", "_rjem_", "tcmalloc::", "_mi_", "mi_", "runtime.", "x_cgo_", "__asan_", "__sanitizer", "__interceptor_", "__tsan_", "__msan_",
}

// program tells the mappings that are of ProgramMapped.
func (by *mapper) program(p *heap.Mapping) bool {
	return !p.Pool && !by.others && !by.own(p.Mode)
}

// own tells the mappings of CPython for itself.
func (by *mapper) own(mode capture.MapMode) bool {
	const private = capture.MapPrivate | capture.MapAnonymous
	return by.python && !by.other && mode&private == private
}

// layer is the layer of a mapping that the function made. CPython maps private anonymous memory for itself
// only: arenas, of 1 MiB or, before 3.10, 256 KiB, and stacks of frames, of some KiB.
func (by *mapper) layer(m *heap.Mapped) Layer {
	const arena = 256 << 10
	own := by.own(m.Mode)
	switch {
	case own && (m.High-m.Low)%arena == 0:
		return PythonArenas
	case !by.program(&m.Mapping):
		return OthersMapped
	}
	return ProgramMapped
}

// mappingAt is the live mapping that holds an address, nil if there is none with memory that counts.
func (r *Recording) mappingAt(addr uint64) *MappedEvent {
	all := r.Index.Mappings(r.Moment)
	var seq uint64
	all.Each(func(p heap.Mapping) bool {
		if p.Low <= addr && addr < p.High && p.Mode.Accessible() {
			seq = p.Seq
		}
		return seq == 0 && p.Low <= addr
	})
	if seq == 0 {
		return nil
	}
	m := r.mappedBetween(seq-1, r.Moment)
	i := slices.IndexFunc(m.Blocks, func(b MappedBlock) bool { return b.Seq == seq })
	if i < 0 {
		return nil // another's: a thread's stack
	}
	e, ok := r.Source.Event(seq)
	if !ok {
		e = m.Blocks[i].Event()
	}
	return &MappedEvent{withName(r.Source, e), m.Blocks[i]}
}
