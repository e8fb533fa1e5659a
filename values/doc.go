// Package values reads the variables, types and expressions of a stack frame of C,
// C++ and Rust: what a name means there, where DWARF says its value is, and how gdb
// would print it.
//
// In a nutshell: a [Program] knows modules and memory, a [Frame] is one frame of a
// stack with its registers. [Program.Locals] and [Program.Args] list a frame's variables,
// [World.Eval] computes an expression in it, and [Program.Format] makes text of the
// result. A [Value] is in memory, in a register, in pieces of both, or nowhere: then
// it is a constant of the debug information. A [Reader] reads values, their members and
// what they point to. For a value of a library, formatting asks the table of [Printers]
// of the Program for a [Printer], which describes the value's contents as a [Display].
//
// # Parts
//
// In this order, each asks those before it:
//
//	Reader      memory, the bytes and numbers of values, their members
//	entry       what an entry of debug information says about a type or its parts
//	Type        a type, read by its entry when it is first needed; knows its Program
//	Frame       registers, scopes, and the code around a frame
//	locator     where DWARF says that a variable is, and the value that is there
//	Program     modules, types and symbols; what printers ask for by a Type
//	formatter   text of a value
//	language    numbers and types that the frame's language has itself
//	lookup      what a name means in a frame: variables, functions, types
//	registers   what $rip and its like mean in a frame
//	operators   operators and conversions, from values
//	library     members, elements and member functions, by printers where they know
//	member      a member function of a class, and where its code is
//	option      one of several functions that a call may mean; package calls chooses
//	functions   calls of functions of the program
//	caller      arguments of a call, placed by package calls
//	evaluator   expressions in a frame, by their syntax; package cpp expands macros
//	World       what consumers ask, and what expressions can do in addition to reading: write,
//	            call, name the debugger's numbers and the values of before
//
// A type leads back to its Program: by it a Reader follows smart pointers and synthetic
// pointers, and a declared type finds its definition.
//
// # Limits
//
// Neither the files nor the inferior's memory is trusted. Steps of DWARF expressions,
// bytes of values and elements of texts are bounded, and containers with circular links
// end. Member functions that a Display answers are computed from memory; other functions of
// the inferior are called only by World.Call, which the consumer gives, and never for
// World.Holds, the condition of a stop.
package values
