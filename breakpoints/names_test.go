package breakpoints

import "testing"

// TestNames has a function at one address as others tell all names, and be each of them.
func TestNames(t *testing.T) {
	fn := func(symbol string) Function {
		for _, f := range Catalogue() {
			if f.Symbol == symbol {
				return f
			}
		}
		t.Fatalf("no %s", symbol)
		return Function{}
	}
	for _, c := range []struct {
		symbols []string
		name    string
		is, not []string
	}{
		{[]string{"free", "cfree", "_ZdlPv", "_ZdaPv", "mi_free", "tc_delete"}, "free/operator delete/operator delete[]",
			[]string{"free", "operator delete", "operator delete[]", "_ZdaPv"}, []string{"malloc", "operator new"}},
		{[]string{"aligned_alloc", "memalign"}, "aligned_alloc/memalign", []string{"memalign", "alloc", "aligned_*"}, []string{"malloc"}},
		{[]string{"_Znwm", "_ZnwmRKSt9nothrow_t"}, "operator new", []string{"operator new", "_ZnwmSt11align_val_t"}, []string{"operator new[]"}},
		{[]string{"malloc", "mi_malloc"}, "malloc", []string{"malloc"}, []string{"mi_malloc"}},
	} {
		f := fn(c.symbols[0])
		for _, symbol := range c.symbols[1:] {
			f.Alias(fn(symbol))
		}
		if f.Name != c.name {
			t.Errorf("%v: %q, want %q", c.symbols, f.Name, c.name)
		}
		recalled, ok := Named(f.Name)
		if !ok || recalled.Name != f.Name || recalled.Kind != f.Kind || recalled.Ptr != f.Ptr || recalled.Size != f.Size {
			t.Errorf("%q: %+v, %v, want %+v", f.Name, recalled, ok, f)
		}
		for _, g := range []Function{f, recalled} {
			for i, list := range [][]string{c.is, c.not} {
				for _, pattern := range list {
					if g.OfKind(pattern) != (i == 0) {
						t.Errorf("%q: of kind %s: %v", g.Name, pattern, i != 0)
					}
				}
			}
		}
	}
	if _, ok := Named("free/no such function"); ok {
		t.Error("a name that is none is known")
	}
}
