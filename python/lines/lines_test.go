package lines

import (
	"testing"
)

// The code of this function as 3.11 and 3.8 compile it, with its tables.
//
//	def f(n):
//	    for i in n:
//	        g(i)
//	    return n
func TestStarts(t *testing.T) {
	for _, c := range []struct {
		code Code
		want map[int][]Start
	}{
		{Code{Minor: 8, FirstLine: 1, Bytecode: []byte("\x7c\x00\x44\x00\x5d\x0c\x7d\x01\x74\x00\x7c\x01\x83\x01\x01\x00\x71\x04\x7c\x00\x53\x00"), Table: []byte("\x00\x01\x08\x01\x0a\x01")},
			map[int][]Start{1: nil, 2: {{0, 0}, {4, 0}}, 3: {{8, 8}}, 4: {{18, 18}}}},
		{Code{Minor: 10, FirstLine: 1, Bytecode: []byte("\x7c\x00\x44\x00\x5d\x06\x7d\x01\x74\x00\x7c\x01\x83\x01\x01\x00\x71\x02\x7c\x00\x53\x00"), Table: []byte("\x08\x01\x0a\x01\x04\x01")},
			map[int][]Start{1: nil, 2: {{0, 0}, {4, 0}}, 3: {{8, 8}}, 4: {{18, 18}}, 5: nil}},
	} {
		m, ok := New(c.code)
		if !ok {
			t.Fatalf("3.%d is not known", c.code.Minor)
		}
		for line, want := range c.want {
			got := m.Starts(line)
			if len(got) != len(want) {
				t.Errorf("3.%d: line %d begins at %v, want %v", c.code.Minor, line, got, want)
				continue
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("3.%d: line %d begins at %v, want %v", c.code.Minor, line, got, want)
				}
			}
		}
		if next, ok := m.Next(1); !ok || next != 2 || m.First() != 0 {
			t.Errorf("3.%d: the first line is %d, at %d", c.code.Minor, next, m.First())
		}
		if m.Event(0, 4) || !m.Event(16, 4) || !m.Event(6, 8) {
			t.Errorf("3.%d: at the head of the loop: %v %v %v", c.code.Minor, m.Event(0, 4), m.Event(16, 4), m.Event(6, 8))
		}
	}
	if _, ok := New(Code{Minor: 7}); ok {
		t.Error("3.7 is known")
	}
}

func FuzzMap(f *testing.F) {
	f.Add(8, []byte("\x7c\x00\x44\x00\x5d\x0c\x7d\x01\x71\x04\x53\x00"), []byte("\x00\x01\x08\x01"), []byte{}, 0)
	f.Add(12, []byte("\x97\x00\x7c\x00\x44\x00\x5d\x0c\x00\x00\x7d\x01\x8c\x04\x04\x00\x53\x00"), []byte("\x80\x00\xd8\x07\x08"), []byte("\x81\x02\x03\x04\xff\xff"), 2)
	f.Add(13, []byte("\x95\x00\x48\xff\x47\xff\x48\xff"), []byte("\xff\x00\xf0\x7f\x7f\x7f\x7f\x7f\x7f\x7f"), []byte("\x80\x00\x00\x00"), 1<<30)
	f.Fuzz(func(t *testing.T, minor int, code, table, exceptions []byte, first int) {
		m, ok := New(Code{Minor: minor, FirstLine: 1, Bytecode: code, Table: table, Exceptions: exceptions, FirstTraceable: first})
		if !ok {
			return
		}
		for _, line := range m.Lines() {
			for _, s := range m.Starts(line) {
				if s.Offset < 0 || s.Offset >= len(code) || s.Run > s.Offset || m.Line(s.Offset) != line {
					t.Fatalf("line %d begins at %v of %d bytes, in line %d", line, s, len(code), m.Line(s.Offset))
				}
			}
		}
		m.First()
		m.Next(0)
		for prev := -4; prev < len(code)+4; prev++ {
			m.Event(prev, m.Instruction(prev+2))
			m.Rewinds(prev, prev-2)
			m.Before(prev)
		}
	})
}
