// Package cfi compiles a module's call frame information to the table that the
// probe's walker searches inside the inferior.
//
// In a nutshell: unwind.Table has rows, each with a rule for every register. The
// walker needs three registers to find callers, rsp, rbp and rbx, so a row is
// packed into 64 bits (a [Rule]), and since few kinds occur, into the number that
// [Rules] gives the kind. A [Table] is then the addresses at which the number
// changes. [Compile] runs each FDE's program once, without allocation per row.
//
// The table says what unwind.Walker would do; the tests hold them together. What the walker in the
// inferior cannot do has a rule that says so and ends its walk as truncated: it never takes a guess
// for a fact. Two things it must do itself: a return address is looked up by the byte before it
// (addr.Code.Lookup), a PC as it is; and a return address of 0 is the end of a stack, not a
// truncated one, where the rule is rsp+8, as under Go's goexit.
package cfi

import (
	"slices"

	"hdb/internal/addr"
)

// maxRange is how many bytes of code a table can cover.
const maxRange = 1 << 32

// A Table is the rules of one module. It covers the file addresses [Low, Low+4 GiB):
// from Low+Offs[i] up to the next row, or to the end, the rule IDs[i] holds. Offs
// ascend, Offs[0] is 0, and neighbours in IDs differ.
type Table struct {
	Low  addr.File
	Offs []uint32
	IDs  []uint16
}

// At is the number of the rule at a file address, NoCFIID outside of the table.
func (t *Table) At(a addr.File) uint16 {
	if a < t.Low || a-t.Low >= maxRange || len(t.Offs) == 0 {
		return NoCFIID
	}
	return t.IDs[t.row(uint32(a-t.Low))]
}

// row is the index of the row that holds at an address relative to Low.
func (t *Table) row(off uint32) int {
	i, found := slices.BinarySearch(t.Offs, off)
	if !found {
		i = max(i-1, 0) // no table that is whole has a row above 0 first
	}
	return i
}

// add appends a row unless it says what the last one says.
func (t *Table) add(a addr.File, id uint16) {
	if n := len(t.IDs); n == 0 || t.IDs[n-1] != id {
		t.Offs = append(t.Offs, uint32(a-t.Low))
		t.IDs = append(t.IDs, id)
	}
}

// cut removes the last row if it begins at a.
func (t *Table) cut(a addr.File) {
	if n := len(t.Offs); n > 0 && t.Offs[n-1] == uint32(a-t.Low) {
		t.Offs, t.IDs = t.Offs[:n-1], t.IDs[:n-1]
	}
}

// paint makes id the rule of [low, high), which is in the table.
func (t *Table) paint(low, high addr.File, id uint16) {
	first, last := t.row(uint32(low-t.Low)), t.row(uint32(high-1-t.Low))
	var offs []uint32
	var ids []uint16
	put := func(off uint32, id uint16) {
		if n := len(ids); n > 0 && ids[n-1] == id || n == 0 && first > 0 && t.IDs[first-1] == id {
			return
		}
		offs, ids = append(offs, off), append(ids, id)
	}
	if begin := t.Offs[first]; begin < uint32(low-t.Low) {
		put(begin, t.IDs[first])
	}
	put(uint32(low-t.Low), id)
	end := last + 1
	switch {
	case high-t.Low == maxRange:
	case end == len(t.Offs) || t.Offs[end] > uint32(high-t.Low):
		put(uint32(high-t.Low), t.IDs[last])
	case t.IDs[end] == id: // the next row says the same
		end++
	}
	t.Offs = slices.Replace(t.Offs, first, end, offs...)
	t.IDs = slices.Replace(t.IDs, first, end, ids...)
}
