package python

import (
	"errors"
	"fmt"
	"math"

	"hdb/internal/addr"
)

// A Code is a code object: what a function or a module was compiled to.
type Code struct {
	At        addr.Run
	Name      string // of the function alone
	Qualname  string // with the classes and functions it is in; Name up to 3.10
	File      string
	FirstLine int
	Coroutine bool // of async def

	minor          int
	bytecode       addr.Run // from 3.11 on
	firstTraceable int
	table          []byte
	stamp          stamp
}

// A stamp tells a code object from one that has its memory after it.
type stamp struct {
	firstLine   int
	name, table addr.Run
	hash        uint64   // that the name keeps of its text
	head        [32]byte // of the line table: its length, its hash, and how it begins
}

// stampOf is that of the code object whose struct is b.
func (in *Interpreter) stampOf(b []byte) (stamp, error) {
	l := &in.layout.code
	s := stamp{firstLine: intIn(b, l.firstLine), name: pointerIn(b, l.name), table: pointerIn(b, l.lines)}
	var err error
	if s.hash, err = in.mem.word(s.name + textHash); err != nil {
		return s, err
	}
	head, err := in.mem.read(s.table+varSize, len(s.head))
	copy(s.head[:], head)
	return s, err
}

// maxTable bounds a table of lines, maxTables all of an interpreter together, maxText the
// characters of names.
const (
	maxTable  = 16 << 20
	maxTables = 64 << 20
	maxText   = 4096
)

// Flags of a code object: CO_COROUTINE, CO_ASYNC_GENERATOR.
const (
	coroutine      = 0x80
	asyncGenerator = 0x200
)

var errNoCode = errors.New("no code object is there")

// code is the code object at an address. What was read before is used again if it is
// still that one: its memory may be another's by now.
func (in *Interpreter) code(at addr.Run) (*Code, error) {
	l := &in.layout.code
	b, err := in.mem.read(at, l.size)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if pointerIn(b, objectType) != in.codeType {
		return nil, fmt.Errorf("%v: %w", at, errNoCode)
	}
	now, err := in.stampOf(b)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if c := in.codes[at]; c != nil && c.stamp == now {
		return c, nil
	}
	c := &Code{At: at, FirstLine: now.firstLine, minor: in.layout.minor, stamp: now, Coroutine: intIn(b, l.flags)&(coroutine|asyncGenerator) != 0}
	if c.Name, err = in.Text(pointerIn(b, l.name)); err != nil {
		return nil, fmt.Errorf("code object: name: %w", err)
	}
	c.Qualname = c.Name
	if l.qualname != 0 {
		if c.Qualname, err = in.Text(pointerIn(b, l.qualname)); err != nil {
			return nil, fmt.Errorf("code object of %s: %w", c.Name, err)
		}
		c.bytecode, c.firstTraceable = at+addr.Run(l.bytecode), intIn(b, l.firstTraceable)
	}
	if c.File, err = in.Text(pointerIn(b, l.file)); err != nil {
		return nil, fmt.Errorf("code object of %s: file: %w", c.Name, err)
	}
	if c.table, err = in.bytes(now.table); err != nil {
		return nil, fmt.Errorf("code object of %s: lines: %w", c.Name, err)
	}
	if in.tables += len(c.table); in.tables > maxTables {
		return nil, fmt.Errorf("code objects: more than %d MiB of line tables", maxTables>>20)
	}
	in.codes[at] = c
	return c, nil
}

// line is the line of the instruction at an offset of the bytecode, 0 if it has none. One
// before the first has not begun: it is at the first line.
func (c *Code) line(offset int) int {
	if offset < 0 {
		return c.FirstLine
	}
	switch {
	case c.minor < 10:
		return c.lineOfPairs(offset)
	case c.minor == 10:
		return c.lineOfRanges(offset)
	}
	return c.lineOfLocations(offset)
}

// lineOfPairs reads co_lnotab: pairs of increments of offset and line
// (Objects/lnotab_notes.txt of 3.9).
func (c *Code) lineOfPairs(offset int) int {
	line, at := c.FirstLine, 0
	for t := c.table; len(t) >= 2; t = t[2:] {
		if at += int(t[0]); at > offset {
			break
		}
		line += int(int8(t[1]))
	}
	return line
}

// lineOfRanges reads co_linetable of 3.10: pairs of a range's length and its line's
// distance from the one before, -128 for no line (PEP 626, Objects/lnotab_notes.txt).
func (c *Code) lineOfRanges(offset int) int {
	line, end := c.FirstLine, 0
	for t := c.table; len(t) >= 2; t = t[2:] {
		step := int(int8(t[1]))
		if step != math.MinInt8 {
			line += step
		}
		if end += int(t[0]); offset < end {
			if step == math.MinInt8 {
				return 0
			}
			return line
		}
	}
	return 0
}

// Kinds of an entry of the table of locations.
const (
	locationNone    = 15
	locationLong    = 14
	locationNoCol   = 13
	locationOneLine = 10 // 10, 11 and 12: 0, 1 or 2 lines further
)

// lineOfLocations reads co_linetable from 3.11 on (Objects/locations.md). An entry begins
// with a byte whose top bit is set.
func (c *Code) lineOfLocations(offset int) int {
	line, end := c.FirstLine, 0
	for t := c.table; len(t) > 0; {
		first := t[0]
		t = t[1:]
		kind := int(first >> 3 & 15)
		switch {
		case kind == locationLong || kind == locationNoCol:
			n := signed(t)
			line += n
		case kind >= locationOneLine && kind < locationNoCol:
			line += kind - locationOneLine
		}
		for len(t) > 0 && t[0]&0x80 == 0 {
			t = t[1:]
		}
		if end += (int(first&7) + 1) * instructionSize; offset < end {
			if kind == locationNone {
				return 0
			}
			return line
		}
	}
	return 0
}

// signed is the number in 6 bits a byte, the lowest first, whose lowest bit is its sign.
func signed(t []byte) int {
	n := uint(0)
	for i, b := range t {
		if n |= uint(b&63) << (6 * i); b&64 == 0 || i == 5 {
			break
		}
	}
	if n&1 != 0 {
		return -int(n >> 1)
	}
	return int(n >> 1)
}
