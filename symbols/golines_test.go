package symbols

import (
	"debug/gosym"
	"os"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/testprogs"
)

// TestGoLinesWithoutDWARF compares where the code of each line of a program is by .gopclntab
// with what DWARF says, which is of the same code.
func TestGoLinesWithoutDWARF(t *testing.T) {
	open := func(flags ...string) *Object {
		o, err := Open(testprogs.Build(t, "golang", flags...), Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Close() })
		return o
	}
	src, err := os.ReadFile(testprogs.Source(t, "golang"))
	if err != nil {
		t.Fatal(err)
	}
	whole, length := open(), strings.Count(string(src), "\n")
	for _, flags := range []string{"-ldflags=-s -w", "-ldflags=-w"} {
		o := open(flags)
		equal, entries, parts := 0, 0, 0
		compare := func(file string, line int) {
			want, got := whole.Lines.Find(file, line), o.Lines.Find(file, line)
			if slices.Equal(got, want) {
				equal++
				return
			}
			for _, l := range got {
				if slices.Contains(want, l) {
					continue
				}
				frame := whole.Lookup(l.Addr)[0]
				if frame.Line != l.Line || frame.File != l.File || frame.Function != l.Function || frame.Inlined != l.Inlined {
					t.Errorf("%s: %s:%d: %+v is of %+v", flags, file, line, l, frame)
				}
				if fn, _ := whole.FunctionAt(l.Addr); fn.Low == l.Addr {
					entries++ // DWARF marks the end of the prologue
				} else {
					parts++ // and which rows begin statements
				}
			}
			for _, w := range want { // of several blocks of a function the table has the first
				if !slices.ContainsFunc(got, func(l Location) bool { return l.File == w.File && l.Line == w.Line && l.Function == w.Function }) {
					t.Errorf("%s: %s:%d: %+v is not in %+v", flags, file, line, w, got)
				}
			}
		}
		for line := 1; line <= length+1; line++ {
			compare("golang.go", line)
		}
		if equal < length/3 || parts > length/10 {
			t.Errorf("%s: of %d lines %d have the same places; %d are at entries, %d inside of statements", flags, length, equal, entries, parts)
		}
		for line := 250; line <= 350; line++ {
			compare("fmt/print.go", line)
			compare("sync/waitgroup.go", line-200)
		}
		if equal < 100 {
			t.Errorf("%s: %d lines have the same places; %d are at entries, %d inside of statements", flags, equal, entries, parts)
		}
		t.Logf("%s: %d equal, %d at entries, %d parts", flags, equal, entries, parts)
	}
}

// TestGoLines finds the lines of the function of goFixture, which has copies of others.
func TestGoLines(t *testing.T) {
	data, tree := goFixture()
	g := goTable{table: &gosym.Table{}, copies: newGoCopies(foreignImage(append(make([]byte, 64), tree...)), data, goModule{text: 0x1000, funcs: 64})}
	g.once.Do(func() {})
	at := func(a addr.File, line int, function string) Location {
		return Location{Addr: a, File: "dir/f.go", Line: line, Function: function, Inlined: function != "main.f"}
	}
	for line, want := range [][]Location{
		1: {at(0x1000, 1, "main.f"), at(0x1004, 1, "main.g")},
		2: {at(0x1008, 2, "main.h"), at(0x100c, 2, "main.g"), at(0x1010, 2, "main.f")},
		3: nil,
	} {
		if got := g.findLine("f.go", line); line > 0 && !slices.Equal(got, want) {
			t.Errorf("line %d: %+v, want %+v", line, got, want)
		}
	}
	if got := g.findLine("other.go", 1); len(got) > 0 {
		t.Errorf("another file: %+v", got)
	}
	if got := g.lineRows("dir/f.go", 1); len(got) != 1 || got[0].Addr != 0x1000 || got[0].End != 0x1008 {
		t.Errorf("rows: %+v", got)
	}
}
