package probe

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe/filter"
)

// A call of free does not tell the size of its block. While a stop at frees asks for it and
// all events are recorded, each call that allocates marks its block if the condition may
// hold for a block of that size, and takes a mark away if not. The mark is in one of
// 1<<markBits words, by the block's address: 0, the one address that is marked, or several
// for good. So a free whose block has no mark cannot match.

const (
	markBits  = 17
	marksSize = 8 << markBits
	markHash  = 0x9e3779b1
	several   = 1<<64 - 1
)

// freed are the conditions that ask for the sizes of freed blocks, alternatives apart.
func (r *Request) freed() (all []cond.Node) {
	ask := func(c *cond.Cond) {
		if c != nil {
			all = append(all, slices.DeleteFunc(alternatives(c.Root()), func(n cond.Node) bool { return !asksSize(n) })...)
		}
	}
	for _, st := range r.Stops {
		if st.Kind == breakpoints.StopFree || st.AnyCall() {
			ask(st.Cond)
		}
	}
	if n := r.Next; n != nil && n.Frees {
		ask(n.Cond)
	}
	return all
}

// alternatives are the conditions of which one has to hold.
func alternatives(n cond.Node) []cond.Node {
	if or, ok := n.(*cond.Or); ok {
		return slices.Clone(or.Terms)
	}
	return []cond.Node{n}
}

// compile narrows a condition, at a free by the marks, if there are any.
func (r *Request) compile(fn breakpoints.Function, asked cond.Node, ops filter.Operands) filter.Program {
	if or, ok := asked.(*cond.Or); ok && r.marks != 0 {
		var all []filter.Program
		for _, term := range or.Terms {
			all = append(all, r.compile(fn, term, ops))
		}
		return filter.Any(all...)
	}
	n := r.future(asked)
	prog := filter.Compile(n, ops)
	if r.marks == 0 || prog.Never || fn.Kind != capture.Free || !asksSize(asked) {
		return prog
	}
	// Of a block that hdb does not know the call says the size, or nothing.
	told := ops
	told.Number = func(f cond.Field) (filter.Value, bool) {
		switch {
		case f != cond.Size:
			return ops.Number(f)
		case fn.Size.From == breakpoints.Nowhere:
			return filter.None(), true
		}
		return filter.At(filter.Mem(filter.RSP, frSize+8)), true
	}
	unknown := filter.Compile(n, told)
	unknown.Exact = false
	return filter.Any(unknown, behind(r.markTest(len(prog.Code)), prog))
}

// behind is a program that comes after code of its own.
func behind(code []byte, prog filter.Program) filter.Program {
	p := filter.Program{Code: append(code, prog.Code...)}
	for _, m := range prog.Match {
		p.Match = append(p.Match, len(code)+m)
	}
	return p
}

func asksSize(n cond.Node) bool {
	for leaf := range cond.Leaves(n) {
		if c, ok := leaf.(*cond.Compare); ok && c.Field == cond.Size {
			return true
		}
	}
	return false
}

// markWord leaves the block of the core's frame in rax and the place of its word in r11.
// The core needs neither these nor rdi, which they change, when the code that it has called
// returns.
func (r *Request) markWord(w *writer) {
	w.bytes(0x48, 0x8b, 0x84, 0x24) // mov frAddr+8(%rsp),%rax
	w.imm32(frAddr + 8)
	w.bytes(0x49, 0x89, 0xc3)              // mov %rax,%r11
	w.bytes(0x49, 0xc1, 0xeb, 4)           // shr $4,%r11
	w.bytes(0x45, 0x69, 0xdb)              // imul $markHash,%r11d,%r11d
	w.imm32(markHash)                      //
	w.bytes(0x41, 0xc1, 0xeb, 32-markBits) // shr
	w.bytes(0x48, 0xbf)                    // mov $marks,%rdi
	w.imm64(uint64(r.marks))               //
	w.bytes(0x4e, 0x8d, 0x1c, 0xdf)        // lea (%rdi,%r11,8),%r11
}

// markTest is code in front of that number of bytes, which it passes over if the block has no mark.
func (r *Request) markTest(over int) []byte {
	w := &writer{}
	r.markWord(w)
	w.bytes(0x4d, 0x8b, 0x1b)       // mov (%r11),%r11
	w.bytes(0x49, 0x39, 0xc3)       // cmp %rax,%r11
	w.bytes(0x74, 10)               // je to the program
	w.bytes(0x49, 0x83, 0xfb, 0xff) // cmp $several,%r11
	w.bytes(0x0f, 0x85)             // jne
	w.imm32(uint32(over))
	return w.code
}

// mark appends code that marks the block which a call has made, or takes its mark away.
// Several threads may do so at once.
func (r *Request) mark(w *writer, ops filter.Operands) {
	size := filter.Operands{Number: func(f cond.Field) (filter.Value, bool) {
		if f != cond.Size {
			return filter.Value{}, false
		}
		return ops.Number(f)
	}}
	var all []filter.Program
	for _, n := range r.freed() {
		all = append(all, filter.Compile(n, size))
	}
	yes := inline(w, filter.Any(all...))
	cmpxchg := []byte{0xf0, 0x49, 0x0f, 0xb1, 0x3b} // lock cmpxchg %rdi,(%r11)
	r.markWord(w)
	w.bytes(0x49, 0x39, 0x03) // cmp %rax,(%r11)
	done := []branch{w.jcc(ccNE)}
	w.bytes(0x31, 0xff) // xor %edi,%edi
	w.bytes(cmpxchg...)
	w.bytes(0x31, 0xc0) // xor %eax,%eax
	done = append(done, w.jcc(ccE))
	w.land(yes...)
	r.markWord(w)
	w.bytes(0x48, 0x89, 0xc7) // mov %rax,%rdi
	w.bytes(0x31, 0xc0)       // xor %eax,%eax
	w.bytes(cmpxchg...)
	done = append(done, w.jcc(ccE))
	w.bytes(0x48, 0x39, 0xf8) // cmp %rdi,%rax
	done = append(done, w.jcc(ccE))
	w.bytes(0x49, 0xc7, 0x03, 0xff, 0xff, 0xff, 0xff) // movq $several,(%r11)
	w.land(done...)
}

// markBlock marks a block from outside.
func (cs *conditions) markBlock(block uint64) {
	at := uint32(block>>4) * markHash >> (32 - markBits)
	word := (*atomic.Uint64)(unsafe.Pointer(&cs.p.shared.file[fileMarks+8*int(at)]))
	if !word.CompareAndSwap(0, block) && word.Load() != block {
		word.Store(several)
	}
}

// setMarks marks the blocks that are live. All threads are stopped. Calls that they are in mark
// theirs, too, unless a thread is just where the code of before decides.
func (cs *conditions) setMarks() {
	if cs.marked {
		cs.p.shared.empty(fileMarks, marksSize)
	}
	if cs.marked = cs.request.marks != 0; !cs.marked {
		return
	}
	if !cs.renewFilters() {
		for at := range 1 << markBits {
			binary.LittleEndian.PutUint64(cs.p.shared.file[fileMarks+8*at:], several)
		}
		return
	}
	conditions := cs.request.freed()
	cs.p.reader.Exclusive(func() {
		for block, size := range cs.request.Live {
			if slices.ContainsFunc(conditions, func(n cond.Node) bool { return MayHold(n, size) }) {
				cs.markBlock(block)
			}
		}
	})
}

// renewFilters has the calls that threads are in use the code of now when they return. It is
// false if that cannot be said of one.
func (cs *conditions) renewFilters() bool {
	inside := func(a uint64) bool {
		return slices.ContainsFunc(cs.p.islands.list, func(i *island) bool { return i.covers(addr.Run(a)) })
	}
	if slices.ContainsFunc(cs.p.proc.Threads(), func(t *inferior.Thread) bool {
		regs, err := t.Regs()
		return err != nil || inside(regs.Rip) || inside(regs.Rdi)
	}) {
		return false
	}
	for _, slot := range cs.p.shared.slots() {
		for i := range int(min(binary.LittleEndian.Uint32(slot[slDepth:]), shadowDepth)) {
			desc := addr.Run(binary.LittleEndian.Uint64(slot[slShadow+i*shadowSize+shSite:]))
			s := cs.p.siteTable.byDesc[desc]
			if s == nil || s.dead {
				return false
			}
			if _, err := cs.p.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(s.filter)), int64(desc)+siFilter); err != nil {
				return false
			}
		}
	}
	return true
}

// MayHold reports whether a condition can hold for a block of a size.
func MayHold(n cond.Node, size uint64) bool { return sizeMay(n, size, true) }

// sizeMay reports whether a condition can have the value for a block of a size.
func sizeMay(n cond.Node, size uint64, value bool) bool {
	may := func(t cond.Node) bool { return sizeMay(t, size, value) }
	mayNot := func(t cond.Node) bool { return !may(t) }
	switch n := n.(type) {
	case *cond.And:
		return value && !slices.ContainsFunc(n.Terms, mayNot) || !value && slices.ContainsFunc(n.Terms, may)
	case *cond.Or:
		return value && slices.ContainsFunc(n.Terms, may) || !value && !slices.ContainsFunc(n.Terms, mayNot)
	case *cond.Not:
		return sizeMay(n.X, size, !value)
	case *cond.Compare:
		if n.Field == cond.Size {
			return n.Op.Holds(size, n.Value) == value
		}
	}
	return true
}
