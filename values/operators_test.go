package values

import (
	"bytes"
	"testing"
)

// TestCastWide: a number of 16 bytes is its bytes in a cast to one of 16, also in memory;
// a shorter one is extended by its sign.
func TestCastWide(t *testing.T) {
	p := &Program{}
	wide := baseType(p, "__int128", 16, encSigned)
	low := append(encodeUint(1<<63, 8), make([]byte, 8)...)
	both := append(encodeUint(1<<63, 8), encodeUint(5, 8)...)
	p.Reader.Mem = bytes.NewReader(append(low, both...))
	for name, c := range map[string]struct {
		from Value
		want []byte
	}{
		"bit 63 in memory":  {MemoryValue(wide, 0), low},
		"both halves":       {MemoryValue(wide, 16), both},
		"both halves, held": {Value{Type: wide, data: both}, both},
		"negative":          {Number(p.cType("int"), 1<<32-1), bytes.Repeat([]byte{0xff}, 16)},
	} {
		v, err := (operators{language{prog: p}}).cast(c.from, wide)
		if err != nil || !bytes.Equal(v.data, c.want) {
			t.Errorf("%s: % x, %v", name, v.data, err)
		}
	}
}
