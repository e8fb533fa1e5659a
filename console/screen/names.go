package screen

import (
	"strings"

	"hdb/internal/goname"
)

// maxName is the length from which a function's name is shown without its
// template arguments; some names of C++ have thousands of characters.
const maxName = 100

// Naming is how functions are called on the screen.
type Naming struct {
	Linkage bool // by the linker's names: set print demangle off
	Whole   bool // with all template arguments: set print templates full
	Paths   bool // files by their paths also where there is no room: set print paths full
}

// Function is the name to show of a function with that linkage name, or "".
func (n Naming) Function(name, linkage string) string {
	if n.Linkage && linkage != "" {
		return linkage
	}
	return name
}

// Short is the name for a list.
func (n Naming) Short(name string) string {
	if n.Whole {
		return name
	}
	return ShortName(name)
}

// ShortName is a function's name as the screen shows it: of a long one,
// template arguments become <...>. The whole name is in bt -full and JSON.
//
// Brackets are distinguished by what is before them. Behind an identifier or an operator's name
// they enclose arguments. Elsewhere they are a part of the name itself: Rust's <Vec<T> as
// Trait>::f, gcc's <lambda(int)>. A name whose brackets do not balance stays as it is.
//
// Type arguments of Go become [...] however short they are, as in Go's own tracebacks.
func ShortName(name string) string {
	if short, ok := goShort(name); ok {
		return short
	}
	if len(name) <= maxName {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		if n := operatorName(name, i); n > 0 {
			b.WriteString(name[i : i+n])
			i += n
			blanks := len(name[i:]) - len(strings.TrimLeft(name[i:], " "))
			if i+blanks >= len(name) || name[i+blanks] != '<' {
				continue
			}
			b.WriteString(name[i : i+blanks])
			i += blanks
		} else if name[i] != '<' || !opensArguments(name[:i], name[i:]) {
			b.WriteByte(name[i])
			i++
			continue
		}
		end := closing(name, i)
		if end < 0 {
			return name
		}
		if end-i <= len("<size_t>") {
			b.WriteString(name[i : end+1])
		} else {
			b.WriteString("<...>")
		}
		i = end + 1
	}
	return b.String()
}

// goShort leaves out the type arguments of a function of Go: main.f[go.shape.int] and
// main.(*list[go.shape.int]).add. ok is false of other names: those of C++ and Rust have a [ behind
// an identifier in std::string[abi:cxx11] and int[3] only.
func goShort(name string) (short string, ok bool) {
	open := strings.IndexByte(name, '[')
	end := strings.LastIndexByte(name, ']')
	if open <= 0 || end < open || !identifier(name[open-1]) || strings.Contains(name, "::") || strings.Contains(name, "[abi:") || strings.IndexByte(name[:open], '.') < 0 {
		return "", false
	}
	return goname.TypeArguments(name, "[...]"), true
}

// operators are the names behind the word operator that hold brackets, longer
// ones before their prefixes.
var operators = []string{"->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">", "()"}

// operatorName is the length of an operator's name at i, or 0.
func operatorName(s string, i int) int {
	const word = "operator"
	if !strings.HasPrefix(s[i:], word) || i > 0 && identifier(s[i-1]) {
		return 0
	}
	for _, op := range operators {
		if strings.HasPrefix(s[i+len(word):], op) {
			return len(word) + len(op)
		}
	}
	return 0
}

func identifier(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// opensArguments reports whether the < that rest begins with begins arguments.
func opensArguments(before, rest string) bool {
	switch {
	case before == "":
		return false
	case strings.HasSuffix(before, "::"): // Rust's f::<T>
		return !strings.HasPrefix(rest, "<lambda") && !strings.HasPrefix(rest, "<unnamed")
	}
	return identifier(before[len(before)-1])
}

// closing is the index of the > that closes the < at i, or -1. Inside
// parentheses and braces a lone < or > is a comparison.
func closing(s string, i int) int {
	var open []byte
	for ; i < len(s); i++ {
		if n := operatorName(s, i); n > 0 {
			i += n - 1
			continue
		}
		switch c := s[i]; c {
		case '-', '=': // ->, =>
			if strings.HasPrefix(s[i+1:], ">") {
				i++
			}
		case '<':
			if !strings.HasPrefix(s[i+1:], " ") && !strings.HasPrefix(s[i+1:], "=") {
				open = append(open, c)
			}
		case '(', '{', '[':
			open = append(open, c)
		case '>':
			if len(open) > 0 && open[len(open)-1] == '<' {
				open = open[:len(open)-1]
			}
		case ')', '}', ']':
			for len(open) > 0 && open[len(open)-1] == '<' { // comparisons
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		if len(open) == 0 {
			if s[i] != '>' {
				return -1
			}
			return i
		}
	}
	return -1
}
