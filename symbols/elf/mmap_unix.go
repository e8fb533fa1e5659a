//go:build unix

package elf

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps the whole of f read-only. Reading past the end of a file that
// was cut after the mapping faults: see Guard.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap %d bytes: %w", size, err)
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
