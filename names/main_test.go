package names

import (
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

func TestMainFrame(t *testing.T) {
	stack := func(rows ...Frame) []Frame {
		for i := range rows {
			rows[i].CFA = addr.Run(0x1000 + 0x10*i)
		}
		return rows
	}
	frame := func(module, function string) Frame {
		return Frame{Module: module, Frame: symbols.Frame{Function: function}}
	}
	rust := func(function string) Frame {
		return Frame{Module: "app", Frame: symbols.Frame{Function: function, Language: dwarf.LangRust}}
	}
	for _, c := range []struct {
		name   string
		frames []Frame
		want   int
	}{
		{"glibc", stack(frame("app", "work"), frame("app", "main"), frame("libc.so.6", "__libc_start_call_main"), frame("app", "_start")), 1},
		{"glibc without names", stack(frame("app", "main"), frame("libc.so.6", ""), frame("app", "_start")), 0},
		{"static", stack(frame("app", "main"), frame("app", "__libc_start_call_main"), frame("app", "_start")), 0},
		{"main calls main", stack(frame("app", "main"), frame("app", "work"), frame("app", "main"), frame("libc.so.6", "__libc_start_main")), 2},
		{"a function of that name", stack(frame("app", "main"), frame("app", "work"), frame("libc.so.6", "start_thread")), -1},
		{"thread", stack(frame("app", "work"), frame("libc.so.6", "start_thread"), frame("libc.so.6", "clone3")), -1},
		{"nobody called it", stack(frame("app", "main")), -1},
		{"rust", stack(rust("app::work"), rust("app::main"), rust("core::ops::function::FnOnce::call_once"), frame("app", "main"), frame("libc.so.6", "__libc_start_main")), 1},
		{"rust's other main", stack(rust("app::main"), rust("app::work")), -1},
	} {
		if got := MainFrame(c.frames); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
