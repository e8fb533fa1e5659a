package when

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hdb/internal/cond"
)

// leaked is leaked(FUNCTION) or leaked(FUNCTION) OP N: the bytes of blocks that a call leaves.
type leaked struct {
	function string
	compare  *cond.Compare // nil: any block
}

// Leaked is the function of a condition on what its calls leave, "" of another condition.
func (c *Cond) Leaked() string { return c.leaked.function }

// leaves reads what follows leaked.
func (c *Cond) leaves(rest string) error {
	inside, after, err := parenthesis(rest)
	if err != nil {
		return fmt.Errorf("a function expected, as in leaked(handle_request)")
	}
	if text, ok := strings.CutPrefix(inside, `"`); ok { // as in func("f")
		inside = strings.TrimSuffix(text, `"`)
	}
	switch {
	case inside == "":
		return fmt.Errorf("a function expected, as in leaked(handle_request)")
	case c.leaked.function != "":
		return fmt.Errorf("only one leaked() is allowed")
	}
	c.leaked.function = inside
	if after != "" {
		c.leaked.compare, err = comparison(cond.Live, after)
	}
	return err
}

// alone is the error of a leaked() together with other terms of state: it is about returns, and they are not.
func (c *Cond) alone() error {
	if c.heap == nil && len(c.grown) == 0 && len(c.groups) == 0 && c.age == 0 {
		return nil
	}
	return fmt.Errorf("when: %s: with leaked() only conditions on the allocations are allowed: size, thread, func() and the like", c.src)
}

// A Kept is a block that a call has made and not freed.
type Kept struct {
	Addr, Size, Seq uint64 // Seq: of the event that has made it
}

// Calls follow the calls of leaked()'s function that threads are in, one of each thread, and the
// blocks that these have made. The calls are those of Begin and End, the events all that there are.
type Calls struct {
	*Cond
	open  map[int]map[uint64]Kept // by thread and address
	maker map[uint64]int          // by address: the thread in whose call the block was made
}

// NewCalls are none, for a condition with a leaked().
func NewCalls(c *Cond) *Calls {
	return &Calls{Cond: c, open: map[int]map[uint64]Kept{}, maker: map[uint64]int{}}
}

// Begin begins a call in a thread. One that was open there is forgotten.
func (c *Calls) Begin(tid int) {
	c.forget(tid)
	c.open[tid] = map[uint64]Kept{}
}

// End ends the call of a thread, and returns its blocks that are live, in the order in which they were made.
func (c *Calls) End(tid int) (kept []Kept) {
	for _, k := range c.open[tid] {
		kept = append(kept, k)
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Compare(a.Seq, b.Seq) })
	c.forget(tid)
	return kept
}

func (c *Calls) forget(tid int) {
	for addr := range c.open[tid] {
		delete(c.maker, addr)
	}
	delete(c.open, tid)
}

// Event follows an event of a thread. Any thread may free a block.
func (c *Calls) Event(tid int, e Event, env cond.Env) {
	if len(c.open) == 0 {
		return
	}
	c.gone(e.Old)
	if e.Made == 0 {
		return
	}
	c.gone(e.Made) // its free was not seen
	if blocks, ok := c.open[tid]; ok && (c.event == nil || c.event.Eval(env)) {
		blocks[e.Made], c.maker[e.Made] = Kept{e.Made, e.Size, e.Seq}, tid
	}
}

func (c *Calls) gone(addr uint64) {
	if tid, ok := c.maker[addr]; ok {
		delete(c.open[tid], addr)
		delete(c.maker, addr)
	}
}

// Holds reports whether the blocks that a call leaves make the condition true.
func (c *Calls) Holds(kept []Kept) bool {
	if len(kept) == 0 {
		return false
	}
	var bytes uint64
	for _, k := range kept {
		bytes += k.Size
	}
	return c.leaked.compare == nil || c.leaked.compare.Op.Holds(bytes, c.leaked.compare.Value)
}
