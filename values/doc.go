// Package values reads the variables, types and expressions of a stack frame of C,
// C++ and Rust: what a name means there, where DWARF says its value is, and how gdb
// would print it.
//
// In a nutshell: a [World] knows modules and memory, a [Frame] is one frame of a
// stack with its registers. [World.Locals] and [World.Args] list a frame's variables,
// [World.Eval] computes an expression in it, and [World.Format] and [World.TypeText]
// make text of the results. A [Value] may lie in memory, in a register, in pieces of
// both, or nowhere: then it is a constant that the debug information tells.
//
// Neither the files nor the inferior's memory is trusted: expressions of DWARF take
// bounded steps, values bounded bytes, texts bounded elements, and containers whose
// pointers lead in circles end. Nothing is ever called in the inferior.
package values
