package session

import (
	"strings"

	"hdb/internal/cond"
)

// matchFunction tells whether the user's name for a function is this frame's: as
// printed, without its parameters, without its namespaces, or as the linker
// knows it. A * stands for any text.
func matchFunction(pattern string, f Frame) bool {
	if f.Function == "" {
		return false
	}
	if cond.Match(pattern, f.Function) || f.Linkage != "" && cond.Match(pattern, f.Linkage) {
		return true
	}
	name := withoutParameters(f.Function)
	for {
		if cond.Match(pattern, name) {
			return true
		}
		i := strings.Index(name, "::")
		if i < 0 {
			return false
		}
		name = name[i+2:]
	}
}

// withoutParameters cuts a demangled name at its parameter list; operator() has
// a pair of its own.
func withoutParameters(name string) string {
	rest := name
	if i := strings.Index(name, "operator()"); i >= 0 {
		rest = name[i+len("operator()"):]
	}
	if i := strings.IndexByte(rest, '('); i > 0 || i == 0 && len(rest) < len(name) {
		return name[:len(name)-len(rest)+i]
	}
	return name
}

// matchModule tells whether the user's name for a module is this one: "libfoo"
// and "libfoo.so" are libfoo.so.1.
func matchModule(pattern, base string) bool {
	if base == "" {
		return false
	}
	if cond.Match(pattern, base) {
		return true
	}
	stem, rest, found := strings.Cut(base, ".so")
	return found && (cond.Match(pattern, stem) || cond.Match(pattern, stem+".so") && rest != "")
}
