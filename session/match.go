package session

import (
	"slices"
	"strings"

	"hdb/internal/cond"
	"hdb/symbols"
)

// callers answers what conditions ask of a stack. It is found when one of them
// asks, and then once.
type callers struct {
	find   func() []Frame
	caller int // index of the frame that called: 0 at an event, 1 where frame 0 is the function itself

	found  bool
	frames []Frame
}

func (c *callers) stack() []Frame {
	if !c.found {
		c.found = true
		c.frames = c.find()
	}
	return c.frames
}

// Func tells whether a function of that name is on the stack.
func (c *callers) Func(pattern string) bool {
	return slices.ContainsFunc(c.stack(), func(f Frame) bool { return matchFunction(pattern, f) })
}

// Module tells whether a frame of that module is on the stack.
func (c *callers) Module(name string) bool {
	return slices.ContainsFunc(c.stack(), func(f Frame) bool { return matchModule(name, f.Module) })
}

// Caller tells whether the function that called has that name.
func (c *callers) Caller(pattern string) bool {
	fs := c.stack()
	return len(fs) > c.caller && matchFunction(pattern, fs[c.caller])
}

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
			break
		}
		name = name[i+2:]
	}
	// As break understands it: all instances of a template. Most frames are told by one
	// look at the last name.
	last := pattern
	if i := strings.IndexAny(last, "<("); i >= 0 {
		last = last[:i]
	}
	last = last[strings.LastIndexByte(last, ':')+1:]
	return strings.Contains(f.Function, last) && symbols.MatchesName(pattern, f.Function, f.Linkage)
}

// withoutParameters cuts the parameter list off a demangled name: the last pair
// of parentheses, if nothing but qualifiers follows. Those of operator(), of
// (anonymous namespace) and of Go's receivers have a name behind them.
func withoutParameters(name string) string {
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

// baseName is a function's name without namespaces, template arguments and
// parameters.
func baseName(name string) string {
	name = withoutParameters(name)
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

// matchModule tells whether the user's name for a module is this one: "libfoo"
// and "libfoo.so" are libfoo.so.1, "_json" is _json.cpython-311-x86_64-linux-gnu.so.
func matchModule(pattern, base string) bool {
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
