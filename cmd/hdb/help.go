package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"hdb/console"
	"hdb/internal/flags"
)

// firstWords are those of command lines, but for programs.
func firstWords() []string {
	return append(slices.Sorted(maps.Keys(verbs())), "symbolize", "open", "attach", "core", "version")
}

// help is `hdb help`, `hdb help VERB`, and the console's help for all other words.
func help(words []string, in *os.File, out, errw io.Writer) int {
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == "version": // which may be a program's name, too
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
	if o.args || !console.IsCommand(word) || isHere(word) {
		return nil
	}
	if pid := namedProcess(o.words[1:]); pid != "" {
		return fmt.Errorf("%s: a command of the console: hdb -p %s, and then %s: %w", word, pid, word, errUsage)
	}
	for _, w := range o.words[1:] {
		if isHere(w) {
			return fmt.Errorf("%s: %s is no capture: hdb record -o FILE PROGRAM makes one (hdb --args %s starts a program of that name): %w", word, w, word, errUsage)
		}
	}
	runs := ""
	if word == "leaks" {
		runs = ", hdb leaks -- PROGRAM runs one and reports when it exits"
	}
	return fmt.Errorf("%s: a command of the console: hdb %s CAPTURE asks a capture%s (hdb --args %s starts a program of that name): %w", word, word, runs, word, errUsage)
}

// namedProcess is the process that words are about which follow a command of the console: -p PID, or PID alone; ""
// without one.
func namedProcess(words []string) string {
	for i, w := range words {
		name, value, given := strings.Cut(w, "=")
		if flags.Is(w) && slices.Contains([]string{"p", "pid"}, strings.TrimLeft(name, "-")) {
			if !given && i+1 < len(words) {
				value = words[i+1]
			}
			return value
		}
	}
	if len(words) != 1 {
		return ""
	}
	if pid, err := strconv.Atoi(words[0]); err != nil || pid <= 0 {
		return ""
	}
	if _, err := os.Stat("/proc/" + words[0]); err != nil {
		return ""
	}
	return words[0]
}

// wantsCommandHelp tells command lines as hdb leaks --help, of commands that no program has the name of. What
// is behind -- is a program's.
func (o *options) wantsCommandHelp() bool {
	if o.args || o.pid != 0 || len(o.words) < 2 || !console.IsCommand(o.words[0]) || isHere(o.words[0]) {
		return false
	}
	words := o.words[1:]
	if end := slices.Index(words, "--"); end >= 0 {
		words = words[:end]
	}
	return wantsHelp(words)
}
