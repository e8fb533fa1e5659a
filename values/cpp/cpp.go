// Package cpp expands macros of the preprocessor in an expression, as C does (C11 section
// 6.10.3): object-like and function-like ones, # and ##, variadic ones. It knows neither
// debug information nor values: a function tells what a name is defined as.
package cpp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Macro is a definition.
type Macro struct {
	Function bool     // it is called: NAME(x)
	Params   []string // the last is "..." or "NAME..." of a variadic one
	Body     string
}

// A Lookup is the definition of a name. It reports false for a name that is no macro.
type Lookup func(name string) (Macro, bool)

// Bounds of an expansion, which can grow with each step.
const (
	maxTokens = 1 << 14
	maxSteps  = 1 << 16
	maxDepth  = 100
	maxText   = 8 << 10
)

// A token of C.
type token struct {
	text   string
	space  bool     // white space is before it
	glued  bool     // it is right behind the one before, as the parts of == do
	name   bool     // an identifier
	hidden []string // macros that it came from, which are not expanded in it again
}

// Mentions reports whether an expression names a macro, outside of literals.
func Mentions(src string, lookup Lookup) bool {
	for _, t := range split(src) {
		if t.name {
			if _, ok := lookup(t.text); ok {
				return true
			}
		}
	}
	return false
}

// Expand is an expression with its macros expanded.
func Expand(src string, lookup Lookup) (string, error) {
	x := &expander{lookup: lookup}
	out, err := x.expand(split(src), 0)
	if err != nil {
		return "", err
	}
	text := join(out)
	if len(text) > maxText {
		return "", errMany
	}
	return text, nil
}

var errMany = errors.New("macros expand to too much")

// An expander counts what it has done.
type expander struct {
	lookup Lookup
	steps  int
}

// expand expands the macros in a list of tokens.
func (x *expander) expand(in []token, depth int) ([]token, error) {
	if depth > maxDepth {
		return nil, errMany
	}
	var out []token
	for len(in) > 0 {
		if x.steps++; x.steps > maxSteps || len(in)+len(out) > maxTokens {
			return nil, errMany
		}
		t := in[0]
		m, ok := Macro{}, false
		if t.name && !slices.Contains(t.hidden, t.text) {
			m, ok = x.lookup(t.text)
		}
		if !ok || m.Function && !called(in) {
			out, in = append(out, t), in[1:]
			continue
		}
		var args [][]token
		rest := in[1:]
		if m.Function {
			var err error
			if args, rest, err = arguments(t.text, rest); err != nil {
				return nil, err
			}
		}
		body, err := x.substitute(t, m, args, depth)
		if err != nil {
			return nil, err
		}
		if len(rest) > 0 { // what it was behind is gone
			next := rest[0]
			next.glued = false
			body, rest = append(body, next), rest[1:]
		}
		in = append(body, rest...)
	}
	return out, nil
}

// called reports whether a name is followed by an argument list.
func called(in []token) bool { return len(in) > 1 && in[1].text == "(" }

// arguments splits the arguments behind a name, which rest begins with, at their commas.
func arguments(name string, rest []token) (args [][]token, after []token, err error) {
	depth := 0
	args = [][]token{nil}
	for i, t := range rest {
		switch t.text {
		case "(":
			if depth++; depth == 1 {
				continue
			}
		case ")":
			if depth--; depth == 0 {
				return args, rest[i+1:], nil
			}
		case ",":
			if depth == 1 {
				args = append(args, nil)
				continue
			}
		}
		last := &args[len(args)-1]
		*last = append(*last, t)
	}
	return nil, nil, fmt.Errorf("macro %s: %q is missing after its arguments", name, ")")
}

// bind gives each parameter its argument.
func bind(name string, m Macro, args [][]token) (map[string][]token, error) {
	named := map[string][]token{}
	if len(m.Params) == 0 {
		if len(args) > 1 || len(args) == 1 && len(args[0]) > 0 {
			return nil, fmt.Errorf("macro %s takes no arguments", name)
		}
		return named, nil
	}
	last := m.Params[len(m.Params)-1]
	if variadic, ok := strings.CutSuffix(last, "..."); ok {
		if variadic == "" {
			variadic = "__VA_ARGS__"
		}
		fixed := len(m.Params) - 1
		if len(args) < fixed {
			return nil, fmt.Errorf("macro %s takes at least %d arguments, there are %d", name, fixed, len(args))
		}
		var more []token
		for i, a := range args[fixed:] {
			if i > 0 {
				more = append(more, token{text: ","})
			}
			more = append(more, a...)
		}
		named[variadic] = more
		for i, p := range m.Params[:fixed] {
			named[p] = args[i]
		}
		return named, nil
	}
	if len(args) != len(m.Params) {
		return nil, fmt.Errorf("macro %s takes %d arguments, there are %d", name, len(m.Params), len(args))
	}
	for i, p := range m.Params {
		named[p] = args[i]
	}
	return named, nil
}

// substitute is the body of a macro with its arguments in place of its parameters.
func (x *expander) substitute(t token, m Macro, args [][]token, depth int) ([]token, error) {
	var named map[string][]token
	if m.Function {
		var err error
		if named, err = bind(t.text, m, args); err != nil {
			return nil, err
		}
	}
	body := split(m.Body)
	var out []token
	paste, replaced := false, false // the token before was pasted to; was an argument
	for i := 0; i < len(body); i++ {
		if x.steps++; x.steps > maxSteps || len(out) > maxTokens {
			return nil, errMany
		}
		b := body[i]
		b.glued = b.glued && !replaced
		if b.text == "##" && len(out) > 0 && i+1 < len(body) {
			paste = true
			continue
		}
		put := []token{b}
		arg, isParam := named[b.text]
		switch {
		case m.Function && b.text == "#" && i+1 < len(body):
			if quoted, ok := named[body[i+1].text]; ok {
				put = []token{{text: quote(join(quoted)), space: b.space}}
				i++
			}
		case isParam && (paste || i+1 < len(body) && body[i+1].text == "##"):
			put = slices.Clone(arg)
		case isParam:
			var err error
			if put, err = x.expand(slices.Clone(arg), depth+1); err != nil {
				return nil, err
			}
		}
		if paste && len(put) > 0 {
			last := &out[len(out)-1]
			glued := split(last.text + put[0].text)
			if len(glued) != 1 {
				return nil, fmt.Errorf("macro %s: %s and %s do not make one token", t.text, last.text, put[0].text)
			}
			last.text, last.name = glued[0].text, glued[0].name
			put = put[1:]
		}
		if replaced = isParam; replaced && len(put) > 0 {
			put[0].space, put[0].glued = b.space, false
		}
		paste = false
		out = append(out, put...)
	}
	for i := range out {
		out[i].hidden = append(append(slices.Clip(out[i].hidden), t.hidden...), t.text)
	}
	if len(out) > 0 {
		out[0].space, out[0].glued = t.space, false
	}
	return out, nil
}

// quote makes a literal of an argument, as # does.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// split splits a text into tokens.
func split(s string) []token {
	var out []token
	space := false
	for i := 0; i < len(s) && len(out) <= maxTokens; {
		start := i
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			space = true
			i++
			continue
		case letter(c):
			for i < len(s) && (letter(s[i]) || digit(s[i])) {
				i++
			}
		case digit(c) || c == '.' && i+1 < len(s) && digit(s[i+1]):
			for i++; i < len(s) && (letter(s[i]) || digit(s[i]) || s[i] == '.' || (s[i] == '+' || s[i] == '-') && strings.IndexByte("eEpP", s[i-1]) >= 0); {
				i++
			}
		case c == '"' || c == '\'':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(s))
		case strings.HasPrefix(s[i:], "##"):
			i += 2
		default:
			i++
		}
		text := s[start:i]
		out = append(out, token{text: text, space: space, glued: !space && start > 0, name: letter(text[0])})
		space = false
	}
	return out
}

// letter reports whether an identifier may begin with a byte. $ begins one of the
// debugger, which is no macro.
func letter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// join is the text of tokens. Those that would read as another token next to each other have a
// blank between them.
func join(list []token) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 && (t.space || !t.glued && clings(list[i-1].text, t.text)) {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
		if b.Len() > maxText {
			break
		}
	}
	return b.String()
}

// clings reports whether two tokens side by side could be read as one.
func clings(a, b string) bool {
	x, y := a[len(a)-1], b[0]
	word := func(c byte) bool { return letter(c) || digit(c) }
	return word(x) && (word(y) || y == '.' && digit(x)) || x == '.' && (digit(y) || y == '.') || x == y && strings.IndexByte("+-&|<>=:", x) >= 0 || x == '-' && y == '>' || strings.IndexByte("+-*/%&|^<>=!", x) >= 0 && y == '='
}
