package inferior

import (
	"fmt"
	"unsafe"

	"hdb/inferior/machine"
	"hdb/inferior/x86"

	"golang.org/x/sys/unix"
)

// Registers are the general registers of a thread.
type Registers = x86.Registers

// Vectors are the registers of a thread for floating-point numbers and vectors.
type Vectors = x86.Vectors

// Vectors reads the thread's vector registers.
func (t *Thread) Vectors() (Vectors, error) {
	t.p.check()
	if err := t.settle(); err != nil {
		return Vectors{}, err
	}
	if t.core != nil {
		if v, ok := t.coreVectors(); ok {
			return v, nil
		}
		return Vectors{}, fmt.Errorf("vector registers of thread %d: not in the core", t.TID)
	}
	b := make([]byte, machine.XSaveMax)
	n, err := regset(unix.PTRACE_GETREGSET, t.TID, b)
	if err != nil {
		return Vectors{}, fmt.Errorf("vector registers of thread %d: %w", t.TID, err)
	}
	v, ok := x86.VectorsOf(b[:n])
	if !ok {
		return Vectors{}, fmt.Errorf("vector registers of thread %d: %d bytes of state", t.TID, n)
	}
	return v, nil
}

// SetVectors writes them.
func (t *Thread) SetVectors(v Vectors) error {
	t.p.check()
	if err := t.settle(); err != nil {
		return err
	}
	if t.core != nil {
		return t.p.Alive()
	}
	if _, err := regset(unix.PTRACE_SETREGSET, t.TID, v.Area()); err != nil {
		return fmt.Errorf("set vector registers of thread %d: %w", t.TID, err)
	}
	return nil
}

// regset reads or writes the XSAVE area, and tells how long it is.
func regset(request, tid int, b []byte) (int, error) {
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	err := ptraceData(request, tid, machine.NTX86XState, unsafe.Pointer(&iov))
	return int(iov.Len), err
}
