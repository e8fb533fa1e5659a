package cfi

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"hdb/internal/addr"
)

// TestOwn: a table that was compiled apart, written, read and numbered is the one that
// Compile makes, with the same rules behind it.
func TestOwn(t *testing.T) {
	direct, merged := NewRules(), NewRules()
	for _, name := range []string{"libc", "libstdc++", "python3", "bash", "musl", "libc"} {
		m := open(t, name)
		want := m.compile(t, direct)
		own, err := CompileOwn(m.cfi, m.low, m.high, m.code)
		if err != nil {
			t.Fatal(err)
		}
		b := own.Encode()
		read, err := Decode(b, m.low)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read.Encode(), b) {
			t.Errorf("%s: read and written again it differs", name)
		}
		if got := tableOf(t, read, merged); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: another table", name)
		}
		if !slices.Equal(merged.List(), direct.List()) {
			t.Errorf("%s: other rules", name)
		}
	}
}

// TestOwnTooManyRules: rules that got no number are one, and rows that became equal
// are, too.
func TestOwnTooManyRules(t *testing.T) {
	m := open(t, "musl")
	direct, merged := NewRules(), NewRules()
	for _, r := range []*Rules{direct, merged} {
		for i := range maxRules - 5 - 3 {
			r.ID(NewRule(DerefBP, int32(-i), 0, 0, 0))
		}
	}
	want := m.compile(t, direct)
	own, err := CompileOwn(m.cfi, m.low, m.high, m.code)
	if err != nil {
		t.Fatal(err)
	}
	if got := tableOf(t, own, merged); !reflect.DeepEqual(got, want) {
		t.Error("another table")
	}
	if len(merged.List()) != maxRules || !slices.Equal(merged.List(), direct.List()) {
		t.Error("other rules")
	}
}

func tableOf(t testing.TB, o *Own, rules *Rules) *Table {
	t.Helper()
	table, err := o.Table(rules, make([]uint32, o.Rows()), make([]uint16, o.Rows()))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func encoded(rules []Rule, offs []uint32, ids []uint16) []byte {
	return encode(&Table{Low: 0x1000, Offs: offs, IDs: ids}, rules)
}

// TestOwnWide: rows that are far apart, of few rules and of many.
func TestOwnWide(t *testing.T) {
	for _, step := range []uint16{1, 40} {
		rules, want := NewRules(), &Table{Low: 0x1000}
		for i := range 7 * int32(step) {
			rules.ID(NewRule(DerefBP, -i, 0, 0, 0))
		}
		for i, off := range []uint32{0, 1, 0xffff, 0x10000, 0x1ffff, 0x2ffff, 0x12345678, 0xffffffff} {
			want.Offs, want.IDs = append(want.Offs, off), append(want.IDs, uint16(i)*step)
		}
		own, err := Decode(encode(want, rules.List()), want.Low)
		if err != nil {
			t.Fatal(err)
		}
		if got := tableOf(t, own, rules); !reflect.DeepEqual(got, want) {
			t.Errorf("%d rules: %v, want %v", len(rules.List()), got, want)
		}
	}
}

// refusal is the error of reading, and of making a table of what was read.
func refusal(b []byte, low addr.File) error {
	o, err := Decode(b, low)
	if err != nil {
		return err
	}
	_, err = o.Table(NewRules(), make([]uint32, o.Rows()), make([]uint16, o.Rows()))
	return err
}

func TestDecodeRefuses(t *testing.T) {
	rules := NewRules().List()
	good := encoded(rules, []uint32{0, 8}, []uint16{0, 2})
	if err := refusal(good, 0x1000); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if err := refusal(good[:n], 0x1000); !errors.Is(err, errEncoding) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	for what, b := range map[string][]byte{
		"longer":                 append(bytes.Clone(good), 0),
		"no rows":                encoded(rules, nil, nil),
		"begins later":           encoded(rules, []uint32{1}, []uint16{0}),
		"does not ascend":        encoded(rules, []uint32{0, 8, 8}, []uint16{0, 1, 0}),
		"equal neighbours":       encoded(rules, []uint32{0, 8}, []uint16{1, 1}),
		"a form that is not one": encoded([]Rule{Rule(lastForm) + 1}, []uint32{0}, []uint16{0}),
		"descends":               encoded(rules, []uint32{0, 8, 4}, []uint16{0, 1, 0}),
		"a rule that is not one": encoded(rules, []uint32{0}, []uint16{5}),
	} {
		if err := refusal(b, 0x1000); !errors.Is(err, errEncoding) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := refusal(good, 0x2000); !errors.Is(err, errEncoding) {
		t.Error("of code elsewhere")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(NewRules().List(), []uint32{0, 8}, []uint16{0, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		own, err := Decode(b, 0x1000)
		if err != nil {
			return
		}
		if !bytes.Equal(own.Encode(), b) {
			t.Error("written again it differs")
		}
		table, err := own.Table(NewRules(), make([]uint32, own.Rows()), make([]uint16, own.Rows()))
		if err != nil {
			return
		}
		if len(table.Offs) == 0 || table.Offs[0] != 0 || !slices.IsSorted(table.Offs) {
			t.Error("a table out of order")
		}
		table.At(0x1004)
	})
}

// BenchmarkDecode is what a module costs whose table was kept.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"libc", "libstdc++", "python3", "libLLVM"} {
		b.Run(name, func(b *testing.B) {
			m := open(b, name)
			own, err := CompileOwn(m.cfi, m.low, m.high, m.code)
			if err != nil {
				b.Fatal(err)
			}
			kept := own.Encode()
			rules := NewRules()
			offs, ids := make([]uint32, own.Rows()), make([]uint16, own.Rows())
			b.SetBytes(int64(len(kept)))
			b.ReportAllocs()
			for b.Loop() {
				own, err := Decode(kept, m.low)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := own.Table(rules, offs, ids); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
