package python

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// MaxDepth bounds the frames of one thread, by far above the recursion limit.
const MaxDepth = 1 << 16

// A Frame is a call of a function of Python.
type Frame struct {
	At   addr.Run // of its struct
	Code *Code
	Line int // 0: the instruction belongs to none
	// Entry tells that C called the interpreter for it: it is the outermost of those that one
	// native frame of _PyEval_EvalFrameDefault represents.
	Entry bool
}

// A Stack is what a thread does in Python.
type Stack struct {
	Frames []Frame // innermost first
	// Leaving tells that the innermost native frame of _PyEval_EvalFrameDefault has no frame
	// of Python: the one it has is being set up, or taken down.
	Leaving bool
}

// Stack is the stack of a thread. An error tells why it ends early.
func (in *Interpreter) Stack(s State) (st Stack, err error) {
	st.Frames, st.Leaving, err = in.frames(s, MaxDepth)
	return st, err
}

// Innermost is the function that a thread is in; ok is false if it is in none.
func (in *Interpreter) Innermost(s State) (f Frame, ok bool) {
	all, _, _ := in.frames(s, 1) // an error is one of what is further out, or there is none
	if len(all) == 0 {
		return Frame{}, false
	}
	return all[0], true
}

// frames are at most limit of a thread's.
func (in *Interpreter) frames(s State, limit int) (all []Frame, leaving bool, err error) {
	l := in.layout
	in.walked = 0
	at := s.At
	if l.Thread.CFrame != 0 {
		if at, err = in.mem.Field(at, l.Thread.CFrame); err != nil {
			return nil, false, fmt.Errorf("frames: %w", err)
		}
	}
	if at, err = in.mem.Field(at, l.Thread.Frame); err != nil {
		return nil, false, fmt.Errorf("frames: %w", err)
	}
	seen := at // moves up now and then, so that a circle meets it
	for n := 0; at != 0; n++ {
		if len(all) == limit && limit < MaxDepth {
			return all, leaving, nil
		}
		if n > 0 && at == seen {
			return all, leaving, errCircle
		}
		if n&(n-1) == 0 {
			seen = at
		}
		if n == MaxDepth {
			return all, leaving, fmt.Errorf("frames: more than %d", MaxDepth)
		}
		b, err := in.mem.Read(at, l.Frame.Size)
		if err != nil {
			return all, leaving, fmt.Errorf("frame: %w", err)
		}
		this := at
		at = pointerIn(b, l.Frame.Previous)
		if l.Frame.IsShim(b) {
			if len(all) == 0 {
				leaving = true
			} else {
				all[len(all)-1].Entry = true
			}
			continue
		}
		f, whole, err := in.frame(this, b)
		if err != nil {
			return all, leaving, err
		}
		if whole {
			all = append(all, f)
		}
		leaving = leaving || f.Entry && len(all) == 0
	}
	if len(all) > 0 {
		all[len(all)-1].Entry = true
	}
	return all, leaving, nil
}

var errCircle = errors.New("frames: they lead in a circle")

// maxWalked bounds the bytes of line tables that are gone through for the frames of a stack.
const maxWalked = 1 << 30

// An instruction is one of a code object, at an offset in bytes.
type instruction struct {
	code   *Code
	offset int
}

// maxLines bounds the instructions whose lines are remembered.
const maxLines = 1 << 16

// line is the line of an instruction, 0 too if the tables together are too long. It is
// remembered: recorded stacks have the same instructions again and again.
func (in *Interpreter) line(code *Code, offset int) int {
	at := instruction{code, offset}
	if line, known := in.lines[at]; known {
		return line
	}
	if in.walked += len(code.table); in.walked > maxWalked {
		return 0
	}
	if in.lines == nil || len(in.lines) >= maxLines {
		in.lines = map[instruction]int{}
	}
	line := code.line(offset)
	in.lines[at] = line
	return line
}

// frame is the frame whose struct is b. It is not whole while it is being set up: the
// interpreter does not count it then.
func (in *Interpreter) frame(at addr.Run, b []byte) (f Frame, whole bool, err error) {
	l := in.layout
	code, err := in.code(pointerIn(b, l.Frame.Code))
	if err != nil {
		return Frame{}, false, err
	}
	f = Frame{At: at, Entry: l.Frame.Units != 0 || l.Frame.Entry != 0 && b[l.Frame.Entry] != 0}
	instruction := uint64(pointerIn(b, l.Frame.Instruction))
	owner := byte(0)
	if l.Frame.Owner != 0 {
		owner = b[l.Frame.Owner]
	}
	whole, err = in.at(&f, code, instruction, owner)
	return f, whole, err
}

// at says which code a frame runs, and at which of its instructions it is. The frame is
// not whole while it is being set up.
func (in *Interpreter) at(f *Frame, code *Code, instruction uint64, owner byte) (whole bool, err error) {
	f.Code = code
	if units := in.layout.Frame.Units; units != 0 { // up to 3.10: each has a call of the interpreter of its own
		f.Line = in.line(code, int(int32(instruction))*units)
		return true, nil
	}
	offset := int64(instruction) - int64(code.bytecode)
	if owner != layout.GeneratorOwner && offset < int64(code.firstTraceable)*instructionSize {
		return false, nil
	}
	if offset < -instructionSize || offset > maxBytecode {
		return false, fmt.Errorf("frame of %s: its instruction is not in it", code.Name)
	}
	f.Line = in.line(code, int(offset))
	return true, nil
}

const (
	instructionSize = 2
	maxBytecode     = 1 << 28
)
