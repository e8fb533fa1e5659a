// Package cpython reads what the threads of a target do in Python, and the objects and heaps of its interpreters.
//
// Nothing here stops the program: stops in Python and steps there belong to package session.
package cpython
