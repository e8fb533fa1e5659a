package symbols

import (
	"bytes"
	"reflect"
	"testing"
)

// HasDWARF tells the tests whether the object's DWARF was read.
func (o *Object) HasDWARF() bool { return o.DWARF.info != nil }

func TestKeptNamesEncoding(t *testing.T) {
	known := map[keptKey][]Frame{
		{0, false}: nil,
		{7, false}: {{Function: "f(int)", Linkage: "_Z1fi", File: "/a.c", Entry: 0x1000, Line: 3, Column: 9, Inlined: true, Source: FromDWARF, Language: 0x21},
			{Function: "main", Entry: 1<<64 - 1, Source: FromSymtab}},
		{7, true}:         {{Function: "main", File: "/a.c", Line: 1<<31 - 1}},
		{1<<64 - 1, true}: {{}},
	}
	b := encodeNames(known)
	if got := decodeNames(b); !reflect.DeepEqual(got, known) {
		t.Errorf("%v became %v", known, got)
	}
	if again := encodeNames(known); !bytes.Equal(again, b) {
		t.Error("two encodings of the same")
	}
	for n := range b {
		if got := decodeNames(b[:n]); len(got) != 0 {
			t.Errorf("cut after %d bytes: %v", n, got)
		}
	}
}

func FuzzKeptNames(f *testing.F) {
	f.Add(encodeNames(nil))
	f.Add(encodeNames(map[keptKey][]Frame{{4, true}: {{Function: "f", Line: 1}, {Function: "g"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		known := decodeNames(b)
		if again := decodeNames(encodeNames(known)); !reflect.DeepEqual(again, known) {
			t.Errorf("%v became %v", known, again)
		}
	})
}
