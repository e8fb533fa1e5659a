package query

import (
	"strings"

	"hdb/internal/cond"
	"hdb/symbols"
)

// MatchFunction reports whether the user's name for a function is this function's: as printed,
// without its parameters, without its namespaces, or as the linker knows it, which may be "". A *
// represents any text.
func MatchFunction(pattern, function, linkage string) bool {
	if function == "" {
		return false
	}
	if cond.Match(pattern, function) || linkage != "" && cond.Match(pattern, linkage) {
		return true
	}
	name := WithoutParameters(function)
	for {
		if cond.Match(pattern, name) {
			return true
		}
		i := strings.Index(name, "::")
		if i < 0 {
			break
		}
		name = name[i+2:]
	}
	// As break understands it: all instances of a template. Most frames are decided by one look at
	// the last name.
	last := pattern
	if i := strings.IndexAny(last, "<("); i >= 0 {
		last = last[:i]
	}
	last = last[strings.LastIndexByte(last, ':')+1:]
	return strings.Contains(function, last) && symbols.MatchesName(pattern, function, linkage)
}

// MatchFile reports whether the pattern is a file's: of its path, or of the end of that from a /
// on. A * represents any text.
func MatchFile(pattern, path string) bool {
	for {
		if cond.Match(pattern, path) {
			return true
		}
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[i+1:]
	}
}

// WithoutParameters cuts the parameter list off a demangled name: the last pair
// of parentheses, if nothing but qualifiers follows. Those of operator(), of
// (anonymous namespace) and of Go's receivers have a name behind them.
func WithoutParameters(name string) string {
	last := strings.LastIndexByte(name, ')')
	if last < 0 || last+1 < len(name) && name[last+1] != ' ' {
		return name
	}
	depth := 0
	for i := last; i > 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			if strings.HasSuffix(name[:i], "operator") && i+1 == last {
				return name // operator() without its parameters
			}
			return name[:i]
		}
	}
	return name
}

// BaseName is a function's name without namespaces, template arguments and
// parameters.
func BaseName(name string) string {
	name = WithoutParameters(name)
	if !strings.Contains(name, "operator") {
		name = withoutArguments(name)
	}
	if i := strings.LastIndexAny(name, ":."); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	return name
}

// withoutArguments drops template arguments with their brackets.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		default:
			if depth == 0 {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// MatchModule reports whether the user's name for a module is this one: "libfoo" and "libfoo.so"
// are libfoo.so.1, "_json" is _json.cpython-311-x86_64-linux-gnu.so.
func MatchModule(pattern, base string) bool {
	if base == "" {
		return false
	}
	if cond.Match(pattern, base) {
		return true
	}
	stem, rest, found := strings.Cut(base, ".so")
	if !found {
		return false
	}
	name, _, _ := strings.Cut(stem, ".")
	return cond.Match(pattern, name) || cond.Match(pattern, stem) || cond.Match(pattern, stem+".so") && rest != ""
}
