package variables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"hdb/inferior"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/unwind"
)

// registers are the registers of the selected thread by their DWARF numbers, as
// expressions read and change them.
type registers struct{ sel *view.Selection }

// set changes a register of the selected thread.
func (r registers) set(reg unwind.Reg, n uint64) error {
	t := r.sel.Cur.Thread
	if t == nil {
		return target.ErrNoStack
	}
	now, err := t.Regs()
	if err != nil {
		return err
	}
	to := now.At(reg)
	if to == nil {
		return fmt.Errorf("%v cannot be changed", reg)
	}
	*to = n
	if err := t.SetRegs(now); err != nil {
		return err
	}
	r.sel.WalkAgain()
	return nil
}

// Numbers of DWARF of the registers that are not general ones, System V ABI figure 3.36.
const (
	dwarfXMM0  = 17
	dwarfST0   = 33
	dwarfFlags = 49 // then es, cs, ss, ds, fs and gs

	dwarfFSBase = 58
	dwarfGSBase = 59
	dwarfMXCSR  = 64
)

// Wide reads the selected thread's registers of floating point and vectors,
// once and when the first of them is asked for.
func (r registers) Wide() func(reg uint64) []byte {
	read := sync.OnceValues(func() (inferior.Vectors, error) { return r.sel.Cur.Thread.Vectors() })
	return func(reg uint64) []byte {
		if r.sel.Cur.Thread == nil {
			return nil
		}
		if reg >= dwarfFlags && reg <= dwarfGSBase {
			now, err := r.sel.Cur.Thread.Regs()
			if err != nil {
				return nil
			}
			n, ok := map[uint64]uint64{
				dwarfFlags: now.Eflags, 50: now.Es, 51: now.Cs, 52: now.Ss, 53: now.Ds, 54: now.Fs, 55: now.Gs,
				dwarfFSBase: now.FsBase, dwarfGSBase: now.GsBase,
			}[reg]
			if !ok {
				return nil
			}
			return binary.LittleEndian.AppendUint64(nil, n)
		}
		vec, err := read()
		switch {
		case err != nil:
			return nil
		case reg >= dwarfXMM0 && reg < dwarfXMM0+16:
			return vec.SSE(int(reg - dwarfXMM0))
		case reg >= dwarfST0 && reg < dwarfST0+8:
			return append(vec.X87(int(reg-dwarfST0)), make([]byte, 6)...) // as a long double is in memory
		case reg == dwarfMXCSR:
			return binary.LittleEndian.AppendUint32(nil, vec.MXCSR())
		}
		return nil
	}
}

// setWide changes the lowest bytes of a vector register of the selected thread.
func (r registers) setWide(reg uint64, b []byte) error {
	t := r.sel.Cur.Thread
	if t == nil {
		return target.ErrNoStack
	}
	if reg < dwarfXMM0 || reg >= dwarfXMM0+16 {
		return errors.New("only general and vector registers can be changed")
	}
	vec, err := t.Vectors()
	if err != nil {
		return err
	}
	if err := vec.SetSSE(int(reg-dwarfXMM0), b); err != nil {
		return err
	}
	return t.SetVectors(vec)
}
