package inferior

import (
	"encoding/binary"
	"os"
	"slices"
	"strconv"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// deepest is how much of a stack is searched at most, in bytes from its innermost end.
const deepest = 1 << 20

// MayReach reports whether a thread of the target may be at an address for which code holds, or get
// there: one that is there, has such an address in a register or anywhere in the innermost MiB of
// its stack, or cannot be asked. All are taken to be able to if another process runs in the
// target's memory.
func (f *family) MayReach(code func(addr.Run) bool) bool {
	maps, err := f.p.target.Maps()
	if err != nil || f.sharesMemory() {
		return true
	}
	return slices.ContainsFunc(f.p.target.order, func(t *Thread) bool {
		return t.state != exiting && t.mayReach(code, maps)
	})
}

func (t *Thread) mayReach(code func(addr.Run) bool, maps []Mapping) bool {
	// What the kernel has counts: that is where the thread continues if hdb is killed.
	if t.load() != nil || t.flush() != nil {
		return true
	}
	r := t.regs
	if t.shown != 0 {
		r.Rip = uint64(t.real)
	}
	// The core leaves addresses of its own in r10 and r11, which are not read.
	for _, v := range []uint64{r.Rip, r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.R8, r.R9, r.R12, r.R13, r.R14, r.R15} {
		if code(addr.Run(v)) {
			return true
		}
	}
	low := addr.Run(r.Rsp) &^ 7
	at := slices.IndexFunc(maps, func(m Mapping) bool { return m.Low <= low && low < m.High })
	if at < 0 {
		return true
	}
	stack := make([]byte, min(maps[at].High-low, deepest))
	n, err := t.p.memory.readAt(stack, int64(low))
	if err != nil || n < len(stack) {
		return true
	}
	return HasAddress(stack, code)
}

// HasAddress reports whether there is a word in memory that is an address for which code holds. The
// memory is aligned as words are.
func HasAddress(memory []byte, code func(addr.Run) bool) bool {
	for ; len(memory) >= 8; memory = memory[8:] {
		if code(addr.Run(binary.LittleEndian.Uint64(memory))) {
			return true
		}
	}
	return false
}

// sharesMemory reports whether another process runs in the target's memory, traced or not, by
// kcmp(2); where the kernel lacks it, only of those that are traced.
func (f *family) sharesMemory() bool {
	if len(f.guests) > 0 || f.p.target.peers || f.p.target.vforking() {
		return true
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		pid, err := strconv.Atoi(name)
		return err == nil && pid != f.p.target.pid && sharesMemory(f.p.target.pid, pid, false)
	})
}

// sharesMemory reports whether two processes have one address space, by kcmp(2), or where the
// kernel lacks it, by the guess given.
func sharesMemory(a, b int, guess bool) bool {
	const kcmpVM = 1
	r, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	if e != 0 {
		return guess
	}
	return r == 0
}
