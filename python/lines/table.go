package lines

import "math"

// A Range is consecutive instructions of one line.
type Range struct {
	Start, End int // offsets, [Start, End)
	Line       int // 0: they belong to none
}

// noEnd is the End of the last range where the table does not tell it.
const noEnd = math.MaxInt32

// word is the size of an instruction without its cache, bytes.
const word = 2

// Each calls yield with the ranges of a table of lines in their order, until it returns false:
// co_lnotab up to 3.9, co_linetable of 3.10, and the one of 3.11 and later. Neighbours may have the
// same line.
func Each(minor, firstLine int, table []byte, yield func(Range) bool) {
	switch {
	case minor < 10:
		pairs(firstLine, table, yield)
	case minor == 10:
		ranges(firstLine, table, yield)
	default:
		locations(firstLine, table, yield)
	}
}

// pairs reads increments of offset and line (Objects/lnotab_notes.txt of 3.9). A range ends
// where the line is changed.
func pairs(line int, t []byte, yield func(Range) bool) {
	r := Range{Line: line}
	for at := 0; len(t) >= 2; t = t[2:] {
		at += int(t[0])
		step := int(int8(t[1]))
		if step == 0 {
			continue
		}
		if r.End = at; r.End > r.Start {
			if !yield(r) {
				return
			}
			r.Start = at
		}
		r.Line += step
	}
	r.End = noEnd
	yield(r)
}

// ranges reads pairs of a range's length and its line's distance from the one before, -128
// for no line (PEP 626, Objects/lnotab_notes.txt of 3.10).
func ranges(line int, t []byte, yield func(Range) bool) {
	start := 0
	for ; len(t) >= 2; t = t[2:] {
		step, end := int(int8(t[1])), start+int(t[0])
		r := Range{start, end, 0}
		if step != math.MinInt8 {
			line += step
			r.Line = line
		}
		if end > start && !yield(r) {
			return
		}
		start = end
	}
}

// Kinds of an entry of the table of locations.
const (
	locationNone    = 15
	locationLong    = 14
	locationNoCol   = 13
	locationOneLine = 10 // 10, 11 and 12: 0, 1 or 2 lines further
)

// locations reads the table of 3.11 and later (Objects/locations.md). An entry begins with a
// byte whose top bit is set.
func locations(line int, t []byte, yield func(Range) bool) {
	start := 0
	for len(t) > 0 {
		first := t[0]
		t = t[1:]
		kind := int(first >> 3 & 15)
		switch {
		case kind == locationLong || kind == locationNoCol:
			line += signed(t)
		case kind >= locationOneLine && kind < locationNoCol:
			line += kind - locationOneLine
		}
		for len(t) > 0 && t[0]&0x80 == 0 {
			t = t[1:]
		}
		r := Range{start, start + (int(first&7)+1)*word, line}
		if kind == locationNone {
			r.Line = 0
		}
		if !yield(r) {
			return
		}
		start = r.End
	}
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

// A handler is where an exception in [start, end) leads.
type handler struct{ start, end, target int }

// handlers reads co_exceptiontable (Objects/exception_handling_notes.txt): start, length,
// target and depth of each, in words, in 6 bits a byte with the highest first. The first byte of an entry has
// its top bit set.
func handlers(t []byte) (all []handler) {
	for len(t) > 0 {
		var n [4]int
		for i := range n {
			for more := true; more && len(t) > 0; t = t[1:] {
				n[i] = (n[i]<<6 | int(t[0]&63)) & math.MaxInt32
				more = t[0]&64 != 0
			}
		}
		all = append(all, handler{n[0] * word, (n[0] + n[1]) * word, n[2] * word})
	}
	return all
}
