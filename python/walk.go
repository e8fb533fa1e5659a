package python

import (
	"cmp"

	"hdb/internal/addr"
)

// A Walk says where code inside of the process finds the calls of its thread, as Stack
// finds them from outside. All are offsets in bytes if nothing else is said.
type Walk struct {
	Current addr.Run // address of the pointer to the state that holds the lock, 0 from 3.12 on
	Key     addr.Run // address of the key for thread-specific data: two ints, whether it is valid and which it is

	Thread        int // in a state: what pthread_self() returned in the thread that made it
	OnStack       int // a pointer into the stack of the thread that runs it, 0 without
	CFrame, Frame int // the innermost frame; a CFrame is the pointer to what has that, 0 without

	Previous, Code, Instruction int    // in a frame
	InstructionBits             uint64 // of the instruction, which the others are not part of
	Mark                        int    // 16 bits, of which
	MarkBits                    uint16 // these tell what kind of frame it is
	Shim                        uint32 // the kind that is no call, but where C called the interpreter

	Lines, FirstLine     int // in a code object: the pointer to its line table, and an int,
	Name, Qualname, File int // and pointers to texts; without a qualified name there is the name again
	CodeSize             int
}

// noShim is no kind of frame.
const noShim = 1<<32 - 1

// FreedCode is where the interpreter has the pointer to what frees a code object. The dynamic
// linker writes it.
func (in *Interpreter) FreedCode() addr.Run {
	return in.codeType + addr.Run(in.layout.Type.Dealloc)
}

// Walk is how calls are found.
func (in *Interpreter) Walk() Walk {
	l := in.layout
	w := Walk{
		Key: in.runtime + addr.Run(l.Runtime.Key), Thread: l.Thread.ID, OnStack: l.Thread.OnStack, CFrame: l.Thread.CFrame, Frame: l.Thread.Frame,
		Previous: l.Frame.Previous, Code: l.Frame.Code, Instruction: l.Frame.Instruction, InstructionBits: 1<<48 - 1,
		Shim: noShim, Lines: l.Code.Lines, FirstLine: l.Code.FirstLine,
		Name: l.Code.Name, Qualname: cmp.Or(l.Code.Qualname, l.Code.Name), File: l.Code.File, CodeSize: l.Code.Size,
	}
	if l.Runtime.Current != 0 {
		w.Current = in.runtime + addr.Run(l.Runtime.Current)
	}
	switch {
	case l.Frame.Units != 0:
		w.InstructionBits = 1<<32 - 1 // int f_lasti
	case l.Frame.Entry != 0:
		w.Mark, w.MarkBits = l.Frame.Entry, 0xffff // the owner is behind it
	default:
		w.Mark, w.MarkBits, w.Shim = l.Frame.Owner, 0xff, uint32(l.Frame.Shim)
	}
	return w
}
