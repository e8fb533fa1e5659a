// Package inspect reads single objects of CPython interpreters in the memory of a process, without running code: their
// text as repr() writes it, their attributes, elements and lengths.
//
// What a class computes in Python or in C is not read, but named in an error. Memory may be torn or hostile: a Reader
// reads only a number of bytes, and the text of a value is bounded by Limits.
//
// The sources are CPython's own: Objects and Modules, by type, and Include/cpython of each version.
package inspect
