package flags

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// options are flags of each kind.
type options struct {
	force bool
	file  string
}

func (o *options) flag(name string) Flag {
	switch name {
	case "f", "force":
		return On(&o.force)
	case "no-force":
		return Off(&o.force)
	case "o":
		return Text(&o.file)
	case "l":
		return NonEmpty(&o.file)
	case "n":
		return Value(func(string) error { return errors.New("not a number") })
	}
	return Flag{}
}

func TestAll(t *testing.T) {
	for words, want := range map[string]struct {
		options
		others string
		err    string
	}{
		"":                  {},
		"a - b":             {others: "a - b"},
		"-f a":              {options{force: true}, "a", ""},
		"a --force b":       {options{force: true}, "a b", ""},
		"-f -no-force":      {},
		"-o x a":            {options{file: "x"}, "a", ""},
		"--o=x=y a":         {options{file: "x=y"}, "a", ""},
		"-o= a":             {options{}, "a", ""},
		"-o -f":             {options{file: "-f"}, "", ""},
		"a -o":              {err: "-o: value missing"},
		"--force=1":         {err: "--force=1: takes no value"},
		"-x":                {err: "-x: no such flag"},
		"--":                {err: "--: no such flag"},
		"--l x":             {options{file: "x"}, "", ""},
		"--l= x":            {err: "--l=: value missing"},
		"-n 1":              {err: "-n: not a number"},
		"a --n=1 --unknown": {err: "--n=1: not a number"},
	} {
		var o options
		others, err := All(strings.Fields(words), o.flag)
		text := ""
		if err != nil {
			text, o = err.Error(), options{}
		}
		if o != want.options || !slices.Equal(others, strings.Fields(want.others)) || text != want.err {
			t.Errorf("%q: %+v, others %q, error %q", words, o, others, text)
		}
	}
}

func TestCut(t *testing.T) {
	for line, want := range map[string]string{
		"-path": "", " --path\t-x": "-x", "-path  a b": "a b", "-paths": "-", "-p": "-", "- path": "-", "path": "-", "---path": "-", "": "-",
	} {
		rest, ok := Cut(line, "path")
		if !ok {
			rest = "-"
		}
		if rest != want {
			t.Errorf("%q: %q, want %q", line, rest, want)
		}
	}
}
