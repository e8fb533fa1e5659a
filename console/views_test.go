package console

import (
	"bytes"
	"strings"
	"testing"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/symbols"
)

// TestLongNamesOnTheScreen holds where the short name stands and where the whole.
func TestLongNamesOnTheScreen(t *testing.T) {
	name := "Index<" + strings.Repeat("long, ", 50) + "long>::add(long)"
	f := names.Frame{Code: addr.PC(1), Frame: symbols.Frame{Function: name, File: "index.cc", Line: 4}}
	print := func(show func(*screen.Output)) string {
		var b bytes.Buffer
		show(&screen.Output{W: &b, Width: 80})
		return b.String()
	}
	if got, want := print(func(o *screen.Output) { desk.PrintFrames(o, []names.Frame{f}) }), "#0  Index<...>::add(long)  index.cc:4\n"; got != want {
		t.Errorf("bt: %q, want %q", got, want)
	}
	if got := print(func(o *screen.Output) { data.PrintFull(o, []names.Frame{f}, nil, nil, -1) }); !strings.Contains(got, name) {
		t.Errorf("bt -full: %q", got)
	}
	if got := desk.ViewFrame(f).Function; got != name {
		t.Errorf("JSON: %q", got)
	}
	r := &stopped.Report{Causes: []stopped.Cause{&stopped.Finished{Function: name}}}
	if got, want := print(func(o *screen.Output) { o.Line(desk.Headline(o, r)) }), "Index<...>::add(long) returned\n"; got != want {
		t.Errorf("finish: %q, want %q", got, want)
	}
	if stopped.CauseOf[*stopped.Finished](r).Function != name {
		t.Error("the report itself was changed")
	}
}

// TestNamelessFrames: a frame without a name is its code's place in the file, not the
// start of its function and an offset behind that. The mark of the selected frame does not
// move what stands behind it.
func TestNamelessFrames(t *testing.T) {
	frames := []names.Frame{
		{Num: 0, Code: addr.PC(0x7000), Frame: symbols.Frame{Function: "main", File: "main.c", Line: 4}, Module: "prog", InFile: 0x1000},
		{Num: 1, Code: addr.Return(0x7fa57ba), Offset: 0x3a, Module: "libstdc++.so.6.0.30", InFile: 0xa57ba},
		{Num: 2, Code: addr.Return(0x7fb0020), Offset: 0x20, Module: "libc.so.6", InFile: 0xb0020, Frame: symbols.Frame{Function: "start"}},
		{Num: 10, Code: addr.Return(0x1234), Offset: 4},
	}
	for selected, want := range map[int]string{
		-1: "#0   main                         main.c:4\n#1   libstdc++.so.6.0.30+0xa57ba  [libstdc++.so.6.0.30]\n#2   start+0x20                   [libc.so.6]\n#10  0x1234\n",
		1:  "#0   main                         main.c:4\n#1*  libstdc++.so.6.0.30+0xa57ba  [libstdc++.so.6.0.30]\n#2   start+0x20                   [libc.so.6]\n#10  0x1234\n",
		10: "#0   main                         main.c:4\n#1   libstdc++.so.6.0.30+0xa57ba  [libstdc++.so.6.0.30]\n#2   start+0x20                   [libc.so.6]\n#10* 0x1234\n",
	} {
		var b bytes.Buffer
		desk.PrintStack(&screen.Output{W: &b, Width: 80}, frames, nil, selected)
		if got := b.String(); got != want {
			t.Errorf("%d is selected:\n%q, want\n%q", selected, got, want)
		}
	}
	if got, want := frames[1].Name(), "libstdc++.so.6.0.30+0xa5780"; got != want {
		t.Errorf("the function of a row is %s, want %s", got, want)
	}
}

// TestTailCallsInJSON: a deduced frame has the number of the frame that it called, and
// none if it called the allocator, which has no frame.
func TestTailCallsInJSON(t *testing.T) {
	for want, f := range map[string]names.Frame{
		`{"frame":0,"pc":"0x10","function":"f",`:                    {Num: 0},
		`{"frame":0,"pc":"0x10","function":"f","offset":0,"tail_c`:  {Num: 0, Tail: true},
		`{"pc":"0x10","function":"f","offset":0,"tail_call":true,"`: {Num: -1, Tail: true},
	} {
		f.Code, f.Function = addr.PC(0x10), "f"
		got := shell.JSONText(desk.ViewFrame(f))
		if !strings.HasPrefix(got, want) || strings.Contains(got, "tail_call") != f.Tail {
			t.Errorf("%s, want the beginning %s", got, want)
		}
	}
}
