package addr

import (
	"encoding/binary"
	"io"
)

// ReadWord reads the eight bytes at an address. It is an error if only some of them can be read.
func ReadWord(mem io.ReaderAt, at Run) (uint64, error) {
	var b [8]byte
	if n, err := mem.ReadAt(b[:], int64(at)); n < len(b) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}
