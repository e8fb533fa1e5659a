// Package blocktype describes which type the blocks of a heap are.
//
// It knows no process: it gets the types of package values, addresses of code, and where virtual
// tables are asked for a reader of memory (the [values.Program]'s).
//
// In a nutshell: a [Finder] makes a [Site] of a stack that allocated; it is the same for all blocks
// with that stack, so callers keep it. [Site.Fit] is the [Type] of a block of some size that was
// allocated there, nil if none fits. [Finder.Virtual] is the Type of a block by the virtual table that
// it begins with. [Type.Field] names what is at an offset of the block:
//
//	t := site.Fit(blocktype.Block{Size: 24}) // nil: not known
//	text, typ := t.Field(8)                  // ".next", struct node *
//
// In a session, the comment of imageTypes in package session/heaps has the order in which these sources, Go runtimes
// and pointers are asked.
//
// # How a type is found
//
// Of the functions on the stack, from the innermost on:
//
//	allocate of an allocator class of C++, make_unique, Box and RawVec of Rust: by the template
//	argument. What containers and smart pointers allocate is known so.
//	else: by what the code does with the pointer. The instructions behind the call are followed
//	(package comment of flow_x86.go): to the constructor that is called with it, the variable, member
//	or global variable that it is stored in, the parameter that it is passed as. The type of these is
//	what debug information declares.
//	If the function returns the pointer as void *, as xmalloc does, the function that called it is
//	asked in the same way.
//
// A type is only given if the size fits: the block's size is the type's, or, where an array can be,
// a multiple of it, or more where the type ends with a flexible array member.
package blocktype

// How says how the type of a block is known.
type How uint8

// The ways.
const (
	Declared How = iota // debug information of the code that allocated it says so
	VTable              // by the virtual table that it begins with
	Guess               // the size fits, but another type would, too
	Pointer             // a pointer to it is declared so, which may be of its first member, or out of date
)

// Hows are the words for them.
var Hows = [...]string{"declared", "vtable", "guess", "pointer"}

// Sure tells that it is no guess.
func (h How) Sure() bool { return h < Guess }

func (h How) String() string { return Hows[h] }
