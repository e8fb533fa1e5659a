package pystops

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/eval"
	"hdb/session/cpython"
	"hdb/session/target"
)

// unknown is the offset of the instruction before where that is not known.
const unknown = -2

// arrived is called when a thread has read the word of bytecode of a line: most often because
// it is about to execute it.
func (p *Stops) arrived(l *Line, t *inferior.Thread) inferior.Action {
	pos, err := l.file.position(p.target, t)
	if err != nil || pos.Code != l.Body.At {
		return inferior.Resume // another reader has the memory
	}
	if !l.file.bodies.Still(l.Body) {
		p.Gone(l)
		return inferior.Resume
	}
	prev, ok := p.settle(l, t, pos)
	if !ok {
		return inferior.Resume
	}
	return p.begun(l, t, pos.Frame, prev)
}

// begun stops a thread that has come from an instruction to the instruction of a line, if a stop wants it.
func (p *Stops) begun(l *Line, t *inferior.Thread, frame addr.Run, prev int) inferior.Action {
	begins, enters := p.begins(l, frame, prev)
	action := inferior.Resume
	for _, st := range l.Users {
		if st.Line != 0 && !begins || st.Line == 0 && !enters {
			continue
		}
		if p.asks(st, t) && p.host.AtStop(st, t) == inferior.StopHere {
			action = inferior.StopHere
		}
	}
	return action
}

// asks reports whether the condition of a stop holds. One whose variables cannot be read stops: the
// user may have waited for that very arrival.
func (p *Stops) asks(st *breakpoints.Stop, t *inferior.Thread) bool {
	if st.Asks == "" || !st.Enabled {
		return true
	}
	ok, err := p.holds(st, t)
	if err != nil {
		p.target.Notify("%s %d: condition %s: %v: stopped for that", st.Word(), st.ID, st.Asks, err)
		return true
	}
	return ok
}

// holds asks the condition in the function that the thread is in.
func (p *Stops) holds(st *breakpoints.Stop, t *inferior.Thread) (bool, error) {
	for _, f := range p.files {
		s, err := f.state(p.target, t)
		if err != nil {
			continue
		}
		if frame, ok := f.In.Innermost(s); ok {
			return eval.Condition(f.In.Objects(), f.In.Names(frame), st.Asks)
		}
	}
	return false, fmt.Errorf("thread %d: %w", t.Num, python.ErrNoFrames)
}

// Gone takes the watch of code that is no more.
func (p *Stops) Gone(l *Line) {
	for _, st := range slices.Clone(l.Users) { // drop changes them
		if err := p.drop(st, l); err != nil {
			p.host.NoteFailed(st, "", err)
		}
		p.setPlaces(st)
	}
}

// state is what the interpreter keeps of a thread. A thread that runs code of several interpreters has several.
func (f *interpreter) state(c *target.Target, t *inferior.Thread) (python.State, error) {
	regs, err := t.Regs()
	if err != nil {
		return python.State{}, err
	}
	if s, ok := f.states[t]; ok && f.bodies.Runs(s, addr.Run(regs.SP())) {
		return s, nil
	}
	s, err := cpython.State(c, f.In, t)
	if err == nil {
		if len(f.states) > maxThreadStates {
			clear(f.states)
		}
		f.states[t] = s
	}
	return s, err
}

// maxThreadStates bounds the states that are kept.
const maxThreadStates = 1 << 12

func (f *interpreter) position(c *target.Target, t *inferior.Thread) (python.Position, error) {
	s, err := f.state(c, t)
	if err != nil {
		return python.Position{}, err
	}
	return f.bodies.Position(s)
}

// settle has a thread that has read the word of a line continue to where it executes that instruction.
// ok is false if it does not: the word was read for another reason. prev is the offset of the
// instruction that it comes from, unknown up to 3.10.
func (p *Stops) settle(l *Line, t *inferior.Thread, pos python.Position) (prev int, ok bool) {
	at, field, minor := l.Start.Offset, l.file.bodies.Instruction(pos.Frame), l.file.bodies.Minor()
	switch {
	case minor <= 10:
		return unknown, p.dispatches(t, field, uint64(at/l.file.bodies.Units()), false)
	case pos.Offset == at && minor < 13:
		return 0, false // it is being specialized
	case pos.Offset == at: // it is being specialized, or a call has returned: the frame has the instruction behind it already
		ok := p.dispatches(t, field, l.file.bodies.OffsetWord(pos, at), false)
		if ok && l.again[pos.Frame] {
			delete(l.again, pos.Frame)
			return 0, false
		}
		return l.Body.Before(at), ok
	}
	if pos.Offset >= 0 {
		prev = l.Body.Instruction(pos.Offset)
	} else {
		prev = pos.Offset
	}
	if prev >= 0 && l.Body.Double(p.opcode(l.Body.Start+addr.Run(prev))) {
		// One instruction does the work of two, and notes the first alone.
		if prev == at-2 {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], l.file.bodies.OffsetWord(pos, at))
			_, err := p.target.Proc.WriteAt(b[:], int64(field.At))
			return prev, err == nil
		}
		prev += 2
	}
	ok = p.dispatches(t, field, l.file.bodies.OffsetWord(pos, at), true)
	if ok && minor >= 13 {
		if p.specializes(l) {
			if len(l.again) > maxThreadStates {
				clear(l.again) // frames that were left by an exception do not read it again
			}
			l.again[pos.Frame] = true
		} else {
			delete(l.again, pos.Frame)
		}
	}
	return prev, ok
}

// specializes tells, of 3.13, that the instruction of a line will put another form in its
// own place and then execute that: the counter in its cache is 0.
func (p *Stops) specializes(l *Line) bool {
	if !l.Body.Adaptive(p.opcode(l.Addr())) {
		return false
	}
	var b [2]byte
	_, err := p.target.Proc.ReadAt(b[:], int64(l.Addr())+2)
	return err == nil && binary.LittleEndian.Uint16(b[:])>>4 == 0
}

// opcode is the byte at an address.
func (p *Stops) opcode(at addr.Run) byte {
	var b [1]byte
	_, _ = p.target.Proc.ReadAt(b[:], int64(at)) // unreadable: the thread has just read it
	return b[0]
}

// Bounds of the native instructions from reading a word of bytecode to noting that it is
// executed: those up to the jump by the opcode, and those behind.
const (
	maxDispatch = 48
	maxNoting   = 24
)

// dispatches runs a thread through its jump by the opcode. ok tells that it then executes the
// instruction whose number the field gets: before the jump, or soon behind it if after. A
// call or return on the way means that the word was read for something else.
func (p *Stops) dispatches(t *inferior.Thread, field python.Field, want uint64, after bool) (ok bool) {
	jumped, n := false, 0
	err := p.target.Proc.StepWithin(t, func() bool {
		if n++; n > maxDispatch || jumped && n > maxNoting {
			return false
		}
		if after && p.read(field) == want {
			ok = true
			return false
		}
		regs, err := t.Regs()
		if err != nil {
			return false
		}
		if jumped && !after {
			ok = p.read(field) == want
			return false
		}
		var code [8]byte
		if k, _ := p.target.Proc.ReadAt(code[:], int64(regs.PC())); k < 4 {
			return false
		}
		switch flowOf(code[:]) {
		case flowCall:
			return false
		case flowJump:
			if jumped {
				return false
			}
			jumped, n = true, 0
		}
		return true
	})
	return err == nil && ok
}

func (p *Stops) read(f python.Field) uint64 {
	var b [8]byte
	_, _ = p.target.Proc.ReadAt(b[:f.Size], int64(f.At)) // 0 is no instruction's number that is waited for by an address
	return binary.LittleEndian.Uint64(b[:])
}

// What an instruction of the processor does to the flow of control.
type flow uint8

const (
	flowOn   flow = iota
	flowCall      // a call or a return
	flowJump      // a jump to where a register or memory says
)

// flowOf reads the beginning of an instruction (Intel SDM volume 2, appendix A).
func flowOf(code []byte) flow {
	i := 0
	for i < len(code)-2 && (code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x3e || code[i] >= 0x40 && code[i] <= 0x4f) {
		i++ // bnd, rep, notrack, REX
	}
	switch code[i] {
	case 0xe8, 0xc3, 0xc2:
		return flowCall
	case 0xff:
		switch code[i+1] >> 3 & 7 {
		case 2, 3:
			return flowCall
		case 4, 5:
			return flowJump
		}
	}
	return flowOn
}

// maxArrivals bounds the frames of which it is kept where a line has begun.
const maxArrivals = 1 << 12

// begins reports whether the line begins for a frame at an instruction that it comes to from
// another, and whether that is the function's first.
func (p *Stops) begins(l *Line, frame addr.Run, prev int) (begins, enters bool) {
	if prev != unknown {
		first := l.file.bodies.Minor() >= 11 && prev <= l.Body.First()-2 && l.Start.Offset == l.Body.First()
		return l.Body.Event(prev, l.Start.Offset), first
	}
	before := p.last[frame]
	if len(p.last) >= maxArrivals {
		clear(p.last)
	}
	now := lineArrival{l.Body.At, l.Start.Run, l.Start.Offset}
	p.last[frame] = now
	// What comes to the middle of a line from its beginning has begun it there.
	fell := before.code == now.code && before.run == now.run && before.offset < now.offset && now.offset != now.run
	return !fell, l.Start.Offset == l.Body.First()
}
