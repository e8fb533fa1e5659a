package breakpoints

import (
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/internal/cond"
)

// ParseFunction reads a user's own allocator function, the text after alloc add:
//
//	FUNC size=ARG2 ptr=RET             allocates
//	FUNC size=ARG2 count=ARG1 ptr=*ARG3 align=64
//	FUNC old=ARG1 size=ARG2 ptr=RET    resizes
//	FUNC free=ARG1                     frees
//
// FUNC is whatever names a function for break: Pool::get, Pool<int, 4>::get(long),
// pool.c:get, a linkage name, *ADDRESS. Name and Symbol are this text.
// ARG1 to ARG6 are the integer arguments in order, RET the result, *ARG1 what
// the argument points to after the return; a plain number is a constant, 4k.
// ptr is RET where it is not given. Errors are *cond.Error, with the column.
func ParseFunction(text string) (Function, error) {
	words := splitWords(text)
	if len(words) == 0 {
		return Function{}, wordError(text, 0, "no function named (example: my_alloc size=ARG2 ptr=RET)")
	}
	name := words[0]
	if isKey(name.text) {
		return Function{}, wordError(text, name.start, "the function's name comes first (example: my_alloc size=ARG2 ptr=RET)")
	}
	end := 1 // of the name, which may have blanks: a template's arguments, parameters
	for end < len(words) && !isKey(words[end].text) && open(text[name.start:words[end].start]) {
		end++
	}
	last := words[end-1]
	name.text = text[name.start : last.start+len(last.text)]
	f := Function{Name: name.text, Symbol: name.text, Kind: capture.Alloc, Ptr: returned, Group: GroupUser}
	seen := map[string]bool{}
	for _, w := range words[end:] {
		key, value, _ := strings.Cut(w.text, "=")
		if seen[key] {
			return Function{}, wordError(text, w.start, key+" is given twice")
		}
		seen[key] = true
		if msg := f.set(key, value); msg != "" {
			return Function{}, wordError(text, w.start, msg)
		}
	}
	if seen["free"] && (seen["ptr"] || seen["old"] || seen["count"] || seen["align"]) {
		return Function{}, wordError(text, name.start, "a function that frees takes free= and size= only")
	}
	if !seen["free"] && !seen["size"] {
		return Function{}, wordError(text, name.start, name.text+" needs size=ARG1 or free=ARG1")
	}
	return f, nil
}

// isKey tells KEY=VALUE from a part of a name, which operator= and the like are.
func isKey(s string) bool {
	key, _, found := strings.Cut(s, "=")
	return found && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") == "" && key != "operator"
}

// open reports whether a name that begins so continues behind a blank: a bracket is open, it has
// parameters, which const follows, or it names an operator, as operator new does.
func open(name string) bool {
	depth := 0
	for _, c := range name {
		switch c {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			depth--
		}
	}
	name = strings.TrimRight(name, " \t")
	return depth > 0 || strings.HasSuffix(name, "operator") || strings.HasSuffix(name, "operator=") || depth == 0 && strings.HasSuffix(name, ")")
}

// set applies one key=value; it returns what is wrong.
func (f *Function) set(key, value string) string {
	o, ok := parseOperand(value)
	if !ok {
		return strconv.Quote(key+"="+value) + " is not KEY=ARG1..ARG6, KEY=RET, KEY=*ARG1 or KEY=NUMBER"
	}
	atEntry := o.From == Argument || o.From == Constant
	switch key {
	case "size", "count", "align", "old", "free":
		if !atEntry || o.From == Constant && (key == "old" || key == "free") {
			return key + " must be known at entry: ARG1..ARG6" + map[bool]string{true: " or a number"}[key != "old" && key != "free"]
		}
	case "ptr":
		if atEntry {
			return "ptr is the block returned: RET or *ARG1..*ARG6 (free=ARG1 for a function that frees)"
		}
	default:
		return "unknown key " + strconv.Quote(key) + " (size, count, align, old, ptr, free)"
	}
	switch key {
	case "size":
		f.Size = o
	case "count":
		f.Count = o
	case "align":
		f.Align = o
	case "old":
		f.Old, f.Kind = o, capture.Realloc
	case "ptr":
		f.Ptr = o
	case "free":
		f.Ptr, f.Kind, f.Result = o, capture.Free, NoTest
	}
	return ""
}

func parseOperand(s string) (Operand, bool) {
	rest, star := strings.CutPrefix(s, "*")
	if digits, ok := strings.CutPrefix(strings.ToUpper(rest), "ARG"); ok {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > 6 || digits[0] == '+' {
			return Operand{}, false
		}
		if star {
			return Operand{From: Pointed, Index: n - 1}, true
		}
		return arg(n), true
	}
	if star {
		return Operand{}, false
	}
	if strings.EqualFold(s, "RET") {
		return returned, true
	}
	v, err := cond.ParseSize(s)
	return Operand{From: Constant, Value: v}, err == nil
}

type word struct {
	text  string
	start int // byte position
}

// splitWords cuts text at blanks.
func splitWords(text string) []word {
	var words []word
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && text[j] != ' ' && text[j] != '\t' {
			j++
		}
		if j > i {
			words = append(words, word{text[i:j], i})
		}
		i = j + 1
	}
	return words
}

// wordError points at byte pos of text.
func wordError(text string, pos int, msg string) error {
	return &cond.Error{Src: text, Col: len([]rune(text[:pos])) + 1, Msg: msg}
}
