package python

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Position is where a thread executes in Python, as the interpreter notes it at each
// instruction.
type Position struct {
	Frame     addr.Run // 0: in no function
	Code      addr.Run // the code object
	Offset    int      // of the instruction that it executes, or executed last; below 0: none yet
	Generator bool     // the frame is a generator's or coroutine, from 3.11 on
	Entry     bool     // C called the interpreter for it, 3.11; true up to 3.10
	Previous  addr.Run // the frame that it returns to, or a frame that represents C
}

// Position is the position of a thread.
func (b *Bodies) Position(s State) (p Position, err error) {
	l := b.in.layout
	at := s.At
	if l.Thread.CFrame != 0 {
		if at, err = b.in.mem.Field(at, l.Thread.CFrame); err != nil {
			return p, fmt.Errorf("frames: %w", err)
		}
	}
	if at, err = b.in.mem.Field(at, l.Thread.Frame); err != nil {
		return p, fmt.Errorf("frames: %w", err)
	}
	for n := 0; at != 0 && n < maxShims; n++ {
		shim := false
		if p, shim, err = b.positionOf(at); err != nil || !shim {
			return p, err
		}
		at = p.Previous
	}
	return Position{}, nil
}

// maxShims bounds the frames that represent C one behind the other.
const maxShims = 64

// PositionOf is the position of a frame; what runs in it may be inner.
func (b *Bodies) PositionOf(frame addr.Run) (Position, error) {
	p, _, err := b.positionOf(frame)
	return p, err
}

func (b *Bodies) positionOf(frame addr.Run) (p Position, shim bool, err error) {
	l := b.in.layout
	m, err := b.in.mem.Read(frame, l.Frame.Size)
	if err != nil {
		return p, false, fmt.Errorf("frame: %w", err)
	}
	p = Position{Frame: frame, Code: pointerIn(m, l.Frame.Code), Previous: pointerIn(m, l.Frame.Previous)}
	if l.Frame.IsShim(m) {
		return p, true, nil
	}
	if l.Frame.Units != 0 {
		p.Offset, p.Entry = intIn(m, l.Frame.Instruction)*l.Frame.Units, true
		return p, false, nil
	}
	p.Generator = m[l.Frame.Owner] == layout.GeneratorOwner
	p.Entry = l.Frame.Entry != 0 && m[l.Frame.Entry] != 0
	start := p.Code + addr.Run(l.Code.Instructions)
	p.Offset = int(int64(pointerIn(m, l.Frame.Instruction)) - int64(start))
	return p, false, nil
}

// Minor is the minor version of the interpreter.
func (b *Bodies) Minor() int { return b.in.layout.Minor }

// A Field is memory of the interpreter that describes a change when it is written.
type Field struct {
	At   addr.Run
	Size int
}

// Instruction is where a frame notes the instruction that it executes, before it does.
func (b *Bodies) Instruction(frame addr.Run) Field {
	f := Field{frame + addr.Run(b.in.layout.Frame.Instruction), 8}
	if b.in.layout.Frame.Units != 0 {
		f.Size = 4
	}
	return f
}

// OffsetWord is what that field has for an instruction, from 3.11 on.
func (b *Bodies) OffsetWord(p Position, offset int) uint64 {
	return uint64(p.Code) + uint64(b.in.layout.Code.Instructions) + uint64(offset)
}

// Current are where a thread notes the innermost frame: it is written when a call begins or
// ends. From 3.11 to 3.12 each call of the interpreter by C has a struct of its own for it.
func (b *Bodies) Current(s State) (all []Field, err error) {
	l := b.in.layout
	if l.Thread.CFrame == 0 {
		return []Field{{s.At + addr.Run(l.Thread.Frame), 8}}, nil
	}
	c, err := b.in.mem.Field(s.At, l.Thread.CFrame)
	if err != nil {
		return nil, err
	}
	return []Field{{s.At + addr.Run(l.Thread.CFrame), 8}, {c + addr.Run(l.Thread.Frame), 8}}, nil
}

// Link is where a frame has the frame that it returns to: it is read when it ends.
func (b *Bodies) Link(frame addr.Run) Field {
	return Field{frame + addr.Run(b.in.layout.Frame.Previous), 8}
}

// Units is how many bytes the number counts by which a frame notes its instruction up to 3.10.
func (b *Bodies) Units() int { return max(b.in.layout.Frame.Units, 1) }

// Runs reports whether a state is still that in which its thread holds the interpreter's lock. sp is
// the thread's stack pointer.
func (b *Bodies) Runs(s State, sp addr.Run) bool {
	if !s.stack.Empty() {
		loop, err := b.in.mem.Field(s.At, b.in.layout.Thread.OnStack)
		return err == nil && sp.To(s.stack.End).Contains(loop) && b.in.Holds(s)
	}
	n, err := b.in.mem.Word(s.At + addr.Run(b.in.layout.Thread.ID))
	return err == nil && n == s.Thread && b.in.Holds(s)
}

// Suspended reports whether a frame belongs to a generator or coroutine which has yielded and may
// continue.
func (b *Bodies) Suspended(k *Body, p Position) bool {
	const yields = 0x20 | coroutine | 0x100 | asyncGenerator // CO_GENERATOR, CO_ITERABLE_COROUTINE
	flags, err := b.in.mem.Word(k.At + addr.Run(b.in.layout.Code.Flags))
	if err != nil || flags&yields == 0 {
		return false
	}
	l := b.in.layout
	at := p.Frame + addr.Run(l.Frame.State)
	switch {
	case l.Frame.Units != 0 && l.Frame.State == 0: // up to 3.9
		top, err := b.in.mem.Word(p.Frame + addr.Run(l.Frame.StackTop))
		return err == nil && top != 0
	case l.Frame.State == 0 && !p.Generator:
		return false
	case l.Frame.State == 0:
		at = p.Frame - addr.Run(l.Generator.Frame) + addr.Run(l.Generator.State)
	}
	state, err := b.in.mem.Read(at, 1)
	return err == nil && int(int8(state[0])) < l.Generator.Running
}

// Calls reports whether a frame is among those that a thread's innermost one returns to.
func (b *Bodies) Calls(frame addr.Run, s State) bool {
	p, err := b.Position(s)
	for n := 0; err == nil && p.Frame != 0 && n < MaxDepth; n++ {
		if p.Frame == frame {
			return true
		}
		if p.Previous == 0 {
			return false
		}
		p, err = b.PositionOf(p.Previous)
	}
	return false
}
