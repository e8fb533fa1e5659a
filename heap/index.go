package heap

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"

	"hdb/capture"
)

// End is the moment after the last event.
const End = math.MaxUint64

// An Index answers what had been allocated and what was live at any moment of a
// recording. It keeps the recording's summaries, some kilobytes for 65,536
// events, and reads the events of one of them at most for an answer. It is not
// safe for concurrent use.
type Index struct {
	src  capture.Source
	read *capture.Reading
	runs []*capture.Summary
	used []uint64 // by stack ID: see Named; or 0

	counts func(*Mapping) bool // see CountMappings; nil: no mapping does
}

// NewIndex reads the summaries of a recording. Where one is damaged all events are read,
// which takes a hundred times as long.
func NewIndex(src capture.Source) (*Index, error) { return ReadIndex(nil, src) }

// ReadIndex is NewIndex; a reading that is given up meanwhile is an error.
func ReadIndex(reading *capture.Reading, src capture.Source) (*Index, error) {
	x := &Index{src: src, read: reading}
	err := x.Update()
	if err != nil && reading.Cut() == nil {
		all := repost(reading.Of(src))
		all.Source = src
		x.src, x.runs, x.used = all, nil, nil
		err = x.Update()
	}
	x.read = nil
	if cut := reading.Cut(); cut != nil {
		err = cut
	}
	return x, err
}

// For is the index whose answers end early, and are none, when the reading is given
// up. It shares what is known with x, until that is updated.
func (x *Index) For(r *capture.Reading) *Index {
	bound := *x
	bound.src, bound.read = r.Of(x.src), r
	return &bound
}

// Update takes in what was recorded since.
func (x *Index) Update() error {
	from := uint64(0)
	if n := len(x.runs); n > 0 { // the last one may have grown
		from = x.runs[n-1].First
		x.runs = x.runs[:n-1]
	}
	changes := sharedChanges(x.src.Modules())
	for s, err := range x.src.Summaries(from) {
		if err != nil {
			return err
		}
		if x.read.GivenUp() {
			return x.read.Cut()
		}
		x.runs = append(x.runs, s)
		x.use(s, changes)
	}
	return nil
}

// use notes which stacks a run uses first. The order of its events matters if files came to
// the same addresses meanwhile, one after the other.
func (x *Index) use(r *capture.Summary, changes []uint64) {
	stacks := capture.StackID(x.src.Stacks())
	first := func(id capture.StackID, seq uint64) {
		if id > stacks {
			return // damage, or made up
		}
		for int(id) >= len(x.used) {
			x.used = append(x.used, 0)
		}
		if x.used[id] == 0 {
			x.used[id] = seq
		}
	}
	known := func(f capture.Flow) bool {
		return f.Stack > stacks || int(f.Stack) < len(x.used) && x.used[f.Stack] != 0
	}
	i, _ := slices.BinarySearch(changes, r.First+1)
	if i < len(changes) && changes[i] <= r.Last && slices.ContainsFunc(r.Flows, func(f capture.Flow) bool { return !known(f) }) {
		for e := range x.src.Events(r.First) {
			if e.Seq > r.Last {
				break
			}
			first(e.Ended.Stack, r.First) // of a block made before all events
			first(e.Stack, e.Seq)
		}
	}
	for i := range r.Flows {
		first(r.Flows[i].Stack, r.Last)
	}
	if len(changes) > 0 && r.Maps != nil {
		for e := range r.Maps.Events() {
			first(e.Stack, e.Seq)
		}
	}
}

// sharedChanges are the events, ascending, before which a module was mapped or unmapped
// whose addresses another one has, too.
func sharedChanges(modules []capture.Module) (changes []uint64) {
	modules = slices.Clone(modules)
	slices.SortFunc(modules, func(a, b capture.Module) int { return cmp.Compare(a.Low, b.Low) })
	for from := 0; from < len(modules); {
		to, high := from+1, modules[from].High
		for ; to < len(modules) && modules[to].Low < high; to++ {
			high = max(high, modules[to].High)
		}
		if to > from+1 {
			for _, m := range modules[from:to] {
				changes = append(changes, m.From, m.To)
			}
		}
		from = to
	}
	slices.Sort(changes)
	return changes
}

// Runs are the summaries, ascending. They are not to be changed.
func (x *Index) Runs() []*capture.Summary { return x.runs }

// Last is the last event taken in, 0 without any.
func (x *Index) Last() uint64 {
	if n := len(x.runs); n > 0 {
		return x.runs[n-1].Last
	}
	return 0
}

// Source is the recording; of a damaged one with the effects that its events have as far
// as they can be read.
func (x *Index) Source() capture.Source { return x.src }

// BlockPeakBefore is the event up to #to after which most bytes were live in blocks for the
// first time, and how many; 0 without allocations.
func (x *Index) BlockPeakBefore(to uint64) (seq, bytes uint64) {
	for _, r := range x.runs {
		switch {
		case r.First > to:
			return seq, bytes
		case r.Last <= to || r.PeakSeq <= to:
			if r.Peak > bytes {
				seq, bytes = r.PeakSeq, r.Peak
			}
		default:
			return x.peakWithin(r, to, seq, bytes)
		}
	}
	return seq, bytes
}

// peakWithin is the peak up to #to, which is in the run r; before it was bytes after #seq.
func (x *Index) peakWithin(r *capture.Summary, to, seq, bytes uint64) (uint64, uint64) {
	t := x.Totals(r.First - 1)
	t.begin(r)
	for e := range x.src.Events(r.First) {
		if e.Seq > to {
			break
		}
		if t.event(&e); e.Allocates() && t.Live > bytes {
			seq, bytes = e.Seq, t.Live
		}
	}
	return seq, bytes
}

// Totals are what was allocated and freed up to a moment, of the blocks of the heap.
type Totals struct {
	Seq          uint64         // of the last event that counts
	Time         time.Duration  // of it
	Events       uint64         // up to it
	Live, Blocks uint64         // bytes and number of live blocks
	Flows        []capture.Flow // by stack ID; Flows[0] is of events without a stack
}

// LiveOf is the live part of a flow: bytes and blocks. Where events were lost in a damaged capture
// more may have ended than began; then nothing is.
func LiveOf(f *capture.Flow) (bytes, blocks uint64) {
	if f.Freed > f.Bytes || f.Frees > f.Allocs {
		return 0, 0
	}
	return f.Bytes - f.Freed, f.Allocs - f.Frees
}

// Totals are those after event #seq.
func (x *Index) Totals(seq uint64) *Totals {
	t := x.none()
	for _, r := range x.runs {
		if r.First > seq || x.read.GivenUp() {
			break
		}
		t.begin(r)
		if r.Last > seq {
			x.part(t, r.First, seq)
			break
		}
		t.add(r)
	}
	if ends := x.src.Execs(); seq == End && len(ends) > 0 && ends[len(ends)-1] > t.Seq {
		t.replaced() // an exec after the last event
	}
	return t
}

// none are the totals before the first event.
func (x *Index) none() *Totals {
	t := &Totals{Flows: make([]capture.Flow, x.src.Stacks()+1)}
	for i := range t.Flows {
		t.Flows[i].Stack = capture.StackID(i)
	}
	return t
}

// begin brings the totals before a run to its first event.
func (t *Totals) begin(r *capture.Summary) {
	if r.Fresh {
		t.replaced()
	}
}

// flow is the flow of a stack; one that the recording does not have counts as none.
func (t *Totals) flow(id capture.StackID) *capture.Flow {
	if int(id) >= len(t.Flows) {
		id = 0
	}
	return &t.Flows[id]
}

// replaced ends all blocks.
func (t *Totals) replaced() {
	t.Live, t.Blocks = 0, 0
	replaced(t.Flows)
}

// add adds a whole run.
func (t *Totals) add(r *capture.Summary) {
	for i := range r.Flows {
		t.flow(r.Flows[i].Stack).Add(&r.Flows[i])
	}
	t.Seq, t.Time, t.Events = r.Last, r.End, t.Events+uint64(r.Events)
	t.Live, t.Blocks = r.Live, r.Blocks
}

// part adds the events from #from to #to.
func (x *Index) part(t *Totals, from, to uint64) {
	for e := range x.src.Events(from) {
		if e.Seq > to {
			return
		}
		if t.event(&e); e.Seq == to {
			return // what is behind it need not be decoded
		}
	}
}

// event adds an event, as capture.Summary counts it.
func (t *Totals) event(e *capture.Event) {
	t.Seq, t.Time, t.Events = e.Seq, e.Time, t.Events+1
	if e.Ended.Recorded {
		f := t.flow(e.Ended.Stack)
		f.Frees++
		f.Freed += e.Ended.Size
		t.Live -= min(t.Live, e.Ended.Size) // of a damaged capture what is missing may have been made before
		t.Blocks -= min(t.Blocks, 1)
		if e.Ended.Temporary {
			f.Temporary++
		}
	}
	if e.Allocates() {
		f := t.flow(e.Stack)
		f.Allocs++
		f.Bytes += e.Size
		t.Live += e.Size
		t.Blocks++
	}
}

// Counts are what a recording counts without regard to stacks.
type Counts struct {
	Sizes            []capture.SizeCount // as in a Summary
	Calls            []uint64            // by function
	Failed           uint64              // allocations that returned NULL
	Mapped, Unmapped uint64              // bytes
}

// Counts are those up to event #to.
func (x *Index) Counts(to uint64) Counts {
	var c Counts
	for _, r := range x.runs {
		if r.First > to {
			break
		}
		if r.Last <= to {
			c.add(r)
			continue
		}
		for e := range x.src.Events(r.First) {
			if e.Seq > to {
				break
			}
			c.event(&e)
		}
	}
	return c
}

// Since is what was counted after o, which is of an earlier moment.
func (c Counts) Since(o Counts) Counts {
	sizes, calls := slices.Clone(c.Sizes), slices.Clone(c.Calls)
	for i, n := range o.Sizes[:min(len(o.Sizes), len(sizes))] {
		sizes[i].Allocs -= n.Allocs
		sizes[i].Bytes -= n.Bytes
	}
	for i, n := range o.Calls[:min(len(o.Calls), len(calls))] {
		calls[i] -= n
	}
	return Counts{Sizes: sizes, Calls: calls, Failed: c.Failed - o.Failed, Mapped: c.Mapped - o.Mapped, Unmapped: c.Unmapped - o.Unmapped}
}

func (c *Counts) add(r *capture.Summary) {
	for i, n := range r.Sizes {
		size := grown(&c.Sizes, i)
		size.Allocs += n.Allocs
		size.Bytes += n.Bytes
	}
	for i, n := range r.Calls {
		*grown(&c.Calls, i) += n
	}
	c.Failed += r.Failed
	c.Mapped += r.Mapped
	c.Unmapped += r.Unmapped
}

func (c *Counts) event(e *capture.Event) {
	*grown(&c.Calls, int(e.Func))++
	switch {
	case e.AllocationFailed():
		c.Failed++
	case e.Kind == capture.Map:
		c.Mapped += e.Size
	case e.Kind == capture.Unmap && !e.Failed:
		c.Unmapped += e.Size
	case e.Allocates():
		size := grown(&c.Sizes, bits.Len64(e.Size))
		size.Allocs++
		size.Bytes += e.Size
	}
}

// grown is entry i of a slice that is made long enough.
func grown[T any](s *[]T, i int) *T {
	for i >= len(*s) {
		var zero T
		*s = append(*s, zero)
	}
	return &(*s)[i]
}

// At is the number of the last event at or before a time, 0 if there is none.
func (x *Index) At(when time.Duration) uint64 {
	i := sort.Search(len(x.runs), func(i int) bool { return x.runs[i].Start > when }) - 1
	if i < 0 {
		return 0
	}
	if x.runs[i].End <= when {
		return x.runs[i].Last
	}
	seq := uint64(0)
	if i > 0 {
		seq = x.runs[i-1].Last // of sums without events the interval before is what is known
	}
	for e := range x.src.Events(x.runs[i].First) {
		if e.Time > when {
			break
		}
		seq = e.Seq
	}
	return seq
}

// Nth is the number of the event before which n others were recorded, and the last one's if there
// are fewer.
func (x *Index) Nth(n uint64) uint64 {
	for _, r := range x.runs {
		if n >= uint64(r.Events) {
			n -= uint64(r.Events)
			continue
		}
		if r.Last-r.First == uint64(r.Events)-1 {
			return r.First + n
		}
		for e := range x.src.Events(r.First) {
			if n == 0 {
				return e.Seq
			}
			n--
		}
	}
	if len(x.runs) == 0 {
		return 0
	}
	return x.runs[len(x.runs)-1].Last
}

// Named is an event at whose time the modules were mapped that the stack leads through: the
// first one with it, or where no files share addresses the last one of the run with that.
func (x *Index) Named(id capture.StackID) uint64 {
	if int(id) < len(x.used) && x.used[id] != 0 {
		return x.used[id]
	}
	return End
}
