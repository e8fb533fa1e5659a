package names

import (
	"slices"
	"testing"
)

// TestHideGenerated has what Cython makes of cpdef, def and cdef functions, innermost first.
func TestHideGenerated(t *testing.T) {
	part := func(c, name string) Part { return Part{Generated: c, Name: name, Path: "/shop.so"} }
	python := Part{Path: "/python3"}
	parts := []Part{
		{Path: "/libc.so.6"},
		part("__pyx_f_4shop_5Stock_grow", "shop.Stock.grow"),
		part("__pyx_f_4shop_5Stock_grow", "shop.Stock.grow"), // it calls itself
		part("__pyx_f_4shop_5Stock_add", "shop.Stock.add"),
		part("__pyx_pf_4shop_5Stock_4add", "shop.Stock.add"),
		part("__pyx_pw_4shop_5Stock_5add", "shop.Stock.add"),
		part("__Pyx_PyObject_Call", "__Pyx_PyObject_Call"),
		part("__pyx_pf_4shop_run", "shop.run"),
		part("__pyx_pw_4shop_1run", "shop.run"),
		python,
		part("__pyx_pf_4shop_run", "shop.run"), // through Python once more
		part("__pyx_pw_4shop_1run", "shop.run"),
		part("__pyx_pw_4shop_3parse", "shop.parse"), // still takes its arguments
	}
	want := []bool{true, true, true, true, false, false, false, true, false, true, true, false, true}
	if got := Merged(parts); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if got := Merged([]Part{part("__Pyx_PyObject_Call", ""), part("__Pyx_Raise", "")}); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("%v: the innermost frame stays", got)
	}
	if got := Merged([]Part{python, python}); got != nil {
		t.Errorf("%v of a stack without Cython and Python", got)
	}
}
