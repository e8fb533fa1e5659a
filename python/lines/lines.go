package lines

import (
	"cmp"
	"slices"
	"strings"
)

// Code is a code object. FirstTraceable is the offset of RESUME, 0 up to 3.10.
type Code struct {
	Minor          int
	FirstLine      int
	Bytecode       []byte // as it is in memory
	Table          []byte // of lines
	Exceptions     []byte // co_exceptiontable, from 3.11 on
	FirstTraceable int
}

// A Start is an instruction at which a line may begin, as one that is fallen or jumped into
// from another line, or jumped back to.
type Start struct {
	Offset int
	// Run is where the instructions of this line begin that lead up to it. If that is not
	// Offset itself, the line has begun already for what comes from there.
	Run int
}

// A Map knows the lines of a code object.
type Map struct {
	code   Code
	ops    *opcodes
	ranges []Range      // neighbours have different lines
	instrs []int        // offsets of instructions, with their EXTENDED_ARG
	lines  []int        // indices of ranges, by line, then by offset
	jumps  []jump       // by where they go
	raised map[int]bool // where exceptions lead
}

// A jump goes from the instruction at an offset to another, raised when an exception is.
type jump struct {
	from, to int
	raised   bool
}

// maxInstructions bounds the words of a code object that are gone through, maxJumps its jumps
// and what its exceptions lead to.
const (
	maxInstructions = 1 << 18
	maxJumps        = 1 << 15
)

// New reads a code object; false: nothing is known of the version.
func New(c Code) (*Map, bool) {
	ops := known[c.Minor]
	if ops == nil {
		return nil, false
	}
	m := &Map{code: c, ops: ops, raised: map[int]bool{}}
	Each(c.Minor, c.FirstLine, c.Table, func(r Range) bool {
		if r.End = min(r.End, len(c.Bytecode)); r.Start >= r.End {
			return false
		}
		if n := len(m.ranges); n > 0 && m.ranges[n-1].Line == r.Line && c.Minor >= 10 {
			m.ranges[n-1].End = r.End
		} else {
			m.ranges = append(m.ranges, r)
		}
		return len(m.ranges) < maxInstructions
	})
	m.decode()
	slices.SortStableFunc(m.jumps, func(a, b jump) int { return cmp.Compare(a.to, b.to) })
	for i, r := range m.ranges {
		if r.Line > 0 {
			m.lines = append(m.lines, i)
		}
	}
	slices.SortStableFunc(m.lines, func(a, b int) int { return cmp.Compare(m.ranges[a].Line, m.ranges[b].Line) })
	for _, j := range m.jumps {
		if j.raised {
			m.raised[j.to] = true
		}
	}
	return m, true
}

// decode finds the instructions and jumps.
func (m *Map) decode() {
	code, first, arg := m.code.Bytecode, -1, 0
	for at := 0; at+1 < len(code) && len(m.instrs) < maxInstructions; at += word {
		op := code[at]
		if first < 0 {
			first = at
			m.instrs = append(m.instrs, at)
		}
		arg = arg&0xffffff<<8 | int(code[at+1])
		if op == m.ops.extended {
			continue
		}
		behind := at + word
		if int(op) < len(m.ops.caches) {
			behind += int(hexDigit(m.ops.caches[op])) * word
		}
		to := -1
		switch {
		case has(m.ops.backward, op):
			to = behind - arg*m.ops.unit
		case has(m.ops.forward, op), has(m.ops.setup, op):
			if to = behind + arg*m.ops.unit; has(m.ops.loop, op) {
				to += m.ops.skipped * word
			}
		case has(m.ops.absolute, op):
			to = arg * m.ops.unit
		}
		if to >= 0 && to < len(code) && len(m.jumps) <= maxJumps {
			raised := has(m.ops.setup, op)
			m.jumps = append(m.jumps, jump{first, to, raised})
			if m.ops.finally != 0 && op == m.ops.finally {
				m.jumps = append(m.jumps, jump{to, behind, false}) // when it is done
			}
		}
		first, arg, at = -1, 0, behind-word
	}
	for _, h := range handlers(m.code.Exceptions) {
		if h.target >= len(code) || h.start < 0 || h.start >= h.end {
			continue
		}
		first, _ := slices.BinarySearchFunc(m.ranges, h.start+1, func(r Range, at int) int { return cmp.Compare(r.End, at) })
		for _, r := range m.ranges[first:] { // from each line that it is in
			if r.Start >= h.end || len(m.jumps) > maxJumps {
				break
			}
			m.jumps = append(m.jumps, jump{max(r.Start, h.start), h.target, true})
		}
	}
}

func hexDigit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

func has(list string, op byte) bool { return strings.IndexByte(list, op) >= 0 }

// Line is the line of the instruction at an offset, 0 if it has none.
func (m *Map) Line(offset int) int {
	if r := m.rangeOf(offset); r != nil {
		return r.Line
	}
	return 0
}

func (m *Map) rangeOf(offset int) *Range {
	i, found := slices.BinarySearchFunc(m.ranges, offset, func(r Range, at int) int {
		switch {
		case at < r.Start:
			return 1
		case at >= r.End:
			return -1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &m.ranges[i]
}

// Instruction is the offset of the instruction which the word at an offset belongs to.
func (m *Map) Instruction(offset int) int {
	i, found := slices.BinarySearch(m.instrs, offset)
	if !found && i > 0 {
		i--
	}
	if i >= len(m.instrs) {
		return offset
	}
	return m.instrs[i]
}

// Before is the offset of the instruction in front of one, -1 if there is none.
func (m *Map) Before(offset int) int {
	i, _ := slices.BinarySearch(m.instrs, offset)
	if i == 0 {
		return -1
	}
	return m.instrs[i-1]
}

// opcode is the opcode of the instruction at an offset.
func (m *Map) opcode(offset int) byte {
	if offset < 0 || offset >= len(m.code.Bytecode) {
		return 0
	}
	return m.code.Bytecode[offset]
}

// First is the offset of the first instruction of the body that has a line: what is before
// makes the call's frame.
func (m *Map) First() int {
	at := 0
	switch {
	case m.ops.resume != 0:
		at = m.code.FirstTraceable + word
	case m.ops.marker != 0 && m.opcode(0) == m.ops.marker:
		at = word
	}
	for _, r := range m.ranges {
		if r.Line != 0 && r.End > at {
			return max(r.Start, at)
		}
	}
	return at
}

// Next is the first line from one on that code begins at; ok is false if there is none.
func (m *Map) Next(line int) (next int, ok bool) {
	for _, next := range m.Lines() {
		if next >= line && len(m.Starts(next)) > 0 {
			return next, true
		}
	}
	return 0, false
}

// Last is the last line that code begins at, 0 if there is none.
func (m *Map) Last() (line int) {
	for i := range m.ranges {
		line = max(line, m.ranges[i].Line)
	}
	return line
}

// Starts are the instructions at which a line may begin, by their offsets.
func (m *Map) Starts(line int) (all []Start) {
	if line <= 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(m.lines, line, func(i, line int) int { return cmp.Compare(m.ranges[i].Line, line) })
	for _, i := range m.lines[first:] {
		r := m.ranges[i]
		if r.Line != line {
			break
		}
		if r.End <= m.firstBody() {
			continue
		}
		run := max(r.Start, m.firstBody())
		if m.begins(run) {
			all = append(all, Start{run, run})
		}
		for _, j := range m.jumpsTo(run+1, r.End) {
			if has(m.ops.ends, m.opcode(j.to)) ||
				!m.Event(j.from, j.to) && !(j.raised && m.code.Minor == 10) {
				continue // SETUP_WITH of 3.10 is in the line of its own handler, what raises need not be
			}
			s := Start{j.to, run}
			if !m.continues(j.to) {
				s.Run = j.to
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Start) int { return cmp.Compare(a.Offset, b.Offset) })
	return slices.Compact(all)
}

// jumpsTo are the jumps that go to offsets in [low, high).
func (m *Map) jumpsTo(low, high int) []jump {
	at := func(offset int) int {
		i, _ := slices.BinarySearchFunc(m.jumps, offset, func(j jump, to int) int { return cmp.Compare(j.to, to) })
		return i
	}
	return m.jumps[at(low):max(at(low), at(high))]
}

// begins reports whether a line can begin at the first of its neighbouring instructions. Up to 3.9
// it does whatever comes there.
func (m *Map) begins(run int) bool {
	switch {
	case has(m.ops.ends, m.opcode(run)):
		return false
	case m.code.Minor < 10 || run == m.firstBody() || m.continues(run):
		return true
	}
	return slices.ContainsFunc(m.jumpsTo(run, run+1), func(j jump) bool {
		return (m.Event(j.from, j.to) || j.raised && m.code.Minor == 10)
	})
}

// continues reports whether the instruction in front of one continues to it.
func (m *Map) continues(offset int) bool {
	at := m.Before(offset)
	if at < 0 {
		return false
	}
	for m.opcode(at) == m.ops.extended && at+word < offset {
		at += word
	}
	return !has(m.ops.away, m.opcode(at))
}

// firstBody is where lines are counted from: RESUME is a call, and no line.
func (m *Map) firstBody() int {
	if m.ops.resume != 0 {
		return m.code.FirstTraceable + word
	}
	return 0
}

// Event reports whether a line begins at an instruction that is run behind another, which is at
// prev; -1: it is the first one of its call.
func (m *Map) Event(prev, offset int) bool {
	r := m.rangeOf(offset)
	if r == nil || r.Line == 0 {
		return false
	}
	switch {
	case m.code.Minor < 10:
		return offset == r.Start || offset < prev || m.code.Minor == 9 && prev != m.Before(offset) && m.handles(offset)
	case m.code.Minor == 10:
		return prev < 0 || offset < prev || m.Line(prev) != r.Line
	}
	switch op := m.opcode(offset); {
	case offset <= m.code.FirstTraceable, has(m.ops.ends, op), op == m.ops.resume, op == m.resumeQuick():
		return false
	case prev <= m.code.FirstTraceable, m.Line(prev) != r.Line:
		return true
	default:
		return offset < prev && op != m.ops.send
	}
}

// handles reports whether an exception leads to an instruction.
func (m *Map) handles(offset int) bool { return m.raised[offset] }

// resumeQuick is the form of RESUME that the interpreter puts in its place.
func (m *Map) resumeQuick() byte {
	switch m.code.Minor {
	case 11:
		return 150 // RESUME_QUICK
	case 13:
		return 207 // RESUME_CHECK
	}
	return m.ops.resume
}

// Double reports whether the instruction at an offset, as it is in memory, runs the one behind it
// as well.
func (m *Map) Double(op byte) bool { return has(m.ops.double, op) }

// Lines are those that code begins at, ascending.
func (m *Map) Lines() (all []int) {
	for _, i := range m.lines {
		all = append(all, m.ranges[i].Line)
	}
	return slices.Compact(all)
}

// Adaptive reports whether an instruction has a cache, so that another form may be put in its place.
func (m *Map) Adaptive(op byte) bool {
	return int(op) < len(m.ops.caches) && m.ops.caches[op] != '0'
}

// Rewinds tells that a frame has not come to an instruction by executing it. Up to 3.10 a generator that
// waits for another one is set back, to execute YIELD_FROM once more when it continues; from 3.10 on
// RERAISE sets back to where the exception came from. 3.12 notes the instruction in front of the one with
// which a loop ends.
func (m *Map) Rewinds(prev, offset int) bool {
	const yieldFrom, reraise, reraise13 = 72, 119, 102
	switch op := m.opcode(prev); {
	case m.code.Minor <= 10 && op == yieldFrom:
		return offset == prev-word
	case m.code.Minor == 13 && op == reraise13, m.code.Minor >= 10 && m.code.Minor < 13 && op == reraise:
		return offset < prev && !m.handles(offset)
	case m.code.Minor == 12 && has(m.ops.loop, op): // a generator that it has run has ended: it continues behind offset
		return slices.ContainsFunc(m.jumps, func(j jump) bool {
			return j.from == prev && j.to-(m.ops.skipped+1)*word == offset
		})
	}
	return false
}
