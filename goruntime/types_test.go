package goruntime

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestTypeName reads names from memory that ends behind them.
func TestTypeName(t *testing.T) {
	for _, c := range []struct {
		text  string
		flags byte
		limit uint64
		want  string
	}{
		{"main.node", 0, 100, "main.node"},
		{"*main.node", typeExtraStar, 100, "main.node"},
		{"main.node", 0, 9, "main.node"},
		{"main.node", 0, 8, ""},
		{strings.Repeat("n", 300), 0, MaxTypeName, strings.Repeat("n", 300)},
		{strings.Repeat("n", MaxTypeName+1), 0, 1 << 20, ""},
		{"", typeExtraStar, 100, ""},
		{"*", typeExtraStar, 100, ""},
	} {
		const first = 1 << 20
		memory := append(binary.AppendUvarint([]byte{0}, uint64(len(c.text))), c.text...)
		descriptor := make([]byte, TypeSize)
		binary.LittleEndian.PutUint32(descriptor[TypeStr:], 16)
		descriptor[TypeFlags] = c.flags
		read := func(b []byte, at uint64) bool {
			return at-first-16 < uint64(len(memory)) && copy(b, memory[at-first-16:]) == len(b)
		}
		if len(memory) < 4 { // the length is read with what follows
			memory = append(memory, 0, 0, 0)
		}
		if got := TypeName(read, descriptor, first, c.limit); got != c.want {
			t.Errorf("%.20q, flags %d: %.20q", c.text, c.flags, got)
		}
	}
}
