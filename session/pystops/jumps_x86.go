package pystops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/codeflow"
	"hdb/session/target"

	"golang.org/x/arch/x86/x86asm"
)

// Where no debug register is to be had, it is by the jumps of the interpreter's loop that hdb sees
// which instruction of Python is about to be executed: at the end of each instruction the loop reads the
// next one's number and jumps by a table. A trap at each of these jumps costs some 25 µs for each
// instruction of Python, of any function; the bytecode stays as it is.

// jumps are the jumps of an interpreter's loop.
type jumps struct {
	at    []addr.Run
	table [opcodes]addr.Run // where they lead, by the number of the instruction
	traps []*inferior.Trap  // nil: not planted
	err   error             // why they are not known
	step  *step             // that is under way by them; nil: none

	seen, blind int  // arrivals at which a register has the instruction's address, and has not
	given       bool // up: registers do not have it
}

// opcodes is how many numbers instructions of Python may have.
const opcodes = 256

var errNoJumps = errors.New("the jumps of the interpreter's loop are not found")

// jumpsOf finds the jumps of an interpreter, once.
func (p *Stops) jumpsOf(f *interpreter) *jumps {
	if f.jumps == nil {
		f.jumps = &jumps{}
		f.jumps.find(p.target, f)
	}
	return f.jumps
}

// find looks for the jumps in the code of the loop: what control reaches from its beginning, and by
// the table.
func (j *jumps) find(c *target.Target, f *interpreter) {
	j.err = errNoJumps // until they are found
	eval, ok := f.Symbols("_PyEval_EvalFrameDefault")
	if !ok {
		return
	}
	parts := newLoopParts(c)
	parts.add(eval)
	parts.follow()
	if j.table, ok = parts.table(eval); !ok {
		return
	}
	for _, a := range j.table {
		parts.add(a)
	}
	parts.follow()
	if j.at = parts.jumps(); len(j.at) > 0 {
		j.err = nil
	}
}

// loopParts are the parts of a function: compilers put what is executed rarely elsewhere.
type loopParts struct {
	c     *target.Target
	parts []*codeflow.Flow
	ahead []addr.Run
}

func newLoopParts(c *target.Target) *loopParts { return &loopParts{c: c} }

// add has the code at an address followed.
func (lp *loopParts) add(a addr.Run) { lp.ahead = append(lp.ahead, a) }

// maxParts bounds the parts of a function.
const maxParts = 8

// follow follows all that was added, the branches from one part to another, and what the jumps of
// switches lead to.
func (lp *loopParts) follow() {
	done := map[addr.Run]bool{}
	for len(lp.ahead) > 0 {
		for len(lp.ahead) > 0 {
			a := lp.ahead[0]
			lp.ahead = lp.ahead[1:]
			if f := lp.partOf(a); f != nil {
				f.Follow(a)
				lp.ahead = append(lp.ahead, f.Out...)
				f.Out = nil
			}
		}
		for _, f := range lp.parts {
			for _, a := range jumpsIn(f) {
				if !done[a] {
					done[a] = true
					lp.ahead = append(lp.ahead, lp.cases(f, a)...)
				}
			}
		}
	}
}

// partOf is the part that has an address.
func (lp *loopParts) partOf(a addr.Run) *codeflow.Flow {
	for _, f := range lp.parts {
		if f.Has(a) {
			return f
		}
	}
	low, high, _, ok := codeflow.Around(lp.c, a)
	if !ok || len(lp.parts) == maxParts {
		return nil
	}
	f := &codeflow.Flow{Low: low, Code: make([]byte, high-low), Visited: map[addr.Run]int{}, Leaves: true}
	if _, err := lp.c.Proc.ReadAt(f.Code, int64(low)); err != nil {
		return nil
	}
	lp.parts = append(lp.parts, f)
	return f
}

// table is the one by which the loop jumps: as long as there are numbers, and most of it leads into the loop.
func (lp *loopParts) table(eval addr.Run) (table [opcodes]addr.Run, ok bool) {
	loop := lp.partOf(eval)
	if loop == nil {
		return table, false
	}
	tried := map[addr.Run]bool{}
	for i := range loop.Code { // what refers to it may be reached by the table only
		at := tableIn(loop.Code[i:], loop.Low+addr.Run(i))
		if at == 0 || tried[at] {
			continue
		}
		tried[at] = true
		var b [opcodes * 8]byte
		if _, err := lp.c.Proc.ReadAt(b[:], int64(at)); err != nil {
			continue
		}
		inside := map[addr.Run]bool{}
		elsewhere := map[addr.Run]bool{}
		for i := range table {
			table[i] = addr.Run(binary.LittleEndian.Uint64(b[8*i:]))
			if loop.Has(table[i]) {
				inside[table[i]] = true
			} else {
				elsewhere[table[i]] = true
			}
		}
		if len(inside) >= leastTargets && len(elsewhere) <= maxParts {
			return table, true
		}
	}
	return table, false
}

// leastTargets is how many instructions every version of Python has.
const leastTargets = 64

// tableIn is the table that an instruction refers to, which jumps by it, loads from it or takes its address: 0 for
// others.
func tableIn(code []byte, at addr.Run) addr.Run {
	if !slices.Contains([]byte{0x48, 0x4a, 0x4c, 0x4e, 0x49, 0x4b, 0x4d, 0x4f, 0xff, 0x41, 0x42, 0x43}, code[0]) {
		return 0 // REX, or a jump
	}
	i, err := x86asm.Decode(code, 64)
	if err != nil {
		return 0
	}
	for _, arg := range i.Args {
		m, ok := arg.(x86asm.Mem)
		switch {
		case !ok:
		case m.Base == 0 && m.Index != 0 && m.Scale == 8:
			return addr.Run(m.Disp)
		case m.Base == x86asm.RIP && i.Op == x86asm.LEA:
			return at + addr.Run(i.Len) + addr.Run(m.Disp)
		}
	}
	return 0
}

// maxCases bounds the cases of a switch, and maxAhead the instructions in front of its jump that are looked at.
const (
	maxCases = 1 << 10
	maxAhead = 16
)

// cases are where the jump of a switch leads, as compilers make it: a number is compared with the last one, and by
// it the distance of the case from a table is loaded and added.
func (lp *loopParts) cases(f *codeflow.Flow, jump addr.Run) (to []addr.Run) {
	var table addr.Run
	last := int64(-1)
	scaled := false
	at := jump
	for range maxAhead {
		size := f.Before(at)
		if size == 0 {
			break
		}
		at -= addr.Run(size)
		i, err := x86asm.Decode(f.Code[at-f.Low:], 64)
		if err != nil {
			break
		}
		m, memory := i.Args[1].(x86asm.Mem)
		imm, immediate := i.Args[1].(x86asm.Imm)
		switch {
		case i.Op == x86asm.MOVSXD && memory && m.Scale == 4 && m.Base != 0 && m.Disp == 0:
			scaled = true
		case i.Op == x86asm.LEA && memory && m.Base == x86asm.RIP && table == 0:
			table = at + addr.Run(i.Len) + addr.Run(m.Disp)
		case i.Op == x86asm.CMP && immediate && last < 0:
			last = int64(imm)
		}
	}
	if !scaled || table == 0 || last < 0 || last >= maxCases {
		return nil
	}
	b := make([]byte, 4*(last+1))
	if _, err := lp.c.Proc.ReadAt(b, int64(table)); err != nil {
		return nil
	}
	for ; len(b) > 0; b = b[4:] {
		a := table + addr.Run(int64(int32(binary.LittleEndian.Uint32(b))))
		if lp.partOf(a) == nil {
			return nil // it is no such table
		}
		to = append(to, a)
	}
	return to
}

// jumps are the jumps to where a register or memory says.
func (lp *loopParts) jumps() (all []addr.Run) {
	for _, f := range lp.parts {
		all = append(all, jumpsIn(f)...)
	}
	slices.Sort(all)
	return all
}

// byJumps reports whether the jumps are traps.
func (f *interpreter) byJumps() bool { return f.jumps != nil && len(f.jumps.traps) > 0 }

// followJumps has the jumps be traps. All lines of the interpreter are seen there then: that a debug
// register stops a thread in front of a jump is of no use.
func (p *Stops) followJumps(f *interpreter) error {
	j := p.jumpsOf(f)
	switch {
	case j.err != nil:
		return j.err
	case j.given:
		return errNoJumps
	case len(j.traps) > 0:
		return nil
	}
	return p.target.StopAll(func() error {
		for _, a := range j.at {
			tr, err := p.host.Plant(a, func(t *inferior.Thread) inferior.Action { return p.jumped(f, t) })
			if err != nil {
				return errors.Join(fmt.Errorf("trap in the interpreter's loop: %w", err), p.unplant(j))
			}
			j.traps = append(j.traps, tr)
		}
		why := p.host.WhyNoRegister()
		for _, l := range p.lines {
			if l.file != f || l.Watch == nil {
				continue
			}
			if err := l.Watch.Remove(); err != nil {
				return err
			}
			l.Watch, l.short = nil, why
		}
		return nil
	})
}

// unplant takes the traps away.
func (p *Stops) unplant(j *jumps) (err error) {
	for _, tr := range j.traps {
		err = errors.Join(err, tr.Remove())
	}
	j.traps = nil
	return err
}

// leaveJumps takes the traps away if no step goes by them, and there are debug registers for the lines.
func (p *Stops) leaveJumps(f *interpreter) error {
	if !f.byJumps() || f.jumps.step != nil {
		return nil
	}
	var lines []*Line
	for _, l := range p.lines {
		if l.file == f {
			lines = append(lines, l)
		}
	}
	if len(lines) > p.target.Proc.FreeRegisters() && !f.jumps.given {
		return nil
	}
	return p.target.StopAll(func() error {
		err := p.unplant(f.jumps)
		for _, l := range lines {
			err = errors.Join(err, p.watchWord(l))
		}
		return err
	})
}

// jumped is called when a thread is about to execute the code of an instruction of Python.
func (p *Stops) jumped(f *interpreter, t *inferior.Thread) inferior.Action {
	regs, err := t.Regs()
	if err != nil {
		return inferior.Resume
	}
	action, at := inferior.Resume, regs.PC()
	switch lines, second := p.linesAhead(f, t, &regs); {
	case second && !p.runsTo(t, lines[0].Addr()):
	case len(lines) > 1:
		action = p.arrivedAtOne(f, lines, t)
	case len(lines) == 1:
		action = p.arrived(lines[0], t)
	}
	if s := f.jumps.step; s != nil && s.jumped(t, at) == inferior.StopHere {
		action = inferior.StopHere
	}
	return action
}

// linesAhead are the lines whose word a thread at a jump may just have read: most often one at the most. Registers
// may have those of the past, too. second: it is the second of two
// instructions that are executed as one, and will be read next.
func (p *Stops) linesAhead(f *interpreter, t *inferior.Thread, regs *inferior.Registers) (lines []*Line, second bool) {
	if f.bodies.Minor() <= 10 {
		return p.lineNoted(f, t, regs), false
	}
	var behind *Line
	for _, v := range general(regs) {
		switch l, second := p.lineOf(f, t, addr.Run(v)); {
		case l == nil || slices.Contains(lines, l):
		case second:
			behind = l
		default:
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 && behind != nil {
		return []*Line{behind}, true
	}
	p.noteBlind(f, t, regs)
	return lines, false
}

// arrivedAtOne is arrived at one of several lines: where the frame notes the instruction it shows
// which.
func (p *Stops) arrivedAtOne(f *interpreter, lines []*Line, t *inferior.Thread) inferior.Action {
	pos, err := f.position(p.target, t)
	if err != nil || !p.notes(f, pos.Frame, t) {
		return inferior.Resume
	}
	now, err := f.bodies.PositionOf(pos.Frame)
	for _, l := range lines {
		if err != nil || now.Code != l.Body.At || now.Offset != l.Start.Offset || pos.Offset == now.Offset || !f.bodies.Still(l.Body) {
			continue
		}
		prev := pos.Offset
		if prev >= 0 {
			prev = l.Body.Instruction(prev)
			if l.Body.Double(p.opcode(l.Body.Start + addr.Run(prev))) {
				prev += 2
			}
		}
		return p.begun(l, t, pos.Frame, prev)
	}
	return inferior.Resume
}

// notes has a thread at a jump continue until the frame has noted the instruction.
func (p *Stops) notes(f *interpreter, frame addr.Run, t *inferior.Thread) bool {
	field, noted, n := f.bodies.Instruction(frame), false, 0
	err := p.target.Proc.StepWithin(t, func() bool {
		if n++; noted || n > maxNoting {
			return false
		}
		noted = n > 1 && t.Touches(field.At, field.Size, true)
		return true
	})
	return err == nil && noted
}

// lineOf is the line whose word it is, or the one behind it if both are executed as one, if the jump leads
// to that instruction.
func (p *Stops) lineOf(f *interpreter, t *inferior.Thread, word addr.Run) (line *Line, second bool) {
	line = p.lines[word]
	if line == nil {
		line, second = p.lines[word+2], true
	}
	if line == nil || line.file != f || line.Watch != nil {
		return nil, false
	}
	opcode := p.opcode(word)
	if second && !line.Body.Double(opcode) || !f.jumps.leads(t, opcode) {
		return nil, false
	}
	return line, second
}

// lineNoted is that up to 3.10, where the frame has noted the instruction before the jump.
func (p *Stops) lineNoted(f *interpreter, t *inferior.Thread, regs *inferior.Registers) []*Line {
	for _, v := range general(regs) {
		for _, word := range []addr.Run{addr.Run(v), addr.Run(v - 2)} { // the register may have gone on
			l := p.lines[word]
			if l == nil || l.file != f || l.Watch != nil {
				continue
			}
			if pos, err := f.position(p.target, t); err == nil && pos.Code == l.Body.At && pos.Offset == l.Start.Offset {
				return []*Line{l}
			}
		}
	}
	p.noteBlind(f, t, regs)
	return nil
}

// general are the registers that may hold an address.
func general(r *inferior.Registers) [15]uint64 {
	return [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
}

// leads reports whether the jump at which a thread is leads to the code of an instruction.
func (j *jumps) leads(t *inferior.Thread, opcode byte) bool {
	to, ok := t.JumpsTo()
	return ok && to == j.table[opcode]
}

// enoughArrivals is how many of them decide whether registers have the address of the instruction.
const enoughArrivals = 200

// noteBlind finds out of the first arrivals whether a register has the address of the instruction,
// near which the frame is. In a build without optimisation that is on the stack: there the
// lines are watched by single steps.
func (p *Stops) noteBlind(f *interpreter, t *inferior.Thread, regs *inferior.Registers) {
	j := f.jumps
	if j.given || j.seen+j.blind >= enoughArrivals {
		return
	}
	pos, err := f.position(p.target, t)
	if err != nil || pos.Frame == 0 {
		return
	}
	body, err := f.bodies.At(pos.Code)
	if err != nil {
		return
	}
	near := func(v uint64) bool {
		d := int64(v) - int64(body.Start) - int64(max(pos.Offset, 0))
		return -nearNote < d && d < nearNote
	}
	regsAll := general(regs)
	if slices.ContainsFunc(regsAll[:], near) {
		j.seen++
	} else {
		j.blind++
	}
	if j.seen+j.blind < enoughArrivals || j.seen >= j.blind {
		return
	}
	j.given = true
	p.target.Notify("python: this build of the interpreter keeps the instruction's address in memory: lines are found by single steps")
	if err := p.leaveJumps(f); err != nil {
		p.target.Notify("python: %v", err)
	}
}

// nearNote is how far an instruction may be from the one before for noteBlind, bytes.
const nearNote = 128

// maxBeforeSecond bounds the native instructions from the jump to where the second of two instructions
// is read.
const maxBeforeSecond = 96

// runsTo runs a thread until it has read a word of bytecode, soon.
func (p *Stops) runsTo(t *inferior.Thread, word addr.Run) bool {
	read, n := false, 0
	err := p.target.Proc.StepWithin(t, func() bool {
		if n++; read || n > maxBeforeSecond {
			return false
		}
		read = t.Touches(word, 2, false)
		return true
	})
	return err == nil && read
}

// jumpsIn are the jumps of code that lead to what a register or memory has.
func jumpsIn(f *codeflow.Flow) (all []addr.Run) {
	for a, size := range f.Visited {
		code := f.Code[a-f.Low:][:size]
		if size >= 2 && flowOf(append(slices.Clip(code), 0, 0, 0)) == flowJump {
			all = append(all, a)
		}
	}
	return all
}
