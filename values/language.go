package values

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"hdb/symbols/dwarf"
)

// A language is the language of a frame's source: its numbers and its own types, which
// debug information need not describe.
type language struct {
	prog *Program
	f    *Frame // nil: C
}

// truth is the value of a comparison. Without a frame the language is the language of the place
// whose macros hold.
func (l language) truth(b bool) Value {
	f := l.f
	if f == nil && l.prog.MacroScope != nil {
		f = l.prog.MacroScope()
	}
	if f.language() == "c" {
		return Number(l.prog.cType("int"), truth(b))
	}
	return l.prog.Boolean(b)
}

// int is the type of a number without a suffix.
func (l language) int() *Type {
	if l.f.language() == "rust" {
		return l.rustType("i32")
	}
	return l.prog.cType("int")
}

// promote is the type of arithmetic of two integers (C11 section 6.3.1.8).
func (l language) promote(a, b *Type) *Type {
	if l.f.language() == "rust" && a.Strip().Kind == Base {
		if a.Size() >= b.Size() {
			return a.Strip()
		}
		return b.Strip()
	}
	size := max(a.Size(), b.Size(), 4)
	unsigned := false
	for _, t := range []*Type{a, b} {
		if t.Size() == size && !t.isSigned() && size >= 4 {
			s := t.Strip()
			unsigned = unsigned || s.Kind != Base || s.Enc != encBoolean
		}
	}
	name := "int"
	if size > 4 {
		name = "long"
	}
	if unsigned {
		name = "unsigned " + name
	}
	return l.prog.cType(name)
}

// integer reads a number of C: its value and suffix.
func integer(s string) (uint64, string, error) {
	digits := strings.TrimRight(s, "uUlL")
	suffix := strings.ToLower(s[len(digits):])
	digits = strings.ReplaceAll(digits, "_", "")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0b") || strings.HasPrefix(digits, "0B"):
		base, digits = 2, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, "", fmt.Errorf("%q: a number of more than 64 bits", s)
	}
	if err != nil {
		return 0, "", fmt.Errorf("%q: not a number", s)
	}
	return n, suffix, nil
}

// number is the value of a number as it is written.
func (l language) number(s string) (Value, error) {
	if l.f.language() == "rust" {
		if v, ok, err := l.suffixed(s); ok {
			return v, err
		}
	}
	n, suffix, err := integer(s)
	if err != nil {
		return l.fraction(s, err)
	}
	t := l.int()
	decimal := s[0] != '0'
	unsigned := strings.Contains(suffix, "u") || !decimal && n > math.MaxInt32 && n <= math.MaxUint32 && suffix == "" // C11 section 6.4.4.1
	switch {
	case strings.Contains(suffix, "l") || n > math.MaxUint32 || n > math.MaxInt32 && !unsigned:
		t = l.prog.cType("long")
		if unsigned || n > math.MaxInt64 {
			t = l.prog.cType("unsigned long")
		}
	case unsigned:
		t = l.prog.cType("unsigned int")
	}
	return Number(t, n), nil
}

// suffixed is the value of a number of Rust whose type is behind it, as 5u8. It reports false for
// another one.
func (l language) suffixed(s string) (Value, bool, error) {
	i := strings.LastIndexAny(s, "iuf")
	if i < 1 {
		return Value{}, false, nil
	}
	hex := strings.HasPrefix(s, "0x")
	t, ok := rustTypes[s[i:]]
	if !ok || hex && s[i] == 'f' || i+1 == len(s) || t.enc == encBoolean || t.enc == encUTF {
		return Value{}, false, nil
	}
	digits := strings.ReplaceAll(s[:i], "_", "")
	as := l.rustType(s[i:])
	if t.enc == encFloat {
		f, err := strconv.ParseFloat(digits, 64)
		return floating(as, f), true, err
	}
	n, _, err := integer(digits)
	if err != nil {
		return Value{}, true, err
	}
	v, err := operators{l}.cast(Number(l.prog.cType("unsigned long"), n), as)
	return v, true, err
}

// rustType is one of Rust's own types.
func (l language) rustType(name string) *Type {
	t := rustTypes[name]
	b := baseType(l.prog, name, t.size, t.enc)
	b.lang = dwarf.LangRust
	return b
}

// fraction is the value of a floating-point number as it is written. err is why it is no
// integer.
func (l language) fraction(s string, err error) (Value, error) {
	hex := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
	if !strings.ContainsAny(s, ".pP") && (hex || !strings.ContainsAny(s, "eEfF")) {
		return Value{}, err
	}
	text, t := s, l.prog.cType("double")
	switch last := s[len(s)-1] | 0x20; {
	case last == 'f' && !(hex && !strings.ContainsAny(s, "pP")):
		text, t = s[:len(s)-1], l.prog.cType("float")
	case last == 'l':
		text, t = s[:len(s)-1], l.prog.cType("long double")
	}
	f, ferr := strconv.ParseFloat(text, 64)
	if ferr != nil && !errors.Is(ferr, strconv.ErrRange) { // a number out of range is infinite, as in gdb
		return Value{}, err
	}
	if w, ok := t.wide(); ok {
		x, _, perr := big.ParseFloat(text, 0, x87.digits, big.ToNearestEven)
		if perr != nil {
			return Value{}, err
		}
		return Value{Type: t, data: w.encode(x)}, nil
	}
	return floating(t, f), nil
}

// builtin is a type of the language, which debug information need not describe.
func (l language) builtin(name string) *Type {
	if l.f.language() == "rust" {
		if _, ok := rustTypes[name]; ok {
			return l.rustType(name)
		}
		return nil
	}
	if t, ok := cTypes[canonical(name)]; ok {
		if name == "void" {
			return &Type{Kind: Void, Name: "void", prog: l.prog, size: 1}
		}
		return l.prog.cType(t.name)
	}
	return nil
}

// cType is a base type of C by its name in cTypes.
func (p *Program) cType(name string) *Type {
	t := cTypes[name]
	return baseType(p, t.name, t.size, t.enc)
}

type builtinType struct {
	name string
	size int64
	enc  uint64
}

// cTypes are C's base types as gcc names them (System V ABI for AMD64, figure 3.1).
var cTypes = map[string]builtinType{
	"void": {"void", 1, 0}, "char": {"char", 1, encSignedChar}, "signed char": {"signed char", 1, encSignedChar},
	"unsigned char": {"unsigned char", 1, encUnsignedChar}, "short": {"short", 2, encSigned}, "unsigned short": {"unsigned short", 2, encUnsigned},
	"int": {"int", 4, encSigned}, "unsigned int": {"unsigned int", 4, encUnsigned}, "long": {"long", 8, encSigned},
	"unsigned long": {"unsigned long", 8, encUnsigned}, "long long": {"long long", 8, encSigned},
	"unsigned long long": {"unsigned long long", 8, encUnsigned}, "float": {"float", 4, encFloat}, "double": {"double", 8, encFloat},
	"long double": {"long double", 16, encFloat}, "_Bool": {"_Bool", 1, encBoolean}, "bool": {"bool", 1, encBoolean},
	"__int128": {"__int128", 16, encSigned}, "unsigned __int128": {"unsigned __int128", 16, encUnsigned},
}

var rustTypes = map[string]builtinType{
	"i8": {"", 1, encSigned}, "i16": {"", 2, encSigned}, "i32": {"", 4, encSigned}, "i64": {"", 8, encSigned}, "isize": {"", 8, encSigned},
	"u8": {"", 1, encUnsigned}, "u16": {"", 2, encUnsigned}, "u32": {"", 4, encUnsigned}, "u64": {"", 8, encUnsigned}, "usize": {"", 8, encUnsigned},
	"i128": {"", 16, encSigned}, "u128": {"", 16, encUnsigned},
	"f32": {"", 4, encFloat}, "f64": {"", 8, encFloat}, "bool": {"", 1, encBoolean}, "char": {"", 4, encUTF},
}

// canonical orders the words of a base type: "long unsigned int" is "unsigned long".
func canonical(name string) string {
	words := strings.Fields(name)
	if len(words) == 1 {
		if name == "unsigned" || name == "signed" {
			return map[string]string{"unsigned": "unsigned int", "signed": "int"}[name]
		}
		return name
	}
	unsigned, signed, longs, short, rest := false, false, 0, false, ""
	for _, x := range words {
		switch x {
		case "unsigned":
			unsigned = true
		case "signed":
			signed = true
		case "long":
			longs++
		case "short":
			short = true
		case "int":
			if rest == "" {
				rest = "int"
			}
		default:
			if rest != "" && rest != "int" {
				return name
			}
			rest = x
		}
	}
	switch {
	case rest == "double" && longs == 1:
		return "long double"
	case short:
		rest = "short"
	case longs > 0:
		rest = strings.TrimSpace(strings.Repeat("long ", min(longs, 2)))
	case rest == "":
		rest = "int"
	}
	if rest == "char" && signed {
		return "signed char"
	}
	if unsigned {
		return "unsigned " + rest
	}
	return rest
}
