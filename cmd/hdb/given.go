package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"hdb/annotations"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/internal/regular"
)

const headerUsage = `hdb header prints hdb.h, with which C and C++ programs set marks, choose what to record,
and describe their own memory pools. See docs/annotations.md.

usage:
  hdb header           to standard output
  hdb header DIR       to DIR/hdb.h

flags:
  -f, --force     replace a file that is not an hdb.h

example:
  hdb header include
`

const pythonModuleUsage = `hdb python-module prints hdb_mark.py, with which Python programs set marks and choose what
to record. See docs/annotations.md.

usage:
  hdb python-module           to standard output
  hdb python-module DIR       to DIR/hdb_mark.py

flags:
  -f, --force     replace a file that is not an hdb_mark.py

example:
  hdb python-module .
`

// given has a verb for a file that programs are given: it is printed, or written to a directory.
func given(name, text, usage string) func(o *options, out, errw io.Writer) int {
	return func(o *options, out, errw io.Writer) int {
		var force, wantsHelp bool
		verb := o.words[0]
		words, err := flags.All(o.words[1:], func(name string) flags.Flag {
			switch name {
			case "f", "force":
				return flags.On(&force)
			case "h", "help":
				return flags.On(&wantsHelp)
			}
			return flags.Flag{} // none
		})
		switch {
		case err != nil:
			return fail(errw, fmt.Errorf("%w: see hdb %s --help", err, verb), exitUsage)
		case wantsHelp:
			return printText(out, errw, usage)
		case len(words) > 1:
			return fail(errw, fmt.Errorf("%s: one directory at most: see hdb %s --help", verb, verb), exitUsage)
		case len(words) == 0:
			return printText(out, errw, text)
		}
		to := outfile.File{Path: filepath.Join(words[0], name), Force: force || isOlder(filepath.Join(words[0], name), text), Public: true}
		if err := write(to, text); err != nil {
			return fail(errw, err, 1)
		}
		return printText(out, errw, to.Path+"\n")
	}
}

// isOlder reports whether a file is an older one of those that hdb gives: both begin with the same
// line.
func isOlder(path, text string) bool {
	f, _, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line := []byte(text)[:bytes.IndexByte([]byte(text), '\n')+1]
	head := make([]byte, len(line))
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, line)
}

func write(to outfile.File, text string) error {
	return to.Write(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// givenVerbs are the verbs that give files.
func givenVerbs() map[string]func(o *options, out, errw io.Writer) int {
	return map[string]func(o *options, out, errw io.Writer) int{
		"header":        given("hdb.h", annotations.Header, headerUsage),
		"python-module": given("hdb_mark.py", annotations.PythonModule, pythonModuleUsage),
	}
}
