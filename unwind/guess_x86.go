package unwind

import (
	"bytes"
	"encoding/binary"

	"hdb/internal/addr"
)

// Unwinding code without CFI, by its x86-64 instructions and the kernel's signal frame.

// withoutCFI finds the caller of f and its CFA. ok is false if no method applies.
func (w *Walker) withoutCFI(f *Frame, p place) (caller Frame, cfa addr.Run, ok bool) {
	if caller, cfa, ok = w.sigcontext(f); ok {
		f.Signal = true
		return caller, cfa, true
	}
	if p.table != nil && p.table.inPLT(p.file) {
		if depth, known := w.pltDepth(f.PC.Addr()); known {
			return w.returnAt(f, f.Regs.SP()+addr.Run(depth), PLT, false)
		}
	}
	if !f.PC.IsReturn() {
		if caller, cfa, ok = w.atEdge(f); ok {
			return caller, cfa, true
		}
	}
	if caller, cfa, ok = w.byFramePointer(f); ok {
		return caller, cfa, true
	}
	if !f.PC.IsReturn() {
		return w.returnAt(f, f.Regs.SP(), Leaf, true)
	}
	return Frame{}, 0, false
}

// returnAt takes the return address from the word at a; the callee-saved registers
// are still the caller's. With check it must point behind a call instruction.
func (w *Walker) returnAt(f *Frame, a addr.Run, how How, check bool) (Frame, addr.Run, bool) {
	ra, ok := w.mem.word(a)
	if !ok || check && !w.afterCall(addr.Run(ra)) {
		return Frame{}, 0, false
	}
	caller := Frame{How: how, Regs: f.Regs}
	caller.Regs.forget(calleeSaved)
	caller.Regs.Set(RIP, ra)
	caller.Regs.Set(RSP, uint64(a)+8)
	return caller, a + 8, true
}

// byFramePointer takes rbp for a frame pointer: saved rbp and return address lie
// where it points to. The other registers are lost.
func (w *Walker) byFramePointer(f *Frame) (Frame, addr.Run, bool) {
	rbp, ok := f.Regs.Get(RBP)
	if !ok || rbp%8 != 0 || rbp < uint64(f.Regs.SP()) {
		return Frame{}, 0, false
	}
	caller, cfa, ok := w.returnAt(f, addr.Run(rbp)+8, FramePointer, true)
	saved, readable := w.mem.word(addr.Run(rbp))
	if !ok || !readable {
		return Frame{}, 0, false
	}
	caller.Regs.forget(1<<RIP | 1<<RSP)
	caller.Regs.Set(RBP, saved)
	return caller, cfa, true
}

// Instructions at the edges of functions.
var (
	endbr64    = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	movRspRbp  = []byte{0x48, 0x89, 0xe5} // mov %rsp,%rbp
	movRspRbp2 = []byte{0x48, 0x8b, 0xec} // the other encoding
)

const (
	pushRbp = 0x55
	ret     = 0xc3
)

// atEdge handles a PC where rbp is still or again the caller's: at the first instruction or
// after its endbr64, after push %rbp, at the return, or at an address that cannot be read
// because a call jumped to a wrong one.
func (w *Walker) atEdge(f *Frame) (Frame, addr.Run, bool) {
	pc, sp := f.PC.Addr(), f.Regs.SP()
	code := w.mem.bytes(pc, 5)
	switch {
	case code == nil, code[0] == ret, bytes.HasPrefix(code, []byte{0xf3, ret}),
		bytes.HasPrefix(code, endbr64), code[0] == pushRbp && startsFrame(code[1:]):
		return w.returnAt(f, sp, Leaf, true)
	case bytes.Equal(w.mem.bytes(pc-4, 4), endbr64):
		return w.returnAt(f, sp, Leaf, true)
	case startsFrame(w.mem.bytes(pc, 5)):
		if before := w.mem.bytes(pc-1, 1); before == nil || before[0] != pushRbp {
			return Frame{}, 0, false
		}
		caller, cfa, ok := w.returnAt(f, sp+8, Leaf, true)
		if saved, readable := w.mem.word(sp); ok && readable {
			caller.Regs.Set(RBP, saved)
			return caller, cfa, true
		}
	}
	return Frame{}, 0, false
}

func startsFrame(code []byte) bool {
	return bytes.HasPrefix(code, movRspRbp) || bytes.HasPrefix(code, movRspRbp2)
}

// afterCall reports whether the instruction before a can be a call: call rel32, or
// an indirect one (opcode ff /2) whose length fits its operand.
func (w *Walker) afterCall(a addr.Run) bool {
	code := w.mem.bytes(a-longestCall, longestCall)
	if code == nil { // the mapping may begin just before
		code = w.mem.bytes(a&^(pageSize-1), int(min(a%pageSize, longestCall)))
	}
	for length := 2; length <= len(code); length++ {
		at := code[len(code)-length:]
		direct := at[0] == 0xe8 && length == 5
		if direct || at[0] == 0xff && at[1]>>3&7 == 2 && indirectLength(at) == length {
			return true
		}
	}
	return false
}

// longestCall is the length of call *disp32(base,index,scale), in bytes.
const longestCall = 7

// indirectLength is the length of an instruction of opcode, ModRM and the operands that
// ModRM implies (Intel SDM volume 2, section 2.1.3), without prefixes.
func indirectLength(code []byte) int {
	mod, rm := code[1]>>6, code[1]&7
	length := 2
	if mod != 3 && rm == 4 {
		length++ // SIB
		if mod == 0 && len(code) > 2 && code[2]&7 == 5 {
			length += 4
		}
	}
	switch {
	case mod == 1:
		length++
	case mod == 2, mod == 0 && rm == 5:
		length += 4
	}
	return length
}

// Instructions of PLT entries; [bnd] is the prefix 0xf2.
var (
	plt0   = []byte{0xff, 0x35}             // push GOT+8(%rip), in .plt's first entry
	pltJmp = []byte{0xff, 0x25}             // [bnd] jmp *slot(%rip)
	pltIBT = []byte{0xf3, 0x0f, 0x1e, 0xfa} // endbr64, first in every entry with IBT
)

// Bytes of code before and from the PC that show the state of a PLT entry. A push is 5 bytes
// long, the first entry's 6.
const (
	PLTBack  = 6
	PLTAhead = 8
)

// pltDepth is the number of bytes that a PLT entry has pushed at pc.
func (w *Walker) pltDepth(pc addr.Run) (depth uint64, known bool) {
	var code [PLTBack + PLTAhead]byte
	if copy(code[PLTBack:], w.mem.bytes(pc, PLTAhead)) == 0 {
		return 0, false
	}
	copy(code[:PLTBack], w.mem.bytes(pc-PLTBack, PLTBack)) // the first entry may begin a mapping
	depth, length := PLTDepth(&code)
	return depth, length != 0
}

// PLTDepth is the number of bytes that a PLT entry has pushed at code[PLTBack]: 0, 8 after
// the push of the relocation's number, 16 after the first entry's own push (System V ABI,
// section 5.2). It depends on the instruction there and on those before. length is the
// length of the instruction, 0 if it is not one of a PLT.
func PLTDepth(code *[PLTBack + PLTAhead]byte) (depth uint64, length int) {
	now := code[PLTBack:]
	plain := bytes.TrimPrefix(now, []byte{0xf2})
	prefix := len(now) - len(plain)
	switch {
	case bytes.HasPrefix(now, plt0): // at the first entry: one word was pushed
		return 8, 6
	case bytes.HasPrefix(plain, pltJmp) && bytes.HasPrefix(code[:], plt0):
		return 16, prefix + 6
	case bytes.HasPrefix(now, pltIBT):
		return 0, 4
	case bytes.HasPrefix(plain, pltJmp):
		return 0, prefix + 6
	case now[0] == 0x68:
		return 0, 5
	case plain[0] == 0xe9 && code[PLTBack-5] == 0x68: // jmp to the first entry
		return 8, prefix + 5
	}
	return 0, 0
}

// The trampoline to which a signal handler returns is "mov $15,%rax; syscall" in one of two
// encodings; see sigreturn(2).
var trampolines = [][]byte{
	{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
	{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
}

// Trampolines visits the offset and length of each trampoline in code.
func Trampolines(code []byte, yield func(at, length int) bool) {
	for end := 0; ; {
		i := bytes.IndexByte(code[end:], 0x05) // the last byte, and the rarest
		if i < 0 {
			return
		}
		end += i + 1
		if code[max(end-2, 0)] != 0x0f {
			continue
		}
		for _, t := range trampolines {
			if bytes.HasSuffix(code[:end], t) && !yield(end-len(t), len(t)) {
				return
			}
		}
	}
}

// atTrampoline reports whether pc is at the trampoline's first or second instruction.
func (w *Walker) atTrampoline(pc addr.Run) bool {
	for _, t := range trampolines {
		mov := addr.Run(len(t) - 2)
		for _, start := range [2]addr.Run{pc, pc - mov} {
			if bytes.Equal(w.mem.bytes(start, len(t)), t) {
				return true
			}
		}
	}
	return false
}

// Where the kernel's struct ucontext, which is at the trampoline's rsp, keeps the registers: struct
// sigcontext_64 in arch/x86/include/uapi/asm/sigcontext.h begins 40 bytes into it, with the
// registers in this order.
const contextRegs = 40

var contextOrder = [...]Reg{R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP}

// sigcontext unwinds a signal frame whose trampoline has no CFI, or is not known to
// its module's CFI as one.
func (w *Walker) sigcontext(f *Frame) (Frame, addr.Run, bool) {
	if !w.atTrampoline(f.PC.Addr()) {
		return Frame{}, 0, false
	}
	saved := w.mem.bytes(f.Regs.SP()+contextRegs, 8*len(contextOrder))
	if saved == nil {
		return Frame{}, 0, false
	}
	caller := Frame{How: Sigcontext}
	for i, reg := range contextOrder {
		caller.Regs.Set(reg, binary.LittleEndian.Uint64(saved[8*i:]))
	}
	return caller, caller.Regs.SP(), true
}
