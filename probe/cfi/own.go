package cfi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"hdb/internal/addr"
	"hdb/unwind"
)

// An Own is a table with a numbering of rules of its own, in the order of their first
// use. It does not depend on what other modules there are: modules can be compiled side
// by side, and kept for the next process.
type Own struct {
	low     addr.File
	rules   []Rule
	numRows int
	rows    []byte // encoded
	encoded []byte // the whole
}

// CompileOwn is Compile without the numbers of an inferior's rules.
func CompileOwn(t *unwind.Table, low, high addr.File, code io.ReaderAt) (*Own, error) {
	rules := NewRules()
	table, err := Compile(t, low, high, code, rules)
	if err != nil {
		return nil, err
	}
	return Decode(encode(table, rules.List()), low)
}

// Rows is how many rows the table has at most.
func (o *Own) Rows() int { return o.numRows }

// Table is what Compile would have made with these rules: new ones get the next
// numbers in the order of their first use. Its rows are put where offs and ids are,
// which have room for Rows. An error says that the table was not encoded by this package.
func (o *Own) Table(rules *Rules, offs []uint32, ids []uint16) (*Table, error) {
	offs, ids = offs[:o.numRows], ids[:o.numRows]
	if err := o.decodeRows(offs, ids); err != nil {
		return nil, err
	}
	numbers := make([]uint16, len(o.rules))
	for i, rule := range o.rules {
		numbers[i] = rules.ID(rule)
	}
	n := 0
	for i, own := range ids {
		if id := numbers[own]; n == 0 || ids[n-1] != id { // rules without a number of their own are all one
			offs[n], ids[n] = offs[i], id
			n++
		}
	}
	return &Table{Low: o.low, Offs: offs[:n], IDs: ids[:n]}, nil
}

// decodeRows fills in the offsets of all rows, and the table's own numbers of their rules.
func (o *Own) decodeRows(offs []uint32, ids []uint16) error {
	b, size := o.rows, rowSize(len(o.rules))
	off, last := uint64(0), -1
	for i := range o.numRows {
		if len(b) < size {
			return fmt.Errorf("row %d: %w", i, errEncoding)
		}
		by, own := uint64(b[0])|uint64(b[1])<<8, int(b[2])
		if size > 3 {
			own |= int(b[3]) << 8
		}
		b = b[size:]
		if by == 0 && i > 0 {
			if len(b) < 4 {
				return fmt.Errorf("row %d: %w", i, errEncoding)
			}
			by, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		}
		off += by
		if (by == 0) != (i == 0) || off > math.MaxUint32 || own == last || own >= len(o.rules) {
			return fmt.Errorf("row %d: %w", i, errEncoding)
		}
		last = own
		offs[i], ids[i] = uint32(off), uint16(own)
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes behind the rows: %w", len(b), errEncoding)
	}
	return nil
}

// ownHeader is three uint64: the number of rules, the number of rows, and the table's Low.
const ownHeader = 24

// Encode is the table as Decode reads it.
func (o *Own) Encode() []byte { return o.encoded }

// encode writes a table: the header, the rules, uint64 each, and the rows; all is
// little-endian. A row is the distance from the one before as uint16, 0 if that is too short, the
// rule's number, a byte if that is enough for all rules and else two, and the distance as
// uint32 behind a 0 in all but the first row.
func encode(t *Table, rules []Rule) []byte {
	le := binary.LittleEndian
	size := rowSize(len(rules))
	b := make([]byte, 0, ownHeader+8*len(rules)+(size+1)*len(t.Offs))
	for _, v := range []uint64{uint64(len(rules)), uint64(len(t.Offs)), uint64(t.Low)} {
		b = le.AppendUint64(b, v)
	}
	for _, r := range rules {
		b = le.AppendUint64(b, uint64(r))
	}
	before := uint32(0)
	for i, off := range t.Offs {
		by := off - before
		near := uint16(by)
		if by > math.MaxUint16 {
			near = 0
		}
		b = append(le.AppendUint16(b, near), byte(t.IDs[i]))
		if size > 3 {
			b = append(b, byte(t.IDs[i]>>8))
		}
		if near == 0 && i > 0 {
			b = le.AppendUint32(b, by)
		}
		before = off
	}
	return b
}

// rowSize is how many bytes a row has at least.
func rowSize(rules int) int {
	if rules > 1<<8 {
		return 4
	}
	return 3
}

var errEncoding = errors.New("no table that was encoded here")

// Decode reads what Encode wrote of a module with code from low on. Whatever the bytes
// are, the result is an error, here or of Table, or a table as its comment says. They
// belong to the Own.
func Decode(b []byte, low addr.File) (*Own, error) {
	le := binary.LittleEndian
	if len(b) < ownHeader {
		return nil, errEncoding
	}
	numRules, numRows, rest := le.Uint64(b), le.Uint64(b[8:]), b[ownHeader:]
	if numRules > maxRules || addr.File(le.Uint64(b[16:])) != low || uint64(len(rest)) < 8*numRules {
		return nil, errEncoding
	}
	rows := rest[8*numRules:]
	if numRows == 0 || numRows > uint64(len(rows)/rowSize(int(numRules))) {
		return nil, errEncoding
	}
	o := &Own{low: low, rules: make([]Rule, numRules), numRows: int(numRows), rows: rows, encoded: b}
	for i := range o.rules {
		o.rules[i] = Rule(le.Uint64(rest[8*i:]))
		if o.rules[i].Form() > lastForm {
			return nil, fmt.Errorf("rule %d: %w", i, errEncoding)
		}
	}
	return o, nil
}
