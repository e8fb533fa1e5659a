package prefetch

import (
	"testing"
	"unsafe"
)

// Whatever the addresses are, nothing happens.
func TestRead(t *testing.T) {
	var x [4]uint64
	lines := []uintptr{0, 1, ^uintptr(0), 1 << 63, uintptr(unsafe.Pointer(&x[3]))}
	for n := range lines {
		Read(lines[:n])
	}
	Read(lines)
	if x != [4]uint64{} {
		t.Errorf("the memory is %x", x)
	}
}
