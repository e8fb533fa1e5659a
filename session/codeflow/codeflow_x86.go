// Package codeflow follows the instructions of code from where they are known to begin, so that nothing is
// planted in the middle of one.
package codeflow

import (
	"bytes"
	"fmt"

	"hdb/internal/addr"
	"hdb/session/target"
	"hdb/unwind"

	"golang.org/x/arch/x86/x86asm"
)

// An InsideError is the error of a trap within an instruction, which it would change.
type InsideError struct {
	At, Instruction addr.Run
	Name            string // " <main+4>" of Instruction, "" if there is no symbol
}

func (e *InsideError) Error() string {
	return fmt.Sprintf("%v is inside the instruction at %v%s, which a trap would change: use that address, or hbreak, which changes no code", e.At, e.Instruction, e.Name)
}

// Inside is the error of a trap at a, if it is sure that a is no instruction. That is
// known of code which control reaches from where the unwind information has a function, or a row
// of one, begin. Nothing is said of other code, and of an address to which a branch leads, as one
// behind a lock prefix.
func Inside(t *target.Target, a addr.Run) error {
	low, high, from, ok := Around(t, a)
	if !ok {
		return nil
	}
	code := make([]byte, high-low)
	if _, err := t.Proc.ReadAt(code, int64(low)); err != nil {
		return nil
	}
	f := Flow{Low: low, Code: code, Visited: map[addr.Run]int{}}
	f.Follow(from...)
	if _, ok := f.Visited[a]; ok {
		return nil
	}
	for back := addr.Run(1); back < maxInstruction && back <= a-low; back++ {
		if size := f.Visited[a-back]; addr.Run(size) > back {
			name := ""
			if sym, err := t.Names.Symbols.At(a - back); err == nil {
				name = fmt.Sprintf(" <%s+%d>", sym.Name, sym.Offset)
			}
			return &InsideError{a, a - back, name}
		}
	}
	return nil
}

// maxInstruction is the longest instruction of x86 (Intel SDM volume 2, section 2.3.11), maxFlow
// the longest function that is decoded, bytes.
const (
	maxInstruction = 15
	maxFlow        = 1 << 20
)

// Around is the function around an address, or the part of it, and where instructions are
// known to begin in it.
func Around(t *target.Target, a addr.Run) (low, high addr.Run, from []addr.Run, ok bool) {
	table, bias, ok := t.Names.Modules.ModuleAt(a)
	if !ok || table == nil || t.Names.Modules.At(a) == nil {
		return 0, 0, nil, false
	}
	fn, ok := table.FunctionAt(a.File(bias))
	if !ok || fn.High-fn.Low > maxFlow || inAny(table.PLT(), a.File(bias)) { // one FDE for all of a PLT
		return 0, 0, nil, false
	}
	from = append(from, fn.Low.Run(bias))
	if row, ok := table.RowAt(a.File(bias)); ok && fn.Contains(row.Low) {
		from = append(from, row.Low.Run(bias))
	}
	return fn.Low.Run(bias), fn.High.Run(bias), from, true
}

func inAny(all []unwind.Range, a addr.File) bool {
	for _, r := range all {
		if r.Contains(a) {
			return true
		}
	}
	return false
}

// A Flow is the instructions of a function that control reaches, as far as branches tell.
type Flow struct {
	Low     addr.Run
	Code    []byte
	Visited map[addr.Run]int // their sizes
	Leaves  bool             // out is wanted
	Out     []addr.Run       // where branches lead elsewhere
}

// Has reports whether an address is in the code.
func (f *Flow) Has(a addr.Run) bool { return a >= f.Low && a < f.Low+addr.Run(len(f.Code)) }

// Follow decodes the code that is reached from places.
func (f *Flow) Follow(from ...addr.Run) {
	for len(from) > 0 {
		at := from[len(from)-1]
		from = from[:len(from)-1]
		for f.Visited[at] == 0 && f.Has(at) {
			size, target, goesOn := decodeFlow(f.Code[at-f.Low:], at)
			if size == 0 {
				break
			}
			f.Visited[at] = size
			switch {
			case target != 0 && f.Leaves && !f.Has(target):
				f.Out = append(f.Out, target)
			case target != 0:
				from = append(from, target)
			}
			if !goesOn {
				break
			}
			at += addr.Run(size)
		}
	}
}

// decodeFlow reads an instruction: its size, 0 if it is not known, where it branches to, 0 nowhere
// that is known, and whether control can continue behind it.
func decodeFlow(code []byte, at addr.Run) (size int, target addr.Run, goesOn bool) {
	switch {
	case bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}): // x86asm knows no CET
		return 4, 0, true
	case len(code) > 2 && code[0] == 0xc5 && code[1]&0x7b == 0x78 && code[2] == 0x77: // nor the size of vzeroupper
		return 3, 0, true
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Op == 0 || inst.Len > len(code) {
		return 0, 0, false
	}
	branch := addr.Run(0)
	if rel, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
		branch = at + addr.Run(inst.Len) + addr.Run(int64(rel))
	}
	switch inst.Op {
	case x86asm.JMP, x86asm.RET, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ, x86asm.HLT, x86asm.UD1, x86asm.UD2, x86asm.INT:
		return inst.Len, branch, false
	}
	return inst.Len, branch, true
}

// Before is the size of the instruction that ends at an address, 0 if none is known to.
func (f *Flow) Before(at addr.Run) int {
	for size := 1; size <= maxInstruction && addr.Run(size) <= at-f.Low; size++ {
		if f.Visited[at-addr.Run(size)] == size {
			return size
		}
	}
	return 0
}
