// Package filter compiles the condition of a stop, for one allocator function,
// to x86-64 machine code that runs inside the inferior.
//
// The code is a narrowing: it lets every event through for which the condition
// holds or may hold, and rejects as many others as it can. What cannot be
// decided in the process, a question about the stack for instance, is taken to
// hold, after negations have been pushed to the leaves: !(size < 10 ||
// func("x")) becomes size >= 10 && !func("x") and narrows to size >= 10. The
// engine asks the whole condition again about what came through, unless the
// Program is Exact.
//
// A condition becomes a tree of tests (tree.go) once the Operands have said
// what is known of each field, then code (code.go) through a small assembler
// (asm.go). Numbers are unsigned and 64 bits wide, as in package cond.
//
// # Calling convention
//
// The code is entered by falling or jumping into its first byte, and may be
// copied anywhere. It jumps to the match label when the condition may hold and
// falls off its last byte when it cannot. It changes r11 and the flags, nothing
// else: no other register, no memory, not the stack, so that the CFI in force
// before it is in force all through it. It makes no call and has no loop: all
// its jumps go forward. It reads only the Places given.
package filter
