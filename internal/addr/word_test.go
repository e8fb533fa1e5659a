package addr

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadWord(t *testing.T) {
	mem := strings.NewReader("\x00\x01\x02\x03\x04\x05\x06\x07\x08")
	for at := range Run(2) {
		if v, err := ReadWord(mem, at); err != nil || v != 0x0706050403020100+uint64(at)*0x0101010101010101 {
			t.Errorf("at %v: %#x, %v", at, v, err)
		}
	}
	if v, err := ReadWord(mem, 2); v != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %#x, %v", v, err)
	}
	if v, err := ReadWord(short{}, 0); v != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of a reader that tells no error: %#x, %v", v, err)
	}
}

// short reads half of what it should.
type short struct{}

func (short) ReadAt(b []byte, _ int64) (int, error) { return len(b) / 2, nil }
