package probe

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe/filter"
)

// conditions are what is asked of events, as the core and the thunks decide it.
type conditions struct {
	p        *Probe
	request  Request
	requests int  // how many there were
	marked   bool // blocks are, or were
	counting bool // the core keeps the bounds that conditions compare with
	noTSC    bool // a thread may not read the time stamp counter
	types    goTypes
}

// Next is what next-alloc or next-free waits for.
type Next struct {
	Frees bool // frees, else allocations
	Cond  *cond.Cond
}

// wants reports whether a stop is about calls of a function.
func wants(st *breakpoints.Stop, fn breakpoints.Function) filter.Verdict {
	switch {
	case fn.Whole:
		return filter.No
	case st.AnyCall():
		return filter.Yes
	case fn.Frees() != (st.Kind == breakpoints.StopFree):
		return filter.No
	case len(st.Funcs) == 0:
		if fn.Group == breakpoints.GroupVM {
			return filter.No
		}
		return filter.Yes
	}
	all := filter.No
	for _, name := range st.Funcs {
		switch named(fn, name) {
		case filter.Yes:
			return filter.Yes
		case filter.Unknown:
			all = filter.Unknown
		}
	}
	return all
}

// named reports whether a pattern names the function. An allocating function may have others do its
// work, whose names are its own then: a stop at malloc sees the malloc that operator new calls, or
// realloc(NULL).
func named(fn breakpoints.Function, pattern string) filter.Verdict {
	switch {
	case fn.Is(pattern):
		return filter.Yes
	case (fn.Kind == capture.Alloc || fn.Kind == capture.Realloc) && fn.Group != breakpoints.GroupVM:
		return filter.Unknown
	}
	return filter.No
}

// program narrows the events of a function to those that may stop the process.
func (r *Request) program(fn breakpoints.Function, ops filter.Operands) (filter.Program, error) {
	sure, asks, err := r.programs(fn, ops)
	return filter.Any(sure, asks), err
}

// programs are program in two: what whoever calls may stop the process for, and what the stack may decide against.
func (r *Request) programs(fn breakpoints.Function, ops filter.Operands) (_, _ filter.Program, err error) {
	var sure, asks []filter.Program
	parts := func(c *cond.Cond, add func(to *[]filter.Program, part cond.Node)) {
		ofStack, rest := c.ByStack()
		if ofStack != nil {
			add(&asks, ofStack)
		}
		if rest != nil || ofStack == nil {
			add(&sure, rest)
		}
	}
	for _, st := range r.Stops {
		verdict := wants(st, fn)
		if verdict == filter.No || verdict == filter.Yes && slices.Contains(r.Printed, st) || st.Nth != 0 && st.Nth <= r.Seq {
			continue
		}
		parts(st.Cond, func(to *[]filter.Program, part cond.Node) {
			node, failed := condition(st, part)
			if failed != nil {
				err = failed
				return
			}
			prog := r.compile(fn, node, ops)
			prog.Exact = prog.Exact && verdict == filter.Yes
			*to = append(*to, prog)
		})
	}
	if n := r.Next; n != nil {
		if (fn.Frees() == n.Frees || fn.MayUnmap()) && fn.Kind != capture.Protect {
			parts(n.Cond, func(to *[]filter.Program, part cond.Node) { *to = append(*to, r.compile(fn, part, ops)) })
		}
	}
	for _, block := range r.Blocks {
		field := cond.Addr
		switch {
		case fn.Kind == capture.Free:
		case fn.Kind == capture.Realloc:
			field = cond.Old
		default:
			continue
		}
		sure = append(sure, filter.Compile(&cond.Compare{Field: field, Op: cond.EQ, Value: block}, ops))
	}
	return filter.Any(sure...), filter.Any(asks...), err
}

// future is a condition as far as events to come can fulfil it: their numbers
// are above the last one's.
func (r *Request) future(n cond.Node) cond.Node {
	terms := func(list []cond.Node) []cond.Node {
		out := make([]cond.Node, len(list))
		for i, t := range list {
			out[i] = r.future(t)
		}
		return out
	}
	switch n := n.(type) {
	case *cond.And:
		return &cond.And{Terms: terms(n.Terms)}
	case *cond.Or:
		return &cond.Or{Terms: terms(n.Terms)}
	case *cond.Not:
		return &cond.Not{X: r.future(n.X)}
	case *cond.Compare:
		past := n.Value <= r.Seq && (n.Op == cond.EQ || n.Op == cond.LE || n.Op == cond.LT)
		if n.Field == cond.Nth && past {
			return &cond.Compare{Field: cond.Size, Op: cond.LT, Value: 0, Col: n.Col} // never
		}
	}
	return n
}

// condition is all that a stop asks of an event: a part of its condition, nil none, its thread and
// its number.
func condition(st *breakpoints.Stop, part cond.Node) (cond.Node, error) {
	var terms []cond.Node
	for _, f := range []struct {
		field cond.Field
		value uint64
	}{{cond.Thread, uint64(st.Thread)}, {cond.Nth, st.Nth}} {
		if f.value != 0 {
			c, err := cond.Parse(fmt.Sprintf("%v == %d", f.field, f.value))
			if err != nil {
				return nil, err
			}
			terms = append(terms, c.Root())
		}
	}
	if part != nil {
		terms = append(terms, part)
	}
	switch len(terms) {
	case 0:
		return nil, nil
	case 1:
		return terms[0], nil
	}
	return &cond.And{Terms: terms}, nil
}

// asksStack reports whether a stop that may be about the function asks who called.
func (r *Request) asksStack(fn breakpoints.Function) bool {
	if r.Next != nil && r.Next.Cond != nil && r.Next.Cond.UsesStack() {
		return true
	}
	return slices.ContainsFunc(r.Stops, func(st *breakpoints.Stop) bool {
		return st.Cond != nil && st.Cond.UsesStack() && wants(st, fn) != filter.No
	})
}

// usesNth reports whether the core has to number events.
func (r *Request) usesNth() bool {
	return r.uses(cond.Nth) || slices.ContainsFunc(r.Stops, func(st *breakpoints.Stop) bool { return st.Nth != 0 })
}

// usesLive reports whether the core has to keep bounds of the live heap.
func (r *Request) usesLive() bool { return r.uses(cond.Live) || r.uses(cond.Blocks) }

func (r *Request) uses(f cond.Field) bool {
	return r.Next != nil && r.Next.Cond != nil && r.Next.Cond.Uses(f) ||
		slices.ContainsFunc(r.Stops, func(st *breakpoints.Stop) bool { return st.Cond != nil && st.Cond.Uses(f) })
}

// Passed reports whether a condition asks for a number of an event that was still to come when the
// probe was armed, and is not after the event seq. The core continues taking it for possible, as
// its count is a bound only.
func (cs *conditions) Passed(seq uint64) bool { return cs.request.passed(seq) }

func (r *Request) passed(seq uint64) bool {
	now := Request{Seq: seq}
	less := func(n cond.Node) bool {
		for leaf := range cond.Leaves(n) {
			if c, ok := leaf.(*cond.Compare); ok && r.future(c) == c && now.future(c) != c {
				return true
			}
		}
		return false
	}
	return r.Next != nil && r.Next.Cond != nil && less(r.Next.Cond.Root()) || slices.ContainsFunc(r.Stops, func(st *breakpoints.Stop) bool {
		return st.Nth > r.Seq && st.Nth <= seq || st.Cond != nil && less(st.Cond.Root())
	})
}

// ask takes a new request.
func (cs *conditions) ask(r Request) {
	cs.request = r
	if r.Record && r.Live != nil && len(r.freed()) > 0 {
		cs.request.marks = cs.p.remote.file + fileMarks
	}
	cs.types.patterns = r.patterns()
	cs.requests++
}

// enter has threads be at entries when what was built is in place.
func (cs *conditions) enter(at map[*inferior.Thread]addr.Run) { cs.request.Entered = at }

// entered are the threads of the request that are at entries, once.
func (cs *conditions) entered() map[*inferior.Thread]addr.Run {
	at := cs.request.Entered
	cs.request.Entered = nil
	return at
}

// keepBounds has the core keep bounds as the request needs them; afresh: it has not
// counted for a while.
func (cs *conditions) keepBounds(afresh bool) {
	counts := cs.mode()&(modeNumber|modeLive) != 0
	if afresh || counts && !cs.counting {
		cs.setBounds()
	}
	cs.counting = counts
}

// Describe tells which part of a stop's condition runs in the inferior and
// which outside, for functions that have all there is to ask.
func (cs *conditions) Describe(st *breakpoints.Stop) (inProcess, outside []string, err error) {
	var whole cond.Node
	if st.Cond != nil {
		whole = st.Cond.Root()
	}
	node, err := condition(st, whole)
	if err != nil {
		return nil, nil, err
	}
	var alike []filter.Operands
	for _, s := range cs.p.siteTable.list {
		if !s.dead && wants(st, s.Function) != filter.No {
			alike = append(alike, cs.atCore(s))
		}
	}
	inProcess, outside = filter.Describe(node, alike...)
	size := cond.Size.String()
	if cs.request.marks != 0 && st.Kind == breakpoints.StopFree && asksSize(node) && !slices.Contains(inProcess, size) {
		inProcess = append(inProcess, size)
	}
	return inProcess, outside, nil
}

// atCore says where the core has the fields when it asks: at the return of
// functions that allocate, at the entry of those that free. The condition's code
// is called from the core's frame.
func (cs *conditions) atCore(s *site) filter.Operands {
	word := func(at int) (filter.Value, bool) { return filter.At(filter.Mem(filter.RSP, int32(at+8))), true }
	arg := func(o breakpoints.Operand) (filter.Value, bool) {
		switch o.From {
		case breakpoints.Argument:
			return word(frArgs + 8*o.Index)
		case breakpoints.Constant:
			return filter.At(filter.Const(o.Value)), true
		}
		return filter.None(), true
	}
	fn := s.Function
	return cs.operands(s, func(f cond.Field) (filter.Value, bool) {
		switch f {
		case cond.Size:
			if fn.Frees() && fn.Kind != capture.Unmap {
				return filter.Value{}, false // the block's, which the heap knows
			}
			if fn.MayUnmap() {
				return filter.Value{}, false // a signed argument, whose sign makes it another kind of event
			}
			if fn.Count.From == breakpoints.Constant {
				return filter.Value{}, false // hdb multiplies
			}
			return word(frSize)
		case cond.Goroutine:
			if !goAllocates(&fn) {
				return filter.None(), true
			}
			return word(frGoID)
		case cond.Addr:
			if fn.Result == breakpoints.NotMinus1 {
				return filter.Value{}, false // -1 means 0
			}
			return word(frAddr)
		case cond.Old:
			if fn.Kind != capture.Realloc {
				return filter.None(), true
			}
			return arg(fn.Old)
		case cond.Align:
			return arg(fn.Align)
		case cond.Count:
			return arg(fn.Count)
		}
		return cs.cells(f)
	})
}

// atEntry says where the fields are at a function's entry.
func (cs *conditions) atEntry(s *site) filter.Operands {
	fn := s.Function
	arg := func(o breakpoints.Operand) (filter.Value, bool) {
		switch o.From {
		case breakpoints.Argument:
			return filter.At(filter.Reg(argPlaces[o.Index])), true
		case breakpoints.Constant:
			return filter.At(filter.Const(o.Value)), true
		}
		return filter.None(), true
	}
	return cs.operands(s, func(f cond.Field) (filter.Value, bool) {
		switch f {
		case cond.Size:
			if fn.Frees() {
				return filter.Value{}, false
			}
			if fn.Count.From == breakpoints.Argument && fn.Size.From == breakpoints.Argument {
				return filter.Product(filter.Reg(argPlaces[fn.Size.Index]), filter.Reg(argPlaces[fn.Count.Index])), true
			}
			if fn.Count.From != breakpoints.Nowhere {
				return filter.Value{}, false
			}
			return arg(fn.Size)
		case cond.Goroutine:
			return filter.None(), true // functions of Go are not looked at here
		case cond.Addr:
			if fn.Frees() {
				return arg(fn.Ptr)
			}
			return filter.Value{}, false // not yet known
		case cond.Old:
			if fn.Kind != capture.Realloc {
				return filter.None(), true
			}
			return arg(fn.Old)
		case cond.Align:
			return arg(fn.Align)
		case cond.Count:
			return arg(fn.Count)
		}
		return filter.Value{}, false
	})
}

var argPlaces = [...]filter.Register{filter.RDI, filter.RSI, filter.RDX, filter.RCX, filter.R8, filter.R9}

func (cs *conditions) operands(s *site, number func(cond.Field) (filter.Value, bool)) filter.Operands {
	return filter.Operands{
		Number: number,
		Is: func(name string) filter.Verdict {
			if s.Function.OfKind(name) {
				return filter.Yes
			}
			return filter.No
		},
		Thread:     filter.Mem(filter.R10, slTID).U32(),
		ThreadCell: cs.p.slots.threadCell,
		Type:       cs.typeValue(s),
	}
}

// cells are the bounds that the core keeps while a condition asks for them.
func (cs *conditions) cells(f cond.Field) (filter.Value, bool) {
	at, ok := map[cond.Field]int{cond.Nth: hdCount, cond.Live: hdLive, cond.Blocks: hdBlocks}[f]
	if !ok {
		return filter.Value{}, false
	}
	return filter.At(filter.Abs(uint64(cs.p.remote.file) + uint64(fileHeader+at))).AtMost(), true
}

// setBounds has the core count from now on; all threads are stopped. It has not counted
// the calls that threads are in, and one of each that may be about to be recorded.
func (cs *conditions) setBounds() {
	bytes, blocks := cs.p.cfg.Sink.Heap()
	seq := cs.request.Seq
	for _, slot := range cs.p.shared.slots() {
		if binary.LittleEndian.Uint64(slot[slKey:]) <= slotLeft {
			continue
		}
		seq++
		for entry := range min(binary.LittleEndian.Uint32(slot[slDepth:]), shadowDepth) {
			bytes += binary.LittleEndian.Uint64(slot[slShadow+shadowSize*entry+shSize:])
			blocks++
			seq++
		}
	}
	cs.p.shared.word(hdLive).Store(bytes)
	cs.p.shared.word(hdBlocks).Store(blocks)
	cs.p.shared.word(hdCount).Store(seq)
}

// Numbered tells the core that an event has got a number which no call made: the numbers of
// calls are at most what it counts. The goroutine that drains the ring may call it, too, which
// has ended when the probe is closed; whether the probe is armed only the owner knows, and
// arming it sets the count.
func (cs *conditions) Numbered() {
	if !cs.p.closed {
		cs.p.shared.word(hdCount).Add(1)
	}
}
