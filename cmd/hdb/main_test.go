package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/console/shell"
)

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-batch", "--ex=run", "-x", "file", "-ex", "bt", "-nx", "prog", "-q", "--json"})
	if err != nil {
		t.Fatal(err)
	}
	want := []shell.Startup{{Text: "run"}, {Text: "file", File: true}, {Text: "bt"}}
	if !o.batch || !o.noInit || o.quiet || o.json || len(o.startup) != 3 {
		t.Errorf("got %+v", o)
	}
	for i, st := range o.startup {
		if st != want[i] {
			t.Errorf("startup %d is %+v, want %+v", i, st, want[i])
		}
	}
	if got := strings.Join(o.words, " "); got != "prog -q --json" {
		t.Errorf("program %q", got)
	}
}

// TestGDBFlags has gdb's flags for a core file, sources, the split screen, and commands before the program is loaded.
func TestGDBFlags(t *testing.T) {
	o, err := parseFlags([]string{"-iex", "set print sizes raw", "-ix=early", "-d", "/a b", "-c", "core.1", "-tui", "-nh", "prog"})
	if err != nil {
		t.Fatal(err)
	}
	want := []shell.Startup{{Text: "set print sizes raw"}, {Text: "early", File: true}, {Text: "directory '/a b'"}}
	if !slices.Equal(o.early, want) || len(o.startup) > 0 || o.core != "core.1" || !o.tui || !o.noHome || o.noInit {
		t.Errorf("got %+v", o)
	}
	for _, tc := range []struct {
		argv []string
		want string
		code int
	}{
		{[]string{"-nx", "-batch", "-iex", "set print sizes raw", "-d", "/usr", "-ex", "show print sizes", "-ex", "show directories"}, "print sizes is raw\ndirectories is /usr\n", 0},
		{[]string{"-nx", "-batch", "-c", "core.1", "a", "b"}, "one program at most, not 2 words", 2},
		{[]string{"-nx", "-batch", "-c", "/none"}, "/none: no such file", 4},
	} {
		var out, errw bytes.Buffer
		if code := run(tc.argv, os.Stdin, &out, &errw); code != tc.code || !strings.Contains(out.String()+errw.String(), tc.want) {
			t.Errorf("hdb %q: exit %d, want %d with %q:\n%s%s", tc.argv, code, tc.code, tc.want, &out, &errw)
		}
	}
}

// hdb open and hdb attach have help of their own, and take flags on either side.
func TestOpenHelp(t *testing.T) {
	for _, tc := range []struct {
		args, want string
		code       int
	}{
		{"open --help", "hdb [flags] open CAPTURE", 0}, {"help open", "hdb [flags] CAPTURE [flags]", 0}, {"attach --help", "hdb [flags] attach PID", 0}, {"help attach", "hdb [flags] attach PID [flags]", 0},
		{"open none.hdb -batch", "none.hdb: no such file", 4}, {"none.hdb -batch", "none.hdb: no such file", 4}, {"open none.hdb -bogus", "open: -bogus: no such flag", 2},
		{"open a b", "one argument, not 2", 2}, {"attach 1 2 -ex bt", "one argument, not 2", 2}, {"none.hdb other", "one argument, not 2", 2},
		{"top none.hdb", "none.hdb: no such file", 4}, {"live none.hdb", "none.hdb: no such file", 4}, {"info nonsense none.hdb", "unknown info word", 2},
	} {
		var out, errw bytes.Buffer
		if code := run(strings.Fields(tc.args), os.Stdin, &out, &errw); code != tc.code || !strings.Contains(out.String()+errw.String(), tc.want) {
			t.Errorf("hdb %s: exit %d, want %d with %q:\n%s%s", tc.args, code, tc.code, tc.want, &out, &errw)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range []string{"--bogus", "-x", "-p abc", "-p 0", "--batch=yes", "attach", "open a b"} {
		var out, errw bytes.Buffer
		if code := run(strings.Fields(args), os.Stdin, &out, &errw); code != exitUsage {
			t.Errorf("hdb %s: exit %d, want %d; %s", args, code, exitUsage, &errw)
		}
		if msg := errw.String(); strings.Count(msg, "\n") != 1 || !strings.HasPrefix(msg, "error: ") {
			t.Errorf("hdb %s: message %q is not one line", args, msg)
		}
	}
}

// The exit codes are a promise to scripts: 2 for a command line that makes no
// sense, 4 for something that it names and that is not there.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		args string
		code int
	}{
		{"--help", 0}, {"record --help", 0}, {"open --help", 0}, {"attach -h", 0}, {"help", 0}, {"--version", 0},
		{"-batch -nx", 0}, {"-batch -nx -ex nonsense", 1}, {"-batch -nx -x " + dir + "/none", 1},
		{"record", 2}, {"record --bogus prog", 2}, {"record --filter size> /bin/true", 2}, {"record -p 0", 2}, {"symbolize", 2},
		{dir + "/none", 4}, {"open " + dir + "/none", 4}, {"-p 1073741824", 4}, {"symbolize -e " + dir + "/none 0", 4},
		{"record " + dir + "/none", 4}, {"record -p 1073741824", 4}, {"record -o " + dir + "/none/x /bin/true", 4}, {"record -o " + dir + " /bin/true", 4},
	} {
		var out, errw bytes.Buffer
		if code := run(strings.Fields(tc.args), os.Stdin, &out, &errw); code != tc.code {
			t.Errorf("hdb %s: exit %d, want %d; %s", tc.args, code, tc.code, &errw)
		}
	}
}

func TestArgumentsAreReadBack(t *testing.T) {
	if got := quoteArgs([]string{"a b", "it's", ">", ""}); got != `'a b' 'it'\''s' '>' ''` {
		t.Errorf("got %s", got)
	}
}

func TestRecordFlags(t *testing.T) {
	o, err := parseRecordFlags(strings.Fields("-f --filter=size>1k -o out.hdb --duration 1.5 -q --return-child-result prog -o x"))
	if err != nil {
		t.Fatal(err)
	}
	if !o.force || !o.quiet || !o.status || o.filter != "size>1k" || o.file != "out.hdb" || o.duration != 1500*time.Millisecond {
		t.Errorf("got %+v", o)
	}
	if got := strings.Join(o.words, " "); got != "prog -o x" {
		t.Errorf("program %q", got)
	}
	for _, args := range []string{"", "-p 12 prog", "-p x", "--duration 0 prog", "--duration soon prog", "-o", "--json prog", "-f=1 prog"} {
		if _, err := parseRecordFlags(strings.Fields(args)); err == nil {
			t.Errorf("hdb record %s: no error", args)
		}
	}
}

func TestScriptsAreRunByTheirInterpreter(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"#!/bin/sh\necho": "/bin/sh F a", "#! /usr/bin/env  bash -x \n": "/usr/bin/env bash -x F a",
		"\x7fELF": "F a", "#!": "F a", "#!\n": "F a", "": "F a",
	} {
		file := filepath.Join(dir, "script")
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(interpreted([]string{file, "a"}), " "), file, "F")
		if got != want {
			t.Errorf("%q is run as %q, want %q", text, got, want)
		}
	}
	if got := interpreted([]string{"no such program"}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// Each verb has a help of its own, or that of all; other words have that of the console.
func TestHelp(t *testing.T) {
	for _, tc := range []struct {
		words, says string
		code        int
	}{{"ignore", "ignore N COUNT", 0}, {"record start", "record start", 0}, {"conditions", "size", 0}, {"nonsense", "nonsense", exitUsage}} {
		var out, errw bytes.Buffer
		code := run(append([]string{"help"}, strings.Fields(tc.words)...), os.Stdin, &out, &errw)
		if code != tc.code || !strings.Contains(out.String()+errw.String(), tc.says) || (code != 0) != (out.Len() == 0) {
			t.Errorf("hdb help %s: exit %d: %s%s", tc.words, code, &errw, &out)
		}
	}
	for _, verb := range firstWords() {
		var out, errw bytes.Buffer
		if code := run([]string{"help", verb}, os.Stdin, &out, &errw); code != 0 || !strings.Contains(out.String(), "usage:") || !strings.Contains(out.String(), verb) {
			t.Errorf("hdb help %s: exit %d: %s%s", verb, code, &errw, &out)
		}
		for _, line := range joinedLines.FindAllString(out.String(), -1) {
			t.Errorf("hdb help %s: two lines in one: %s", verb, line)
		}
	}
}

// joinedLines matches a line of a usage behind whose text another flag or form begins.
var joinedLines = regexp.MustCompile(`(?m)^.*[a-z>.:)]  +(--?[a-z-]{2,}  |-[a-z] [A-Z]|hdb [A-Za-z]).*$`)
