package layout

import (
	"encoding/binary"

	"hdb/internal/addr"
)

func word(b []byte, at int) uint64      { return binary.LittleEndian.Uint64(b[at:]) }
func pointer(b []byte, at int) addr.Run { return addr.Run(word(b, at)) }

// Text is of PyASCIIObject, PyCompactUnicodeObject and PyUnicodeObject.
type Text struct {
	Length, Hash, State  int
	ASCII, Compact, Size int // of the three structs
	UTF8Length, UTF8     int
	WideLength, Wide     int // up to 3.11
}

// A TextState is what the state of a str object says.
type TextState struct {
	Width   int  // bytes of a character
	Compact bool // the characters are behind the struct
	ASCII   bool
	Ready   bool // up to 3.11
}

// StateOf is the state of a str object whose struct begins with b.
func (t *Text) StateOf(b []byte) TextState {
	s := b[t.State] // two bits of interned, three of the kind
	return TextState{Width: int(s >> 2 & 7), Compact: s&(1<<5) != 0, ASCII: s&(1<<6) != 0, Ready: s&(1<<7) != 0}
}

// Int is of PyLongObject: a count with a sign, and digits.
type Int struct {
	Digits int
	Tagged bool // the count is lv_tag, from 3.12 on
}

// DigitBits are those of a digit, DigitSize its bytes.
const (
	DigitBits = 30
	DigitSize = 4
)

// Count is how many digits an int has whose count is a word, and whether it is negative. Nonsense is below 0.
func (l *Int) Count(n uint64) (digits int64, negative bool) {
	if l.Tagged {
		return int64(n >> 3), n&3 == 2
	}
	if int64(n) < 0 {
		return -int64(n), true
	}
	return int64(n), false
}
