package cfi

import (
	"fmt"
	"io"

	"hdb/internal/addr"
	"hdb/unwind"
)

// Compile compiles all rows of t in [low, high), the module's executable range as file
// addresses; everything else is NoCFI. t is nil for a module without CFI.
//
// code is the module's memory by file address; the file's bytes will do, and reading
// them does not make all code of the inferior resident. It is searched whole for signal
// trampolines, which a libc may leave without CFI, and read where a PLT has none; nil
// leaves both NoCFI.
//
// Damaged CFI makes gaps, never an error. It is one when the range is empty or
// larger than a table can cover.
func Compile(t *unwind.Table, low, high addr.File, code io.ReaderAt, rules *Rules) (*Table, error) {
	if low >= high || high-low > maxRange {
		return nil, fmt.Errorf("compile CFI: %d bytes of code at %v, not 1 to 4 GiB", int64(high-low), low)
	}
	c := compiler{
		cfi: t, code: code, rules: rules,
		table: Table{Low: low}, low: low, high: high, pos: low,
	}
	// A row takes 30 to 55 bytes of compiled code.
	rows := min(uint64(high-low)/48, 1<<20)
	c.table.Offs, c.table.IDs = make([]uint32, 0, rows), make([]uint16, 0, rows)
	if t != nil {
		c.entry, c.plt = t.EntryCode(), t.PLT()[:min(maxPLTs, len(t.PLT()))]
		t.Rows(c.row)
	}
	c.gap(high)
	if high-low < maxRange {
		c.table.add(high, NoCFIID)
	}
	c.trampolines()
	c.switches()
	table := c.table // without the compiler
	return &table, nil
}

// switches paints the rows of code that calls on another stack over those of the CFI.
func (c *compiler) switches() {
	if c.cfi == nil {
		return
	}
	for _, s := range c.cfi.Switches() {
		if low, high := max(s.Low, c.low), min(s.High, c.high); low < high {
			c.table.paint(low, high, c.id(ruleOf(&s)))
		}
	}
}

// maxPLTs bounds the work for section headers made up. A module has three at most.
const maxPLTs = 8

// A compiler makes one table, in ascending order of addresses.
type compiler struct {
	cfi       *unwind.Table
	code      io.ReaderAt
	rules     *Rules
	low, high addr.File
	table     Table
	pos       addr.File // where the next row begins

	entry unwind.Range
	plt   []unwind.Range

	function addr.File // end of the latest row's FDE
	signal   bool      // the latest row was one with the augmentation S

	cache [256]cached
}

// A cached is a rule and its number, one more so that 0 is none.
type cached struct {
	rule Rule
	id   uint32
}

// id is rules.ID, mostly without its lock and its map.
func (c *compiler) id(rule Rule) uint16 {
	e := &c.cache[uint64(rule)*0x9e3779b97f4a7c15>>56] // Fibonacci hashing
	if e.rule != rule || e.id == 0 {
		*e = cached{rule, uint32(c.rules.ID(rule)) + 1}
	}
	return uint16(e.id - 1)
}

// row adds a row of CFI and what is before it; false behind the range.
func (c *compiler) row(row *unwind.Row) bool {
	if row.High <= c.low {
		return true
	}
	if row.Low >= c.high {
		return false
	}
	id := c.id(ruleOf(row))
	low := max(row.Low, c.low)
	begin := low
	if row.Signal && low > c.low && (low > c.pos || !c.signal && c.function <= low) {
		begin-- // a handler returns to its first instruction, which is looked up by the byte before
	}
	switch {
	case begin > c.pos:
		c.gap(begin)
	case begin < c.pos:
		c.table.cut(begin)
	}
	c.table.add(begin, id)
	c.pos = min(row.High, c.high)
	c.function, c.signal = row.Function.High, row.Signal
	return true
}

// gap says of the code from pos to high what is known without CFI.
func (c *compiler) gap(high addr.File) {
	for c.pos < high {
		end := high
		inEntry, inPLT := false, false
		look := func(r unwind.Range, in *bool) {
			switch {
			case r.Contains(c.pos):
				*in = true
				end = min(end, r.High)
			case c.pos < r.Low:
				end = min(end, r.Low)
			}
		}
		look(c.entry, &inEntry)
		for _, r := range c.plt {
			look(r, &inPLT)
		}
		switch {
		case inEntry:
			c.table.add(c.pos, EntryID)
		case inPLT && c.code != nil:
			c.pltEntries(c.pos, end)
		default:
			c.table.add(c.pos, NoCFIID)
		}
		c.pos = end
	}
}

// pltEntries adds the rows of PLT entries without CFI. What is no instruction of them
// belongs to the one before.
func (c *compiler) pltEntries(low, high addr.File) {
	const chunk = 16 << 10
	var buf [unwind.PLTBack + chunk + unwind.PLTAhead]byte
	id := NoCFIID
	for inside := 0; low < high; low += chunk { // inside: bytes up to the next instruction
		size := min(chunk, high-low)
		code := buf[:unwind.PLTBack+size+unwind.PLTAhead]
		n := c.read(code, low-unwind.PLTBack)
		if n == 0 { // a mapping may begin with the first entry
			clear(code[:unwind.PLTBack])
			n = unwind.PLTBack + c.read(code[unwind.PLTBack:], low)
		}
		for i := range int(size) {
			if inside = max(inside-1, 0); inside == 0 && n >= i+unwind.PLTBack+unwind.PLTAhead {
				depth, length := unwind.PLTDepth((*[unwind.PLTBack + unwind.PLTAhead]byte)(code[i:]))
				if length != 0 {
					id = c.id(NewRule(SP, 8+int32(depth), 0, 0, 0))
					inside = length
				}
			}
			c.table.add(low+addr.File(i), id)
		}
		if n < len(code) {
			return
		}
	}
}

// read reads code as far as it can be read.
func (c *compiler) read(b []byte, a addr.File) int {
	n, _ := c.code.ReadAt(b, int64(a))
	return max(0, min(n, len(b)))
}

const (
	// maxTrampolines bounds the work for code made to look like them. A module has one.
	maxTrampolines = 64
	trampolineSize = 16 // bytes; more than any
)

// trampolines finds signal trampolines that have no CFI of their own.
func (c *compiler) trampolines() {
	if c.code == nil {
		return
	}
	text := []unwind.Range{{Low: c.low, High: c.high}}
	if c.cfi != nil && len(c.cfi.Text()) > 0 {
		text = c.cfi.Text()
	}
	left := maxTrampolines
	buf := make([]byte, min(256<<10, c.high-c.low))
	done := c.low
	for _, r := range text {
		low, high := max(r.Low, done), min(r.High, c.high)
		done = max(done, high)
		for low < high && left > 0 {
			n := c.read(buf[:min(addr.File(len(buf)), high-low)], low)
			unwind.Trampolines(buf[:n], func(at, length int) bool {
				c.trampoline(low+addr.File(at), addr.File(length))
				left--
				return left > 0
			})
			if n <= trampolineSize {
				break // the end, or nothing can be read
			}
			low += addr.File(n - trampolineSize) // one may lie across
		}
	}
}

// trampoline marks one as far as it has no CFI. The handler returns to its first
// instruction, which is looked up by the byte before: whose that is, if it is a
// function's last one, does not matter, as in unwind.Walker.
func (c *compiler) trampoline(low, length addr.File) {
	for a := low; a < min(low+length, c.high); a++ {
		if c.table.At(a) == NoCFIID {
			c.table.paint(a, a+1, SignalID)
		}
	}
	if low == c.low {
		return
	}
	var before, row unwind.Row
	var known bool
	if c.cfi != nil {
		before, known = c.cfi.RowAt(low - 1)
		row, _ = c.cfi.RowAt(low)
	}
	switch {
	case row.Signal: // its CFI says what it is
	case known && (before.Signal || low < before.Function.High):
	case !known && c.entry.Contains(low-1):
	default:
		c.table.paint(low-1, low, SignalID)
	}
}
