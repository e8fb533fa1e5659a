package prefetch

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// Whatever the addresses are, nothing happens: there may be no memory there, or none
// behind it.
func TestPairs(t *testing.T) {
	size := os.Getpagesize()
	page, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(page[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	at := []unsafe.Pointer{nil, unsafe.Pointer(&page[0]), unsafe.Pointer(&page[size-1]), unsafe.Pointer(&page[size])}
	for n := range len(at) + 1 {
		Pairs(at[:n])
		Lines(at[:n])
	}
	for i, b := range page[:size] {
		if b != 0 {
			t.Errorf("byte %d of the memory is %x", i, b)
		}
	}
	if err := syscall.Munmap(page); err != nil {
		t.Fatal(err)
	}
	Pairs(at)
	Lines(at)
}
