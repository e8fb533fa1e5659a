package probe

import (
	"encoding/binary"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe/filter"
)

// writeFilter writes the condition's code for the core to call. The code returns
// askedMay, askedSure or askedWrong, or askedNo if the event stops nothing. The address
// is 0 if the code has nothing to do: no event of the site stops the process or is noted.
func (cs *conditions) writeFilter(s *site) (addr.Run, error) {
	at := s.island.next()
	code, err := cs.filterCode(s, at)
	if err != nil || code == nil {
		return 0, err
	}
	if _, err := s.island.take(len(code)); err != nil {
		return 0, err
	}
	_, err = cs.p.proc.WriteAt(code, int64(at))
	id := cs.p.tables.rules.ID(frameRow{cfa: frameSize + 16}.rule())
	s.island.note(at, id)
	return at, err
}

// filterCode is that code for an address, nil if there is nothing to ask.
func (cs *conditions) filterCode(s *site, at addr.Run) ([]byte, error) {
	sure, asks, err := cs.request.programs(s.Function, cs.atCore(s))
	marks := cs.request.marks != 0 && !s.Function.Frees()
	blocks := cs.request.blocks != 0 && keepsBlocks(s.Function)
	if err != nil || sure.Never && asks.Never && !marks && !blocks {
		return nil, err
	}
	w := &writer{at: at}
	var suspected []branch
	switch {
	case blocks && s.Function.Frees():
		suspected = cs.request.freeBlock(w, s)
	case blocks:
		cs.request.makeBlock(w, s.Function)
	}
	if marks {
		cs.request.mark(w, cs.atCore(s))
	}
	matches := inline(w, sure)
	asked := inline(w, asks)
	w.bytes(0x31, 0xc0, 0xc3) // xor %eax,%eax; ret
	w.land(asked...)
	w.bytes(0xb8, askedMay, 0, 0, 0, 0xc3) // mov $askedMay,%eax; ret
	w.land(matches...)
	w.bytes(0xb8, askedSure, 0, 0, 0, 0xc3) // mov $askedSure,%eax; ret
	w.land(suspected...)
	w.bytes(0xb8, askedWrong, 0, 0, 0, 0xc3) // mov $askedWrong,%eax; ret
	return w.code, nil
}

// plainGroup reports whether all arguments of a function are in registers, and what it does is what
// its group does. Functions whose heap is in the word of the old block are out: the short way would
// take the heap for an old block.
func plainGroup(fn breakpoints.Function) bool {
	plain := fn.Group == breakpoints.GroupC || fn.Group == breakpoints.GroupCXX || fn.Group == breakpoints.GroupPython
	return plain && !fn.Whole && !fn.HeapInOld()
}

// simple reports whether a function only allocates or only frees, and arguments say what.
func simple(fn breakpoints.Function) bool {
	if !plainGroup(fn) {
		return false
	}
	return fn.Kind == capture.Free && fn.Ptr.From == breakpoints.Argument ||
		fn.Kind == capture.Alloc && fn.Ptr.From == breakpoints.Returned && fn.Size.From == breakpoints.Argument
}

// mode is what the state's mode has to be.
func (cs *conditions) mode() uint64 {
	var m uint64
	if cs.request.Record {
		m |= modeRecord
	}
	if cs.request.usesNth() {
		m |= modeNumber
	}
	if cs.request.usesLive() {
		m |= modeLive
	}
	return m
}

// enabled is the value of stEnabled.
func (cs *conditions) enabled() uint64 {
	if cs.request.Record && !cs.noTSC { // the short way asks for the time before it looks whether hdb lives
		return quickEnabled
	}
	return enabled
}

// short reports whether the core has a short way for a function, and where that begins: its
// arguments and result say all that a record has.
func (cs *conditions) short(s *site) (mark uint32, ok bool) {
	fn := s.Function
	if cs.enabled() != quickEnabled || !plainGroup(fn) {
		return 0, false
	}
	is := func(o breakpoints.Operand, n int) bool { return o.From == breakpoints.Argument && o.Index == n }
	maybe := func(o breakpoints.Operand) bool {
		return o.From == breakpoints.Argument || o.From == breakpoints.Nowhere
	}
	switch fn.Kind {
	case capture.Free:
		switch {
		case !is(fn.Ptr, 0) || longRecords(fn):
		case fn.Size.From == breakpoints.Nowhere:
			return markQuickFree, true
		case is(fn.Size, 1):
			return markQuickFreeSized, true
		}
	case capture.Alloc, capture.Realloc:
		switch {
		case fn.Ptr.From != breakpoints.Returned || fn.Size.From != breakpoints.Argument:
		case !maybe(fn.Count) || !maybe(fn.Align) || (fn.Kind == capture.Realloc) != (fn.Old.From == breakpoints.Argument):
		case is(fn.Size, 0) && !longRecords(fn):
			return markQuickAlloc, true
		default:
			return markQuickLong, true
		}
	}
	return 0, false
}

// quickFilter is the condition for a quick thunk. It is false for functions that
// are not simple, and while all events are wanted.
func (cs *conditions) quickFilter(s *site) (func(*writer) []branch, bool) {
	if cs.mode() != 0 || !simple(s.Function) {
		return nil, false
	}
	prog, err := cs.request.program(s.Function, cs.atEntry(s))
	if err != nil {
		return nil, false // writeFilter has said it
	}
	return func(w *writer) []branch { return inline(w, prog) }, true
}

// goFilter is quickFilter for a function of a Go runtime that has returned.
func (cs *conditions) goFilter(s *site) (func(*writer) []branch, bool) {
	if cs.mode() != 0 {
		return nil, false
	}
	prog, err := cs.request.program(s.Function, cs.atGoReturn(s))
	if err != nil {
		return nil, false // writeFilter has said it
	}
	return func(w *writer) []branch { return inline(w, prog) }, true
}

// atGoReturn says where the fields are then. What it does not know is asked in the core: types
// above all, whose table only the core looks into.
func (cs *conditions) atGoReturn(s *site) filter.Operands {
	ops := cs.operands(s, func(f cond.Field) (filter.Value, bool) {
		switch f {
		case cond.Size:
			return filter.At(filter.Mem(filter.RSP, 8)), true
		case cond.Addr:
			return filter.At(filter.Reg(filter.RDX)), true
		case cond.Old, cond.Align, cond.Count:
			return filter.None(), true
		}
		return filter.Value{}, false
	})
	if cs.asksTypes(&s.Function) {
		ops.Type = func(*cond.Call) (filter.Value, bool) { return filter.Value{}, false }
	}
	return ops
}

// inline appends a program and returns its jumps to the match label.
func inline(w *writer, prog filter.Program) []branch {
	base := len(w.code)
	w.code = append(w.code, prog.Code...)
	var matches []branch
	for _, m := range prog.Match {
		binary.LittleEndian.PutUint32(w.code[base+m:], 0)
		matches = append(matches, branch(base+m+4))
	}
	return matches
}
