package names

import (
	"slices"
	"strings"
	"testing"
)

// part reads "py", "eval", "NAME", "NAME inlined", with "libc" for a frame of the C library and
// "ext" for one of an extension; all others are the interpreter's.
func part(text string) Part {
	name, inlined := strings.CutSuffix(text, " inlined")
	p := Part{Inlined: inlined, Path: "/usr/bin/python3", Python: name == "py", Loop: name == "eval", Start: name == "libc" || name == "_start"}
	switch name {
	case "py":
		p.Path = ""
	case "libc":
		p.Path = "/lib/libc.so.6"
	case "ext":
		p.Path = "/srv/ext.so"
	}
	return p
}

// Functions of Python stand in place of the interpreter's frames further out than its
// innermost loop.
func TestMerged(t *testing.T) {
	for _, c := range []struct{ stack, want string }{
		{"resize,append,py,py,eval,vector,call,py,eval,pymain,libc,_start", "resize append py py py"},
		{"resize,py,cache inlined,eval,vector inlined,py,op inlined,eval,main", "resize py py"},
		{"ext,call,py,eval,ext,call,py,eval,main,libc", "ext py ext py"},
		{"alloc,op inlined,eval,py,eval,main,libc", "alloc op inlined eval py"}, // the innermost loop has just begun
		{"resize,init,main,libc", ""}, // nothing is left out of a stack without Python
		{"resize,eval,main", ""},
		{"resize,py,eval,libc,ext,libc", "resize py libc ext"}, // the program embeds the interpreter
	} {
		var parts []Part
		names := strings.Split(c.stack, ",")
		for _, n := range names {
			parts = append(parts, part(n))
		}
		shown := Merged(parts)
		var got []string
		for i, s := range shown {
			if s {
				got = append(got, names[i])
			}
		}
		if want := strings.Fields(strings.ReplaceAll(c.want, " inlined", "_inlined")); !slices.Equal(strings.Fields(strings.ReplaceAll(strings.Join(got, " "), " inlined", "_inlined")), want) {
			t.Errorf("%s: %q, want %q", c.stack, got, c.want)
		}
	}
}
