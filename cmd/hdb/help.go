package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"hdb/console"
)

// firstWords are those of command lines, but for programs.
func firstWords() []string {
	return append(slices.Sorted(maps.Keys(verbs())), "symbolize", "open", "attach", "core")
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
// than a program, which may have the same name: hdb top.
func (o *options) meansCommand() error {
	word := o.words[0]
	if o.args || !console.IsCommand(word) || isProgram(word) {
		return nil
	}
	return fmt.Errorf("%s: a command of the console, no program: hdb %s CAPTURE asks a capture (hdb --args %s starts a program of that name): %w", word, word, word, errUsage)
}
