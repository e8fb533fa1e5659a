package session

import (
	"strings"
	"testing"

	"hdb/names"
	"hdb/session/cpython"
	"hdb/symbols"
)

// TestUnrecordedCalls has recorded stacks say which functions of Python they lack.
func TestUnrecordedCalls(t *testing.T) {
	frame := func(word string) names.Frame {
		switch word {
		case "py":
			return names.Frame{Frame: symbols.Frame{Function: "f", Source: symbols.FromPython}}
		case "loop":
			return names.Frame{Frame: symbols.Frame{Function: "_PyEval_EvalFrameDefault"}, Path: "/lib/libpython3.11.so", Module: "libpython3.11.so"}
		case "part":
			return names.Frame{Frame: symbols.Frame{Function: "_PyEval_EvalFrameDefault.cold"}, Path: "/lib/libpython3.11.so", Module: "libpython3.11.so"}
		case "other":
			return names.Frame{Frame: symbols.Frame{Function: "_PyEval_EvalFrameDefault"}, Path: "/lib/libpython3.9.so", Module: "libpython3.9.so"}
		case "greenlet":
			return names.Frame{Frame: symbols.Frame{Function: "g_switch"}, Path: "/x/_greenlet.so", Module: "_greenlet.so"}
		}
		return names.Frame{Frame: symbols.Frame{Function: word}}
	}
	for _, c := range []struct{ stack, want string }{
		{"malloc py py loop main", ""},
		{"loop c py loop main", ""}, // a call has just begun
		{"malloc py loop c py part main", ""},
		{"malloc py loop c loop main", "those further out were not recorded"},
		{"malloc py loop greenlet loop main", ""},
		{"malloc greenlet py loop c loop main", "those further out were not recorded"},
		{"malloc other c py loop main", "those of libpython3.9.so are not recorded"},
		{"malloc py loop c other main", "those of libpython3.9.so are not recorded"},
	} {
		var frames []names.Frame
		for word := range strings.FieldsSeq(c.stack) {
			frames = append(frames, frame(word))
		}
		if got := cpython.UnrecordedCalls(frames); got != c.want {
			t.Errorf("%s: %q, want %q", c.stack, got, c.want)
		}
	}
}
