//go:build !linux

package heap

import "unsafe"

// hugePages is Linux' affair.
func hugePages(unsafe.Pointer, uintptr) {}
