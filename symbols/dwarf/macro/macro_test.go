package macro

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// texts are the entries that Read tells of.
func texts(s Sections, off uint64, info bool) ([]string, error) {
	var out []string
	err := Read(s, off, info, func(e Entry) bool {
		switch e.Kind {
		case Define, Undef:
			out = append(out, fmt.Sprintf("%s%s@%d", map[Kind]string{Define: "+", Undef: "-"}[e.Kind], e.Text, e.Line))
		case Start:
			out = append(out, fmt.Sprintf("file %d@%d", e.File, e.Line))
		case End:
			out = append(out, "end")
		}
		return len(out) < 100
	})
	return out, err
}

func TestRead(t *testing.T) {
	header := "\x05\x00\x02\x00\x00\x00\x00" // version 5, with an offset of lines
	tail := "\x05\x00\x00\x01\x09TAIL 1\x00\x00"
	str := []byte("A 1\x00B(x) x\x00")
	index := func(n uint64) []byte { return []byte(fmt.Sprintf("I%d 2", n)) }
	for _, c := range []struct {
		name, macro string
		info        bool
		want        string
		err         error
	}{
		{"each opcode", header + "\x03\x00\x01" + "\x01\x07C 3\x00" + "\x05\x08\x04\x00\x00\x00" + "\x06\x09\x00\x00\x00\x00" + "\x02\x0aC\x00" + "\x0b\x0b\x05" + "\x0c\x0c\x06" + "\x08\x0d\x00\x00\x00\x00" + "\x04\x00", false,
			"file 1@0|+C 3@7|+B(x) x@8|-A 1@9|-C@10|+I5 2@11|-I6 2@12|+ALT 9@13|end", nil},
		{"GNU's version", "\x04" + header[1:] + "\x01\x01X\x00\x00", false, "+X@1", nil},
		{"offsets of 8 bytes", "\x05\x00\x01\x05\x01\x04\x00\x00\x00\x00\x00\x00\x00\x00", false, "+B(x) x@1", nil},
		{"vendor's opcode", "\x05\x00\x04\x01\xe0\x02\x0b\x08\xe0\x07text\x00\x01\x01X\x00\x00", false, "+X@1", nil},
		{"unknown opcode", "\x05\x00\x00\xe0", false, "", errOpcode},
		{"unknown version", "\x06\x00\x00\x00", false, "", errVersion},
		{"cut", "\x05\x00\x00\x01\x01X 1", false, "", errCut},
		{"no end", "\x05\x00\x00\x01\x01X\x00", false, "+X@1", errCut},
		{"imports itself", "\x05\x00\x00\x07\x00\x00\x00\x00\x00", false, "", errMany},
		{"macinfo", "\x03\x00\x01\x01\x02Y 5\x00\x02\x03Y\x00\xff\x01vendor\x00\x04\x00", true, "file 1@0|+Y 5@2|-Y@3|end", nil},
	} {
		s := Sections{Macro: []byte(c.macro), Macinfo: []byte(c.macro), Str: str, AltStr: []byte("ALT 9\x00"), Index: index}
		got, err := texts(s, 0, c.info)
		if strings.Join(got, "|") != c.want || err != c.err {
			t.Errorf("%s: %s, %v; want %s, %v", c.name, strings.Join(got, "|"), err, c.want, c.err)
		}
	}
	both := header + "\x07\x0d\x00\x00\x00\x00" + tail
	if got, err := texts(Sections{Macro: []byte(both)}, 0, false); err != nil || !slices.Equal(got, []string{"+TAIL 1@9"}) {
		t.Errorf("import: %v, %v", got, err)
	}
	if _, err := texts(Sections{}, 5, false); err == nil {
		t.Error("an offset outside of the section is no error")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"A": "A false [] ", "A 1 + 2": "A false [] 1 + 2", "F() x": "F true [] x", "F(a,b) a b": "F true [a b] a b", "F(a, b...) b": "F true [a b...] b", "E ": "E false [] ",
	} {
		m, ok := Parse([]byte(text))
		if got := fmt.Sprint(m.Name, " ", m.Function, " ", m.Params, " ", m.Body); got != want || !ok {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "F(a", "(a) b"} {
		if m, ok := Parse([]byte(text)); ok {
			t.Errorf("%q is %v", text, m)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x05\x00\x02\x00\x00\x00\x00\x03\x00\x01\x01\x07C 3\x00\x05\x08\x04\x00\x00\x00\x04\x00"), []byte("A 1\x00B(x) x\x00"), uint16(0), false)
	f.Add([]byte("\x05\x00\x00\x07\x00\x00\x00\x00\x00"), []byte{}, uint16(0), false)
	f.Add([]byte("\x03\x00\x01\x01\x02Y 5\x00\x02\x03Y\x00\xff\x01vendor\x00\x04\x00"), []byte{}, uint16(0), true)
	f.Fuzz(func(t *testing.T, section, str []byte, off uint16, info bool) {
		n := 0
		_ = Read(Sections{Macro: section, Macinfo: section, Str: str, AltStr: str}, uint64(off), info, func(e Entry) bool {
			Parse(e.Text)
			n++
			return true
		})
		if n > maxEntries {
			t.Fatalf("%d entries", n)
		}
	})
}

// Entries that share a long text do not make it many times as long.
func TestReadSharedTexts(t *testing.T) {
	const size = 1 << 20
	m := []byte("\x05\x00\x00")
	for range 1000 {
		m = append(m, "\x05\x01\x00\x00\x00\x00"...) // DW_MACRO_define_strp of line 1, text 0
	}
	n := 0
	err := Read(Sections{Macro: append(m, 0), Str: append(make([]byte, 0, size+1), []byte("LONG "+strings.Repeat("x", size)+"\x00")...)}, 0, false, func(e Entry) bool {
		n += len(e.Text)
		return true
	})
	if err != errMany || n > maxText+2*size {
		t.Errorf("%d bytes of texts, %v", n, err)
	}
}
