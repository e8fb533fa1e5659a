// Package demangle turns linkage names of C++ (Itanium ABI) and Rust (v0 and
// legacy) into the names users write. Names it does not know come back as they
// are. It keeps no state.
package demangle

import (
	"strconv"
	"strings"

	itanium "github.com/ianlancetaylor/demangle"
)

// maxName bounds what is demangled and, as a power of two, the result: a mangled
// name can expand exponentially through substitutions.
const (
	maxName   = 64 << 10
	maxResult = 16
)

// IsMangled reports whether s looks like a mangled name of C++ or Rust.
func IsMangled(s string) bool {
	return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") || strings.HasPrefix(s, "__Z")
}

// Name demangles s as a user writes it: `ns::f(int)`, `alloc::vec::Vec<T>::push`.
// Return types and clone suffixes such as [clone .cold] are left out. It returns
// s when it is not mangled.
func Name(s string) string {
	if d := run(trimClone(s)); d != "" {
		return d
	}
	return s
}

// Bare is Name without parameters.
func Bare(s string) string {
	if d := run(trimClone(s), itanium.NoParams); d != "" {
		return d
	}
	return s
}

// run is s demangled without its return type, "" when it is not a mangled name.
func run(s string, options ...itanium.Option) string {
	if len(s) > maxName || !IsMangled(s) {
		return ""
	}
	options = append(options, itanium.NoEnclosingParams, itanium.MaxLength(maxResult))
	if strings.HasPrefix(s, "_R") {
		s = trimVendor(s)
	}
	if IsRust(s) {
		out, err := itanium.ToString(keepUnderscores(s), options...)
		if err != nil {
			return ""
		}
		return out
	}
	ast, err := itanium.ToAST(renumbered(s), options...)
	if err != nil {
		return ""
	}
	if typed, ok := ast.(*itanium.Typed); ok {
		if fn, ok := typed.Type.(*itanium.FunctionType); ok {
			fn.Return = nil
		}
	}
	return itanium.ASTToString(ast, options...)
}

// IsRust tells Rust's names, v0 or legacy, from C++'s. The legacy ones are valid
// C++ names that end with a hash of 16 digits.
func IsRust(s string) bool {
	if strings.HasPrefix(s, "_R") {
		return true
	}
	const hash = len("17h0123456789abcdefE")
	if !strings.HasPrefix(s, "_ZN") || len(s) <= hash || !strings.HasPrefix(s[len(s)-hash:], "17h") || s[len(s)-1] != 'E' {
		return false
	}
	return strings.Trim(s[len(s)-hash+3:len(s)-1], "0123456789abcdef") == ""
}

// keepUnderscores doubles the underscore that begins a part of a legacy Rust name: the
// library takes one for the separator which v0 has between a length and its name.
func keepUnderscores(s string) string {
	rest, ok := strings.CutPrefix(s, "_ZN")
	if !ok || !strings.Contains(rest, "_") {
		return s
	}
	var b strings.Builder
	b.WriteString("_ZN")
	for {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > len(rest)-digits {
			b.WriteString(rest)
			return b.String()
		}
		name := rest[digits : digits+n]
		rest = rest[digits+n:]
		if strings.HasPrefix(name, "_") {
			name = "_" + name
		}
		b.WriteString(strconv.Itoa(len(name)) + name)
	}
}

// trimVendor cuts the suffix that LLVM passes append to v0 names after a dot.
func trimVendor(s string) string {
	if i := strings.IndexByte(s, '.'); i > 0 {
		return s[:i]
	}
	return s
}

// trimClone cuts the suffixes of compiler-made copies: .cold, .part.0, .isra.1, .constprop.2,
// .lto_priv.3, .llvm.123. The name is the function's. Legacy Rust names have dots of their own
// before the closing hash.
func trimClone(s string) string {
	if !IsMangled(s) || IsRust(s) {
		return s
	}
	if i := strings.LastIndexByte(s, 'E'); i > 0 && IsRust(s[:i+1]) {
		return s[:i+1]
	}
	if i := strings.IndexByte(s, '.'); i > 0 {
		return s[:i]
	}
	return s
}
