package blocktype

import "strings"

// holders begin the names of the types that shared pointers allocate: an object with its counts. The object's type is an argument of
// the template.
var holders = map[string]string{ // the argument
	"std::_Sp_counted_ptr_inplace<": "_Tp", "std::__1::__shared_ptr_emplace<": "_Tp", // libstdc++, libc++
	"alloc::rc::RcInner<": "T", "alloc::rc::RcBox<": "T", "alloc::sync::ArcInner<": "T", // Rust; RcBox before 1.82
}

// Unnamed reports whether the program gives the type no name, as of a lambda.
func (t *Type) Unnamed() bool { return strings.HasSuffix(t.Name, "{...}") }

// Object is what a type is called where its objects matter: of the block of a shared pointer the object in it.
func (t *Type) Object() string {
	for holder, argument := range holders {
		if t.Elem == nil || !strings.HasPrefix(t.Name, holder) {
			continue
		}
		if in := t.Elem.TemplateType(argument); in != nil {
			return in.String()
		}
	}
	return t.String()
}
