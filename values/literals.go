package values

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// characterType is the type of the characters of a literal with a prefix.
func (l language) characterType(prefix string) *Type {
	switch prefix {
	case "L":
		return baseType(l.prog, "wchar_t", 4, encSigned)
	case "u":
		return baseType(l.prog, "char16_t", 2, encUTF)
	case "U":
		return baseType(l.prog, "char32_t", 4, encUTF)
	case "b":
		return l.rustType("u8")
	}
	return l.prog.Char()
}

// character is the value of a literal in single quotes.
func (l language) character(text, prefix string) (Value, error) {
	if prefix == "" || prefix == "u8" || prefix == "b" {
		r, err := charOf(text)
		return Number(l.characterType(prefix), uint64(r)), err
	}
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 || n != len(text) || prefix == "u" && r > 0xffff {
		return Value{}, fmt.Errorf("%s'%s': one character expected", prefix, text)
	}
	return Number(l.characterType(prefix), uint64(r)), nil
}

// literal is the array that a literal in double quotes is.
func (l language) literal(text, prefix string) Value {
	var data []byte
	t := l.characterType(prefix)
	switch prefix {
	case "L", "U":
		for _, r := range text + "\x00" {
			data = binary.LittleEndian.AppendUint32(data, uint32(r))
		}
	case "u":
		for _, u := range utf16.Encode([]rune(text + "\x00")) {
			data = binary.LittleEndian.AppendUint16(data, u)
		}
	case "b":
		data = []byte(text)
	default:
		data = append([]byte(text), 0)
	}
	return Value{Type: t.ArrayOf(int64(len(data)) / t.Size()), data: data}
}
