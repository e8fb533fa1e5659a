//go:build !amd64

package prefetch

import "unsafe"

// Pairs asks for the lines of these addresses, and for the line behind each.
func Pairs([]unsafe.Pointer) {}

// Lines asks for the lines of these addresses.
func Lines([]unsafe.Pointer) {}
