package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"hdb/internal/addr"
)

var errNoText = errors.New("not a str object")

// Text is the characters of a str object, cut after maxText. Surrogates, which represent bytes of
// file names that are no text, are written as U+FFFD.
func (r *Reader) Text(at addr.Run) (string, error) {
	chars, length, err := r.characters(at, 0, maxText)
	if err != nil {
		return "", err
	}
	for i, r := range chars {
		if utf16.IsSurrogate(r) || r < 0 {
			chars[i] = '\uFFFD'
		}
	}
	if length > maxText {
		return string(chars) + "...", nil
	}
	return string(chars), nil
}

// characters are at most limit of those of a str object, from one on, and how many it has.
func (r *Reader) characters(at addr.Run, from, limit uint64) (chars []rune, length uint64, err error) {
	l := &r.layout.Text
	b, err := r.Read(at, l.Compact)
	if err != nil {
		return nil, 0, err
	}
	length = binary.LittleEndian.Uint64(b[l.Length:])
	state := l.StateOf(b)
	width := state.Width
	data := at + addr.Run(l.ASCII)
	switch {
	case width != 1 && width != 2 && width != 4:
		return nil, 0, fmt.Errorf("%v: %w", at, errNoText)
	case !state.Compact:
		if data, err = r.Field(at, l.Compact); err != nil {
			return nil, 0, err
		}
	case !state.ASCII:
		data = at + addr.Run(l.Compact)
	}
	if from >= length {
		return nil, length, nil
	}
	raw, err := r.Read(data+addr.Run(from)*addr.Run(width), int(min(length-from, limit))*width)
	if err != nil {
		return nil, 0, err
	}
	chars = make([]rune, 0, len(raw)/width)
	for i := 0; i < len(raw); i += width {
		r := rune(raw[i])
		switch width {
		case 2:
			r = rune(binary.LittleEndian.Uint16(raw[i:]))
		case 4:
			r = rune(binary.LittleEndian.Uint32(raw[i:]))
		}
		chars = append(chars, r)
	}
	return chars, length, nil
}

// Bytes is what a bytes object holds.
func (r *Reader) Bytes(at addr.Run) ([]byte, error) {
	n, err := r.Count(at)
	if err != nil {
		return nil, err
	}
	if n > maxBytes {
		return nil, fmt.Errorf("%v: %d bytes, at most %d are read", at, n, maxBytes)
	}
	return r.Read(at+addr.Run(r.layout.Bytes.Data), int(n))
}

// quote writes characters as repr() does (unicode_repr in Objects/unicodeobject.c).
func quote(chars []rune) string {
	var b strings.Builder
	mark := '\''
	if slices.Contains(chars, '\'') && !slices.Contains(chars, '"') {
		mark = '"'
	}
	b.WriteRune(mark)
	for _, r := range chars {
		switch {
		case r == mark || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0x100 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, uint32(r)&0xff)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(mark)
	return b.String()
}

// quoteBytes writes bytes as repr() does.
func quoteBytes(raw []byte) string {
	var b strings.Builder
	mark := byte('\'')
	if strings.IndexByte(string(raw), '\'') >= 0 && strings.IndexByte(string(raw), '"') < 0 {
		mark = '"'
	}
	b.WriteString("b" + string(mark))
	for _, c := range raw {
		switch {
		case c == mark || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + string(mark)
}
