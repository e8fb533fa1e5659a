// Package x86 is the engine's knowledge of x86-64: the registers of a thread, what an instruction
// reads and writes, and how to run the frequent ones without the processor.
//
// It knows no process: memory is an interface. Whatever is in a thread's registers and in code may
// be anything.
package x86

import (
	"encoding/binary"
	"hdb/internal/addr"
	"hdb/unwind"
	"unsafe"
)

// Registers are the general registers of an x86-64 thread in the order of the
// kernel's struct user_regs_struct (sys/user.h).
type Registers struct {
	R15, R14, R13, R12, Rbp, Rbx, R11, R10, R9, R8  uint64
	Rax, Rcx, Rdx, Rsi, Rdi, OrigRax, Rip, Cs       uint64
	Eflags, Rsp, Ss, FsBase, GsBase, Ds, Es, Fs, Gs uint64
}

// PC is the address of the next instruction.
func (r *Registers) PC() addr.Run { return addr.Run(r.Rip) }

// SP is the stack pointer.
func (r *Registers) SP() addr.Run { return addr.Run(r.Rsp) }

// Arg is integer argument i (0 to 5) at a function's entry, System V ABI section 3.2.3; 0 for the
// others, which are on the stack.
func (r *Registers) Arg(i int) uint64 {
	switch i {
	case 0:
		return r.Rdi
	case 1:
		return r.Rsi
	case 2:
		return r.Rdx
	case 3:
		return r.Rcx
	case 4:
		return r.R8
	case 5:
		return r.R9
	}
	return 0
}

// Result is the integer a function has just returned.
func (r *Registers) Result() uint64 { return r.Rax }

// A NamedRegister is one register for display.
type NamedRegister struct {
	Name  string
	Value uint64
}

// Named lists the registers in the order in which gdb prints them.
func (r *Registers) Named() []NamedRegister {
	return []NamedRegister{
		{"rax", r.Rax}, {"rbx", r.Rbx}, {"rcx", r.Rcx}, {"rdx", r.Rdx},
		{"rsi", r.Rsi}, {"rdi", r.Rdi}, {"rbp", r.Rbp}, {"rsp", r.Rsp},
		{"r8", r.R8}, {"r9", r.R9}, {"r10", r.R10}, {"r11", r.R11},
		{"r12", r.R12}, {"r13", r.R13}, {"r14", r.R14}, {"r15", r.R15},
		{"rip", r.Rip}, {"eflags", r.Eflags}, {"cs", r.Cs}, {"ss", r.Ss},
		{"ds", r.Ds}, {"es", r.Es}, {"fs", r.Fs}, {"gs", r.Gs},
		{"fs_base", r.FsBase}, {"gs_base", r.GsBase},
	}
}

// At is where a register is by its DWARF number (System V ABI figure 3.36), nil for one that is not
// among the general ones.
func (r *Registers) At(reg unwind.Reg) *uint64 {
	all := [...]*uint64{&r.Rax, &r.Rdx, &r.Rcx, &r.Rbx, &r.Rsi, &r.Rdi, &r.Rbp, &r.Rsp,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15, &r.Rip}
	if int(reg) >= len(all) {
		return nil
	}
	return all[reg]
}

// Unwind is what an unwinder starts from: all general registers known.
func (r *Registers) Unwind() unwind.Regs {
	// In the order of At, one by one: it is asked at each event.
	u := unwind.Regs{V: [17]uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rip}}
	u.Known = 1<<len(u.V) - 1
	return u
}

// Bytes are the registers as struct user_regs_struct.
func (r *Registers) Bytes() []byte {
	var b []byte
	for _, v := range (*[unsafe.Sizeof(*r) / 8]uint64)(unsafe.Pointer(r)) {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// Restarts reports whether the thread was interrupted in a system call that the kernel will
// make it begin anew, at the instruction before its PC: the results are
// ERESTARTSYS to ERESTARTNOHAND and ERESTART_RESTARTBLOCK (linux/errno.h).
func (r *Registers) Restarts() bool {
	e := -int64(r.Rax)
	return int64(r.OrigRax) >= 0 && (e >= 512 && e <= 514 || e == 516)
}
