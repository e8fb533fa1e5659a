package cformat

import (
	"math"
	"testing"
)

// TestExpand compares with what C's printf writes.
func TestExpand(t *testing.T) {
	minus := uint64(math.MaxUint64)
	for _, c := range []struct {
		src  string
		args []any
		want string
	}{
		{`"100%%\n"`, nil, "100%\n"},
		{`"%d|%5d|%-5d|%05d|%+d", a, b, c, d, e`, []any{minus, uint64(7), uint64(7), uint64(7), uint64(7)}, "-1|    7|7    |00007|+7"},
		{`"%u %lu %x %llX %#o %hhx", a, b, c, d, e, f`, []any{minus, minus, uint64(255), uint64(255), uint64(8), minus}, "4294967295 18446744073709551615 ff FF 010 ff"},
		{`"%s|%8s|%-8s|%.2s|%s", a, b, c, d, e`, []any{[]byte("abc"), []byte("abc"), []byte("abc"), []byte("abc"), []byte(nil)}, "abc|     abc|abc     |ab|(null)"},
		{`"%c%c", a, b`, []any{uint64('h'), uint64('i')}, "hi"},
		{`"%p %p %14p", a, b, c`, []any{uint64(0), uint64(4096), uint64(4096)}, "(nil) 0x1000         0x1000"},
		{`"%f %5.2f %e %g %g %g", a, b, c, d, e, f`, []any{1.5, 1.005, 1234.5, 0.0001, 1e6, 1.0 / 3}, "1.500000  1.00 1.234500e+03 0.0001 1e+06 0.333333"},
		{`"\t\"\101\\"`, nil, "\t\"A\\"},
	} {
		f, err := Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		got, err := f.Expand(func(i int, _ Kind) (any, error) { return c.args[i], nil })
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.src, got, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, src := range []string{``, `x`, `"abc`, `"%d"`, `"%d", 1, 2`, `"%n", x`, `"%*d", 1, 2`, `"%99999d", 1`, `"%"`, `"\q"`, `"a" b`, `"%lhd", 1`} {
		if f, err := Parse(src); err == nil {
			t.Errorf("%s: no error, but %v", src, f)
		}
	}
}

func TestSplitArgs(t *testing.T) {
	got := SplitArgs(` a[1,2], f(x, y), "a,\"b", ',', z `)
	want := []string{"a[1,2]", "f(x, y)", `"a,\"b"`, "','", "z"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %q, want %q", i, got[i], want[i])
		}
	}
}
