package elfnote

import (
	"encoding/binary"
	"strings"
	"testing"
)

func note(order binary.AppendByteOrder, name string, kind uint32, desc string) []byte {
	b := order.AppendUint32(nil, uint32(len(name)+1))
	b = order.AppendUint32(b, uint32(len(desc)))
	b = order.AppendUint32(b, kind)
	for _, part := range []string{name + "\x00", desc} {
		b = append(b, part...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	return b
}

func TestBuildID(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	id := note(le, "GNU", 3, "\xab\xcd\xef")
	other := note(le, "stapsdt", 3, "12345")
	for _, c := range []struct {
		name  string
		order binary.ByteOrder
		notes []byte
		want  string
	}{
		{"alone", le, id, "abcdef"},
		{"behind another", le, append(other[:len(other):len(other)], id...), "abcdef"},
		{"big-endian", be, note(be, "GNU", 3, "\x01"), "01"},
		{"without padding at the end", le, id[:len(id)-1], "abcdef"},
		{"cut", le, id[:len(id)-2], ""},
		{"too long", le, note(le, "GNU", 3, strings.Repeat("x", maxBuildID+1)), ""},
		{"none", le, other, ""},
		{"empty", le, nil, ""},
		{"of a size that is not there", le, append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), id[8:]...), ""},
	} {
		if got := BuildID(c.order, c.notes); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestGoBuildID(t *testing.T) {
	le := binary.LittleEndian
	id := note(le, "Go", 4, "abc/def/ghi/jkl")
	for _, c := range []struct {
		name  string
		notes []byte
		want  string
	}{
		{"alone", id, "abc/def/ghi/jkl"},
		{"behind that of GNU", append(note(le, "GNU", 3, "\xab"), id...), "abc/def/ghi/jkl"},
		{"of another kind", note(le, "Go", 3, "abc"), ""},
		{"not of text", note(le, "Go", 4, "a\x1bc"), ""},
		{"too long", note(le, "Go", 4, strings.Repeat("x", maxGoBuildID+1)), ""},
		{"cut", id[:len(id)-3], ""},
		{"empty", nil, ""},
	} {
		if got := GoBuildID(le, c.notes); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
