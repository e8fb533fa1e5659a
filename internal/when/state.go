package when

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"hdb/internal/cond"
	"hdb/internal/units"
)

// An Event is what a State needs of an event.
type Event struct {
	Seq  uint64
	Time time.Duration
	Made uint64 // the block that it made, 0 if none
	Size uint64 // of that
	Old  uint64 // the block that it returned, 0 if none
}

// An Env is what can be asked at an event: of the event, and of the heap behind it.
type Env interface {
	cond.Env
	// Block reports whether a live block begins at the address, and the number of the event that
	// has made it.
	Block(addr uint64) (seq uint64, live bool)
}

// A State follows the events of a run for a condition.
type State struct {
	*Cond
	met    atomic.Bool // the condition held behind the last event; read by other goroutines, too
	grown  []history
	groups []members
	old    blocks

	oldest block // of those whose age is asked for, at the last event
}

// NewState is the state in which nothing has happened, except what Seed tells.
func NewState(c *Cond) *State {
	s := &State{Cond: c, groups: make([]members, len(c.groups)), grown: make([]history, len(c.grown))}
	for i := range s.groups {
		s.groups[i].sizes = map[uint64]uint64{}
	}
	return s
}

// Groups are the conditions of the blocks that are counted by themselves. The last is of those
// whose age is asked for, if it is: nil is all blocks.
func (c *Cond) Groups() (all []*cond.Cond, aged bool) {
	for _, g := range c.groups {
		all = append(all, g.of)
	}
	if c.age != 0 {
		return append(all, c.event), true
	}
	return all, false
}

// Seed describes a block that is live already, and is one of a group of Groups. Those whose age is
// asked for come in the order of their time.
func (s *State) Seed(g int, addr, size, seq uint64, made time.Duration) {
	if g < len(s.groups) {
		s.groups[g].add(addr, size)
		return
	}
	s.old.push(block{addr, seq, made})
}

// Begin tells what the heap is before the first event, when all blocks have been told of by Seed: a
// condition that holds has to become false before it becomes true. One that asks for the event, or
// for an age, holds for none yet.
func (s *State) Begin(live, blocks uint64, now time.Duration) {
	for i := range s.grown {
		s.grown[i].add(now, live, s.Cond.grown[i].over)
	}
	if s.event == nil && s.age == 0 {
		s.met.Store(s.holds(Event{Time: now}, begun{live: live, blocks: blocks}, live))
	}
}

// begun is what is known before there is an event.
type begun struct {
	Env
	live, blocks uint64
}

// Number is the heap's size.
func (b begun) Number(f cond.Field) (uint64, bool) {
	switch f {
	case cond.Live:
		return b.live, true
	case cond.Blocks:
		return b.blocks, true
	}
	return 0, false
}

// Met reports whether the condition held behind the last event.
func (s *State) Met() bool { return s.met.Load() }

// Event follows an event, and reports whether it is the one that has made the condition true.
func (s *State) Event(e Event, env Env) (became bool) {
	live, _ := env.Number(cond.Live)
	for i := range s.grown {
		s.grown[i].add(e.Time, live, s.Cond.grown[i].over)
	}
	for i := range s.groups {
		s.groups[i].remove(e.Old)
		if e.Made != 0 {
			s.groups[i].remove(e.Made)
			if s.Cond.groups[i].of.Eval(env) {
				s.groups[i].add(e.Made, e.Size)
			}
		}
	}
	if s.age != 0 && e.Made != 0 && (s.event == nil || s.event.Eval(env)) {
		s.old.push(block{e.Made, e.Seq, e.Time})
		s.old.prune(env)
	}
	now := s.holds(e, env, live)
	became = !s.met.Swap(now) && now
	return became
}

// holds reports whether the condition holds.
func (s *State) holds(e Event, env Env, live uint64) bool {
	if s.heap != nil && !s.heap.Eval(env) {
		return false
	}
	for i, g := range s.Cond.grown {
		if !g.compare.Op.Holds(s.grown[i].growth(live), g.compare.Value) {
			return false
		}
	}
	for i, g := range s.Cond.groups {
		if !g.compare.Op.Holds(s.groups[i].number(g.compare.Field), g.compare.Value) {
			return false
		}
	}
	if s.age != 0 {
		var ok bool
		s.oldest, ok = s.old.oldest(env)
		return ok && e.Time-s.oldest.made > s.age
	}
	return s.event == nil || s.event.Eval(env)
}

// Why is the numbers behind an event that made a condition true, in the order of its text.
type Why []figure

// A figure is a text, or a size behind it.
type figure struct {
	text  string
	size  uint64
	sized bool
}

// Text is the numbers in words.
func (w Why) Text(sizes units.Sizes) string {
	var parts []string
	for _, f := range w {
		if f.sized {
			f.text += " " + sizes.Short(f.size)
		}
		parts = append(parts, f.text)
	}
	return strings.Join(parts, ", ")
}

// Why is the numbers behind the last event. env is that event's.
func (s *State) Why(e Event, env Env) (why Why) {
	text := func(format string, args ...any) { why = append(why, figure{text: fmt.Sprintf(format, args...)}) }
	size := func(n uint64, format string, args ...any) {
		why = append(why, figure{fmt.Sprintf(format, args...), n, true})
	}
	live, _ := env.Number(cond.Live)
	blocks, _ := env.Number(cond.Blocks)
	if s.heap != nil && s.heap.Uses(cond.Live) {
		size(live, "live")
	}
	if s.heap != nil && s.heap.Uses(cond.Blocks) {
		text("%s", units.Count(blocks, "block"))
	}
	for i, g := range s.Cond.grown {
		size(s.grown[i].growth(live), "growth(%v)", g.over)
	}
	for i, g := range s.Cond.groups {
		number := s.groups[i].number(g.compare.Field)
		if g.compare.Field == cond.Blocks {
			text("%v(%s) %s", g.compare.Field, g.of.Source(), units.Grouped(number))
		} else {
			size(number, "%v(%s)", g.compare.Field, g.of.Source())
		}
	}
	if s.age != 0 {
		text("the block at %#x, of #%d, is %v old", s.oldest.addr, s.oldest.seq, (e.Time - s.oldest.made).Round(time.Millisecond))
	}
	return why
}

// members are the live blocks of a group, by address.
type members struct {
	sizes map[uint64]uint64
	bytes uint64
}

func (m *members) add(addr, size uint64) {
	m.sizes[addr] = size
	m.bytes += size
}

func (m *members) remove(addr uint64) {
	if addr == 0 {
		return
	}
	if size, ok := m.sizes[addr]; ok {
		m.bytes -= size
		delete(m.sizes, addr)
	}
}

func (m *members) number(f cond.Field) uint64 {
	if f == cond.Blocks {
		return uint64(len(m.sizes))
	}
	return m.bytes
}

// A history has how many bytes were live, over the last span of time, to a thousandth of it.
type history struct {
	points []point // ascending
	base   uint64  // live before the span
	begun  bool
}

type point struct {
	at   time.Duration
	live uint64 // behind the last event up to there
}

const historyPoints = 1000

func (h *history) add(at time.Duration, live uint64, span time.Duration) {
	if !h.begun { // what was live when the condition was set
		h.begun, h.base = true, live
	}
	if n := len(h.points); n > 0 && at-h.points[n-1].at < max(span/historyPoints, 1) {
		h.points[n-1].live = live
	} else {
		h.points = append(h.points, point{at, live})
	}
	gone := 0
	for gone < len(h.points) && h.points[gone].at < at-span {
		h.base = h.points[gone].live
		gone++
	}
	if gone > len(h.points)/2 {
		h.points = append(h.points[:0], h.points[gone:]...)
	} else {
		h.points = h.points[gone:]
	}
}

// growth is what live has grown by, 0 if it is less.
func (h *history) growth(live uint64) uint64 {
	if live < h.base {
		return 0
	}
	return live - h.base
}

// blocks are blocks in the order in which they were made, some of which are no more.
type blocks struct {
	all  []block
	head int
	most int // length at which those that are no more are left out
}

type block struct {
	addr, seq uint64
	made      time.Duration
}

func (b *blocks) push(made block) { b.all = append(b.all, made) }

// alive reports whether a block is live.
func (o block) alive(env Env) bool {
	seq, live := env.Block(o.addr)
	return live && seq == o.seq
}

// prune leaves out blocks that are no more, when there may be as many of these as of others.
func (b *blocks) prune(env Env) {
	if len(b.all) < max(b.most, 1<<16) {
		return
	}
	kept := b.all[:0]
	for _, o := range b.all[b.head:] {
		if o.alive(env) {
			kept = append(kept, o)
		}
	}
	b.all, b.head, b.most = kept, 0, 2*len(kept)
}

// oldest is the oldest that is live.
func (b *blocks) oldest(env Env) (block, bool) {
	b.prune(env)
	for ; b.head < len(b.all); b.head++ {
		if b.all[b.head].alive(env) {
			return b.all[b.head], true
		}
	}
	b.all, b.head = b.all[:0], 0
	return block{}, false
}
