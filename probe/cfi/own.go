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
	table Table
	rules []Rule
}

// CompileOwn is Compile without the numbers of an inferior's rules.
func CompileOwn(t *unwind.Table, low, high addr.File, code io.ReaderAt) (*Own, error) {
	rules := NewRules()
	table, err := Compile(t, low, high, code, rules)
	if err != nil {
		return nil, err
	}
	return &Own{*table, rules.List()}, nil
}

// Table is what Compile would have made with these rules: new ones get the next
// numbers in the order of their first use. Own is used up.
func (o *Own) Table(rules *Rules) *Table {
	numbers := make([]uint16, len(o.rules))
	for i, rule := range o.rules {
		numbers[i] = rules.ID(rule)
	}
	t := &o.table
	n := 0
	for i, id := range t.IDs {
		id = numbers[id]
		if n > 0 && t.IDs[n-1] == id { // rules without a number of their own are all one
			continue
		}
		t.Offs[n], t.IDs[n] = t.Offs[i], id
		n++
	}
	t.Offs, t.IDs = t.Offs[:n], t.IDs[:n]
	return t
}

// ownHeader is three uint64: the number of rules, that of rows, and the table's Low.
const ownHeader = 24

// Encode writes the table: the header, the rules (uint64 each), the rows' offsets
// (uint32 each), their rules' numbers (uint16 each), all little-endian.
func (o *Own) Encode() []byte {
	le := binary.LittleEndian
	t := &o.table
	b := make([]byte, 0, ownHeader+8*len(o.rules)+6*len(t.Offs))
	for _, v := range []uint64{uint64(len(o.rules)), uint64(len(t.Offs)), uint64(t.Low)} {
		b = le.AppendUint64(b, v)
	}
	for _, r := range o.rules {
		b = le.AppendUint64(b, uint64(r))
	}
	for _, off := range t.Offs {
		b = le.AppendUint32(b, off)
	}
	for _, id := range t.IDs {
		b = le.AppendUint16(b, id)
	}
	return b
}

var errEncoding = errors.New("no table that Encode has written")

// Decode reads what Encode wrote of a module with code from low on. Whatever the bytes
// are, the result is an error or a table as its comment says.
func Decode(b []byte, low addr.File) (*Own, error) {
	le := binary.LittleEndian
	if len(b) < ownHeader {
		return nil, errEncoding
	}
	numRules, numRows := le.Uint64(b), le.Uint64(b[8:])
	if numRules > maxRules || numRows == 0 || numRows > math.MaxUint32 ||
		addr.File(le.Uint64(b[16:])) != low || uint64(len(b)) != ownHeader+8*numRules+6*numRows {
		return nil, errEncoding
	}
	o := &Own{Table{Low: low, Offs: make([]uint32, numRows), IDs: make([]uint16, numRows)}, make([]Rule, numRules)}
	b = b[ownHeader:]
	for i := range o.rules {
		o.rules[i] = Rule(le.Uint64(b[8*i:]))
		if o.rules[i].Form() > Entry {
			return nil, fmt.Errorf("rule %d: %w", i, errEncoding)
		}
	}
	b = b[8*numRules:]
	offs, ids := b[:4*numRows], b[4*numRows:]
	for i := range o.table.Offs {
		off, id := le.Uint32(offs[4*i:]), le.Uint16(ids[2*i:])
		ascends := i == 0 && off == 0 || i > 0 && off > o.table.Offs[i-1] && id != o.table.IDs[i-1]
		if !ascends || uint64(id) >= numRules {
			return nil, fmt.Errorf("row %d: %w", i, errEncoding)
		}
		o.table.Offs[i], o.table.IDs[i] = off, id
	}
	return o, nil
}
