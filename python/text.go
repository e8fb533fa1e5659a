package python

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"hdb/internal/addr"
)

// Offsets that all versions share: of PyObject, PyVarObject, PyBytesObject and
// PyASCIIObject.
const (
	objectType  = 8
	varSize     = 16
	bytesData   = 32
	textLength  = 16
	textState   = 32
	textCompact = 1 << 5 // of the state's bits, behind two of interned and three of the kind
	textASCII   = 1 << 6
)

var errNoText = errors.New("no str object is there")

// Text is the characters of a str object, cut after maxText. Surrogates, which stand for
// bytes of file names that are no text, are written as U+FFFD.
func (in *Interpreter) Text(at addr.Run) (string, error) {
	l := in.layout.text
	b, err := in.mem.read(at, l.compact)
	if err != nil {
		return "", err
	}
	n := binary.LittleEndian.Uint64(b[textLength:])
	state := b[textState]
	width := int(state >> 2 & 7)
	data := at + addr.Run(l.ascii)
	switch {
	case width != 1 && width != 2 && width != 4:
		return "", fmt.Errorf("%v: %w", at, errNoText)
	case state&textCompact == 0:
		if data, err = in.mem.pointer(at + addr.Run(l.compact)); err != nil {
			return "", err
		}
	case state&textASCII == 0:
		data = at + addr.Run(l.compact)
	}
	cut := n > maxText
	raw, err := in.mem.read(data, int(min(n, maxText))*width)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i := 0; i < len(raw); i += width {
		r := rune(raw[i])
		switch width {
		case 2:
			r = rune(binary.LittleEndian.Uint16(raw[i:]))
		case 4:
			r = rune(binary.LittleEndian.Uint32(raw[i:]))
		}
		if utf16.IsSurrogate(r) || r < 0 {
			r = '\uFFFD'
		}
		out.WriteRune(r)
	}
	if cut {
		out.WriteString("...")
	}
	return out.String(), nil
}

// bytes is what a bytes object holds.
func (in *Interpreter) bytes(at addr.Run) ([]byte, error) {
	n, err := in.mem.word(at + varSize)
	if err != nil {
		return nil, err
	}
	if n > maxTable {
		return nil, fmt.Errorf("%v: %d bytes, at most %d are read", at, n, maxTable)
	}
	return in.mem.read(at+bytesData, int(n))
}
