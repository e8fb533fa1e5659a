package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"hdb/capture/file"
	"hdb/console"
)

// firstWords are those of command lines, but for programs.
func firstWords() []string {
	return append(slices.Sorted(maps.Keys(verbs())), "symbolize", "open", "attach")
}

// help is `hdb help`, `hdb help VERB`, and for all other words that of the console.
func help(words []string, in *os.File, out, errw io.Writer) int {
	switch {
	case len(words) == 0:
		return printText(out, errw, usage)
	case len(words) == 1 && slices.Contains(firstWords(), words[0]):
		return run([]string{words[0], "--help"}, in, out, errw)
	}
	argv := []string{"-nx", "-q", "-batch", "-ex", "help " + strings.Join(words, " ")}
	code := run(argv, in, out, errw)
	if code != 0 && run(argv, in, io.Discard, io.Discard) != 0 { // not for lost output
		return exitUsage
	}
	return code
}

// meansCommand says that the command line names a command of the console rather
// than a program, which may have the same name: hdb top, hdb diff A.hdb B.hdb.
func (o *options) meansCommand() error {
	word := o.words[0]
	if _, err := os.Stat(word); err == nil || o.args || !console.IsCommand(word) {
		return nil
	}
	captures := slices.DeleteFunc(slices.Clone(o.words[1:]), func(w string) bool { return !file.Is(w) })
	if _, err := exec.LookPath(word); err == nil && len(captures) == 0 {
		return nil
	}
	open := "hdb open CAPTURE"
	if len(captures) > 0 {
		open = "hdb open " + captures[len(captures)-1]
	}
	return fmt.Errorf("%s: a command of the console, no program: %s (hdb --args %s starts a program of that name): %w", word, open, word, errUsage)
}
