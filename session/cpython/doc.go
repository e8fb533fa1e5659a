// Package cpython reads what the threads of a target do in Python, the objects and heaps of its interpreters, and the functions
// and variables of the sources of Cython.
//
// Nothing here stops the program: stops in Python and steps there belong to package session.
package cpython
