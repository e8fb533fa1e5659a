package inferior

import (
	"encoding/binary"
	"unsafe"

	"hdb/inferior/x86"

	"golang.org/x/sys/unix"
)

// A threadMemory is memory as a thread accesses it, for instructions that are emulated.
type threadMemory struct{ *Thread }

var _ x86.Memory = threadMemory{}

// ShadowStack is the process's, see modules.
func (t threadMemory) ShadowStack() bool { return t.p.modules.ShadowStack() }

// nearStack tells memory that only the thread itself uses, in all likelihood:
// its red zone and its own frames. Elsewhere another thread may see half of
// what the kernel copies byte by byte.
func nearStack(r *Registers, a uint64) bool { return a-(r.Rsp-256) < 64<<10 }

// Fetch reads memory as the program would: by its permissions. Memory that
// other threads may be writing is read until it holds still.
func (t threadMemory) Fetch(r *Registers, a uint64, size int) (uint64, bool) {
	v, ok := t.move(unix.SYS_PROCESS_VM_READV, a, 0, size)
	if !ok || nearStack(r, a) || t.usesDebug() {
		return v, ok && !t.usesDebug()
	}
	again, ok := t.move(unix.SYS_PROCESS_VM_READV, a, 0, size)
	return v, ok && v == again
}

// Store writes memory as the program would, on its stack only.
func (t threadMemory) Store(r *Registers, a, v uint64, size int) bool {
	if !nearStack(r, a) || t.usesDebug() {
		return false
	}
	_, ok := t.move(unix.SYS_PROCESS_VM_WRITEV, a, v, size)
	return ok
}

// usesDebug reports whether a watchpoint could miss an access that is emulated.
func (t threadMemory) usesDebug() bool {
	return t.p.watchpoints.inUse() || t.p.watchpoints.steps()
}

// move is process_vm_readv(2) or process_vm_writev(2) of up to 8 bytes.
func (t threadMemory) move(call uintptr, a, v uint64, size int) (uint64, bool) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	local := unix.Iovec{Base: &b[0], Len: uint64(size)}
	remote := unix.RemoteIovec{Base: uintptr(a), Len: size}
	n, _, e := unix.RawSyscall6(call, uintptr(t.TID), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return binary.LittleEndian.Uint64(b[:]), e == 0 && int(n) == size
}
