// Package cformat writes values by the formats of C's printf.
package cformat

import (
	"errors"
	"fmt"
	"math"
	"slices"
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
	text   string
	flags  string // of -+ #0
	width  string // a number, or nothing
	limit  int    // precision, -1 none
	length string // modifier
	conv   byte   // 0: none, at the end
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
			return nil, fmt.Errorf("unexpected %q after the format: a comma expected", rest)
		}
		f.Args = SplitArgs(rest[1:])
	}
	if want := len(f.Kinds()); want != len(f.Args) {
		return nil, fmt.Errorf("arguments: the format takes %d, given %d", want, len(f.Args))
	}
	return f, nil
}

// String is the source of the format with its arguments.
func (f *Format) String() string { return f.source }

// Kinds are those of the arguments.
func (f *Format) Kinds() []Kind {
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
		p := piece{text: literal.String(), limit: -1}
		literal.Reset()
		for i < len(text) && strings.IndexByte("-+ #0", text[i]) >= 0 {
			i++
		}
		p.flags = text[start:i]
		width := i
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
		p.width = text[width:i]
		if i < len(text) && text[i] == '.' {
			i++
			n, err := digits()
			if err != nil {
				return err
			}
			p.limit = n
		}
		from := i
		for i < len(text) && strings.IndexByte("hlqLzjt", text[i]) >= 0 {
			i++
		}
		p.length = text[from:i]
		if !slices.Contains([]string{"", "h", "hh", "l", "ll", "q", "L", "z", "j", "t"}, p.length) {
			return fmt.Errorf("%%%s: no such length modifier", text[start:i])
		}
		if i == len(text) || strings.IndexByte("diouxXcspfFeEgGaA", text[i]) < 0 {
			return fmt.Errorf("%%%s: no such conversion: %%d %%i %%u %%o %%x %%c %%s %%p %%f %%e %%g %%a", text[start:min(i+1, len(text))])
		}
		p.conv = text[i]
		if p.kind() == Text && p.length != "" {
			return fmt.Errorf("%%%s: %%s takes no length modifier", text[start:i+1])
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
			return p.padded("(null)")
		}
		if p.limit >= 0 && p.limit < len(v) {
			v = v[:p.limit]
		}
		return p.padded(string(v))
	case float64:
		return p.float(v)
	case uint64:
		return p.integer(v)
	}
	return ""
}

// padded brings a text to the width.
func (p piece) padded(text string) string {
	minus := ""
	if strings.Contains(p.flags, "-") {
		minus = "-"
	}
	return fmt.Sprintf("%"+minus+p.width+"s", []byte(text))
}

// verb is the format of fmt, with the flags that are not in without.
func (p piece) verb(without string, conv byte) string {
	flags := strings.Map(func(r rune) rune {
		if strings.ContainsRune(without, r) {
			return -1
		}
		return r
	}, p.flags)
	precision := ""
	if p.limit >= 0 {
		precision = "." + strconv.Itoa(p.limit)
	}
	return "%" + flags + p.width + precision + string(conv)
}

func (p piece) float(v float64) string {
	upper := p.conv < 'a'
	switch {
	case math.IsInf(v, 0), math.IsNaN(v):
		text := strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+"))
		if upper {
			text = strings.ToUpper(text)
		}
		return p.padded(p.sign(v) + text)
	case p.conv == 'a' || p.conv == 'A':
		text := p.sign(v) + hexFloat(v, p.limit)
		if n, _ := strconv.Atoi(p.width); strings.Contains(p.flags, "0") && !strings.Contains(p.flags, "-") && len(text) < n {
			at := strings.IndexByte(text, 'x') + 1
			text = text[:at] + strings.Repeat("0", n-len(text)) + text[at:]
		}
		if upper {
			text = strings.ToUpper(text)
		}
		return p.padded(text)
	}
	if p.limit < 0 {
		p.limit = 6 // C's default; Go's is as many as needed
	}
	return fmt.Sprintf(p.verb("", p.conv), v)
}

// sign is what the flags put before a number that is not negative.
func (p piece) sign(v float64) string {
	switch {
	case math.Signbit(v) && !math.IsNaN(v):
		return ""
	case strings.Contains(p.flags, "+"):
		return "+"
	case strings.Contains(p.flags, " "):
		return " "
	}
	return ""
}

// hexFloat is a number as %a of glibc writes it: the exponent has as few digits as it needs, and
// the subnormal numbers have the smallest normal one's.
func hexFloat(v float64, precision int) string {
	const fraction, smallest = 52, -1022
	bits := math.Float64bits(v)
	if subnormal := bits & (1<<fraction - 1); precision < 0 && subnormal != 0 && bits>>fraction&(1<<11-1) == 0 {
		sign := ""
		if math.Signbit(v) {
			sign = "-"
		}
		return fmt.Sprintf("%s0x0.%sp%d", sign, strings.TrimRight(fmt.Sprintf("%013x", subnormal), "0"), smallest)
	}
	text := strconv.FormatFloat(v, 'x', precision, 64)
	mantissa, exponent, _ := strings.Cut(text, "p")
	n, _ := strconv.Atoi(exponent)
	return fmt.Sprintf("%sp%+d", mantissa, n)
}

// bits is the size of an integer.
func (p piece) bits() int {
	if p.conv == 'p' {
		return 64
	}
	switch p.length {
	case "":
		return 32
	case "h":
		return 16
	case "hh":
		return 8
	}
	return 64
}

func (p piece) integer(v uint64) string {
	shift := 64 - p.bits()
	if p.flags == "" && p.width == "" && p.limit < 0 { // as most are: fmt would read a format first
		switch p.conv {
		case 'd', 'i':
			return strconv.FormatInt(int64(v<<shift)>>shift, 10)
		case 'u':
			return strconv.FormatUint(v<<shift>>shift, 10)
		case 'x':
			return strconv.FormatUint(v<<shift>>shift, 16)
		case 'p':
			if v != 0 {
				return "0x" + strconv.FormatUint(v, 16)
			}
		}
	}
	switch p.conv {
	case 'd', 'i':
		return fmt.Sprintf(p.verb("#", 'd'), int64(v<<shift)>>shift)
	case 'c':
		if p.length == "l" {
			return p.padded(string(rune(v)))
		}
		return p.padded(string([]byte{byte(v)}))
	case 'p':
		if v == 0 {
			return p.padded("(nil)")
		}
		p.conv, p.flags = 'x', p.flags+"#"
	case 'u':
		return fmt.Sprintf(p.verb("+ #", 'd'), v<<shift>>shift)
	}
	v = v << shift >> shift
	if v == 0 && p.conv != 'o' {
		return fmt.Sprintf(p.verb("+ #", p.conv), v)
	}
	if n, _ := strconv.Atoi(p.width); p.conv != 'o' && p.limit < 0 && strings.Contains(p.flags, "#") && strings.Contains(p.flags, "0") && !strings.Contains(p.flags, "-") {
		p.limit = max(n-len("0x"), 0) // fmt's width leaves out the prefix
	}
	return fmt.Sprintf(p.verb("+ ", p.conv), v)
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
