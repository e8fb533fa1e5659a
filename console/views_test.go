package console

import (
	"bytes"
	"strings"
	"testing"

	"hdb/console/screen"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session"
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
	if got, want := print(func(o *screen.Output) { printFrames(o, []names.Frame{f}) }), "#0  Index<...>::add(long)  index.cc:4\n"; got != want {
		t.Errorf("bt: %q, want %q", got, want)
	}
	if got := print(func(o *screen.Output) { printFull(o, []names.Frame{f}, -1) }); !strings.Contains(got, name) {
		t.Errorf("bt -full: %q", got)
	}
	if got := viewFrame(f).Function; got != name {
		t.Errorf("JSON: %q", got)
	}
	r := &session.Report{Finished: &session.Finished{Function: name}}
	if got, want := print(func(o *screen.Output) { o.Line(headline(r)) }), "Index<...>::add(long) returned\n"; got != want {
		t.Errorf("finish: %q, want %q", got, want)
	}
	if r.Finished.Function != name {
		t.Error("the report itself was changed")
	}
}
