package variables

import (
	"fmt"

	"hdb/inferior"
	"hdb/session/target"
	"hdb/unwind"
	"hdb/values"
)

// A result is what a function returns, by the registers of DWARF's numbers.
type result map[uint64][]byte

// ReturnValue is the value of an expression as the selected frame's function returns it.
func (v *Values) ReturnValue(expr string) (result, error) {
	if expr == "" {
		return nil, nil
	}
	if v.Target.Proc != nil && v.Target.Proc.IsGo() {
		return nil, fmt.Errorf("the return value of a Go function cannot be set: use return without a value")
	}
	var out result
	err := v.Guarded(func(f *values.Frame) (err error) {
		out, err = v.World.AsReturned(f, expr)
		return err
	})
	return out, err
}

// Put writes the registers with the value in them, the PC and the stack pointer last: the
// thread stays where it is if something cannot be written.
func (r result) Put(t *inferior.Thread, regs *inferior.Registers) error {
	vec, wide := inferior.Vectors{}, false
	for reg, b := range r {
		switch reg {
		case uint64(unwind.RAX):
			regs.Rax = target.Uint(b)
		case uint64(unwind.RDX):
			regs.Rdx = target.Uint(b)
		case dwarfXMM0, dwarfXMM0 + 1:
			if !wide {
				var err error
				if vec, err = t.Vectors(); err != nil {
					return err
				}
				wide = true
			}
			if err := vec.SetSSE(int(reg-dwarfXMM0), b); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the value is returned in DWARF register %d, which cannot be changed", reg)
		}
	}
	if wide {
		if err := t.SetVectors(vec); err != nil {
			return err
		}
	}
	return t.SetRegs(*regs)
}
