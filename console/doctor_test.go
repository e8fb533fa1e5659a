package console

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/inferior/machine"
	"hdb/names"
	"hdb/session"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/testprogs"
)

func TestPrintCheckup(t *testing.T) {
	check := &names.Checkup{Events: 10, Frames: 2000, Modules: []names.Diagnosis{
		{Name: "/opt/bin/server", Path: "/opt/bin/server", Frames: 1499, Info: symbols.Info{Debug: symbols.DebugSymtab, Problem: "/d/server.debug: build ID aa, wanted bb",
			Attempts: []symbols.Attempt{{Path: "/d/.build-id/bb.debug", Why: "no such file"}, {Path: "/d/server.debug", Why: "/d/server.debug: build ID aa, wanted bb"}}},
			Remedies: []names.Remedy{{Kind: names.CompileWithDebug}}},
		{Name: "/lib/libz\x1b[31m.so.1", Path: "/lib/libz.so.1", Frames: 500, Lines: 400, Info: symbols.Info{Debug: symbols.DebugDWARF, DWARFVersion: 5, DebugFile: "/d/libz.debug"}},
		{Name: "/lib/gone.so", Frames: 1, Err: errors.New("gone.so: no such file with build ID cc"), Remedies: []names.Remedy{{Kind: names.FindFile, BuildID: "cc"}, {Kind: names.LinkBuildID}}},
		{Name: "/lib/unused.so", Path: "/lib/unused.so", Info: symbols.Info{Debug: symbols.DebugDynsym}, Remedies: []names.Remedy{{Kind: names.MakeReadable}}},
	}}
	var b bytes.Buffer
	if err := PrintDoctor(&b, Doctor{Names: check}, false); err != nil {
		t.Fatal(err)
	}
	want := `module             frames  names from            file
server             75.0 %  symbol table only     /opt/bin/server
libz\x1b[31m.so.1  25.0 %  DWARF 5               /d/libz.debug
gone.so             0.1 %  nothing
unused.so           0.0 %  dynamic symbols only  /lib/unused.so

/opt/bin/server: symbol table only
  looked at  /d/.build-id/bb.debug: no such file
             /d/server.debug: build ID aa, wanted bb
  remedy     compile it with -g

/lib/gone.so: nothing
  problem    gone.so: no such file with build ID cc
  remedy     get the file with build ID cc: put it next to the capture, or set sysroot
  or         link it with -Wl,--build-id, so that separate debug files can be found
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	b.Reset()
	if err := PrintDoctor(&b, Doctor{Names: check}, true); err != nil || !strings.Contains(b.String(), `"share":0.7495,"found":"symbol table only"`) || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%s, %v", &b, err)
	}
}

// TestPrintMachine prints what a machine can do: what it cannot is marked, and what follows is said.
func TestPrintMachine(t *testing.T) {
	all := []machine.Finding{
		{Word: "tsc", Name: "time stamp counter", State: machine.Present, How: "asked", Without: "slow", Matters: true},
		{Word: "debugregs", Name: "debug registers", State: machine.Absent, How: "tried", Without: "single steps", Matters: true},
		{Word: "perf", Name: "counters of perf", State: machine.Masked, How: "HDB_WITHOUT masks it", Without: "hdb works the same"},
	}
	names := &names.Checkup{}
	table := `this machine                 found by
time stamp counter  present  asked
debug registers     absent   tried
counters of perf    masked   HDB_WITHOUT masks it
without debug registers: single steps
without counters of perf: hdb works the same
`
	for _, c := range []struct {
		doctor Doctor
		want   string
	}{
		{Doctor{Machine: all}, table},
		{Doctor{Names: names, Machine: all}, "nothing is missing\n\n" + table},
		{Doctor{Names: names}, "nothing is missing\n"},
	} {
		var b bytes.Buffer
		if err := PrintDoctor(&b, c.doctor, false); err != nil || !strings.HasSuffix(b.String(), c.want) {
			t.Errorf("got\n%s\nwant\n%s (%v)", &b, c.want, err)
		}
	}
	var b bytes.Buffer
	want := `{"v":1,"command":"doctor","machine":[{"ability":"tsc","name":"time stamp counter","state":"present","needed":true,"found_by":"asked","without":"slow"},`
	if err := PrintDoctor(&b, Doctor{Machine: all}, true); err != nil || !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %s, want %s... (%v)", &b, want, err)
	}
	b.Reset()
	if err := PrintDoctor(&b, Doctor{Names: names}, true); err != nil || strings.Contains(b.String(), "machine") {
		t.Errorf("%s (%v)", &b, err)
	}
}

func TestRemedyText(t *testing.T) {
	d := &names.Diagnosis{Path: "/opt/server"}
	for _, tc := range []struct {
		remedy names.Remedy
		want   string
	}{
		{names.Remedy{Kind: names.Install, What: "apt-get install libc6-dbg"}, "apt-get install libc6-dbg"},
		{names.Remedy{Kind: names.Install, What: "apt-get install zlib1g-dbgsym", Archive: "deb http://ddebs.ubuntu.com xia main"}, "apt-get install zlib1g-dbgsym (it is in: deb http://ddebs.ubuntu.com xia main)"},
		{names.Remedy{Kind: names.KeepDwo, What: "a.dwo"}, "keep the .dwo files where the compiler wrote them (a.dwo), or put them together: dwp -e /opt/server -o /opt/server.dwp"},
		{names.Remedy{Kind: names.RestoreDwz, What: "common", BuildID: "ab"}, "put common back (build ID ab): dwz -m moved there what several files share"},
		{names.Remedy{Kind: names.NameServer, What: "https://s"}, "export DEBUGINFOD_URLS=https://s before hdb begins, and set debuginfod on"},
		{names.Remedy{Kind: names.AskServer, What: "https://s"}, "set debuginfod on, or hdb doctor --debuginfod (https://s)"},
	} {
		if got := remedyText(d, tc.remedy); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.remedy, got, tc.want)
		}
	}
	for kind := names.FindBuild; kind <= names.LinkBuildID; kind++ {
		if remedyText(d, names.Remedy{Kind: kind, What: "it"}) == "" {
			t.Errorf("nothing is said of kind %d", kind)
		}
	}
}

// TestInfoSymbols asks with and without an address.
func TestInfoSymbols(t *testing.T) {
	var out, errw bytes.Buffer
	s := session.New(target.Config{})
	c := New(Config{Session: s, NoInit: true, Options: shell.Options{Out: &out, Err: &errw, Quiet: true, Batch: true}})
	defer s.Close()
	if err := c.Load(testprogs.Build(t, "static")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ line, want string }{
		{"info symbols", "nothing is missing\n"},
		{"info symbols main", " is main of "},
		{"info symb main", " is main of "},
	} {
		out.Reset()
		if err := c.Execute(context.Background(), x.line); err != nil || !strings.Contains(out.String(), x.want) {
			t.Errorf("%s: %v\n%s", x.line, err, &out)
		}
	}
}

// TestMarks shows which frames only a symbol table names, and explains it once.
func TestMarks(t *testing.T) {
	frame := func(function string, source symbols.Provenance, line int) names.Frame {
		return names.Frame{Module: "prog", Offset: 2, Frame: symbols.Frame{Function: function, Source: source, Line: line, File: "a.c"}}
	}
	frames := []names.Frame{
		frame("a", symbols.FromDynsym, 0), frame("b", symbols.FromMini, 0), frame("c", symbols.FromSymtab, 0),
		frame("d", symbols.FromSymtab, 7), frame("e", symbols.FromDWARF, 0), frame("f", symbols.FromPclntab, 3), frame("", symbols.FromNone, 0), frame("_start", symbols.FromSymtab, 0),
	}
	var b bytes.Buffer
	o := &screen.Output{W: &b}
	c := &desk.Desk{}
	desk.PrintFrames(o, frames)
	desk.ExplainMarks(c, o, frames)
	desk.ExplainMarks(c, o, frames)
	want := `#0  a+0x2       [prog] (dynsym)
#0  b+0x2       [prog] (minidebuginfo)
#0  c+0x2       [prog] (symtab)
#0  d           a.c:7
#0  e+0x2       [prog]
#0  f           a.c:3
#0  0x0         [prog]
#0  _start+0x2  [prog]
(symtab, dynsym, minidebuginfo: named by a symbol table, without lines; ` + "`info symbols`" + ` shows what is missing)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	b.Reset()
	if desk.ExplainMarks((&desk.Desk{}), o, frames[3:]); b.Len() != 0 {
		t.Errorf("explained what is not there: %s", &b)
	}
}
