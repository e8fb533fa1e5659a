package stepping

import (
	"slices"

	"hdb/internal/addr"
	"hdb/names"
	"hdb/symbols"
	"hdb/unwind"
)

// codePlace is what stepping by lines knows the code at an address.
type codePlace struct {
	symbols.LineBlock
	known bool // there is line information
	stray bool // the line is none of the innermost frame, see symbols.Lines.OwnBlock
	pc    addr.Run
	bias  addr.Bias
	chain []symbols.Frame // the function, and the calls inlined there: outermost first
	// joined is how many of these the byte before belongs to as well.
	joined int
}

// frameLine is the line of one frame of a place.
type frameLine struct {
	cfa   addr.Run
	bias  addr.Bias
	chain []symbols.Frame // from the function to the frame
	file  string
	num   int
}

func (l *frameLine) same(m *frameLine) bool { return l.num == m.num && l.file == m.file }

// placeAt asks about the code at an address.
func placeAt(names *names.Resolver, pc addr.Run) *codePlace {
	p := &codePlace{pc: pc}
	mod := names.Modules.At(pc)
	if mod == nil {
		return p
	}
	p.bias = mod.Bias
	frames := names.Modules.Frames(addr.PC(pc))
	p.chain = outermostFirst(frames)
	p.joined = sharedFrames(p.chain, outermostFirst(names.Modules.Frames(addr.PC(pc-1))))
	if obj, _ := names.Modules.Object(mod); obj != nil && len(frames) > 0 {
		p.LineBlock, p.stray, p.known = names.Cython.Block(obj, pc.File(mod.Bias), &frames[0])
	}
	return p
}

// function is the entry of the physical function, 0 unknown.
func (p *codePlace) function() addr.Run {
	if len(p.chain) == 0 {
		return 0
	}
	return p.chain[0].Entry.Run(p.bias)
}

// line is the line of a frame, the number of them from the outermost one. Of the innermost frame it
// is the line of the statement, of another one the line of its call.
func (p *codePlace) line(level int) frameLine {
	l := frameLine{bias: p.bias, chain: p.chain[:level], file: p.File, num: p.Line}
	if level < len(p.chain) {
		l.file, l.num = p.chain[level-1].File, p.chain[level-1].Line
	}
	return l
}

// begins reports whether a statement of the frame begins here, or a part of a call that was inlined
// into it: the parts are between the caller's code, where each is a new line.
func (p *codePlace) begins(level int) bool {
	return p.Start && p.Stmt || level < len(p.chain) && p.joined <= level
}

// beginning is the number of inlined calls of which a part begins here.
func (p *codePlace) beginning() int {
	return max(0, len(p.chain)-max(p.joined, 1))
}

func outermostFirst(frames []symbols.Frame) []symbols.Frame {
	chain := slices.Clone(frames)
	slices.Reverse(chain)
	return chain
}

// sharedFrames counts the frames that two chains have in common.
func sharedFrames(a, b []symbols.Frame) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].Entry == b[n].Entry && a[n].Function == b[n].Function && a[n].Inlined == b[n].Inlined {
		n++
	}
	return n
}

// place is placeAt, of the code that a step goes through: loops ask again.
func (st *stepper) place(pc addr.Run) *codePlace {
	p := st.code[pc]
	if p == nil {
		p = placeAt(st.s.target.Names, pc)
		st.code[pc] = p
	}
	return p
}

// behindCall is how many inlined calls begin where a call has returned to: they are inner than the
// frame that had made it.
func (s *Steps) behindCall(ret addr.Run) int {
	calls := s.target.Names.AppendFrames(nil, unwind.Frame{PC: addr.Return(ret)})
	if len(calls) == 0 {
		return 0
	}
	frames := s.target.Names.AppendFrames(nil, unwind.Frame{PC: addr.PC(ret)})
	by := calls[0]
	return max(0, slices.IndexFunc(frames, func(f names.Frame) bool { return f.Function == by.Function && f.Inlined == by.Inlined }))
}
