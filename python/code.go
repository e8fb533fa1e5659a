package python

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/python/lines"
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

// stampOf is the stamp of the code object whose struct is b.
func (in *Interpreter) stampOf(b []byte) (stamp, error) {
	l := &in.layout.Code
	s := stamp{firstLine: intIn(b, l.FirstLine), name: pointerIn(b, l.Name), table: pointerIn(b, l.Lines)}
	var err error
	if s.hash, err = in.mem.Word(s.name + addr.Run(in.layout.Text.Hash)); err != nil {
		return s, err
	}
	head, err := in.mem.Read(s.table+addr.Run(in.layout.Object.Count), len(s.head))
	copy(s.head[:], head)
	return s, err
}

// maxTable bounds a table of lines, maxTables all of an interpreter together.
const (
	maxTable  = 16 << 20
	maxTables = 64 << 20
)

// Flags of a code object: CO_COROUTINE, CO_ASYNC_GENERATOR.
const (
	coroutine      = 0x80
	asyncGenerator = 0x200
)

var errNoCode = errors.New("not a code object")

// code is the code object at an address. What was read before is used again if it is
// still that one: its memory may be another's by now.
func (in *Interpreter) code(at addr.Run) (*Code, error) {
	l := &in.layout.Code
	b, err := in.mem.Read(at, l.Size)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if pointerIn(b, in.layout.Object.Type) != in.codeType {
		return nil, fmt.Errorf("%v: %w", at, errNoCode)
	}
	now, err := in.stampOf(b)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if c := in.codes[at]; c != nil && c.stamp == now {
		return c, nil
	}
	c := &Code{At: at, FirstLine: now.firstLine, minor: in.layout.Minor, stamp: now, Coroutine: intIn(b, l.Flags)&(coroutine|asyncGenerator) != 0}
	if c.Name, err = in.mem.Text(pointerIn(b, l.Name)); err != nil {
		return nil, fmt.Errorf("code object: name: %w", err)
	}
	c.Qualname = c.Name
	if l.Qualname != 0 {
		if c.Qualname, err = in.mem.Text(pointerIn(b, l.Qualname)); err != nil {
			return nil, fmt.Errorf("code object of %s: %w", c.Name, err)
		}
		c.bytecode, c.firstTraceable = at+addr.Run(l.Instructions), intIn(b, l.FirstTraceable)
	}
	if c.File, err = in.mem.Text(pointerIn(b, l.File)); err != nil {
		return nil, fmt.Errorf("code object of %s: file: %w", c.Name, err)
	}
	if c.table, err = in.mem.Bytes(now.table); err != nil {
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
func (c *Code) line(offset int) (line int) {
	if offset < 0 {
		return c.FirstLine
	}
	lines.Each(c.minor, c.FirstLine, c.table, func(r lines.Range) bool {
		if offset < r.End {
			line = r.Line
			return false
		}
		return true
	})
	return line
}
