// Package cformat writes values by the formats of C's printf.
package cformat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Kind is what a conversion makes text of.
type Kind uint8

// The kinds, and the Go type of their arguments.
const (
	Integer Kind = iota // uint64, signed numbers in two's complement
	Float               // float64
	Text                // []byte; nil is a null pointer
)

// A Format is a parsed format with the text of its arguments.
type Format struct {
	Args   []string // expressions, one for each conversion
	source string
	pieces []piece
}

// piece is literal text with the conversion behind it.
type piece struct {
	text  string
	spec  string // flags, width and precision, without %
	bits  int    // of an integer
	conv  byte   // 0: none, at the end
	limit int    // precision of a text, -1 none
}

// maxWidth bounds width and precision.
const maxWidth = 4096

// Parse reads "FORMAT",ARGS... as printf of gdb takes it.
func Parse(src string) (*Format, error) {
	src = strings.TrimSpace(src)
	if !strings.HasPrefix(src, `"`) {
		return nil, errors.New(`a format in double quotes must come first, as "%d\n"`)
	}
	text, n, err := unquote(src)
	if err != nil {
		return nil, err
	}
	f := &Format{source: src}
	if err := f.parse(text); err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(src[n:])
	if rest != "" {
		if rest[0] != ',' {
			return nil, fmt.Errorf("unexpected %q behind the format: a comma expected", rest)
		}
		f.Args = SplitArgs(rest[1:])
	}
	if want := len(f.kinds()); want != len(f.Args) {
		return nil, fmt.Errorf("arguments: the format takes %d, %d follow", want, len(f.Args))
	}
	return f, nil
}

// String is the source of the format with its arguments.
func (f *Format) String() string { return f.source }

func (f *Format) kinds() []Kind {
	var out []Kind
	for _, p := range f.pieces {
		if p.conv != 0 {
			out = append(out, p.kind())
		}
	}
	return out
}

func (p piece) kind() Kind {
	switch {
	case p.conv == 's':
		return Text
	case strings.IndexByte("fFeEgGaA", p.conv) >= 0:
		return Float
	}
	return Integer
}

// parse splits a format at its conversions.
func (f *Format) parse(text string) error {
	var literal strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			literal.WriteByte(text[i])
			continue
		}
		if i++; i < len(text) && text[i] == '%' {
			literal.WriteByte('%')
			continue
		}
		start := i
		p := piece{text: literal.String(), bits: 32, limit: -1}
		literal.Reset()
		for i < len(text) && strings.IndexByte("-+ #0", text[i]) >= 0 {
			i++
		}
		digits := func() (int, error) {
			from := i
			for i < len(text) && text[i] >= '0' && text[i] <= '9' {
				i++
			}
			n, err := strconv.Atoi("0" + text[from:i])
			if err != nil || n > maxWidth {
				return 0, fmt.Errorf("%%%s: wider than %d", text[start:i], maxWidth)
			}
			return n, nil
		}
		if _, err := digits(); err != nil {
			return err
		}
		width := i
		if i < len(text) && text[i] == '.' {
			i++
			n, err := digits()
			if err != nil {
				return err
			}
			p.limit = n
		}
		p.spec = text[start:i]
		from := i
		for i < len(text) && strings.IndexByte("hlqLzjt", text[i]) >= 0 {
			i++
		}
		switch length := text[from:i]; length {
		case "":
		case "h":
			p.bits = 16
		case "hh":
			p.bits = 8
		case "l", "ll", "q", "L", "z", "j", "t":
			p.bits = 64
		default:
			return fmt.Errorf("%%%s: no such length modifier", text[start:i])
		}
		if i == len(text) || strings.IndexByte("diouxXcspfFeEgGaA", text[i]) < 0 {
			return fmt.Errorf("%%%s: no such conversion: %%d %%i %%u %%o %%x %%c %%s %%p %%f %%e %%g %%a", text[start:min(i+1, len(text))])
		}
		p.conv = text[i]
		switch p.kind() {
		case Text:
			p.spec = text[start:width]
		case Float:
			if p.limit < 0 && p.conv != 'a' && p.conv != 'A' {
				p.spec += ".6" // C's default; Go's is as many as needed
			}
		}
		f.pieces = append(f.pieces, p)
	}
	f.pieces = append(f.pieces, piece{text: literal.String()})
	return nil
}

// Expand is the text with the arguments, which arg computes by their number from 0 on.
func (f *Format) Expand(arg func(i int, kind Kind) (any, error)) (string, error) {
	var b strings.Builder
	n := 0
	for _, p := range f.pieces {
		b.WriteString(p.text)
		if p.conv == 0 {
			continue
		}
		v, err := arg(n, p.kind())
		if err != nil {
			return "", err
		}
		n++
		b.WriteString(p.format(v))
	}
	return b.String(), nil
}

func (p piece) format(v any) string {
	switch v := v.(type) {
	case []byte:
		if v == nil {
			return fmt.Sprintf("%"+p.spec+"s", "(null)")
		}
		if p.limit >= 0 && p.limit < len(v) {
			v = v[:p.limit]
		}
		return fmt.Sprintf("%"+p.spec+"s", v)
	case float64:
		conv := p.conv
		switch conv {
		case 'a':
			conv = 'x'
		case 'A':
			conv = 'X'
		}
		return fmt.Sprintf("%"+p.spec+string(conv), v)
	case uint64:
		return p.integer(v)
	}
	return ""
}

func (p piece) integer(v uint64) string {
	shift := 64 - p.bits
	switch p.conv {
	case 'd', 'i':
		return fmt.Sprintf("%"+p.spec+"d", int64(v<<shift)>>shift)
	case 'c':
		return fmt.Sprintf("%"+p.spec+"s", []byte{byte(v)})
	case 'p':
		width := strings.TrimRight(p.spec, "0123456789") // the flags
		width += p.spec[len(width):]
		if v == 0 {
			return fmt.Sprintf("%"+width+"s", "(nil)")
		}
		return fmt.Sprintf("%"+width+"s", fmt.Sprintf("%#x", v))
	case 'u':
		return fmt.Sprintf("%"+p.spec+"d", v<<shift>>shift)
	}
	return fmt.Sprintf("%"+p.spec+string(p.conv), v<<shift>>shift)
}

// SplitArgs splits expressions at the commas outside brackets and quotes.
func SplitArgs(s string) []string {
	var out []string
	depth, from := 0, 0
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth <= 0:
			out = append(out, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[from:]))
}

// unquote is the text of a string in double quotes, and the bytes that it takes.
func unquote(s string) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), i + 1, nil
		case '\\':
			if i++; i == len(s) {
				break
			}
			if at := strings.IndexByte(`\"'abefnrtv`, s[i]); at >= 0 {
				b.WriteByte("\\\"'\a\b\x1b\f\n\r\t\v"[at])
				continue
			}
			end := i
			for end < len(s) && end < i+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			n, err := strconv.ParseUint(s[i:end], 8, 8)
			if err != nil {
				return "", 0, fmt.Errorf("the format has an unknown escape \\%c", s[i])
			}
			b.WriteByte(byte(n))
			i = end - 1
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, errors.New(`the format has no closing "`)
}
