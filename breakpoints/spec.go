package breakpoints

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/internal/cond"
)

// ParseSpec reads what follows break: LOCATION [thread N] [if CONDITION].
//
//	alloc, free            any allocation, any free
//	malloc, operator new   calls of one allocator function; extra adds to the known ones
//	alloc #4711, free #12  the event of that number
//	func, ns::func         a function
//	file.c:12, 12, +3, -3  a line; alone, of the current file
//	file.c:func            a function of a file
//	*0x401000, *main+4     an instruction; Addr is 0 unless it is a number
//	/re/                   all functions that match
//	when live > 2GiB       a condition on the heap that becomes true, see package when
//
// An empty location is the current line, +0. Errors are *cond.Error: the column counts in text, or
// in the condition if the error is there.
func ParseSpec(text string, extra ...Function) (Spec, error) {
	if word, rest, ok := strings.Cut(strings.TrimSpace(text), " "); ok && word == "when" && !strings.HasPrefix(strings.TrimSpace(rest)+" ", "if ") {
		var s Spec
		err := s.SetWhen(rest)
		return s, err
	}
	location, thread, condition := splitSpec(text)
	if plain := PlainLocation(location.text); plain != location.trimmed() {
		location.text = plain
	}
	s := Spec{Location: location.trimmed()}
	if err := s.parseLocation(text, location, append(Catalogue(), extra...)); err != nil {
		return Spec{}, err
	}
	if thread.present {
		digits, rest, _ := strings.Cut(thread.trimmed(), " ")
		n, err := strconv.Atoi(digits)
		if err == nil && n > 0 && rest != "" {
			at := thread.low + strings.Index(thread.text, digits) + len(digits) + 1
			return Spec{}, leftoverError(text, at, rest, strings.TrimSpace(s.Location+" thread "+digits), s.Place())
		}
		if err != nil || n < 1 {
			return Spec{}, wordError(text, thread.low, fmt.Sprintf("thread needs a thread number, found %q", thread.trimmed()))
		}
		s.Thread = n
	}
	if condition.present {
		c, err := parseCondition(condition, s.Place())
		if err != nil {
			return Spec{}, err
		}
		s.Cond = c
	}
	return s, nil
}

// parseCondition parses the condition. Its errors count columns from its first
// character on, as those of record filter do.
func parseCondition(p part, place cond.Place) (*cond.Cond, error) {
	c, err := cond.ParseAt(strings.TrimLeft(p.text, " \t"), place)
	if err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	return c, nil
}

// A part is a piece of the spec's text from byte low on.
type part struct {
	text    string
	low     int
	present bool
}

func (p part) trimmed() string { return strings.TrimSpace(p.text) }

// splitSpec cuts text at the words thread and if. The condition is the rest of
// the line, so whatever it contains is not looked at.
func splitSpec(text string) (location, thread, condition part) {
	end := len(text)
	if low := regexpEnd(text); low > 0 { // a regexp may contain the words
		location, thread, condition = splitSpec(text[low:])
		thread.low += low
		condition.low += low
		return part{text[:low+len(strings.TrimRight(location.text, " \t"))], 0, true}, thread, condition
	}
	words := splitWords(text)
	for i, w := range words {
		after := w.start + len(w.text)
		switch {
		case w.text == "if" || strings.HasPrefix(w.text, "if("):
			condition = part{text[w.start+2:], w.start + 2, true}
			if thread.present {
				thread.text = text[thread.low:w.start]
				return location, thread, condition
			}
			return part{text[:w.start], 0, true}, thread, condition
		case w.text == "thread" && !thread.present && (i > 0 || len(words) > 1):
			location = part{text[:w.start], 0, true}
			thread = part{text[after:], after, true}
		}
	}
	if !thread.present {
		location = part{text[:end], 0, true}
	}
	return location, thread, condition
}

// regexpEnd is the end of the regular expression that text begins with, 0 without
// one: the first slash that something else follows. Names have slashes in Go.
func regexpEnd(text string) int {
	first := len(text) - len(strings.TrimLeft(text, " \t"))
	if !strings.HasPrefix(text[first:], "/") {
		return 0
	}
	for i := first + 1; i < len(text); i++ {
		if text[i] == '/' && text[i-1] != '\\' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t') {
			return i + 1
		}
	}
	return 0
}

// parseLocation tells the kinds of location apart.
func (s *Spec) parseLocation(text string, p part, known []Function) error {
	loc := p.trimmed()
	start := p.low + len(p.text) - len(strings.TrimLeft(p.text, " \t"))
	fail := func(format string, args ...any) error { return wordError(text, start, fmt.Sprintf(format, args...)) }
	if s.allocator(loc, known) {
		return nil
	}
	if name, rest := s.cutAllocator(loc, known); name != "" {
		at := start + len(loc) - len(rest)
		event, ok := strings.CutPrefix(rest, "#")
		if !ok {
			return leftoverError(text, at, rest, name, s.Place())
		}
		digits, rest, _ := strings.Cut(event, " ")
		n, err := strconv.ParseUint(digits, 10, 64)
		switch {
		case err != nil || n == 0:
			return fail("%s # needs the number of an event, as in %s #4711", name, name)
		case strings.TrimSpace(rest) != "":
			return leftoverError(text, at+len(digits)+2, rest, name+" #"+digits, s.Place())
		}
		s.Nth = n
		return nil
	}
	if end := regexpEnd(loc); end > 0 && end < len(loc) {
		rest := strings.TrimLeft(loc[end:], " \t")
		return leftoverError(text, start+len(loc)-len(rest), rest, loc[:end], StopRegexp.place())
	}
	if i := leftover(loc); i > 0 && loc[0] != '/' {
		return leftoverError(text, start+i, loc[i:], strings.TrimSpace(loc[:i]), StopFunction.place())
	}
	switch {
	case loc == "":
		s.Kind = StopLine
	case loc[0] == '*':
		return s.parseAddress(strings.TrimSpace(loc[1:]), fail)
	case loc[0] == '/' && !absolute(loc):
		return s.parseRegexp(loc, fail)
	case loc[0] == '+' || loc[0] == '-':
		n, err := strconv.Atoi(loc)
		if err != nil {
			return fail("%q is not a number of lines", loc)
		}
		s.Kind, s.Offset = StopLine, n
	case loc[0] >= '0' && loc[0] <= '9':
		n, err := strconv.Atoi(loc)
		if err != nil || n == 0 {
			return fail("%q is not a line number (for an address: *%s)", loc, loc)
		}
		s.Kind, s.Line = StopLine, n
	default:
		return s.parseFileOrFunction(loc, fail)
	}
	return nil
}

// OfPython tells that the spec is about CPython's own allocators, by one word for all.
func (s Spec) OfPython() bool {
	word := s.Location
	if i := strings.IndexAny(word, "# \t"); i > 0 {
		word = word[:i]
	}
	return (s.Kind == StopAlloc || s.Kind == StopFree) && (word == "pyalloc" || word == "pyfree")
}

// allocator recognises alloc, free, pyalloc, pyfree and the names of allocator functions.
func (s *Spec) allocator(loc string, known []Function) bool {
	switch loc {
	case "alloc":
		s.Kind = StopAlloc
		return true
	case "free":
		s.Kind = StopFree
		return true
	case "pyalloc", "pyfree":
		s.Kind = StopAlloc
		if loc == "pyfree" {
			s.Kind = StopFree
		}
		for _, f := range PythonFunctions() {
			if f.Frees() == (s.Kind == StopFree) {
				s.Funcs = append(s.Funcs, f.Name)
			}
		}
		return true
	}
	i := slices.IndexFunc(known, func(f Function) bool { return f.Name == loc || f.Symbol == loc })
	if i < 0 {
		return false
	}
	s.Kind, s.Funcs = StopAlloc, []string{loc}
	if known[i].Frees() {
		s.Kind = StopFree
	}
	return true
}

// cutAllocator recognises alloc, free or the longest name of an allocator function with something
// behind it that does not continue the name.
func (s *Spec) cutAllocator(loc string, known []Function) (name, rest string) {
	for i := len(loc) - 1; i > 0; i-- {
		b := loc[i]
		if b != '#' && b != ' ' && b != '\t' && !operatorAt(loc, i) {
			continue
		}
		if before := strings.TrimRight(loc[:i], " \t"); s.allocator(before, known) {
			return before, strings.TrimLeft(loc[i:], " \t")
		}
	}
	return "", ""
}

// operatorAt tells that a condition begins right behind a name. A < may begin a template's
// arguments.
func operatorAt(s string, i int) bool {
	if s[i] == '<' || s[i] == '>' {
		return i+1 < len(s) && strings.IndexByte("= \t0123456789", s[i+1]) >= 0
	}
	return strings.IndexByte("=!&|,;", s[i]) >= 0
}

func (s *Spec) parseAddress(digits string, fail func(string, ...any) error) error {
	s.Kind = StopAddress
	if digits == "" {
		return fail("* needs an address, as in *0x401000 or *main+4")
	}
	if v, err := strconv.ParseUint(digits, 0, 64); err == nil {
		s.Addr = addr.Run(v) // otherwise an expression, which the session evaluates
	}
	return nil
}

// absolute tells a place in a file by its whole path from a regular expression.
func absolute(loc string) bool {
	_, _, ok := cutColon(loc)
	return ok && !strings.HasSuffix(loc, "/")
}

func (s *Spec) parseRegexp(loc string, fail func(string, ...any) error) error {
	expr, ok := strings.CutSuffix(loc[1:], "/")
	if !ok || expr == "" {
		return fail("a regular expression must be between slashes, as in /^load_/")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return fail("%s: %v", loc, err)
	}
	s.Kind, s.Regexp = StopRegexp, re
	return nil
}

// parseFileOrFunction reads FILE:LINE, FILE:FUNC and FUNC. The colons of C++
// names come in pairs.
func (s *Spec) parseFileOrFunction(loc string, fail func(string, ...any) error) error {
	file, rest, ok := cutColon(loc)
	if !ok {
		s.Kind, s.Function = StopFunction, loc
		return nil
	}
	if file == "" || rest == "" {
		return fail("%q is neither FILE:LINE nor FILE:FUNCTION", loc)
	}
	s.File = file
	if rest[0] < '0' || rest[0] > '9' {
		s.Kind, s.Function = StopFunction, rest
		return nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n == 0 {
		return fail("%q is not a line number", rest)
	}
	s.Kind, s.Line = StopLine, n
	return nil
}

// cutColon cuts at the first colon that has no other next to it.
func cutColon(s string) (before, after string, found bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != ':' {
			continue
		}
		if i+1 < len(s) && s[i+1] == ':' {
			i++
			continue
		}
		return s[:i], s[i+1:], true
	}
	return "", "", false
}
