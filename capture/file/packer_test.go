package file

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Frames of literals are what any reader of zstd unpacks, whatever their length.
func TestLiterals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	var p packer
	var u unpacker
	for _, n := range []int{minLiterals, 1<<14 - 1, 1 << 14, 1<<16 + 255, 1<<16 + 256, maxLiterals} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(rng.IntN(8) * rng.IntN(8))
		}
		frame := p.literals(data)
		if len(frame) == 0 || len(frame) > 7*n/10 {
			t.Fatalf("%d bytes in %d", n, len(frame))
		}
		back, err := u.unpack(section{encoding: packed, length: uint64(n), data: frame})
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if p.literals(make([]byte, minLiterals)) != nil {
		t.Error("one byte again and again")
	}
}

// A column is unpacked whichever way it was packed, and packed as those of its kind are
// best.
func TestColumnsArePackedAsIsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	var p packer
	var u unpacker
	for i := range 200 {
		data := make([]byte, 1+rng.IntN(140_000))
		for j := range data {
			switch {
			case i/40%2 == 0:
				data[j] = byte(bits.TrailingZeros64(rng.Uint64())) // two bits, and matches by chance
			case j < 100:
				data[j] = byte(rng.Uint32())
			default:
				data[j] = data[j-100]
			}
		}
		s, err := u.sections(p.appendColumn(nil, secTime, data))
		if err != nil || !bytes.Equal(s[secTime], data) {
			t.Fatalf("column %d: %v", i, err)
		}
		if i%40 == 39 && p.columns[secTime].literal != (i/40%2 == 0) {
			t.Errorf("column %d: %+v", i, p.columns[secTime])
		}
	}
}

// What matches cannot make smaller, literals may: a column of few different bytes without order.
func TestColumnWithoutMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	data := make([]byte, 4000)
	for i := range data {
		data[i] = byte(rng.IntN(60))
	}
	var p packer
	if n := len(p.matches(data)); n <= len(data)-len(data)/8 {
		t.Fatalf("%d bytes in %d by matches", len(data), n)
	}
	if n := len(p.appendColumn(nil, secTimeAt, data)); n > 3200 {
		t.Errorf("%d bytes in %d", len(data), n)
	}
}
