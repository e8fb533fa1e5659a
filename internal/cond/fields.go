package cond

import (
	"fmt"
	"slices"
	"strings"
)

// A Field is a number that a stop or event has and a condition compares.
type Field uint8

// The fields. Sizes and Live are bytes; Thread is hdb's small thread number, Goroutine the number of Go's runtime.
const (
	Size      Field = iota // requested bytes
	Addr                   // block returned, or block freed
	Old                    // block handed to realloc or mremap
	Thread                 // thread number
	Nth                    // event number, the 4711 of #4711
	Live                   // bytes live in the heap at the event
	Blocks                 // live blocks so far
	Align                  // alignment asked for, bytes
	Count                  // number of elements of calloc or reallocarray
	Goroutine              // number of the goroutine, of a Go program
	fieldCount
)

// A Predicate is a question about a stop that takes a name.
type Predicate uint8

// The predicates.
const (
	Func       Predicate = iota // a function of that name is on the stack
	Module                      // a frame of that module is on the stack
	Caller                      // the function that the block belongs to
	PyFile                      // a function of Python in that file is on the stack
	Like                        // the stack equals a recorded event's
	Kind                        // the allocator function
	Type                        // the type of the block
	Domain                      // the allocator function, by the domain of CPython's allocators
	ThreadName                  // the thread's name
	predicateCount
)

// FieldInfo describes a name of the language for help and completion.
type FieldInfo struct {
	Name string // as typed; predicates end in "("
	Help string
}

var fieldInfo = [fieldCount]FieldInfo{
	Size:   {"size", "requested bytes (calloc: the product)"},
	Addr:   {"addr", "address of the block returned or freed"},
	Old:    {"old", "block handed to realloc or mremap"},
	Thread: {"thread", "thread number, or name: thread == \"loader\""},
	Nth:    {"nth", "event number; #4711 means nth == 4711"},
	Live:   {"live", "bytes live in the heap at the event"},
	Blocks: {"blocks", "blocks live in the heap at the event"},
	Align:  {"align", "alignment asked for in bytes"},
	Count:  {"count", "element count of calloc and reallocarray"},

	Goroutine: {"goroutine", "number of the goroutine, in a Go program"},
}

var predicateInfo = [predicateCount]FieldInfo{
	Func:       {"func(", "func(\"name\"): a function of that name is on the stack (* matches anything)"},
	Module:     {"module(", "module(\"libfoo\"): a frame of that library or program is on the stack"},
	Caller:     {"caller(", "caller(\"name\"): the function that the block belongs to, as allocs shows it"},
	PyFile:     {"pyfile(", "pyfile(\"app/*.py\") or (\"app.py:10\"): a Python function from that file, or at that line, is on the stack; give the whole path or its end"},
	Like:       {"like(", "like(\"FILE.hdb#4711\"): the stack of that event in the capture"},
	Kind:       {"kind(", "kind(\"calloc\") or kind == calloc: the allocator function called"},
	Type:       {"type(", "type(\"Node\"): the block is of that type; works in live and allocs for recorded blocks, and at Go allocations"},
	Domain:     {"domain(", "domain == obj: CPython's allocator domain (raw, mem or obj); needs --python-allocators"},
	ThreadName: {"thread", "thread == \"loader\": the thread's name"},
}

// Fields lists every name of the language once, for help and completion.
func Fields() []FieldInfo {
	all := slices.Clone(fieldInfo[:])
	return append(all, predicateInfo[:ThreadName]...) // a thread's name is asked through the field's word
}

// String is the field as typed.
func (f Field) String() string {
	if f < fieldCount {
		return fieldInfo[f].Name
	}
	return fmt.Sprintf("Field(%d)", uint8(f))
}

// String is the predicate as an error message names it: "func()".
func (p Predicate) String() string {
	switch {
	case p == ThreadName:
		return "a thread name"
	case p < predicateCount:
		return predicateInfo[p].Name + ")"
	}
	return fmt.Sprintf("Predicate(%d)", uint8(p))
}

// word is the predicate without parenthesis.
func (p Predicate) word() string { return strings.TrimSuffix(predicateInfo[p].Name, "(") }

// OfStack reports whether the answer is a matter of the stack alone, which has to
// be walked for it.
func (p Predicate) OfStack() bool {
	return p == Func || p == Module || p == Caller || p == PyFile || p == Like
}

// known lists what p has, for an error message.
func (p Place) known() string {
	var names []string
	for _, f := range p.Fields {
		names = append(names, f.String())
	}
	for _, q := range p.Predicates {
		if q != ThreadName {
			names = append(names, q.String())
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// FieldNamed is the field that is typed so.
func FieldNamed(word string) (Field, bool) {
	for f, info := range fieldInfo {
		if info.Name == word {
			return Field(f), true
		}
	}
	return 0, false
}

func predicateNamed(word string) (Predicate, bool) {
	for p := range ThreadName {
		if p.word() == word {
			return p, true
		}
	}
	return 0, false
}
