package calls

import (
	"reflect"
	"strings"
	"testing"

	"hdb/unwind"
	"hdb/unwind/dwop"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks [][]Rank
		want  int
		err   string
	}{
		{"the exact one", [][]Rank{{Exact, Converted}, {Exact, Exact}}, 1, ""},
		{"one that fits", [][]Rank{nil, {Exact, LastResort}}, 1, ""},
		{"a constant object", [][]Rank{{Qualified, Exact}, {Exact, Exact}}, 1, ""},
		{"none", [][]Rank{nil, nil}, 0, "no f takes int, char: there are f0, f1"},
		{"each has a better argument", [][]Rank{{Exact, Converted}, {Converted, Exact}}, 0, "f(int, char) is ambiguous: cast the arguments to choose among f0, f1"},
		{"two alike", [][]Rank{{Exact}, {Exact}, {Converted}}, 0, "f(int, char) is ambiguous: cast the arguments to choose among f0, f1, f2"},
	} {
		var list []Candidate
		for i, r := range c.ranks {
			list = append(list, Candidate{Name: "f" + string(rune('0'+i)), Ranks: r})
		}
		got, err := Choose("f", []string{"int", "char"}, list)
		if err == nil && c.err != "" || err != nil && err.Error() != c.err || got != c.want {
			t.Errorf("%s: %d, %v; want %d, %q", c.name, got, err, c.want, c.err)
		}
	}
	many := make([]Candidate, 20)
	if _, err := Choose("f", nil, many); !strings.Contains(err.Error(), "takes no arguments") || !strings.HasSuffix(err.Error(), "12 more") {
		t.Errorf("many: %v", err)
	}
}

// A scalar puts classes at an offset.
type scalar struct {
	off     int64
	classes []Class
}

// A layout is a type of scalars.
type layout struct {
	size    int64
	scalars []scalar
}

func (l layout) Size() int64 { return l.size }

func (l layout) Place(w Words) (bool, error) {
	for _, s := range l.scalars {
		if !w.Put(s.off, s.classes...) {
			return false, nil
		}
	}
	return true, nil
}

// TestClassify has the examples of the ABI's section 3.2.3.
func TestClassify(t *testing.T) {
	one := func(off int64, c ...Class) scalar { return scalar{off, c} }
	for _, c := range []struct {
		name string
		layout
		want Words
	}{
		{"int", layout{4, []scalar{one(0, Integer)}}, Words{Integer}},
		{"float and int in one eightbyte", layout{8, []scalar{one(0, SSE), one(4, Integer)}}, Words{Integer}},
		{"double and long", layout{16, []scalar{one(0, SSE), one(8, Integer)}}, Words{SSE, Integer}},
		{"long double", layout{16, []scalar{one(0, X87, X87Up)}}, Words{X87, X87Up}},
		{"long double beside an int", layout{16, []scalar{one(0, X87, X87Up), one(8, Integer)}}, nil},
		{"three longs", layout{24, []scalar{one(0, Integer), one(8, Integer), one(16, Integer)}}, nil},
		{"__m256", layout{32, []scalar{one(0, SSE, SSEUp, SSEUp, SSEUp)}}, Words{SSE, SSEUp, SSEUp, SSEUp}},
		{"an upper half without its lower one", layout{16, []scalar{one(0, Integer), one(8, SSEUp)}}, Words{Integer, SSE}},
		{"larger than any register", layout{65, nil}, nil},
		{"a member outside of the struct", layout{8, []scalar{one(8, Integer)}}, nil},
		{"a member before the struct", layout{8, []scalar{one(-8, Integer)}}, nil},
	} {
		got, err := Classify(c.layout)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func TestReturned(t *testing.T) {
	reg := func(r uint64, bits uint64) dwop.Location {
		return dwop.Location{Kind: dwop.InRegister, Reg: r, Bits: bits}
	}
	for _, c := range []struct {
		Words
		want []dwop.Location
	}{
		{Words{Integer, Integer}, []dwop.Location{reg(uint64(unwind.RAX), 64), reg(uint64(unwind.RDX), 64)}},
		{Words{SSE, Integer}, []dwop.Location{reg(regXMM0, 64), reg(uint64(unwind.RAX), 64)}},
		{Words{SSE, SSEUp}, []dwop.Location{reg(regXMM0, 128)}},
		{Words{X87, X87Up}, []dwop.Location{reg(regST0, 128)}},
	} {
		if got := c.Returned(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v; want %v", c.Words, got, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	var c Call
	for i := range uint64(5) {
		c.Word(Argument{N: i})
	}
	c.Value(make([]byte, 16), Words{Integer, Integer}, 8) // one register is left: all of it on the stack
	c.Word(Argument{N: 5})
	c.Word(Argument{N: 6})
	if len(c.General) != 6 || c.General[5].N != 5 || len(c.Stack) != 3 || c.Stack[2].N != 6 {
		t.Errorf("general %v, stack %v", c.General, c.Stack)
	}
	c.Value([]byte{1, 15: 2}, nil, 16) // a value in memory of that alignment
	if len(c.Stack) != 6 || c.Stack[4].N != 1 || c.Stack[5].N != 2<<56 {
		t.Errorf("stack %v", c.Stack)
	}
	for range 9 {
		c.Float(make([]byte, 8))
	}
	if len(c.Vector) != 8 || len(c.Stack) != 7 {
		t.Errorf("vector %d, stack %d", len(c.Vector), len(c.Stack))
	}
}
