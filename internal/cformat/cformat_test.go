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
		{`"%p %hp", a, b`, []any{uint64(0x7fffffffe2e0), uint64(0x7fffffffe2e0)}, "0x7fffffffe2e0 0x7fffffffe2e0"},
		{`"%f %5.2f %e %g %g %g", a, b, c, d, e, f`, []any{1.5, 1.005, 1234.5, 0.0001, 1e6, 1.0 / 3}, "1.500000  1.00 1.234500e+03 0.0001 1e+06 0.333333"},
		{`"%.4p|%.10p|%-8p|%014p|%08p", a, b, c, d, e`, []any{uint64(0x7ffff4c0), uint64(16), uint64(16), uint64(4096), uint64(0)}, "0x7ffff4c0|0x0000000010|0x10    |0x000000001000|   (nil)"},
		{`"%f|%F|%5.1f|%+e|% g|%-5g|%05f|%G|%a|%+f", a, b, c, d, e, f, g, h, i, j`, []any{
			math.Inf(1), math.Inf(-1), math.NaN(), math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(1), math.NaN(), math.Inf(-1), math.Inf(-1),
		}, "inf|-INF|  nan|+inf| inf|-inf |  inf|NAN|-inf|-inf"},
		{`"%a|%a|%A|%.1a|%a|%+a|%012a|%-8a|%a|%a", a, b, c, d, e, f, g, h, i, j`, []any{
			1.0, -1.5, 255.9375, 1.9, 0.0, 0.1, 1.0, 2.0, 1e300, 5e-324,
		}, "0x1p+0|-0x1.8p+0|0X1.FFEP+7|0x1.ep+0|0x0p+0|+0x1.999999999999ap-4|0x0000001p+0|0x1p+1  |0x1.7e43c8800759cp+996|0x0.0000000000001p-1022"},
		{`"%05s|%.0c|%lc|%#x|%#X|%+x|%+u|%08.3d|%#08x", a, b, c, d, e, f, g, h, i`, []any{
			[]byte("ab"), uint64('x'), uint64('é'), uint64(0), uint64(255), uint64(255), uint64(7), uint64(7), uint64(255),
		}, "   ab|x|é|0|0XFF|ff|7|     007|0x0000ff"},
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
	for _, src := range []string{``, `x`, `"abc`, `"%d"`, `"%d", 1, 2`, `"%n", x`, `"%*d", 1, 2`, `"%99999d", 1`, `"%"`, `"\q"`, `"a" b`, `"%lhd", 1`, `"%ls", x`} {
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
