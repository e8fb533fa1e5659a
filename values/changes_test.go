package values

import "testing"

// TestChanges: of an array those elements are told that differ, each by an expression for it.
func TestChanges(t *testing.T) {
	p := &Program{}
	row := p.cType("int").ArrayOf(2)
	whole := row.ArrayOf(3)
	before, after := make([]byte, 24), make([]byte, 24)
	after[4], after[8], after[20] = 1, 2, 3
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"a", 8, []string{"a[0][1]: 0 -> 1", "a[1][0]: 0 -> 2", "a[2][1]: 0 -> 3"}},
		{"*p", 2, []string{"(*p)[0][1]: 0 -> 1", "(*p)[1][0]: 0 -> 2"}},
	} {
		got := Changes(c.name, Value{Type: whole, data: before}, Value{Type: whole, data: after}, c.most)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %d changes, want %d", c.name, len(got), len(c.want))
		}
		for i, g := range got {
			if text := g.Name + ": " + p.Format(nil, g.Old, Options{}) + " -> " + p.Format(nil, g.New, Options{}); text != c.want[i] {
				t.Errorf("%s, want %s", text, c.want[i])
			}
		}
	}
	claimed := Value{Type: p.cType("int").ArrayOf(1 << 60), data: before[:8]} // more than there is
	if got := Changes("c", claimed, Value{Type: claimed.Type, data: after[:8]}, 8); len(got) != 1 || got[0].Name != "c[1]" {
		t.Errorf("an array that claims too many elements: %v", got)
	}
	for of, want := range map[string]string{
		"a": "a.x", "*p": "p->x", "*p->q": "p->q->x", "ns::v[3]": "ns::v[3].x", "*(struct s *)$rdi": "(*(struct s *)$rdi).x", "**p": "(**p).x", "*&v": "(*&v).x",
	} {
		if got := memberName(of, "x"); got != want {
			t.Errorf("member of %s: %s, want %s", of, got, want)
		}
	}
}

// TestSameBits: bit fields are compared without the bits beside them.
func TestSameBits(t *testing.T) {
	field := func(b byte) Value { return Value{data: []byte{b}, bits: 3, bitOff: 2} }
	if !sameBits(field(0b11100011), field(0b00000000)) || sameBits(field(0b00000100), field(0)) {
		t.Error("other bits than the field's are compared")
	}
}
