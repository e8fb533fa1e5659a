package inferior

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"hdb/internal/addr"
)

// The stub is code in the target by which a thread makes system calls for hdb and finds its way
// back without it: hdb may be killed at any moment, and the thread then runs on from where it is.
//
//	  0  8 bytes that tell a stub from what else may be there
//	  8  the call, which ends at 80: registers are loaded, syscall
//	 80  the last call: what has to be called if hdb is dead, or nops
//	152  the way back: the thread's registers are loaded, a jump
//
// What is written is behind the thread or right before it, and written at once.
// The stub needs no stack and changes no flags and no vector registers.
const (
	stubSize = 256
	stubCall = 8
	stubLast = stubCall + callSize
	stubBack = stubLast + callSize
	callSize = 7*movSize + syscallSize
	movSize  = 10 // movabs $imm64,%reg

	maxStubs = 4 // in the vDSO
)

var stubMark = [stubCall]byte{'h', 'd', 'b', ' ', 's', 't', 'u', 'b'}

// Numbers of registers in instructions (Intel SDM volume 2, table 2-2).
const (
	numRax, numRcx, numRdx, numRsi, numRdi = 0, 1, 2, 6, 7
	numR8, numR9, numR10, numR11           = 8, 9, 10, 11
)

// appendMov appends movabs $v,%reg.
func appendMov(b []byte, reg int, v uint64) []byte {
	b = append(b, 0x48|byte(reg>>3), 0xb8|byte(reg&7))
	return binary.LittleEndian.AppendUint64(b, v)
}

// appendCall appends a system call.
func appendCall(b []byte, nr uint64, args ...uint64) []byte {
	b = appendMov(b, numRax, nr)
	for i, reg := range []int{numRdi, numRsi, numRdx, numR10, numR8, numR9}[:len(args)] {
		b = appendMov(b, reg, args[i])
	}
	return append(b, 0x0f, 0x05)
}

// appendNops fills b up to n bytes.
func appendNops(b []byte, n int) []byte {
	return append(b, bytes.Repeat([]byte{0x90}, n-len(b))...)
}

// appendBack appends the way to where the registers are r's. The kernel has the thread begin an
// interrupted call anew when it continues from a stop; here the code does. A wait that would
// continue for the rest of its time begins anew, too.
func appendBack(b []byte, r Registers) []byte {
	if r.Restarts() {
		r.Rax, r.Rip = r.OrigRax, r.Rip-syscallSize
	}
	for _, x := range [...]struct {
		reg int
		v   uint64
	}{
		{numRax, r.Rax}, {numRdi, r.Rdi}, {numRsi, r.Rsi}, {numRdx, r.Rdx}, {numR10, r.R10}, {numR8, r.R8}, {numR9, r.R9},
		{numRcx, r.Rcx}, {numR11, r.R11}, // which a system call clobbers
	} {
		b = appendMov(b, x.reg, x.v)
	}
	b = append(b, 0xff, 0x25, 0, 0, 0, 0) // jmp *0(%rip)
	return binary.LittleEndian.AppendUint64(b, r.Rip)
}

// stubPlace is where a stub can be: in the last page of code, behind its end. The vDSO has such
// bytes, and most modules; they are not read or run.
func (ms *modules) stubPlace() (addr.Run, error) {
	if a := ms.stub; a != 0 && ms.stubFits(a) {
		return a, nil
	}
	maps, err := ms.p.target.Maps()
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Path != "[vdso]" || m.Perm[2] != 'x' {
			continue
		}
		// A thread may be in a stub that an hdb that was killed has left it in, until it gets a
		// processor: the next one goes before it.
		for a := m.High - stubSize; a >= m.High-maxStubs*stubSize; a -= stubSize {
			if ms.stubFits(a) {
				ms.stub = a
				return a, nil
			}
			if !ms.isStub(a) {
				break
			}
		}
	}
	// A file can be written to while it is mapped, and modules come and go: only what is
	// mapped now tells where code is.
	isCode := func(a addr.Run) bool {
		return slices.ContainsFunc(maps, func(m Mapping) bool {
			return m.Low <= a && a+stubSize <= m.High && m.Perm[1:] == "-xp"
		})
	}
	for _, m := range ms.list {
		for _, a := range codeEnds(m) {
			if isCode(a) && ms.stubFits(a) {
				return a, nil
			}
		}
	}
	return 0, errors.New("remote system call: no room for a stub behind the code of any module")
}

// codeEnds are where the last pages of a module's code have room for a stub; none if
// its file cannot be read, as the vDSO's.
func codeEnds(m Module) (ends []addr.Run) {
	if st, err := os.Stat(m.Path); err != nil || !st.Mode().IsRegular() { // to open a pipe would wait
		return nil
	}
	f, err := elf.Open(m.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, s := range f.Progs {
		end := addr.File(s.Vaddr + s.Memsz).Run(m.Bias)
		a := (end+pageSize-1)&^(pageSize-1) - stubSize
		if s.Type == elf.PT_LOAD && s.Flags&(elf.PF_X|elf.PF_W) == elf.PF_X && a >= end {
			ends = append(ends, a)
		}
	}
	return ends
}

const pageSize = 4096

// isStub tells a stub, of this hdb or another one.
func (ms *modules) isStub(a addr.Run) bool {
	var b [stubCall]byte
	n, _ := ms.p.memory.readAt(b[:], int64(a))
	return n == len(b) && b == stubMark
}

// stubFits reports whether there is nothing at a, or a stub of an hdb that was killed, in which no
// thread is any more.
func (ms *modules) stubFits(a addr.Run) bool {
	b := make([]byte, stubSize)
	if _, err := ms.p.memory.readAt(b, int64(a)); err != nil {
		return false
	}
	if !bytes.HasPrefix(b, stubMark[:]) {
		return len(bytes.TrimLeft(b, "\x00")) == 0
	}
	for _, t := range ms.p.family.inMemory() {
		if t.state != stopped || t.load() != nil {
			continue
		}
		if pc := t.pc(); pc >= a && pc < a+stubSize {
			return false
		}
	}
	return true
}
