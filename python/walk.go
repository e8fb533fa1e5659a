package python

import (
	"cmp"
	"fmt"

	"hdb/internal/addr"
)

// A Walk says where code inside of the process finds the calls of its thread, as Stack
// finds them from outside. All are offsets in bytes if nothing else is said.
type Walk struct {
	Current addr.Run // address of the pointer to the state that holds the lock, 0 from 3.12 on
	Key     addr.Run // address of the key for thread-specific data: two ints, whether it is valid and which it is

	Thread        int // in a state: what pthread_self() returns
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
		Key: in.runtime + addr.Run(l.Runtime.Key), Thread: l.Thread.ID, CFrame: l.Thread.CFrame, Frame: l.Thread.Frame,
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

// A Call is what a Walk reads of a frame.
type Call struct {
	Code        addr.Run
	Instruction uint64
	Mark        uint16
	ID          uint64 // of the code object, by which it was learnt
}

// A Piece is memory as it was.
type Piece struct {
	At    addr.Run
	Bytes []byte
}

// A snapshot is memory that is made of pieces, which are as they were, and nothing else.
type snapshot []Piece

func (s snapshot) ReadAt(b []byte, at int64) (int, error) {
	for _, p := range s {
		if off := uint64(at) - uint64(p.At); off < uint64(len(p.Bytes)) {
			if n := copy(b, p.Bytes[off:]); n == len(b) {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("%#x is not in the address map", at)
}

// Learn reads the code object with an ID, which is the first of the pieces, as it was. What
// they do not have is read from memory, if the object is still the same.
func (in *Interpreter) Learn(id uint64, pieces []Piece) error {
	if in.knows(id) != nil {
		return nil
	}
	live := in.mem
	defer func() { in.mem = live }()
	at := pieces[0].At
	if len(pieces[0].Bytes) < in.layout.Code.Size {
		return fmt.Errorf("code object at %v: %d bytes", at, len(pieces[0].Bytes))
	}
	in.mem = reader{mem: snapshot(pieces)}
	delete(in.codes, at) // another had its place
	code, err := in.code(at)
	if err != nil {
		then, unknown := in.stampOf(pieces[0].Bytes)
		in.mem = live
		if code, err = in.code(at); err != nil {
			return err
		}
		if unknown != nil || code.stamp != then {
			return fmt.Errorf("code object at %v: it is gone", at)
		}
	}
	in.learned[id] = code
	return nil
}

// knows is the code object with an ID, nil if it was not learnt.
func (in *Interpreter) knows(id uint64) *Code {
	if c := in.learned[id]; c != nil {
		return c
	}
	return in.before[id]
}

// maxLearned bounds the code objects that are known at a time: programs may make them all
// the time.
const maxLearned = 1 << 16

// Forget forgets code objects if there are too many, all but those that were learnt since it
// did so last: calls that refer to them may still come.
func (in *Interpreter) Forget() (forgotten bool) {
	if len(in.learned) < maxLearned && in.tables < maxTables/2 {
		return false
	}
	in.before, in.learned = in.learned, map[uint64]*Code{}
	clear(in.codes)
	clear(in.lines) // they keep code objects
	in.last = nil
	in.tables = 0
	return true
}

// Inherit has an interpreter know what another one of the same process has learnt last.
func (in *Interpreter) Inherit(from *Interpreter) {
	if from != nil && from.runtime == in.runtime {
		in.before = from.learned
	}
}

// Calls are the frames of calls that a Walk has read, innermost first. A frame whose code
// object is gone since has no Code.
func (in *Interpreter) Calls(calls []Call) (st Stack, err error) {
	shim := in.Walk().Shim
	in.walked = 0
	st.Frames = make([]Frame, 0, len(calls))
	for i, c := range calls {
		if uint32(c.Mark) == shim {
			if len(st.Frames) == 0 {
				st.Leaving = true
			} else {
				st.Frames[len(st.Frames)-1].Entry = true
			}
			continue
		}
		f, whole, err := in.called(c, len(calls)-1-i)
		if err != nil {
			return st, err
		}
		if whole {
			st.Frames = append(st.Frames, f)
		}
		st.Leaving = st.Leaving || f.Entry && len(st.Frames) == 0
	}
	if len(st.Frames) > 0 {
		st.Frames[len(st.Frames)-1].Entry = true
	}
	return st, nil
}

// A calledFrame is what called has told of a call.
type calledFrame struct {
	Call
	frame Frame
	whole bool
}

// called is the frame of a call, the nth from the outermost: often the one of the nth call of
// the stack before. It is not whole while it is being set up.
func (in *Interpreter) called(c Call, nth int) (f Frame, whole bool, err error) {
	if nth < len(in.last) && in.last[nth].Call == c && in.last[nth].frame.Code != nil {
		return in.last[nth].frame, in.last[nth].whole, nil
	}
	entry := in.layout.Frame.Entry
	f.Entry = in.layout.Frame.Units != 0 || entry != 0 && c.Mark&0xff != 0
	code := in.knows(c.ID)
	if code == nil {
		return f, true, nil
	}
	owner := byte(c.Mark)
	if entry != 0 {
		owner = byte(c.Mark >> 8)
	}
	if whole, err = in.at(&f, code, c.Instruction, owner); err != nil || in.walked > maxWalked {
		return f, whole, err
	}
	if nth >= len(in.last) {
		in.last = append(in.last, make([]calledFrame, nth+1-len(in.last))...)
	}
	in.last[nth] = calledFrame{c, f, whole}
	return f, whole, nil
}
