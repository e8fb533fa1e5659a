// Package objects reads the objects of CPython interpreters in the memory of a process: which
// there are, of which types and sizes, and which refers to which.
//
// The cyclic garbage collector keeps the objects that may refer to others in linked lists, one
// for each generation; all else is found by following references from these and from the
// frames of threads. An object of a type that is not known is taken to refer to whatever in its
// struct looks like the address of an object: of something with a count of references and with a
// type that is one. Objects that only C code has, in its variables or on its stack, are not found.
//
// Nothing runs in the process. Memory is read in blocks of 64 KiB and only as far as it is needed. It
// may be torn or hostile: lists may lead in circles, lengths may be nonsense. All loops
// are bounded by the number of distinct objects and of references (limits.go).
//
// The sources are CPython's own: Modules/gcmodule.c (Python/gc.c from 3.13 on), the tp_traverse and
// __sizeof__ of each type in Objects and Modules, and Include/internal/pycore_gc.h, pycore_dict.h and
// pycore_frame.h of each version.
package objects
