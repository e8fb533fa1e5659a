package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"hdb/capture/file"
	"hdb/console"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/report"
	"hdb/session/recordings"
)

// settle makes of the command line what converse begins with: `hdb FILE.hdb` is `hdb open
// FILE.hdb`, `hdb top FILE.hdb` is a question to the console, and the flags behind open, attach
// and a capture count as those before.
func (o *options) settle() error {
	if o.pid != 0 && len(o.words) > 0 {
		return fmt.Errorf("-p %d: unexpected %s: to run a command use hdb -p %d -ex %s: %w", o.pid, o.words[0], o.pid, shellWord(strings.Join(o.words, " ")), errUsage)
	}
	if o.args || o.pid != 0 || len(o.words) == 0 {
		return nil
	}
	switch word := o.words[0]; {
	case word == "open", word == "attach", word == "core":
		rest, err := flags.All(o.words[1:], o.flag)
		if err != nil {
			return fmt.Errorf("%s: %w: see hdb %s --help", word, err, word)
		}
		o.words = append([]string{word}, rest...)
		return nil
	case isSaved(word):
		rest, err := flags.All(o.words[1:], o.flag)
		if err != nil {
			return fmt.Errorf("%w: see hdb open --help", err)
		}
		o.words = append([]string{"open", word}, rest...)
		return nil
	}
	if end := slices.Index(o.words, "--"); o.words[0] == "leaks" && end > 0 {
		return o.askProgram(end)
	}
	return o.ask()
}

// askProgram makes of `hdb leaks ... -- PROGRAM ARGS` that command when the program exits, in batch mode; the
// program begins behind word number end.
func (o *options) askProgram(end int) error {
	words, err := o.ownFlags(o.words[1:end])
	if err != nil {
		return fmt.Errorf("leaks: %w: %w", err, errUsage)
	}
	if !slices.Contains(words, "--exit") {
		words = slices.Insert(words, 0, "--exit") // a condition is the end of the line
	}
	if o.words = o.words[end+1:]; len(o.words) == 0 {
		return fmt.Errorf("leaks: a program must follow --: %w", errUsage)
	}
	o.words = interpreted(o.words)
	line, err := console.CommandLine(append([]string{"leaks"}, words...))
	if err != nil {
		return err
	}
	o.batch, o.args, o.finish = true, true, true
	o.startup = append(o.startup, shell.Startup{Text: line})
	return nil
}

// isSaved tells words that name a capture, be it there or not, from programs.
func isSaved(word string) bool {
	if file.Is(word) {
		return true
	}
	_, err := os.Stat(word)
	return err != nil && strings.HasSuffix(word, ".hdb")
}

// ask turns `hdb COMMAND ... CAPTURE ...` into the command, run in batch mode on the capture:
// of several captures the last one, which the others are compared with. Without a capture the
// words name a program.
func (o *options) ask() error {
	word := o.words[0]
	if !slices.ContainsFunc(o.words[1:], isSaved) || strings.Contains(word, "/") || !console.IsCommand(word) && isProgram(word) {
		return nil
	}
	words, err := o.ownFlags(o.words[1:])
	if err != nil {
		return fmt.Errorf("%s: %w: %w", word, err, errUsage)
	}
	for i, w := range slices.Backward(words) {
		if isSaved(w) {
			o.asked, words = w, slices.Delete(words, i, i+1)
			break
		}
	}
	line, err := console.CommandLine(append([]string{word}, words...))
	if err != nil {
		return fmt.Errorf("%w, or hdb --help", err)
	}
	o.batch = true
	o.startup = append(o.startup, shell.Startup{Text: line})
	return nil
}

// askLive is ask for `hdb live CAPTURE`, where the first word that is no flag could be a program.
func (o *options) askLive() error {
	i := slices.IndexFunc(o.words[1:], func(w string) bool { return !flags.Is(w) || !slices.Contains(ownNames, strings.TrimLeft(w, "-")) })
	if i < 0 || flags.Is(o.words[1+i]) || isProgram(o.words[1+i]) && !isSaved(o.words[1+i]) {
		return nil
	}
	return o.ask()
}

// isHere reports whether a file in the working directory has that name. The words of hdb win over programs in PATH, such
// as /usr/bin/top.
func isHere(word string) bool {
	st, err := os.Stat(word)
	return err == nil && !st.IsDir()
}

// isProgram tells words that a program can be started by.
func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	if err != nil {
		_, err = os.Stat(word)
	}
	return err == nil
}

// ownNames are flags of hdb's own that may be behind a command: no command has such a flag.
var ownNames = []string{"json", "batch", "nx", "q", "quiet", "silent"}

// ownFlags obeys those flags of ownNames that are among the words.
func (o *options) ownFlags(words []string) (others []string, err error) {
	for len(words) > 0 {
		if !flags.Is(words[0]) || !slices.Contains(ownNames, strings.TrimLeft(words[0], "-")) {
			others, words = append(others, words[0]), words[1:]
			continue
		}
		if words, err = flags.Next(words, o.flag); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// nextCommands tells what to type when a capture was written. python: it has the blocks of Python's own allocators.
func nextCommands(path string, st *recordings.RecordStatus, python bool) string {
	path = shellWord(path)
	question := "`hdb summary " + path + "` sums it up"
	switch {
	case (st.HidesPython || python) && report.MostFreed(st.LiveBytes, st.PeakBytes):
		question = "`hdb top " + path + "` shows who held the memory at the peak"
	case st.LiveBlocks > 0 && st.Collects:
		question = "`hdb top " + path + "` shows who allocated what is live, `hdb diff " + path + " 50%` what has grown in the second half"
	case st.LiveBlocks > 0:
		question = "`hdb leaks " + path + "` shows what was not freed"
	}
	return "next: " + question + ", `hdb " + path + "` opens the console on it"
}

// shellWord is a file's name as a shell takes it.
func shellWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	if strings.ContainsFunc(path, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == '_' || r == '+' || r == ',' || r == '%' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127)
	}) {
		return quoteArgs([]string{path})
	}
	return path
}
