package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"time"

	"hdb/capture"
	"hdb/capture/intern"
)

// idle reports whether nothing was allocated or freed.
func idle(f *capture.Flow) bool { return f.Allocs|f.Frees == 0 }

// A heapState is the part of the heap's state that continues from chunk to chunk.
type heapState struct{ live, blocks uint64 }

// An accumulator sums up the events of a chunk while they are encoded.
type accumulator struct {
	state    heapState
	fresh    bool           // the program was replaced before the chunk
	flows    []capture.Flow // by index of the stack in the chunk
	origins  []capture.Flow // of blocks that are older than the chunk, or not named by their age
	originAt intern.Index   // stack ID -> index into origins
	sizes    [65]capture.SizeCount
	calls    []uint64
	peak     uint64
	peakSeq  uint64
	peakTime uint64 // ticks
	mapped   uint64
	unmapped uint64
	failed   uint64

	order, spare []uint64       // memory of merged
	all          []capture.Flow // and what it returned last
}

// begin begins a chunk.
func (s *accumulator) begin() {
	s.flows, s.origins, s.calls = s.flows[:0], s.origins[:0], s.calls[:0]
	clear(s.sizes[:])
	s.peak, s.peakSeq, s.peakTime, s.mapped, s.unmapped, s.failed = 0, 0, 0, 0, 0, 0
}

// replaced says that the program was replaced after the chunk before.
func (s *accumulator) replaced() { s.state, s.fresh = heapState{}, true }

// flow is the flow of the stack with an index in the chunk.
func (s *accumulator) flow(i int32) *capture.Flow {
	for int(i) >= len(s.flows) {
		s.flows = append(s.flows, capture.Flow{})
	}
	return &s.flows[i]
}

// counted takes what was counted by ops and sizes.
func (s *accumulator) counted(counts []uint64, ops []shape, sizes *sizeSums) {
	for i, sh := range ops {
		for int(sh.fn) >= len(s.calls) {
			s.calls = append(s.calls, 0)
		}
		s.calls[sh.fn] += counts[i]
		if sh.has(shapeFailed) && sh.kind.Obtains() {
			s.failed += counts[i]
		}
	}
	for size, n := range sizes.allocs {
		if n == 0 {
			continue
		}
		k := &s.sizes[bits.Len(uint(size))]
		k.Allocs += uint64(n)
		k.Bytes += uint64(n) * uint64(size)
	}
	for _, size := range sizes.largeAllocs {
		s.sized(size)
	}
}

// sized counts an allocation of a size.
func (s *accumulator) sized(n uint64) {
	k := &s.sizes[bits.Len64(n)]
	k.Allocs++
	k.Bytes += n
}

// call counts what needs no stack.
func (s *accumulator) call(e *capture.Event) {
	for int(e.Func) >= len(s.calls) {
		s.calls = append(s.calls, 0)
	}
	s.calls[e.Func]++
	switch {
	case e.AllocationFailed():
		s.failed++
	case e.Kind == capture.Map:
		s.mapped += e.Size
	case e.Kind == capture.Unmap && !e.Failed:
		s.unmapped += e.Size
	}
}

// ended counts a block that an event ended for the flow of its origin.
func (s *accumulator) ended(f *capture.Flow, size uint64, temporary bool) {
	f.Frees++
	f.Freed += size
	s.state.live -= size
	s.state.blocks--
	if temporary {
		f.Temporary++
	}
}

// made counts the block that event seq made at a time in ticks for the flow of
// its stack.
func (s *accumulator) made(f *capture.Flow, e *capture.Event, seq, now uint64) {
	f.Allocs++
	f.Bytes += e.Size
	s.state.live += e.Size
	s.state.blocks++
	if s.state.live > s.peak {
		s.peak, s.peakSeq, s.peakTime = s.state.live, seq, now
	}
}

// madeAll is made for n blocks of a size, of which event seq made the last one. The live heap
// is no larger than the address space.
func (s *accumulator) madeAll(f *capture.Flow, n, size, seq, now uint64) {
	f.Allocs += n
	f.Bytes += n * size
	s.state.live += n * size
	s.state.blocks += n
	if s.state.live > s.peak {
		s.peak, s.peakSeq, s.peakTime = s.state.live, seq, now
	}
}

// append appends the section of a chunk whose first event is #first, at start,
// and whose stacks are ids by their index.
func (s *accumulator) append(b []byte, first, start uint64, ids []capture.StackID) []byte {
	put := func(v uint64) { b = binary.AppendUvarint(b, v) }
	put(uint64(flagIf(s.fresh, 1)))
	s.fresh = false
	for _, v := range []uint64{s.state.live, s.state.blocks, s.peak, s.peakSeq - min(first, s.peakSeq), zigzag(s.peakTime - start), s.mapped, s.unmapped, s.failed} {
		put(v)
	}
	sizes := s.sizes[:]
	for len(sizes) > 0 && sizes[len(sizes)-1].Allocs == 0 {
		sizes = sizes[:len(sizes)-1]
	}
	put(uint64(len(sizes)))
	for _, c := range sizes {
		put(c.Allocs)
		put(c.Bytes)
	}
	put(uint64(len(s.calls)))
	for _, n := range s.calls {
		put(n)
	}
	before := capture.StackID(0)
	for _, f := range s.merged(ids) {
		put(uint64(f.Stack - before))
		before = f.Stack
		for _, v := range []uint64{f.Allocs, f.Bytes, f.Frees, f.Freed, f.Temporary} {
			put(v)
		}
	}
	return b
}

// merged are all flows, one for each stack, ascending.
func (s *accumulator) merged(ids []capture.StackID) []capture.Flow {
	order := s.order[:0]
	for i := range s.flows {
		if !idle(&s.flows[i]) {
			order = append(order, uint64(ids[i])<<32|uint64(i))
		}
	}
	for i := range s.origins {
		if f := &s.origins[i]; !idle(f) {
			order = append(order, uint64(f.Stack)<<32|uint64(len(s.flows)+i))
		}
	}
	s.order, s.spare = byStack(order, s.spare)
	out := s.all[:0]
	for _, o := range s.order {
		i, stack := int(uint32(o)), capture.StackID(o>>32)
		var f *capture.Flow
		if i < len(s.flows) {
			f = &s.flows[i]
		} else {
			f = &s.origins[i-len(s.flows)]
		}
		if n := len(out); n > 0 && out[n-1].Stack == stack {
			out[n-1].Add(f)
			continue
		}
		out = append(out, *f)
		out[len(out)-1].Stack = stack
	}
	s.all = out
	return out
}

// byStack sorts numbers whose lower halves ascend. It takes over both slices, and returns
// memory to use again, too.
func byStack(order, spare []uint64) (sorted, memory []uint64) {
	if len(order) < 64 {
		slices.Sort(order)
		return order, spare
	}
	if cap(spare) < len(order) {
		spare = make([]uint64, cap(order))
	}
	spare = spare[:len(order)]
	all := uint64(0)
	for _, v := range order {
		all |= v
	}
	for shift := 32; shift < 64 && all>>shift != 0; shift += 8 {
		var next [256]uint32
		for _, v := range order {
			next[byte(v>>shift)]++
		}
		at := uint32(0)
		for i, n := range next {
			next[i] = at
			at += n
		}
		for _, v := range order {
			k := &next[byte(v>>shift)]
			spare[*k] = v
			*k++
		}
		order, spare = spare, order
	}
	return order, spare
}

// errNoSummary is of a chunk of events that lacks one.
var errNoSummary = errors.New("the events have no summary")

// parseSummary is the inverse of accumulator.append.
func parseSummary(b []byte, head eventHead) (*capture.Summary, error) {
	if b == nil {
		return nil, errNoSummary
	}
	c := cursor{name: "summary", b: b}
	s := &capture.Summary{
		First: head.first, Last: head.last, Events: head.count,
		Start: time.Duration(head.start) * capture.Resolution, End: time.Duration(head.end) * capture.Resolution,
	}
	s.Fresh = c.uvarint()&1 != 0
	var peakTime uint64
	for _, v := range []*uint64{&s.Live, &s.Blocks, &s.Peak, &s.PeakSeq, &peakTime, &s.Mapped, &s.Unmapped, &s.Failed} {
		*v = c.uvarint()
	}
	if s.Peak != 0 {
		s.PeakSeq += head.first
		s.PeakTime = time.Duration(head.start+unzigzag(peakTime)) * capture.Resolution
	}
	s.Sizes = make([]capture.SizeCount, c.count(65))
	for i := range s.Sizes {
		s.Sizes[i] = capture.SizeCount{Allocs: c.uvarint(), Bytes: c.uvarint()}
	}
	s.Calls = make([]uint64, c.count(1<<16))
	for i := range s.Calls {
		s.Calls[i] = c.uvarint()
	}
	id, more := uint64(0), false
	for len(c.b) > 0 && c.err == nil {
		step := c.uvarint()
		if id += step; id > 1<<32-1 || more && step == 0 {
			c.fail("a stack is out of order")
		}
		more = true
		s.Flows = append(s.Flows, capture.Flow{
			Stack: capture.StackID(id), Allocs: c.uvarint(), Bytes: c.uvarint(), Frees: c.uvarint(), Freed: c.uvarint(), Temporary: c.uvarint(),
		})
	}
	return s, c.err
}

// count is a number of entries that follow, each of at least a byte.
func (c *cursor) count(most uint64) int {
	n := c.uvarint()
	if n > most || n > uint64(len(c.b)) {
		c.fail(fmt.Sprintf("%d entries", n))
		return 0
	}
	return int(n)
}

// summaryOf is the summary in the payload of a chunk of events, without looking
// at the events.
func (u *unpacker) summaryOf(payload []byte) (*capture.Summary, error) {
	var head eventHead
	var sum *capture.Summary
	for len(payload) > 0 {
		s, rest, err := nextSection(payload)
		if err != nil {
			return nil, err
		}
		switch s.id {
		case secHead:
			if head, err = parseHead(s.data, maxSummed); err != nil {
				return nil, err
			}
		case secSummary:
			b, err := u.unpack(s)
			if err != nil {
				return nil, err
			}
			if sum, err = parseSummary(b, head); err != nil {
				return nil, err
			}
		case secTouched:
			if sum == nil {
				break
			}
			b, err := u.unpack(s)
			if err != nil {
				return nil, err
			}
			sum.Touches = encodedAddresses(slices.Clone(b))
		case secMaps:
			if sum == nil {
				break
			}
			b, err := u.unpack(s)
			if err != nil {
				return nil, err
			}
			sum.Maps = encodedMaps{head.first, slices.Clone(b)}
		default:
			if sum != nil { // addresses and mappings come directly after the summary
				return sum, nil
			}
		}
		payload = rest
	}
	if sum != nil {
		return sum, nil
	}
	return nil, errNoSummary
}

// Summaries yields the summaries of the chunks of events from the one that holds
// #from on. An error ends them: a chunk has none, or is damaged.
func (f *File) Summaries(from uint64) iter.Seq2[*capture.Summary, error] {
	return func(yield func(*capture.Summary, error) bool) {
		var u unpacker
		refs := f.summed()
		first := sort.Search(len(refs), func(i int) bool { return refs[i].last >= from })
		for _, ref := range refs[first:] {
			payload, err := f.chunks.chunk(ref)
			if err != nil {
				f.fail(ref, err)
			}
			var s *capture.Summary
			if err == nil {
				s, err = u.summaryOf(payload)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Summaries yields the summaries of the events so far. The last of them grows.
func (l *Log) Summaries(from uint64) iter.Seq2[*capture.Summary, error] {
	return func(yield func(*capture.Summary, error) bool) {
		l.queue.wait()
		s := l.snapshot()
		defer l.release(s)
		var u unpacker
		var e eventEncoder
		first := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].head.last >= from })
		if n := len(s.blocks); n > 0 {
			e.sum.state = s.blocks[n-1].after
		}
		for _, b := range s.blocks[first:] {
			payload, err := b.load()
			var sum *capture.Summary
			if err == nil {
				sum, err = u.summaryOf(payload)
			}
			if !yield(sum, err) || err != nil {
				return
			}
		}
		for _, r := range s.last {
			if len(r.events) == 0 {
				continue
			}
			if r.fresh {
				e.sum.replaced()
			}
			sum, err := e.summary(r.events)
			if err == nil && sum.Last < from {
				continue
			}
			if !yield(sum, err) || err != nil {
				return
			}
		}
	}
}

// summary is the summary of events, which must be at least one.
func (c *eventEncoder) summary(events []capture.Event) (*capture.Summary, error) {
	c.chunkEffects.ended = c.chunkEffects.ended[:0]
	c.begin(events[0].Seq, ticks(events[0].Time))
	c.events(events)
	head := headOf(events)
	columns := c.end(eventColumns{})
	s, err := parseSummary(columns.columns[secSummary], head)
	if b := columns.columns[secMaps]; err == nil && len(b) > 0 {
		s.Maps = encodedMaps{head.first, slices.Clone(b)}
	}
	c.eventColumns = columns
	return s, err
}
