package collect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/arch/x86/x86asm"
)

// How a debugger calls a function of a Go program is a protocol of the runtime's
// (runtime.debugCallV2 in Go's src/runtime/asm_amd64.s): the debugger has a goroutine call
// debugCallV2, which saves the registers where a collection looks at them, sees whether this is
// a safe point, and has another goroutine run debugCall32. At every step an int3 awaits the debugger. A
// debugger that is killed meanwhile leaves a program behind that dies of the next one.
//
// So the int3s are taken out before a call, and what the debugger would do at them is put in:
//
//	debugCallV2                          debugCall32
//	  check, or R12 = 8; int3 -> nop       R12 = 0; int3     -> call runtime.GC
//	  call debugCall32                     R12 = 1; int3     -> jmp called
//	  R12 = 16; int3 -> jmp done           return
//
// called and done lie where other sizes of debugCall32 are, which nothing calls. called notes that the
// collection was made. done notes that all is, waits for hdb, for a tenth of a second at most, and
// restores the registers, also those that debugCallV2 does not: the flags and XMM0 to XMM15.

// goCallCode is that code of a runtime, and what takes its place.
type goCallCode struct {
	entry   addr.Run // debugCallV2
	patches []codePatch
	stub    addrRange // called and done
	restore []byte    // what follows done in debugCallV2
}

// codePatch is code that others take the place of. No thread is in it but one that makes a call.
type codePatch struct {
	at       addr.Run
	was, now []byte
}

type addrRange struct{ low, high addr.Run }

func (r addrRange) has(a addr.Run) bool { return r.low <= a && a < r.high }

// goCallPage is what the code in place of the int3s reads and writes, in memory of its own;
// offsets in bytes.
const (
	gpDone    = 0  // uint32: the call is done, or was refused,
	gpCalled  = 4  // uint32: it was made
	gpRelease = 8  // uint32: hdb need not be waited for
	gpLeft    = 12 // uint32: the page is not read any more
	gpFlags   = 16 // uint16: 1 for the overflow flag, and the low byte of the others
	gpXMM     = 64 // 16 registers of 16 bytes

	goCallPage = 4096
)

// goCallSpins is how often done looks whether hdb has come: some 10 ns each.
const goCallSpins = 5_000_000

// A goFunction is a function of the runtime with its code as the file has it.
type goFunction struct {
	at   addr.Run
	code []byte
}

func (f goFunction) end() addr.Run { return f.at + addr.Run(len(f.code)) }

var errGoCall = errors.New("this Go runtime's way to call functions is not known")

// newGoCallCode finds the protocol's code in debugCallV2 and debugCall32. room are functions that
// nothing calls, one behind the other; called is what is to be called, without arguments.
func newGoCallCode(v2, call32, room goFunction, called, page addr.Run) (*goCallCode, error) {
	refused, err := v2.before(8)
	if err != nil {
		return nil, err
	}
	restore, err := v2.before(16)
	if err != nil {
		return nil, err
	}
	first, err := call32.before(0)
	if err != nil {
		return nil, err
	}
	second, err := call32.before(1)
	if err != nil || second.low != first.high {
		return nil, errGoCall
	}
	c := &goCallCode{entry: v2.at, stub: addrRange{room.at, room.end()}, restore: v2.code[restore.high-v2.at:]}
	c.add(v2, addrRange{refused.high - 1, refused.high}, nil)
	// called
	w := &codeWriter{at: room.at}
	w.page(page)
	w.bytes(0x41, 0xc7, 0x44, 0x24, gpCalled, 1, 0, 0, 0) // movl $1,gpCalled(%r12)
	w.jump(0xe9, second.high)
	toCalled, done := room.at, w.here()
	if err := w.done(page, c.restore); err != nil {
		return nil, err
	}
	if w.here() > room.end() {
		return nil, fmt.Errorf("%w: it has no room", errGoCall)
	}
	c.add(room, addrRange{room.at, w.here()}, w.code)
	w = &codeWriter{at: restore.low}
	w.jump(0xe9, done)
	c.add(v2, restore, w.code)
	w = &codeWriter{at: first.low}
	w.jump(0xe8, called)
	w.jump(0xe9, toCalled)
	c.add(call32, addrRange{first.low, second.high}, w.code)
	for _, p := range c.patches {
		if len(p.now) != len(p.was) {
			return nil, errGoCall
		}
	}
	return c, nil
}

// add has code take the place of what a function has in a range, with nops behind it.
func (c *goCallCode) add(f goFunction, in addrRange, code []byte) {
	was := f.code[in.low-f.at : in.high-f.at]
	for len(code) < len(was) {
		code = append(code, 0x90)
	}
	c.patches = append(c.patches, codePatch{at: in.low, was: was, now: code})
}

// before is where a function puts a number into R12, and an int3 follows.
func (f goFunction) before(n int64) (addrRange, error) {
	for off := 0; off < len(f.code); {
		in, err := x86asm.Decode(f.code[off:], 64)
		if err != nil {
			break
		}
		next := off + in.Len
		if in.Op == x86asm.MOV && (in.Args[0] == x86asm.R12 || in.Args[0] == x86asm.R12L) && in.Args[1] == x86asm.Imm(n) && next < len(f.code) && f.code[next] == 0xcc {
			return addrRange{f.at + addr.Run(off), f.at + addr.Run(next) + 1}, nil
		}
		off = next
	}
	return addrRange{}, errGoCall
}

// A codeWriter writes instructions to be at an address.
type codeWriter struct {
	at   addr.Run
	code []byte
}

func (w *codeWriter) here() addr.Run     { return w.at + addr.Run(len(w.code)) }
func (w *codeWriter) bytes(b ...byte)    { w.code = append(w.code, b...) }
func (w *codeWriter) page(page addr.Run) { w.bytes(0x49, 0xbc); w.word(uint64(page)) } // mov $page,%r12
func (w *codeWriter) word(v uint64)      { w.code = binary.LittleEndian.AppendUint64(w.code, v) }
func (w *codeWriter) half(v uint32)      { w.code = binary.LittleEndian.AppendUint32(w.code, v) }
func (w *codeWriter) jump(op byte, to addr.Run) {
	w.bytes(op)
	w.half(uint32(to - (w.here() + 4)))
}

// done is the code of that name, which ends as debugCallV2 does: restore is what that has behind
// its last int3.
func (w *codeWriter) done(page addr.Run, restore []byte) error {
	w.page(page)
	w.bytes(0x41, 0xc7, 0x44, 0x24, gpDone, 1, 0, 0, 0) // movl $1,gpDone(%r12)
	w.bytes(0xb9)                                       // mov $goCallSpins,%ecx
	w.half(goCallSpins)
	w.bytes(0x41, 0x83, 0x7c, 0x24, gpRelease, 0) // again: cmpl $0,gpRelease(%r12)
	w.bytes(0x75, 6)                              // jne out
	w.bytes(0xf3, 0x90)                           // pause
	w.bytes(0xff, 0xc9)                           // dec %ecx
	w.bytes(0x75, 0xf2)                           // jne again
	for i := range 16 {                           // out:
		rex := byte(0x41 | i>>3<<2)
		w.bytes(rex, 0x0f, 0x10, 0x84|byte(i&7)<<3, 0x24) // movups gpXMM+16*i(%r12),%xmmI
		w.half(uint32(gpXMM + 16*i))
	}
	w.bytes(0x41, 0x8b, 0x44, 0x24, gpFlags) // mov gpFlags(%r12),%eax
	w.bytes(0x04, 0x7f)                      // add $0x7f,%al: it overflows if al is 1
	w.bytes(0x9e)                            // sahf; the kernel cannot tell a popf's trap flag from the one that it steps by
	return w.restored(restore)
}

// restored writes what restores the general registers and returns, and leaves the flags alone:
// debugCallV2 itself gives its frame back by an add, behind which a goroutine that was between a
// comparison and its jump, as in sync.Mutex.Lock, went the other way.
func (w *codeWriter) restored(code []byte) error {
	var last []byte // restores r12
	left := func() {
		w.bytes(0x41, 0xc7, 0x44, 0x24, gpLeft, 1, 0, 0, 0) // movl $1,gpLeft(%r12)
		w.bytes(last...)
	}
	for framed := false; ; {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return errGoCall
		}
		this := code[:in.Len]
		code = code[in.Len:]
		reg, _ := in.Args[0].(x86asm.Reg)
		imm, add := in.Args[1].(x86asm.Imm)
		switch {
		case in.Op == x86asm.MOV && reg == x86asm.R12 && !framed:
			last = this
		case in.Op == x86asm.MOV && !framed:
			w.bytes(this...)
		case in.Op == x86asm.ADD && reg == x86asm.RSP && add && !framed:
			framed = true
			left()
			w.bytes(0x48, 0x8d, 0xa4, 0x24) // lea imm(%rsp),%rsp
			w.half(uint32(imm))
		case in.Op == x86asm.POP && framed:
			w.bytes(this...)
		case in.Op == x86asm.RET && framed && last != nil:
			w.bytes(this...)
			return nil
		default:
			return errGoCall
		}
	}
}

// returned are the registers that a thread has when it goes on from done to where the call was
// begun. word reads its stack. ok is false if what restores them is not understood.
func (c *goCallCode) returned(r inferior.Registers, word func(at uint64) (uint64, bool)) (_ inferior.Registers, ok bool) {
	to := map[x86asm.Reg]*uint64{
		x86asm.RAX: &r.Rax, x86asm.RCX: &r.Rcx, x86asm.RDX: &r.Rdx, x86asm.RBX: &r.Rbx, x86asm.RSI: &r.Rsi, x86asm.RDI: &r.Rdi, x86asm.RBP: &r.Rbp,
		x86asm.R8: &r.R8, x86asm.R9: &r.R9, x86asm.R10: &r.R10, x86asm.R11: &r.R11, x86asm.R12: &r.R12, x86asm.R13: &r.R13, x86asm.R14: &r.R14, x86asm.R15: &r.R15,
	}
	pop := func(to *uint64) bool {
		v, ok := word(r.Rsp)
		*to = v
		r.Rsp += 8
		return ok
	}
	for code := c.restore; ; {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return r, false
		}
		code = code[in.Len:]
		reg, _ := in.Args[0].(x86asm.Reg)
		switch from := in.Args[1].(type) {
		case x86asm.Mem:
			v, ok := word(r.Rsp + uint64(from.Disp))
			if in.Op != x86asm.MOV || to[reg] == nil || from.Base != x86asm.RSP || from.Index != 0 || !ok {
				return r, false
			}
			*to[reg] = v
			continue
		case x86asm.Imm:
			if in.Op != x86asm.ADD || reg != x86asm.RSP {
				return r, false
			}
			r.Rsp += uint64(from)
			continue
		}
		switch {
		case in.Op == x86asm.RET:
			return r, pop(&r.Rip)
		case in.Op != x86asm.POP || to[reg] == nil || !pop(to[reg]):
			return r, false
		}
	}
}
