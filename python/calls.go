package python

import (
	"fmt"

	"hdb/internal/addr"
)

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

// Calls reads the stacks that a Walk has read, by the code objects that it has learnt.
type Calls struct {
	in      *Interpreter
	learned map[uint64]*Code // by ID, see Learn
	before  map[uint64]*Code // those that Forget has left
	last    []calledFrame    // of the last stack, from the outermost
}

// NewCalls is for the calls in an interpreter. It knows what the calls before, if they are of the same process's, have
// learnt last; before may be nil.
func NewCalls(in *Interpreter, before *Calls) *Calls {
	c := &Calls{in: in, learned: map[uint64]*Code{}}
	if before != nil && before.in.runtime == in.runtime {
		c.before = before.learned
	}
	return c
}

// Learn reads the code object with an ID, which is the first of the pieces, as it was. What
// they do not have is read from memory, if the object is still the same.
func (c *Calls) Learn(id uint64, pieces []Piece) error {
	if c.knows(id) != nil {
		return nil
	}
	in := c.in
	at := pieces[0].At
	if len(pieces[0].Bytes) < in.layout.Code.Size {
		return fmt.Errorf("code object at %v: %d bytes", at, len(pieces[0].Bytes))
	}
	live := in.mem
	defer func() { in.mem = live }()
	in.mem = live.Of(snapshot(pieces))
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
	c.learned[id] = code
	return nil
}

// knows is the code object with an ID, nil if it was not learnt.
func (c *Calls) knows(id uint64) *Code {
	if code := c.learned[id]; code != nil {
		return code
	}
	return c.before[id]
}

// maxLearned bounds the code objects that are known at a time: programs may make them all
// the time.
const maxLearned = 1 << 16

// Forget forgets code objects if there are too many, all but those that were learnt since it
// did so last: calls that refer to them may still come.
func (c *Calls) Forget() (forgotten bool) {
	if len(c.learned) < maxLearned && c.in.tables < maxTables/2 {
		return false
	}
	c.before, c.learned = c.learned, map[uint64]*Code{}
	clear(c.in.codes)
	clear(c.in.lines) // they keep code objects
	c.last = nil
	c.in.tables = 0
	return true
}

// Stack is the frames of calls, innermost first. A frame whose code object is gone since has no Code.
func (c *Calls) Stack(calls []Call) (st Stack, err error) {
	shim := c.in.Walk().Shim
	c.in.walked = 0
	st.Frames = make([]Frame, 0, len(calls))
	for i, x := range calls {
		if uint32(x.Mark) == shim {
			if len(st.Frames) == 0 {
				st.Leaving = true
			} else {
				st.Frames[len(st.Frames)-1].Entry = true
			}
			continue
		}
		f, whole, err := c.called(x, len(calls)-1-i)
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
func (c *Calls) called(x Call, nth int) (f Frame, whole bool, err error) {
	if nth < len(c.last) && c.last[nth].Call == x && c.last[nth].frame.Code != nil {
		return c.last[nth].frame, c.last[nth].whole, nil
	}
	l := &c.in.layout.Frame
	f.Entry = l.Units != 0 || l.Entry != 0 && x.Mark&0xff != 0
	code := c.knows(x.ID)
	if code == nil {
		return f, true, nil
	}
	owner := byte(x.Mark)
	if l.Entry != 0 {
		owner = byte(x.Mark >> 8)
	}
	if whole, err = c.in.at(&f, code, x.Instruction, owner); err != nil || c.in.walked > maxWalked {
		return f, whole, err
	}
	if nth >= len(c.last) {
		c.last = append(c.last, make([]calledFrame, nth+1-len(c.last))...)
	}
	c.last[nth] = calledFrame{x, f, whole}
	return f, whole, nil
}
