package desk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/values"
)

// Memory is where x continues, and how it showed what it showed last.
type Memory struct {
	next   addr.Run
	known  bool // next is set
	format byte // gdb's letter, 0: x
	size   int  // bytes of a unit, 0: 4
	Count  int
	back   bool // what is before next is shown
	// literal is bytes of a value that does not are in memory, which are shown instead; next is
	// where in them.
	literal []byte
}

// maxExamine bounds the bytes that one x reads.
const maxExamine = 16 << 20

// RunExamine is x.
func RunExamine(ctx context.Context, c *Desk, in shell.Input) error {
	m := c.Eval.memory
	spec, expr := "", in.Raw
	if strings.HasPrefix(expr, "/") {
		spec, expr = shell.SplitWord(expr[1:])
	}
	if !in.Repeated || m.Count == 0 {
		m.Count, m.back = 1, false
	}
	open, err := m.Parse(spec)
	if err != nil {
		return err
	}
	var unit values.Unit
	if expr != "" {
		m.literal = nil
		if m.next, unit, err = c.Eval.addressed(expr); err != nil {
			if m.literal, unit, err = c.Eval.literal(expr, err); err != nil {
				return err
			}
			m.next = 0
		}
		m.known = true
	}
	if !m.known {
		return errors.New("x: an address must follow: a number, $register or symbol")
	}
	if open {
		m.unsized(unit)
	}
	x := &examiner{ctx: ctx, c: c, m: &m}
	err = x.runEitherWay()
	c.Eval.memory = m
	if x.unitSize > 0 && m.literal == nil {
		c.Session.Values.Examined(x.last, x.unitSize, x.bytes)
	}
	if len(x.rows) > 0 {
		c.Show(in, struct {
			Rows []memoryRow `json:"rows"`
		}{x.rows}, x.print)
	}
	return err
}

// Parse reads N, F and U of /NFU in any order. open tells that the size depends on what is at
// the address, see unsized.
func (m *Memory) Parse(spec string) (open bool, err error) {
	if rest, back := strings.CutPrefix(spec, "-"); back {
		spec, m.back = rest, true
	}
	digits := len(spec) - len(strings.TrimLeft(spec, "0123456789"))
	if digits > 0 {
		n, err := strconv.Atoi(spec[:digits])
		if err != nil || n < 1 || n > maxExamine {
			return false, fmt.Errorf("x: %q: a number of units from 1 to %d expected", spec[:digits], maxExamine)
		}
		m.Count = n
	}
	sized := false
	for _, r := range spec[digits:] {
		switch {
		case strings.ContainsRune("xduotacfsi", r):
			m.format = byte(r)
		case strings.ContainsRune("bhwg", r):
			m.size, sized = map[rune]int{'b': 1, 'h': 2, 'w': 4, 'g': 8}[r], true
		default:
			return false, fmt.Errorf("x: unknown letter %q: formats are x d u o t a c f s i, sizes b h w g", string(r))
		}
	}
	if m.format == 0 {
		m.format = 'x'
	}
	switch {
	case m.format == 'a':
		m.size = 8
	case sized:
	case m.format == 'c':
		m.size = 1
	case m.format == 'i':
	default:
		open = true
	}
	return open, nil
}

// unsized chooses a size where none was given: the object's at the address, or the last one.
func (m *Memory) unsized(unit values.Unit) {
	switch {
	case m.format == 's':
		m.size = max(unit.Char, 1)
	case unit.Char > 0 && m.format != 'f':
		m.size = cmp.Or(m.size, unit.Char)
	case unit.Size > 0 && (unit.Float || m.format != 'f'):
		m.size = unit.Size
	case m.format == 'f' && m.size < 4:
		m.size = 8
	case m.size == 0:
		m.size = 4
	}
}

type memoryRow struct {
	Addr   string   `json:"address"`
	Symbol string   `json:"symbol,omitempty"`
	Values []string `json:"values"`
}

// examiner reads memory and makes rows of it.
type examiner struct {
	ctx  context.Context // of the command
	c    *Desk
	m    *Memory
	rows []memoryRow

	last     addr.Run // the unit that was shown last,
	unitSize int      // its bytes, 0: none was
	bytes    []byte   // and what they are
}

// shown notes the unit at the address where x continues, for $_ and $__.
func (x *examiner) shown(size int, b []byte) { x.last, x.unitSize, x.bytes = x.m.next, size, b }

func (x *examiner) run() error {
	switch x.m.format {
	case 's':
		return x.strings()
	case 'i':
		return x.instructions()
	}
	return x.units()
}

// units shows numbers, as many to a row as gdb.
func (x *examiner) units() error {
	if x.m.Count*x.m.size > maxExamine {
		return fmt.Errorf("x: more than %s at once", x.c.Out.Sizes.Long(maxExamine))
	}
	perRow := map[int]int{1: 8, 2: 8, 4: 4, 8: 2}[x.m.size]
	switch x.m.format {
	case 'a':
		perRow = 2
	case 't':
		perRow = max(1, 8/x.m.size)
	}
	b, err := x.read(x.m.Count * x.m.size)
	for i := 0; i+x.m.size <= len(b); i += x.m.size {
		if i%(perRow*x.m.size) == 0 {
			x.row()
		}
		row := &x.rows[len(x.rows)-1]
		row.Values = append(row.Values, x.unit(b[i:i+x.m.size]))
		x.shown(x.m.size, b[i:i+x.m.size])
		x.m.next += addr.Run(x.m.size)
	}
	return err
}

// read reads bytes where x continues.
func (x *examiner) read(n int) ([]byte, error) {
	if x.m.literal == nil {
		return x.c.Session.Memory.Read(x.m.next, n)
	}
	b := x.m.literal[min(int(x.m.next), len(x.m.literal)):]
	if len(b) == 0 || len(b) < n && x.m.format != 's' {
		return b, fmt.Errorf("x: the value has %d bytes, and is not in memory", len(x.m.literal))
	}
	return b[:min(n, len(b))], nil
}

func (x *examiner) row() {
	if x.m.literal != nil {
		x.rows = append(x.rows, memoryRow{Addr: fmt.Sprintf("+%d", x.m.next)})
		return
	}
	r := memoryRow{Addr: x.m.next.String()}
	if sym, err := x.c.Session.Names().Symbols.At(x.m.next); err == nil {
		r.Symbol = SymbolText(sym.Name, sym.Offset)
	}
	x.rows = append(x.rows, r)
}

// SymbolText is the symbol at an address as <NAME+OFFSET>, "" without one.
func SymbolText(name string, offset uint64) string {
	if offset == 0 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, offset)
}

// unit formats one number of 1, 2, 4 or 8 bytes.
func (x *examiner) unit(b []byte) string {
	var buf [8]byte
	copy(buf[:], b)
	v := binary.LittleEndian.Uint64(buf[:])
	bits := 8 * len(b)
	signed := int64(v<<(64-bits)) >> (64 - bits)
	switch x.m.format {
	case 'd':
		return strconv.FormatInt(signed, 10)
	case 'u':
		return strconv.FormatUint(v, 10)
	case 'o':
		return fmt.Sprintf("%#o", v)
	case 't':
		return fmt.Sprintf("%0*b", bits, v)
	case 'c':
		return fmt.Sprintf("%d %s", signed, values.CharText(b[0]))
	case 'f':
		if len(b) < 4 { // no floating-point number has so few: gdb shows an integer
			return strconv.FormatInt(signed, 10)
		}
		return values.FloatText(b)
	case 'a':
		if sym, err := x.c.Session.Names().Symbols.At(addr.Run(v)); err == nil {
			return fmt.Sprintf("%#x <%s>", v, SymbolText(sym.Name, sym.Offset))
		}
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprintf("0x%0*x", 2*len(b), v)
}

// maxString bounds a string that may have no end.
const maxString = 4096

func (x *examiner) strings() error {
	for range x.m.Count {
		if x.ctx.Err() != nil {
			return shell.ErrInterrupted
		}
		b, err := x.read(maxString)
		if b = b[:len(b)/x.m.size*x.m.size]; len(b) == 0 {
			return err
		}
		x.row()
		x.shown(x.m.size, b)
		row := &x.rows[len(x.rows)-1]
		end := bytes.IndexByte(b, 0)
		if x.m.size > 1 {
			end = endOfWide(b, x.m.size)
		}
		if end < 0 {
			row.Values = []string{textOf(b, x.m.size) + "..."}
			x.m.next += addr.Run(len(b))
			continue
		}
		row.Values = []string{textOf(b[:end], x.m.size)}
		x.m.next += addr.Run(end + x.m.size)
	}
	return nil
}

// endOfWide is where the first null character of that number of bytes is, -1 without one.
func endOfWide(b []byte, size int) int {
	for i := 0; i < len(b); i += size {
		if !bytes.ContainsFunc(b[i:i+size], func(r rune) bool { return r != 0 }) {
			return i
		}
	}
	return -1
}

// textOf is a text of characters of that number of bytes each, in quotes, with gdb's prefix of wide
// ones.
func textOf(b []byte, size int) string {
	var text []rune
	switch size {
	case 2:
		var units []uint16
		for i := 0; i < len(b); i += 2 {
			units = append(units, binary.LittleEndian.Uint16(b[i:]))
		}
		return "u" + strconv.Quote(string(utf16.Decode(units)))
	case 4:
		for i := 0; i < len(b); i += 4 {
			text = append(text, rune(binary.LittleEndian.Uint32(b[i:])))
		}
		return "U" + strconv.Quote(string(text))
	}
	return strconv.Quote(string(b))
}

func (x *examiner) instructions() error {
	for range x.m.Count {
		if x.ctx.Err() != nil {
			return shell.ErrInterrupted
		}
		b, err := x.c.Session.Memory.Read(x.m.next, MaxInstruction)
		if len(b) == 0 {
			return err
		}
		x.row()
		x.shown(1, b)
		inst := decodeInstruction(b, x.m.next, x.c.SymbolText)
		x.rows[len(x.rows)-1].Values = []string{inst.Text}
		x.m.next += addr.Run(len(inst.Code))
	}
	return nil
}

func (x *examiner) print(o *screen.Output) {
	pc := ""
	if f, err := x.c.Session.Selection.Frame(); err == nil && x.m.format == 'i' {
		pc = f.Code.Addr().String()
	}
	for _, r := range x.rows {
		mark := "   "
		if x.m.format != 'i' {
			mark = ""
		} else if r.Addr == pc {
			mark = "=> "
		}
		row := []screen.Span{screen.Arrow(mark), screen.Addr(r.Addr)}
		if r.Symbol != "" {
			row = append(row, screen.Func(" <"+r.Symbol+">"))
		}
		row = append(row, screen.Plain(":"))
		for _, v := range r.Values {
			row = append(row, screen.Plain("  "+v))
		}
		o.Line(row...)
	}
}

// SizeLetters are the bytes of numbers by gdb's letters.
var SizeLetters = map[rune]int{'b': 1, 'h': 2, 'w': 4, 'g': 8}
