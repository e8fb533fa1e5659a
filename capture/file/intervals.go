package file

import (
	"bytes"
	"math/bits"

	"hdb/capture"
)

// A recorder that keeps sums only writes a chunk of them each sumsEvery Pushes, or after a number
// of events: an interval, in two parts. The first ends with the event after which most was live in
// it, so that what was live then is known as well.
const (
	sumsEvery = 10
	sumsMost  = 1 << 30
)

// intervalSums add up events as they come.
type intervalSums struct {
	state  heapState
	fresh  bool     // the program was replaced before the interval
	pushes int      // since the interval began
	to     interval // up to the event after which most was live
	after  interval
}

// An interval is the sums of consecutive events.
type interval struct {
	head    eventHead
	sum     accumulator
	totals  capture.Totals    // after the last event
	ids     []capture.StackID // by index in sum.flows
	at      []int32           // by stack ID: index in sum.flows + 1, or 0
	classes uint64            // bits of the classes of sizes that occur, modulo 64
	maps    mapEncoder
}

// events is the number of events of the interval.
func (s *intervalSums) events() int { return s.to.head.count + s.after.head.count }

// add adds the event #seq at a time in ticks; totals are those with it.
func (s *intervalSums) add(e *capture.Event, seq, now uint64, totals *capture.Totals) {
	p := &s.after
	if p.head.count == 0 {
		p.head.first, p.head.start = seq, now
	}
	p.head.count++
	p.head.last, p.head.end = seq, now
	p.sum.state = s.state
	p.sum.call(e)
	if e.Ended.Recorded {
		p.sum.ended(p.flow(e.Ended.Stack), e.Ended.Size, e.Ended.Temporary)
	}
	if e.Allocates() {
		p.sum.made(p.flow(e.Stack), e, seq, now)
		p.sum.sized(e.Size)
		p.classes |= 1 << (bits.Len64(e.Size) % 64)
	}
	if e.Kind.Maps() {
		p.maps.add(e, seq, p.head.first)
	}
	s.state = p.sum.state
	if p.sum.peak > s.to.sum.peak {
		p.totals = *totals
		s.to.take(p)
	}
}

// flow is the flow of a stack.
func (p *interval) flow(id capture.StackID) *capture.Flow {
	for int(id) >= len(p.at) {
		p.at = append(p.at, 0)
	}
	if p.at[id] == 0 {
		p.ids = append(p.ids, id)
		p.at[id] = int32(len(p.ids))
	}
	return p.sum.flow(p.at[id] - 1)
}

// take adds what o has, which comes after p, and empties it.
func (p *interval) take(o *interval) {
	if p.head.count == 0 {
		p.head.first, p.head.start = o.head.first, o.head.start
	}
	p.head.count += o.head.count
	p.head.last, p.head.end = o.head.last, o.head.end
	for i, id := range o.ids {
		p.flow(id).Add(&o.sum.flows[i])
	}
	p.classes |= o.classes
	for m := o.classes; m != 0; m &= m - 1 {
		for i := bits.TrailingZeros64(m); i < len(o.sum.sizes); i += 64 {
			p.sum.sizes[i].Allocs += o.sum.sizes[i].Allocs
			p.sum.sizes[i].Bytes += o.sum.sizes[i].Bytes
		}
	}
	for i, n := range o.sum.calls {
		if i == len(p.sum.calls) {
			p.sum.calls = append(p.sum.calls, 0)
		}
		p.sum.calls[i] += n
	}
	for e := range (encodedMaps{o.head.first, o.maps.b}).Events() {
		p.maps.add(&e, e.Seq, p.head.first)
	}
	p.sum.mapped += o.sum.mapped
	p.sum.unmapped += o.sum.unmapped
	p.sum.failed += o.sum.failed
	if o.sum.peak > p.sum.peak {
		p.sum.peak, p.sum.peakSeq, p.sum.peakTime = o.sum.peak, o.sum.peakSeq, o.sum.peakTime
	}
	p.sum.state, p.totals = o.sum.state, o.totals
	o.clear()
}

// clear empties the span, in the time that its entries take.
func (p *interval) clear() {
	for _, id := range p.ids {
		p.at[id] = 0
	}
	for m := p.classes; m != 0; m &= m - 1 {
		for i := bits.TrailingZeros64(m); i < len(p.sum.sizes); i += 64 {
			p.sum.sizes[i] = capture.SizeCount{}
		}
	}
	clear(p.sum.calls)
	p.ids, p.sum.flows, p.sum.calls, p.classes, p.head = p.ids[:0], p.sum.flows[:0], p.sum.calls[:0], 0, eventHead{}
	p.sum.peak, p.sum.peakSeq, p.sum.peakTime, p.sum.mapped, p.sum.unmapped, p.sum.failed = 0, 0, 0, 0, 0, 0
	p.maps.b = p.maps.b[:0]
}

// writeSums has the sums of the interval written.
func (c *Writer) writeSums() {
	s := c.sums
	if s.events() == 0 {
		return
	}
	s.after.totals = c.info.Totals
	for _, p := range []*interval{&s.to, &s.after} {
		if p.head.count == 0 {
			continue
		}
		p.sum.fresh, s.fresh = s.fresh, false
		head, totals := p.head, p.totals
		section := p.sum.append(nil, head.first, head.start, p.ids)
		maps := bytes.Clone(p.maps.b)
		c.out.queue.add(func() { c.out.sums(head, &totals, section, maps) })
		p.clear()
	}
	s.pushes = 0
}
