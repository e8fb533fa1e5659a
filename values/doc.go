// Package values reads the variables, types and expressions of a stack frame of C,
// C++ and Rust: what a name means there, where DWARF says its value is, and how gdb
// would print it.
//
// In a nutshell: a [World] knows modules and memory, a [Frame] is one frame of a
// stack with its registers. [World.Locals] and [World.Args] list a frame's variables,
// [World.Eval] computes an expression in it, and [World.Format] makes text of the
// result. A [Value] is in memory, in a register, in pieces of both, or nowhere: then
// it is a constant of the debug information. A [Reader] reads values, their members and
// what they point to. For a value of a library, formatting asks the table of [Printers]
// of the World for a [Printer], which describes the value's contents as a [Display].
//
// Neither the files nor the inferior's memory is trusted. Steps of DWARF expressions,
// bytes of values and elements of texts are bounded, and containers with circular links
// end. Member functions that a Display answers are computed from memory; other functions of
// the inferior are called only by World.Call, which the consumer gives.
package values
