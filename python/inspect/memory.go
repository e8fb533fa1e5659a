package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hdb/internal/addr"
)

// A memory is the memory of the process.
type memory struct {
	io.ReaderAt
	left *int // if it is not nil, how many bytes may still be read
}

// maxRead bounds the bytes that are read to show one value, MaxSearch those to find it by a
// name or a key. leastRead is what a read counts at least: it is a system call.
const (
	maxRead   = 8 << 20
	MaxSearch = 64 << 20
	leastRead = 256
)

// maxBytes bounds a bytes object, maxText the characters of a name.
const (
	maxBytes = 16 << 20
	maxText  = 4096
)

var errTooMuch = errors.New("too much would have to be read")

func (m *memory) take(n int) error {
	if m.left == nil {
		return nil
	}
	if n = max(n, leastRead); n > *m.left {
		return errTooMuch
	}
	*m.left -= n
	return nil
}

// Read reads n bytes.
func (m *memory) Read(at addr.Run, n int) ([]byte, error) {
	if err := m.take(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if got, err := m.ReadAt(b, int64(at)); got < n {
		if err == nil {
			err = fmt.Errorf("%d of %d bytes", got, n)
		}
		return nil, fmt.Errorf("read %v: %w", at, err)
	}
	return b, nil
}

// Word reads 8 bytes.
func (m *memory) Word(at addr.Run) (uint64, error) {
	b, err := m.Read(at, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Pointer reads an address.
func (m *memory) Pointer(at addr.Run) (addr.Run, error) {
	n, err := m.Word(at)
	return addr.Run(n), err
}

// Field is the pointer that a struct has at an offset.
func (m *memory) Field(at addr.Run, offset int) (addr.Run, error) {
	return m.Pointer(at + addr.Run(offset))
}

// pointerIn is the pointer at an offset of a struct that was read.
func pointerIn(b []byte, at int) addr.Run { return addr.Run(binary.LittleEndian.Uint64(b[at:])) }

// intIn is the int there.
func intIn(b []byte, at int) int { return int(int32(binary.LittleEndian.Uint32(b[at:]))) }
