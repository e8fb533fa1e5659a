package planes

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
)

// A call is an event without what differs between two runs of one program: its
// number, its time, the kernel's thread ID and the numbers of stacks.
type call struct {
	function          string
	kind              capture.Kind
	size, aux         uint64
	failed, abandoned bool
	resizes           bool // there is an Old
	stack             string
}

// calls turns the events of a recording into calls.
type calls struct {
	*recording
	functions []string
	modules   []capture.Module
	stacks    map[capture.StackID]string
	numbers   map[int32]int // of threads by ID
}

func newCalls(r *recording) *calls {
	c := &calls{recording: r, functions: r.Functions(), modules: r.Modules(),
		stacks: map[capture.StackID]string{}, numbers: map[int32]int{}}
	for _, th := range r.Threads() {
		c.numbers[th.TID] = th.Num
	}
	return c
}

// call is the event as it must be the same in both planes.
func (c *calls) call(e capture.Event) call {
	return call{c.function(e), e.Kind, e.Size, e.Aux, e.Failed, e.Abandoned, e.Old != 0, c.stack(e)}
}

func (c *calls) function(e capture.Event) string {
	if int(e.Func) < len(c.functions) {
		return c.functions[e.Func]
	}
	return fmt.Sprintf("function %d", e.Func)
}

// stack is all that is kept of the stack of e, as a text to compare.
func (c *calls) stack(e capture.Event) string {
	text, ok := c.stacks[e.Stack]
	if ok {
		return text
	}
	var b strings.Builder
	s := c.Stack(e.Stack)
	for i := range s.PCs {
		b.WriteString(c.place(s.PCs[i], e.Seq))
		if !s.Code(i).IsReturn() {
			b.WriteString(" pc")
		}
		if s.Guessed(i) {
			b.WriteString(" guess")
		}
		b.WriteByte('\n')
	}
	if s.Truncated != "" {
		b.WriteString("truncated")
	}
	text = b.String()
	c.stacks[e.Stack] = text
	return text
}

// place is an address as its module and the offset in it: modules may lie
// elsewhere when threads race to map memory.
func (c *calls) place(pc addr.Run, seq uint64) string {
	if m := c.module(pc, seq); m != nil {
		return fmt.Sprintf("%s+%#x", filepath.Base(m.Path), uint64(pc)-uint64(m.Bias))
	}
	return pc.String()
}

func (c *calls) module(pc addr.Run, seq uint64) *capture.Module {
	for i := range c.modules {
		if m := &c.modules[i]; m.Holds(pc, seq) || m.Low <= pc && pc < m.High && m.From == seq+1 {
			return m
		}
	}
	return nil
}

// thread is the debugger's number of the event's thread.
func (c *calls) thread(e capture.Event) int { return c.numbers[e.TID] }

// describe shows an event with its stack, for people.
func (c *calls) describe(e capture.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s plane: #%d %s %s(size %d", c.plane, e.Seq, e.Kind, c.function(e), e.Size)
	if e.Aux != 0 {
		fmt.Fprintf(&b, ", aux %d", e.Aux)
	}
	if e.Old != 0 {
		fmt.Fprintf(&b, ", old %#x", e.Old)
	}
	fmt.Fprintf(&b, ") = %#x", e.Addr)
	if e.Failed {
		b.WriteString(" failed")
	}
	if e.Abandoned {
		b.WriteString(" abandoned")
	}
	fmt.Fprintf(&b, "   thread %d\n", c.thread(e))
	s := c.Stack(e.Stack)
	const most = 24
	for i, pc := range s.PCs {
		if i == most {
			fmt.Fprintf(&b, "      ... %d frames in all\n", len(s.PCs))
			break
		}
		fmt.Fprintf(&b, "      %-12v %-24s %s", pc, c.place(pc, e.Seq), c.name(s, i, e.Seq))
		if !s.Code(i).IsReturn() {
			b.WriteString(" [pc]")
		}
		if s.Guessed(i) {
			b.WriteString(" [guess]")
		}
		b.WriteByte('\n')
	}
	if s.Truncated != "" {
		fmt.Fprintf(&b, "      truncated: %s\n", s.Truncated)
	}
	return b.String()
}

// name is the function of frame i, the one that calls were inlined into.
func (c *calls) name(s capture.Stack, i int, seq uint64) string {
	frames, _ := c.Symbol(s.PCs[i], s.Code(i).IsReturn(), seq)
	if len(frames) == 0 {
		return "?"
	}
	return frames[len(frames)-1].Function
}

// heap yields the events of the heap: pages the program maps are no blocks.
func (c *calls) heap() iter.Seq[capture.Event] {
	return func(yield func(capture.Event) bool) {
		for e := range c.Events(0) {
			switch e.Kind {
			case capture.Alloc, capture.Free, capture.Realloc:
				if !yield(e) {
					return
				}
			}
		}
	}
}

// own yields the calls that the program itself makes, not its libraries: the
// innermost frame lies in a file of the program's folder, or in no file. In a
// static program the line tells it, for the C library has none.
func (c *calls) own() iter.Seq[capture.Event] {
	dir := filepath.Dir(c.Info().Program)
	static := !slices.ContainsFunc(c.modules, func(m capture.Module) bool { return strings.Contains(filepath.Base(m.Path), ".so") })
	return func(yield func(capture.Event) bool) {
		for e := range c.Events(0) {
			s := c.Stack(e.Stack)
			if len(s.PCs) == 0 {
				continue
			}
			m := c.module(s.Code(0).Lookup(), e.Seq)
			if m != nil && (filepath.Dir(m.Path) != dir || static && !c.hasLine(s, e.Seq)) {
				continue
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (c *calls) hasLine(s capture.Stack, seq uint64) bool {
	frames, _ := c.Symbol(s.PCs[0], s.Code(0).IsReturn(), seq)
	return len(frames) > 0 && frames[0].Line > 0
}

// clock is an error if the time of events goes back, whatever their threads: one that
// seems earlier than the event before it has that one's.
func (c *calls) clock() error {
	var before capture.Event
	for e := range c.Events(0) {
		if e.Time < before.Time {
			return fmt.Errorf("time goes back from %v in #%d to %v:\n%s", before.Time, before.Seq, e.Time, c.describe(e))
		}
		before = e
	}
	return nil
}

// byLibc tells the frees that glibc makes when a thread ends, of blocks in its
// cache that the program freed before. In a static program hdb cannot tell them
// from the program's.
func (c *calls) byLibc(e capture.Event) bool {
	s := c.Stack(e.Stack)
	return len(s.PCs) > 0 && strings.HasSuffix(c.name(s, 0, e.Seq), "_freeres")
}

// execs are the first events of the program's later images: the one before is
// gone, with its blocks.
func (c *calls) execs() []uint64 {
	var first []uint64
	for _, m := range c.modules {
		if m.From > 1 && m.Path == c.Info().Program && !slices.Contains(first, m.From) {
			first = append(first, m.From)
		}
	}
	slices.Sort(first)
	return first
}

// history describes the last events of a block before the one numbered seq.
func (c *calls) history(block, seq uint64) string {
	var of []string
	for e := range c.heap() {
		if e.Seq >= seq {
			break
		}
		if !e.Failed && (e.Addr == block || e.Old == block) {
			of = append(of, c.describe(e))
		}
	}
	return strings.Join(of[max(0, len(of)-4):], "")
}

// live replays the events. blocks are what is left at the end, by address; wrong
// is the first event that cannot be: a block handed out while it lives, or given
// back while it does not.
func (c *calls) live() (blocks map[uint64]capture.Event, wrong error) {
	blocks = map[uint64]capture.Event{}
	fail := func(e capture.Event, a uint64, why string) {
		if wrong == nil {
			wrong = fmt.Errorf("%s\n%sbefore it:\n%s", why, c.describe(e), c.history(a, e.Seq))
		}
	}
	end := func(e capture.Event, a uint64) {
		if _, ok := blocks[a]; !ok && !c.byLibc(e) {
			fail(e, a, "not a live block:")
		}
		delete(blocks, a)
	}
	execs := c.execs()
	for e := range c.heap() {
		if len(execs) > 0 && e.Seq >= execs[0] {
			clear(blocks)
			execs = execs[1:]
		}
		if e.Failed {
			continue
		}
		if e.Kind == capture.Free {
			end(e, e.Addr)
			continue
		}
		if e.Old != 0 {
			end(e, e.Old)
		}
		if e.Addr == 0 {
			continue // realloc(p, 0)
		}
		if other, ok := blocks[e.Addr]; ok {
			fail(e, e.Addr, fmt.Sprintf("handed out twice, first as #%d:", other.Seq))
		}
		blocks[e.Addr] = e
	}
	return blocks, wrong
}
