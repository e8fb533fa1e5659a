package python

import (
	"hdb/internal/addr"
	"hdb/python/inspect"
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
	l := &in.layout.Generator
	b, err := in.mem.Read(at, max(l.Frame, l.Qualname)+8)
	if err != nil {
		return g, err
	}
	if g.name, err = in.mem.Text(pointerIn(b, l.Qualname)); err != nil {
		return g, err
	}
	g.frame = at + addr.Run(l.Frame)
	switch {
	case l.Embedded:
		state := int(int8(b[l.State]))
		g.finished, g.running = state >= l.Finished, state == l.Running
	case pointerIn(b, l.Frame) == 0:
		g.finished = true
	default:
		g.frame = pointerIn(b, l.Frame)
		g.running = l.State != 0 && b[l.State] != 0
	}
	if g.finished {
		return g, nil
	}
	raw, err := in.mem.Read(g.frame, in.layout.Frame.Size)
	if err != nil {
		return g, err
	}
	f := &in.layout.Frame
	if f.State != 0 {
		state := int(int8(raw[f.State]))
		g.running, g.finished = state == l.Running, state >= l.Finished
	}
	if g.code, err = in.code(pointerIn(raw, f.Code)); err != nil {
		return g, err
	}
	offset := in.offset(raw, g.code)
	g.line = g.code.line(offset)
	g.created = offset < g.code.firstTraceable*instructionSize || f.Units != 0 && offset < 0
	if !g.running && !g.finished && !g.created {
		g.awaits, err = in.awaited(g, raw, offset)
	}
	return g, err
}

// offset is how far a frame's instruction is in the bytecode.
func (in *Interpreter) offset(raw []byte, code *Code) int {
	l := &in.layout.Frame
	if l.Units != 0 {
		return intIn(raw, l.Instruction) * l.Units
	}
	return int(int64(pointerIn(raw, l.Instruction)) - int64(code.bytecode))
}

// Instructions that tell a suspended frame that waits for another from one that has yielded.
const (
	yieldFrom   = 72 // up to 3.10, behind the frame's instruction
	resumeYield = 2  // the least argument of RESUME then, from 3.11 on
)

// awaited is what a suspended frame waits for, on top of its stack (_PyGen_yf in
// Objects/genobject.c of each version).
func (in *Interpreter) awaited(g generator, raw []byte, offset int) (addr.Run, error) {
	l := &in.layout.Frame
	next := g.code.bytecode + addr.Run(offset+l.Resume)
	if l.Units != 0 {
		bytecode, err := in.mem.Field(g.code.At, in.layout.Code.Bytecode)
		if err != nil {
			return 0, err
		}
		next = bytecode + addr.Run(in.layout.Bytes.Data+offset+l.Resume)
	}
	b, err := in.mem.Read(next, 2)
	if err != nil {
		return 0, err
	}
	if l.Units != 0 && b[0] != yieldFrom || l.Units == 0 && b[1]&3 < resumeYield {
		return 0, nil
	}
	var top addr.Run
	switch {
	case l.StackDepth != 0:
		top = pointerIn(raw, l.ValueStack) + addr.Run(8*intIn(raw, l.StackDepth))
	case l.Units != 0:
		top = pointerIn(raw, l.StackTop)
	default:
		n := intIn(raw, l.StackTop)
		if n <= 0 || n > maxLocals {
			return 0, nil
		}
		top = g.frame + addr.Run(l.Fast+8*n)
	}
	return in.mem.Pointer(top - 8)
}

// describe tells where a generator is.
func (in *Interpreter) describe(at addr.Run) (inspect.Generator, error) {
	g, err := in.generatorAt(at)
	if err != nil {
		return inspect.Generator{}, err
	}
	d := inspect.Generator{Name: g.name, State: inspect.Suspended, Waits: g.awaits}
	switch {
	case g.finished:
		d.State = inspect.Finished
		return d, nil
	case g.running:
		d.State = inspect.Running
	case g.created:
		d.State = inspect.Created
	}
	d.File, d.Line = g.code.File, g.line
	return d, nil
}
