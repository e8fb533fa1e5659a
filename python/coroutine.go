package python

import (
	"fmt"

	"hdb/internal/addr"
)

// States of a generator's frame up to 3.12; in 3.13 each is one less up to suspended.
const (
	frameRunning  = 0
	frameFinished = 1
)

// A generator is a generator, a coroutine or an asynchronous generator.
type generator struct {
	name     string // qualified
	frame    addr.Run
	finished bool
	running  bool
	created  bool // it has not begun
	code     *Code
	line     int
	awaits   addr.Run // what it waits for: of a suspended one, 0 if it just yielded
}

// generatorAt reads PyGenObject.
func (in *Interpreter) generatorAt(at addr.Run) (g generator, err error) {
	l := in.layout.generator
	b, err := in.mem.read(at, max(l.frame, l.qualname)+8)
	if err != nil {
		return g, err
	}
	if g.name, err = in.Text(pointerIn(b, l.qualname)); err != nil {
		return g, err
	}
	g.frame = at + addr.Run(l.frame)
	switch {
	case l.embedded:
		state := int8(b[l.state])
		g.finished, g.running = state >= frameFinished, state == frameRunning
	case pointerIn(b, l.frame) == 0:
		g.finished = true
	default:
		g.frame = pointerIn(b, l.frame)
		g.running = l.state != 0 && b[l.state] != 0
	}
	if g.finished {
		return g, nil
	}
	raw, err := in.mem.read(g.frame, in.layout.frames.size)
	if err != nil {
		return g, err
	}
	f := in.layout.frames
	if f.state != 0 {
		state := int8(raw[f.state])
		g.running, g.finished = state == frameRunning, state >= frameFinished
	}
	if g.code, err = in.code(pointerIn(raw, f.code)); err != nil {
		return g, err
	}
	offset := in.offset(raw, g.code)
	g.line = g.code.line(offset)
	g.created = offset < g.code.firstTraceable*instructionSize || f.units != 0 && offset < 0
	if !g.running && !g.finished && !g.created {
		g.awaits, err = in.awaited(g, raw, offset)
	}
	return g, err
}

// offset is how far a frame's instruction is in the bytecode.
func (in *Interpreter) offset(raw []byte, code *Code) int {
	l := in.layout.frames
	if l.units != 0 {
		return intIn(raw, l.instruction) * l.units
	}
	return int(int64(pointerIn(raw, l.instruction)) - int64(code.bytecode))
}

// Instructions that tell a suspended frame that waits for another from one that has yielded.
const (
	yieldFrom   = 72 // up to 3.10, behind the frame's instruction
	resumeYield = 2  // the least argument of RESUME then, from 3.11 on
)

// awaited is what a suspended frame waits for, on top of its stack (_PyGen_yf in
// Objects/genobject.c of each version).
func (in *Interpreter) awaited(g generator, raw []byte, offset int) (addr.Run, error) {
	l := in.layout.frames
	next := g.code.bytecode + addr.Run(offset+instructionSize)
	if l.units != 0 {
		bytecode, err := in.mem.pointer(g.code.At + codeBytes)
		if err != nil {
			return 0, err
		}
		next = bytecode + bytesData + addr.Run(offset+instructionSize)
	}
	if in.layout.minor == 13 {
		next -= instructionSize // the frame has the instruction where it goes on
	}
	b, err := in.mem.read(next, 2)
	if err != nil {
		return 0, err
	}
	if l.units != 0 && b[0] != yieldFrom || l.units == 0 && b[1]&3 < resumeYield {
		return 0, nil
	}
	var top addr.Run
	switch {
	case l.stackDepth != 0:
		top = pointerIn(raw, l.valueStack) + addr.Run(8*intIn(raw, l.stackDepth))
	case l.units != 0:
		top = pointerIn(raw, l.stackTop)
	default:
		n := intIn(raw, l.stackTop)
		if n <= 0 || n > maxLocals {
			return 0, nil
		}
		top = g.frame + addr.Run(l.fast+8*n)
	}
	return in.mem.pointer(top - 8)
}

// codeBytes is co_code of a code object up to 3.10.
const codeBytes = 48

// generator writes where one is.
func (p *printer) generator(at addr.Run, c class) error {
	g, err := p.in.generatorAt(at)
	if err != nil {
		return err
	}
	state := "suspended"
	switch {
	case g.finished:
		fmt.Fprintf(&p.out, "<%s %s, finished>", c.name, g.name)
		return nil
	case g.running:
		state = "running"
	case g.created:
		state = "not begun"
	}
	fmt.Fprintf(&p.out, "<%s %s, %s at %s:%d", c.name, g.name, state, g.code.File, g.line)
	if g.awaits != 0 && !p.deep(" waiting for ", "") {
		p.out.WriteString(" waiting for ")
		p.value(g.awaits)
	}
	p.out.WriteByte('>')
	return nil
}
