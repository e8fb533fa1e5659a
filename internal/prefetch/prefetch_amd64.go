package prefetch

import "unsafe"

// Pairs asks for the lines of these addresses, and for the line behind each.
//
//go:noescape
func Pairs(at []unsafe.Pointer)

// Lines asks for the lines of these addresses.
//
//go:noescape
func Lines(at []unsafe.Pointer)
