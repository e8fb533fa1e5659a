package blocktype

import (
	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
	"hdb/unwind"
	"hdb/values"
)

// What becomes of the pointer that an allocator returned is found by following the instructions behind
// the call with few kinds of values: pointers into the block, addresses of the frame, of globals, and of
// values whose type is known. Conditions that ask whether the pointer is null are known not to
// hold; of others the way that does not jump is taken, which is a possible one. Nothing is assumed of other
// registers than those that were seen to be written, but that variables are where debug information
// says.

// A kind says what a register or a slot of the frame has.
type kind uint8

const (
	unknown  kind = iota
	inBlock       // the address of the block + off
	inFrame       // CFA + off
	atGlobal      // an address of the file: off
	toType        // the address of a value of type typ + off
)

type abstract struct {
	kind    kind
	off     int64
	typ     *values.Type
	indexed bool // of toType: a multiple of the size of an element, which is not known, is added
}

// isBlock tells the pointer that was returned.
func (v abstract) isBlock() bool { return v.kind == inBlock && v.off == 0 }

// Bounds of a flow. Arguments of a constructor may be long expressions between the call and it.
const (
	maxInstructions = 400
	maxCode         = 1 << 16 // bytes of a function
)

// fakeCFA represents the canonical frame address where debug information computes with it.
const fakeCFA = 0x7ead_0000_0000

// A flow follows the pointer in one function.
type flow struct {
	f     *Finder
	site  *Site
	mod   values.Module
	ctor  bool // the block is one of C++ that new made: constructors tell its class
	again bool // the function is given the block as it was before: realloc

	low, high addr.File // of the function
	code      []byte
	rows      *unwind.Table
	outer     map[uint64]bool // the functions, inlined or not, that the call is in

	pc, next  addr.File
	regs      [16]abstract // by DWARF's numbers
	slots     map[int64]abstract
	row       unwind.Row
	frame     *values.Frame // at pc, made when it is asked for
	changed   int           // how many more instructions variables are asked about
	spilled   bool          // the last instruction has stored the pointer in the slot spilledAt
	spilledAt int64
	equal     bool // the flags are of a comparison of the pointer and 0
	visited   map[addr.File]bool

	old      *values.Type // of the block that realloc is given
	returned bool         // the function returns the pointer
}

// argumentRegisters are those that integers are passed in.
var argumentRegisters = [...]unwind.Reg{unwind.RDI, unwind.RSI, unwind.RDX, unwind.RCX, unwind.R8, unwind.R9}

// scratch are the registers that calls change, other than the result's.
var scratch = [...]unwind.Reg{unwind.RDI, unwind.RSI, unwind.RDX, unwind.RCX, unwind.R8, unwind.R9, unwind.R10, unwind.R11, unwind.RAX}

// follow notes the types of what the pointer is given to, from the return address of the call on.
func (w *flow) follow(pc addr.File) {
	w.slots, w.visited = map[int64]abstract{}, map[addr.File]bool{}
	w.before(pc)
	w.next = pc
	w.regs[unwind.RAX] = abstract{kind: inBlock}
	w.changed = 2
	for range maxInstructions {
		if w.visited[w.next] || !w.holds() || !w.instruction() {
			return
		}
	}
}

// instruction takes the instruction at next. It returns false where the way ends.
func (w *flow) instruction() bool {
	if w.next < w.low || w.next >= w.high {
		return false
	}
	w.visited[w.next] = true
	w.pc, w.frame = w.next, nil
	inst, err := x86asm.Decode(w.code[w.pc-w.low:], 64)
	if err != nil || inst.Len == 0 {
		if n := endbranch(w.code[w.pc-w.low:]); n > 0 {
			w.next += addr.File(n)
			return true
		}
		return false
	}
	w.next = w.pc + addr.File(inst.Len)
	if w.pc < w.row.Low || w.pc >= w.row.High {
		row, ok := w.rows.RowAt(w.pc)
		if !ok {
			return false
		}
		w.row = row
	}
	if w.spilled { // the instruction that writes a slot comes before the place that says which variable it is of
		w.spilled = false
		if t := w.typeAt(abstract{kind: inFrame, off: w.spilledAt}); t != nil {
			w.found(t)
		}
	}
	if w.changed > 0 {
		w.changed--
		w.askVariables()
	}
	return w.step(&inst)
}

// before takes the instructions before the call that it is always reached through: what is loaded before the
// call, the pointer is often stored by.
func (w *flow) before(call addr.File) {
	start := w.low
	for at := w.low; at < w.high; {
		inst, err := x86asm.Decode(w.code[at-w.low:], 64)
		if err != nil || inst.Len == 0 {
			n := endbranch(w.code[at-w.low:])
			if n == 0 {
				if at < call {
					start = call // what is between cannot be read
				}
				break
			}
			at += addr.File(n)
			continue
		}
		next := at + addr.File(inst.Len)
		if rel, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
			if target := next + addr.File(int64(rel)); target > start && target <= call {
				start = target
			}
		}
		if at < call && (inst.Op == x86asm.JMP || inst.Op == x86asm.RET || inst.Op == x86asm.UD2) {
			start = max(start, next)
		}
		at = next
	}
	w.next = start
	for range maxInstructions {
		if w.next >= call || !w.instruction() {
			break
		}
	}
	if w.next != call {
		w.regs, w.slots = [16]abstract{}, map[int64]abstract{}
	}
	if w.again {
		w.reallocated(call)
	}
	for _, r := range scratch {
		w.regs[r] = abstract{}
	}
	clear(w.visited)
}

// endbranch is the length of the instructions of CET that the decoder does not know, 0 without.
func endbranch(code []byte) int {
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3]&^1 == 0xfa {
		return 4
	}
	return 0
}

// holds reports whether the pointer is anywhere.
func (w *flow) holds() bool {
	for i := range w.regs {
		if w.regs[i].kind == inBlock {
			return true
		}
	}
	for _, v := range w.slots {
		if v.kind == inBlock {
			return true
		}
	}
	return false
}

// register is the number that DWARF has for a register of eight bytes, or for the low four of one, which
// a write clears the rest of.
func register(r x86asm.Reg) (n unwind.Reg, whole, ok bool) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return dwarfNumbers[r-x86asm.RAX], true, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return dwarfNumbers[r-x86asm.EAX], false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return dwarfNumbers[r-x86asm.AX], false, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return dwarfNumbers[r-x86asm.AL], false, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return dwarfNumbers[r-x86asm.SPB+4], false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return dwarfNumbers[r-x86asm.AH], false, true
	}
	return 0, false, false
}

// dwarfNumbers are the registers in the order of instructions.
var dwarfNumbers = [16]unwind.Reg{unwind.RAX, unwind.RCX, unwind.RDX, unwind.RBX, unwind.RSP, unwind.RBP, unwind.RSI, unwind.RDI,
	unwind.R8, unwind.R9, unwind.R10, unwind.R11, unwind.R12, unwind.R13, unwind.R14, unwind.R15}

// set writes a register.
func (w *flow) set(r unwind.Reg, v abstract) {
	if w.regs[r] == v {
		return
	}
	w.regs[r] = v
	if v.kind == inBlock {
		w.changed = 3
	}
}

// step takes an instruction. It returns false where the way ends.
func (w *flow) step(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.CALL:
		return w.call(in)
	case x86asm.JMP:
		return w.jump(in)
	case x86asm.RET:
		w.returned = w.regs[unwind.RAX].isBlock()
		return false
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.SYSCALL:
		return false
	case x86asm.TEST, x86asm.CMP:
		w.compare(in)
		return true
	case x86asm.NOP, x86asm.PUSH, x86asm.CDQE, x86asm.PREFETCHT0:
		return true
	case x86asm.JE, x86asm.JNE:
		if w.equal && in.Op == x86asm.JNE {
			return w.jump(in)
		}
		return true
	case x86asm.MOV:
		w.move(in)
	case x86asm.LEA:
		if m, ok := in.Args[1].(x86asm.Mem); ok {
			w.write(in, w.address(&m))
		}
	case x86asm.ADD, x86asm.SUB:
		w.add(in)
	default:
		w.other(in)
	}
	w.equal = w.equal && in.Op == x86asm.MOV
	return true
}

// write gives the first operand of an instruction a value.
func (w *flow) write(in *x86asm.Inst, v abstract) {
	switch a := in.Args[0].(type) {
	case x86asm.Reg:
		if r, whole, ok := register(a); ok {
			if !whole {
				v = abstract{}
			}
			w.set(r, v)
		}
	case x86asm.Mem:
		w.store(&a, v, int64(in.MemBytes))
	}
}

func (w *flow) move(in *x86asm.Inst) {
	v := abstract{}
	switch a := in.Args[1].(type) {
	case x86asm.Reg:
		if r, whole, ok := register(a); ok && whole {
			if v = w.regs[r]; v.kind == unknown && w.again {
				v = w.variableIn(r)
			}
		}
	case x86asm.Mem:
		if in.MemBytes == 8 {
			v = w.load(&a)
		}
	}
	w.write(in, v)
}

// add takes the sum with a constant.
func (w *flow) add(in *x86asm.Inst) {
	v := abstract{}
	if a, ok := in.Args[0].(x86asm.Reg); ok {
		if n, isImm := in.Args[1].(x86asm.Imm); isImm {
			if r, whole, ok := register(a); ok && whole {
				v = w.regs[r]
				if in.Op == x86asm.SUB {
					n = -n
				}
				v.off += int64(n)
			}
		} else if v = w.element(in); v.kind != unknown {
			w.write(in, v)
			return
		}
	}
	if v.kind == unknown {
		v = abstract{}
	}
	w.write(in, v)
}

// element is the sum of the address of a typed value and a number that is not known, which is taken for
// the place of an element of an array.
func (w *flow) element(in *x86asm.Inst) abstract {
	a, _ := in.Args[0].(x86asm.Reg)
	b, _ := in.Args[1].(x86asm.Reg)
	r, wholeA, okA := register(a)
	s, wholeB, okB := register(b)
	if in.Op != x86asm.ADD || !okA || !okB || !wholeA || !wholeB {
		return abstract{}
	}
	v, n := w.regs[r], w.regs[s]
	if v.kind == unknown {
		v, n = n, v
	}
	if v.kind != toType || n.kind != unknown {
		return abstract{}
	}
	v.indexed = true
	return v
}

// other takes an instruction of which only what it writes is known.
func (w *flow) other(in *x86asm.Inst) {
	switch in.Op {
	case x86asm.XCHG:
		a, _ := in.Args[0].(x86asm.Reg)
		b, _ := in.Args[1].(x86asm.Reg)
		r, wholeA, okA := register(a)
		s, wholeB, okB := register(b)
		if okA && okB && wholeA && wholeB {
			old := w.regs[r]
			w.set(r, w.regs[s])
			w.set(s, old)
			return
		}
		if okB {
			w.set(s, abstract{})
		}
	case x86asm.DIV, x86asm.IDIV, x86asm.MUL, x86asm.CQO, x86asm.CDQ, x86asm.CPUID, x86asm.RDTSC, x86asm.CMPXCHG:
		w.set(unwind.RAX, abstract{})
		w.set(unwind.RDX, abstract{})
		return
	case x86asm.IMUL:
		if in.Args[1] == nil {
			w.set(unwind.RAX, abstract{})
			w.set(unwind.RDX, abstract{})
			return
		}
	case x86asm.STOSB, x86asm.STOSD, x86asm.STOSQ, x86asm.STOSW, x86asm.MOVSB, x86asm.MOVSD, x86asm.MOVSQ, x86asm.MOVSW:
		w.set(unwind.RDI, abstract{})
		w.set(unwind.RSI, abstract{})
		w.set(unwind.RCX, abstract{})
		return
	}
	w.write(in, abstract{})
}

// compare takes the flags of a comparison of the pointer with 0.
func (w *flow) compare(in *x86asm.Inst) {
	value := func(arg x86asm.Arg) abstract {
		switch a := arg.(type) {
		case x86asm.Reg:
			if r, whole, ok := register(a); ok && whole {
				return w.regs[r]
			}
		case x86asm.Mem:
			if in.MemBytes == 8 {
				return w.load(&a)
			}
		}
		return abstract{}
	}
	first := value(in.Args[0])
	w.equal = false
	if first.kind != inBlock {
		return
	}
	if n, ok := in.Args[1].(x86asm.Imm); ok {
		w.equal = in.Op == x86asm.CMP && n == 0
		return
	}
	w.equal = in.Op == x86asm.TEST && in.Args[0] == in.Args[1]
}

// jump goes where an instruction leads, or out of the function, by a call of another.
func (w *flow) jump(in *x86asm.Inst) bool {
	rel, ok := in.Args[0].(x86asm.Rel)
	if !ok {
		return false
	}
	target := w.next + addr.File(int64(rel))
	if target < w.low || target >= w.high {
		w.arguments(target)
		return false
	}
	w.next, w.equal = target, false
	return true
}

// call takes the arguments of a call, and forgets what it may change.
func (w *flow) call(in *x86asm.Inst) bool {
	if rel, ok := in.Args[0].(x86asm.Rel); ok {
		if w.arguments(w.next + addr.File(int64(rel))) {
			return false
		}
	}
	for _, r := range scratch {
		w.regs[r] = abstract{}
	}
	w.equal = false
	return true
}
