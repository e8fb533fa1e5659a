package breakpoints

import (
	"bytes"
	"fmt"
	"io"

	"hdb/internal/addr"
)

// reader reads words and texts from the inferior.
type reader struct{ io.ReaderAt }

func (r reader) word(a addr.Run) (uint64, error) {
	v, err := addr.ReadWord(r.ReaderAt, a)
	if err != nil {
		return 0, fmt.Errorf("word at %s: %w", a, err)
	}
	return v, nil
}

// maxText bounds the search for a string's end; a longer one has that length.
const maxText = 1 << 20

// textLength is the length of the C string at a with its NUL.
func (r reader) textLength(a addr.Run) uint64 {
	var b [512]byte
	for length := uint64(0); length < maxText; length += uint64(len(b)) {
		n, _ := r.ReadAt(b[:], int64(a)+int64(length))
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return length + uint64(i) + 1
		}
		if n < len(b) {
			return length + uint64(n)
		}
	}
	return maxText
}
