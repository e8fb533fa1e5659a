package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"hdb/console"
)

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-batch", "--ex=run", "-x", "file", "-ex", "bt", "-nx", "prog", "-q", "--json"})
	if err != nil {
		t.Fatal(err)
	}
	want := []console.Startup{{Text: "run"}, {Text: "file", File: true}, {Text: "bt"}}
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

func TestArgumentsAreReadBack(t *testing.T) {
	if got := quoteArgs([]string{"a b", "it's", ">", ""}); got != `'a b' 'it'\''s' '>' ''` {
		t.Errorf("got %s", got)
	}
}
