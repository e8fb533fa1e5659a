package cython

import (
	"slices"
	"testing"
)

// TestParse has the names that Cython 0.29.32 gives to a package's module kinds.
func TestParse(t *testing.T) {
	tests := []struct {
		c, name string
		kind    Kind
		guess   bool
	}{
		{"__pyx_f_4shop_5Stock_grow", "shop.Stock.grow", CFunction, false},
		{"__pyx_pw_4shop_5Stock_1__init__", "shop.Stock.__init__", Wrapper, false},
		{"__pyx_pf_4shop_5Stock___init__", "shop.Stock.__init__", Body, false},
		{"__pyx_pw_4shop_1total_of", "shop.total_of", Wrapper, false},
		{"__pyx_pf_4shop_total_of.cold", "shop.total_of", Body, false},
		{"__pyx_pf_4shop_total_of.isra.0.part.1", "shop.total_of", Body, false},
		{"__pyx_pf_4shop_10make_adder_adder", "shop.make_adder.adder", Body, true},
		{"__pyx_pw_4shop_10fails", "shop.fails", Wrapper, false},
		{"__pyx_gb_4shop_4generator", "shop.<generator>", Generator, true},
		{"__pyx_gb_5kinds_1K_6generator1", "kinds.K.<generator>", Generator, true},
		{"__pyx_pf_3pkg_5kinds_5Plain_2st_inner_gen", "pkg.kinds.Plain.st.inner_gen", Body, true},
		{"__pyx_pf_3pkg_5kinds_4small", "pkg.kinds.small", Body, false},
		{"__pyx_pf_3pkg_5kinds_1K_3old___get__", "pkg.kinds.K.old.__get__", Body, true},
		{"__pyx_pf_3pkg_5kinds_6hello_x", "pkg.kinds.hello_x", Body, false},
		{"__pyx_pf_3pkg_5kinds_5hello_x", "pkg.kinds.hello.x", Body, true}, // the fifth function, hello_x, has this name, too
		{"__pyx_fuse_1__pyx_f_3pkg_5kinds_doubled", "pkg.kinds.doubled", CFunction, false},
		{"__pyx_fuse_0_1__pyx_pw_3pkg_5kinds_20fused_def", "pkg.kinds.fused_def", Wrapper, false},
		{"__pyx_pw_3pkg_5kinds_14__pyx_fuse_0doubled", "pkg.kinds.doubled", Wrapper, false},
		{"__pyx_pymod_exec_kinds", "kinds.<module>", Toplevel, false},
		{"__pyx_pf_4shop_5Stock_6__reduce_cython__", "", Machinery, false},
		{"__pyx_f_4shop___pyx_unpickle_Stock__set_state", "", Machinery, false},
		{"__pyx_pf_15View_dot_MemoryView_4Enum_2__repr__", "", Machinery, false},
		{"__pyx_tp_new_4shop_Stock", "", Machinery, false},
		{"__Pyx_PyObject_Call", "", Machinery, false},
		{"__pyx_pf_", "", Machinery, false},
		{"__pyx_pf_4shop", "", Machinery, false},
		{"__pyx_pf_99999999999999999999shop_x", "", Machinery, false},
	}
	for _, x := range tests {
		name := x.name
		if x.kind == Machinery {
			name = x.c
		}
		s, ok := Parse(x.c, "shop", "kinds")
		if want := (Symbol{x.kind, name, x.guess}); !ok || s != want {
			t.Errorf("%s: %+v, %v, want %+v", x.c, s, ok, want)
		}
	}
	if s, ok := Parse("pyx_f_4shop_x"); ok {
		t.Errorf("a name of no prefix: %+v", s)
	}
	if s, _ := Parse("__pyx_pf_3pkg_5kinds_4small"); !s.Guess {
		t.Errorf("%+v is no guess, though nothing tells that kinds is a module", s)
	}
}

func TestCNames(t *testing.T) {
	for _, x := range []struct {
		f    Function
		want []string
	}{
		{Function{Name: "total_of", CName: "__pyx_pw_4shop_1total_of"}, []string{"__pyx_pw_4shop_1total_of", "__pyx_pf_4shop_total_of"}},
		{Function{Name: "fails", CName: "__pyx_pw_4shop_10fails"}, []string{"__pyx_pw_4shop_10fails", "__pyx_pf_4shop_9fails"}},
		{Function{Name: "hello_x", CName: "__pyx_pw_4shop_5hello_x"}, []string{"__pyx_pw_4shop_5hello_x", "__pyx_pf_4shop_4hello_x"}},
		{Function{Name: "add", CName: "__pyx_f_4shop_5Stock_add", PyCName: "__pyx_pw_4shop_5Stock_5add"},
			[]string{"__pyx_f_4shop_5Stock_add", "__pyx_pw_4shop_5Stock_5add", "__pyx_pf_4shop_5Stock_4add"}},
		{Function{Name: "g", CName: "__pyx_gb_4shop_4generator"}, []string{"__pyx_gb_4shop_4generator"}},
	} {
		if got := x.f.CNames(); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.f.CName, got, x.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("__pyx_fuse_0__pyx_pf_4shop_10make_adder_1adder.part.0")
	f.Add("__pyx_f_9223372036854775807shop_grow") // the largest length
	f.Fuzz(func(t *testing.T, c string) {
		if s, ok := Parse(c, "shop"); ok != IsGenerated(c) || ok && s.Name == "" {
			t.Errorf("%q: %+v, %v", c, s, ok)
		}
	})
}
