package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/query"
	"hdb/session/target"
)

// TestAddFunction resolves what names a function, before the program runs.
func TestAddFunction(t *testing.T) {
	for _, c := range []struct{ text, want, warning string }{
		{"app::Pool::get size=ARG2", "app::Pool::get(unsigned long) app::Pool::get(unsigned long, unsigned long)", ""},
		{"Pool::get size=ARG2", "app::Pool::get(unsigned long) app::Pool::get(unsigned long, unsigned long)", ""},
		{"app::Pool::get(unsigned long) size=ARG2", "app::Pool::get(unsigned long)", ""},
		{"_ZN3app4Pool3getEm size=ARG2", "app::Pool::get(unsigned long)", ""},
		{"app::Slab<64>::take size=ARG2", "app::Slab<64>::take(long)", ""},
		{"pools.cc:take size=ARG2", "app::Slab<32>::take(long) app::Slab<64>::take(long)", ""},
		{"*main size=ARG2", "main", ""},
		{"always size=ARG1", "", "has no code of its own: its calls are inlined in 2 places"},
		{"partly size=ARG1", "partly(unsigned long)", "also inlined in 1 place"},
		{"app::Pool::gett size=ARG1", "did you mean app::Pool::get?", ""},
		{"malloc_usable_size size=0", "", ""},
		{"room size=ARG1", "", ""}, // a variable
		{"*0x1149 size=ARG1", "", ""},
		{"pools.cc:12 size=ARG1", "pools.cc:12 is a line: give the function's name, or *ADDRESS of its entry", ""},
		{"/get/ size=ARG1", "/get/: a function is needed: a name, FILE:NAME, *ADDRESS or MODULE+0xOFFSET", ""},
	} {
		s := open(t, "pools")
		f, err := s.Allocators.Add(c.text)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case len(f.Places) == 0 && f.Meant != "" && c.want != "":
			got = "did you mean " + f.Meant + "?"
		default:
			var names []string
			for _, p := range f.Places {
				names = append(names, p.Function)
			}
			slices.Sort(names)
			got = strings.Join(names, " ")
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		warnings := ""
		if f != nil {
			warnings = strings.Join(f.Warnings, "\n")
		}
		if !strings.Contains(warnings, c.warning) || c.warning == "" && warnings != "" {
			t.Errorf("%s: warnings %q, want %q", c.text, warnings, c.warning)
		}
	}
}

// TestAddFunctionStripped follows functions of a stripped file, by their place in it.
func TestAddFunctionStripped(t *testing.T) {
	whole := open(t, "pools")
	f, err := whole.Allocators.Add("app::Pool::get(unsigned long) size=ARG2")
	if err != nil || len(f.Places) != 1 {
		t.Fatalf("%+v %v", f, err)
	}
	at := uint64(f.Places[0].Addr)
	onBothPlanes(t, func(t *testing.T, mode target.ProbeMode) {
		s := open(t, "pools", "STRIP")
		s.Settings.Probe = mode
		must(t)(s.Start(nil))
		f, err := s.Allocators.Add(fmt.Sprintf("pools+%#x size=ARG2", at))
		if err != nil || len(f.Places) != 1 {
			t.Fatalf("%+v %v", f, err)
		}
		if err := s.Recorder.Start(); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Execution.Continue(1))
		seq, err := s.Queries.Events(nil, query.Present)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []uint64
		for e := range seq {
			if e.Function == f.Name {
				sizes = append(sizes, e.Size)
			}
		}
		if want := []uint64{100, 200, 300}; !slices.Equal(sizes, want) {
			t.Errorf("sizes %d, want %d", sizes, want)
		}
	})
}
