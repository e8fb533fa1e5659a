package probe

import (
	"encoding/binary"
	"fmt"

	"hdb/breakpoints"
	"hdb/internal/addr"
)

// A writer appends x86-64 instructions (Intel SDM volume 2) for an address.
type writer struct {
	at   addr.Run // of code[0]
	code []byte
	errs error    // a jump out of reach
	key  addr.Run // where the thread's key is read
}

func (w *writer) here() addr.Run { return w.at + addr.Run(len(w.code)) }

func (w *writer) bytes(b ...byte) { w.code = append(w.code, b...) }

func (w *writer) imm32(v uint32) { w.code = binary.LittleEndian.AppendUint32(w.code, v) }

func (w *writer) imm64(v uint64) { w.code = binary.LittleEndian.AppendUint64(w.code, v) }

// rel32 appends the distance of a target from the end of the instruction,
// which is the end of this field.
func (w *writer) rel32(target addr.Run) {
	d := int64(target) - int64(w.here()+4)
	if d != int64(int32(d)) && w.errs == nil {
		w.errs = fmt.Errorf("probe: %v is out of reach from %v", target, w.here())
	}
	w.imm32(uint32(d))
}

func (w *writer) jmp(target addr.Run)  { w.bytes(0xe9); w.rel32(target) }
func (w *writer) call(target addr.Run) { w.bytes(0xe8); w.rel32(target) }

// far jumps anywhere: jmp *0(%rip), and the address.
func (w *writer) far(target addr.Run) { w.bytes(0xff, 0x25, 0, 0, 0, 0); w.imm64(uint64(target)) }

// A branch is a jcc rel32 whose target is not known yet.
type branch int

// Conditions, the low half of the opcode.
const (
	ccB  = 0x2
	ccAE = 0x3
	ccE  = 0x4
	ccNE = 0x5
)

func (w *writer) jcc(cc byte) branch {
	w.bytes(0x0f, 0x80|cc)
	w.imm32(0)
	return branch(len(w.code))
}

// land makes branches lead here.
func (w *writer) land(from ...branch) {
	for _, b := range from {
		binary.LittleEndian.PutUint32(w.code[b-4:], uint32(len(w.code)-int(b)))
	}
}

func (w *writer) movR11(v uint64) { w.bytes(0x49, 0xbb); w.imm64(v) } // mov $v,%r11

// r10Field is opcode reg,disp32(%r10) with REX.W: reg is 0 to 7, or 8 to 15.
func (w *writer) r10Field(opcode, reg byte, disp int) {
	w.bytes(0x49|reg>>3<<2, opcode, 0x82|reg&7<<3)
	w.imm32(uint32(disp))
}

const (
	movStore = 0x89 // mov %reg,m
	cmpReg   = 0x39 // cmp %reg,m
	rax      = 0
	rsp      = 4
	rdi      = 7
	r11      = 11
)

// store32 is movl $v,disp(%r10), store64 movq with a sign-extended $v.
func (w *writer) store32(disp int, v uint32) {
	w.bytes(0x41, 0xc7, 0x82)
	w.imm32(uint32(disp))
	w.imm32(v)
}

func (w *writer) store64(disp int, v int32) {
	w.bytes(0x49, 0xc7, 0x82)
	w.imm32(uint32(disp))
	w.imm32(uint32(v))
}

// slot leaves the thread's key in rax and the place where its slot should be in
// r10. rdfsbase takes some 5 cycles more than a load, of the 10 that a call may cost.
func (st *siteTable) slot(w *writer) {
	w.key = w.here()
	if st.p.fsgsbase && !st.tcb {
		w.bytes(0xf3, 0x48, 0x0f, 0xae, 0xc0) // rdfsbase %rax
	} else {
		w.bytes(loadTCB...)
	}
	st.slotOf(w)
}

// loadTCB is mov %fs:0,%rax: the TCB's own address.
var loadTCB = []byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}

// slotOf is slot for the key in rax.
func (st *siteTable) slotOf(w *writer) {
	w.bytes(0x44, 0x69, 0xd0) // imul $slotHash,%eax,%r10d
	hash := int32(slotHash)
	w.imm32(uint32(hash))
	w.bytes(0x41, 0xc1, 0xea, 32-slotBits) // shr
	w.bytes(0x49, 0xc1, 0xe2, slotShift)   // shl
	w.movR11(uint64(st.p.remote.file) + fileSlots)
	w.bytes(0x4d, 0x01, 0xda) // add %r11,%r10
}

// coreThunk leads to the core, whatever there is to do.
func (st *siteTable) coreThunk(w *writer, s *site, desc addr.Run) {
	st.slot(w)
	w.movR11(uint64(desc))
	w.far(st.coreEntry(s))
}

// coreEntry is where the core handles calls of the site.
func (st *siteTable) coreEntry(s *site) addr.Run {
	mark, short := st.p.conditions.short(s)
	switch {
	case short:
	case s.Function.Frees():
		mark = markFree
	default:
		mark = markAlloc
	}
	return st.p.remote.core + addr.Run(st.p.core.marks[mark])
}

// quickAlloc is the thunk of a simple allocating function while nothing is
// recorded: it runs the original and counts the call, if the thread is in no
// other call and the condition cannot hold. Otherwise the core takes over. The
// CFA is at rsp+16 while the original runs, else at rsp+8.
func (st *siteTable) quickAlloc(w *writer, s *site, desc addr.Run, filter func(w *writer) []branch) (framed [2]addr.Run) {
	st.slot(w)
	w.r10Field(cmpReg, rax, slKey)
	slow := []branch{w.jcc(ccNE)}
	w.bytes(0x41, 0x83, 0xba) // cmpl $0,slDepth(%r10)
	w.imm32(slDepth)
	w.bytes(0)
	slow = append(slow, w.jcc(ccNE))
	slow = append(slow, filter(w)...)
	w.store32(slDepth, 1) // from here on the entry exists, with shSP 0
	w.movR11(uint64(desc))
	w.bytes(0x48, 0x8b, 0x04, 0x24) // mov (%rsp),%rax
	w.r10Field(movStore, rax, slShadow+shRet)
	w.r10Field(movStore, r11, slShadow+shSite)
	w.r10Field(movStore, r11, slShadow+shLast)
	for _, o := range []breakpoints.Operand{s.Function.Count, s.Function.Align} {
		if o.From == breakpoints.Argument {
			w.r10Field(movStore, byte(argRegister[o.Index]), slShadow+shAux)
		}
	}
	size := byte(argRegister[s.Function.Size.Index])
	if c := s.Function.Count; c.From == breakpoints.Argument {
		count := byte(argRegister[c.Index])
		w.bytes(0x48|count>>3<<2, 0x89, 0xc0|count&7<<3) // mov %count,%rax
		w.bytes(0x48|size>>3, 0x0f, 0xaf, 0xc0|size&7)   // imul %size,%rax
		size = rax
	}
	w.r10Field(movStore, size, slShadow+shSize)
	w.store64(slShadow+shServed, 0)
	w.store64(slFreed, 0)
	w.store64(slInside, noBlock)
	w.r10Field(movStore, rsp, slShadow+shSP)
	w.bytes(0x41, 0x52) // push %r10
	framed[0] = w.here()
	w.call(s.relocated)
	w.bytes(0x41, 0x5a) // pop %r10
	framed[1] = w.here()
	w.r10Field(cmpReg, rax, slInside)
	counted := w.jcc(ccE)
	w.bytes(0x49, 0xff, 0x82) // incq slEvents(%r10)
	w.imm32(slEvents)
	w.land(counted)
	w.store64(slShadow+shSP, 0)
	w.store32(slDepth, 0)
	w.bytes(0xc3)
	w.land(slow...)
	w.movR11(uint64(desc))
	w.far(st.coreEntry(s))
	return framed
}

// quickFree is the same for free.
func (st *siteTable) quickFree(w *writer, s *site, desc addr.Run, filter func(w *writer) []branch) {
	ptr := byte(argRegister[s.Function.Ptr.Index])
	w.bytes(0x48|ptr>>3*5, 0x85, 0xc0|ptr&7<<3|ptr&7) // test %ptr,%ptr
	void := w.jcc(ccE)
	st.slot(w)
	w.r10Field(cmpReg, rax, slKey)
	slow := []branch{w.jcc(ccNE)}
	w.bytes(0x41, 0x83, 0xba) // cmpl $0,slDepth(%r10)
	w.imm32(slDepth)
	w.bytes(0)
	slow = append(slow, w.jcc(ccNE))
	w.r10Field(cmpReg, ptr, slFreed)
	slow = append(slow, w.jcc(ccE))
	if r := s.Release; r != (breakpoints.Extent{}) { // the core asks for the upper half, too
		w.bytes(0x44, 0x8b, 0x1c, 0x24) // mov (%rsp),%r11d
		w.bytes(0x41, 0x81, 0xeb)       // sub $low,%r11d
		w.imm32(uint32(r.Low))
		w.bytes(0x41, 0x81, 0xfb) // cmp $size,%r11d
		w.imm32(uint32(r.High - r.Low))
		slow = append(slow, w.jcc(ccB))
	}
	slow = append(slow, filter(w)...)
	w.movR11(uint64(desc))
	w.bytes(0x48, 0x8b, 0x04, 0x24) // mov (%rsp),%rax
	w.store64(slFreed, 0)
	w.r10Field(movStore, rax, slFreedRet)
	w.r10Field(movStore, rsp, slFreedSP)
	w.r10Field(movStore, r11, slFreedSite)
	w.bytes(0x48, 0xb8) // mov $bit,%rax
	w.imm64(1 << s.bit)
	w.r10Field(movStore, rax, slFreedDone)
	w.r10Field(movStore, ptr, slFreed)
	w.bytes(0x49, 0xff, 0x82) // incq slEvents(%r10)
	w.imm32(slEvents)
	w.land(void)
	w.jmp(s.relocated)
	w.land(slow...)
	w.movR11(uint64(desc))
	w.far(st.coreEntry(s))
}

// quickCall is the length of the call in a quick thunk: it returns behind it.
const quickCall = 5

// argRegister is the number of each integer argument's register (System V ABI,
// section 3.2.3): rdi rsi rdx rcx r8 r9.
var argRegister = [...]int{rdi, 6, 2, 1, 8, 9}

// findFDE is the thunk of libgcc's _Unwind_Find_FDE(pc, bases): exceptions pass
// the probe's frames, about which the dynamic linker knows nothing. It answers
// for its own code with an FDE of its own, and else runs the original.
func (st *siteTable) findFDE(w *writer, relocated addr.Run) {
	for _, o := range st.p.islands.framed {
		w.bytes(0x48, 0xb8) // mov $low,%rax
		w.imm64(uint64(o.low))
		w.bytes(0x49, 0x89, 0xfb)       // mov %rdi,%r11
		w.bytes(0x49, 0x29, 0xc3)       // sub %rax,%r11
		w.bytes(0x49, 0x81, 0xfb)       // cmp $size,%r11
		w.imm32(uint32(o.high - o.low)) //
		other := w.jcc(0x3)             // jae
		// struct dwarf_eh_bases { void *tbase, *dbase, *func; }
		w.bytes(0x48, 0xc7, 0x06, 0, 0, 0, 0)    // movq $0,(%rsi)
		w.bytes(0x48, 0xc7, 0x46, 8, 0, 0, 0, 0) // movq $0,8(%rsi)
		w.bytes(0x48, 0x89, 0x46, 16)            // mov %rax,16(%rsi)
		w.bytes(0x48, 0xb8)                      // mov $fde,%rax
		w.imm64(uint64(o.fde))
		w.bytes(0xc3)
		w.land(other)
	}
	w.jmp(relocated)
}
