package blocktype

import "strings"

// holders are the types that shared pointers allocate: an object as the first argument of its template, and counts.
var holders = []string{
	"std::_Sp_counted_ptr_inplace<", "std::__1::__shared_ptr_emplace<", // libstdc++, libc++
	"alloc::rc::RcInner<", "alloc::rc::RcBox<", "alloc::sync::ArcInner<", // Rust; RcBox before 1.82
}

// Unnamed reports whether the program gives the type no name, as of a lambda.
func (t *Type) Unnamed() bool { return strings.HasSuffix(t.Name, "{...}") }

// Object is what a type is called where its objects matter: of the block of a shared pointer the object in it.
func (t *Type) Object() string {
	name := t.String()
	for _, h := range holders {
		if strings.HasPrefix(name, h) {
			return firstArgument(name, name[len(h):])
		}
	}
	return name
}

// firstArgument is the first of the arguments that rest begins with, or name if they do not end.
func firstArgument(name, rest string) string {
	depth := 0
	for i, c := range rest {
		switch {
		case c == '>' && strings.HasSuffix(rest[:i], "-"): // the -> of a function
		case strings.ContainsRune("<([{", c):
			depth++
		case depth == 0 && (c == ',' || c == '>'):
			return strings.TrimSpace(rest[:i])
		case strings.ContainsRune(">)]}", c):
			depth--
		}
	}
	return name
}
