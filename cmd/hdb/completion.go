package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"hdb/console"
	"hdb/internal/flags"
	"hdb/internal/lazyregexp"
	"hdb/report"
)

//go:embed completions/hdb.bash
var bashCompletion string

//go:embed completions/_hdb
var zshCompletion string

//go:embed completions/hdb.fish
var fishCompletion string

const completionUsage = `hdb completion prints the completion of hdb's command lines for a shell: verbs, flags,
captures, and after -ex whatever the console completes, such as functions of the program.

usage:
  hdb completion bash|zsh|fish

examples:
  source <(hdb completion bash)
  hdb completion fish > ~/.config/fish/completions/hdb.fish
`

// completion prints the script of a shell.
func completion(o *options, out, errw io.Writer) int {
	words := o.words[1:]
	if wantsHelp(words) {
		return printText(out, errw, completionUsage)
	}
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	if len(words) != 1 || scripts[words[0]] == "" {
		return fail(errw, fmt.Errorf("completion: bash, zsh or fish must follow: see hdb completion --help"), exitUsage)
	}
	return printText(out, errw, scripts[words[0]])
}

// complete answers the scripts: words are the line, the byte offset of the cursor, and the end of the word before it that
// the shell replaces, by default all of it. It prints "files" if files may be there, too, else "words", and then a word a
// line. An error prints nothing: Tab is no place to say it.
func complete(words []string, in *os.File, out io.Writer) int {
	if len(words) < 2 {
		return exitUsage
	}
	line := words[0]
	at, err := strconv.Atoi(words[1])
	if err != nil || at < 0 || at > len(line) {
		return exitUsage
	}
	before, last := shellWords(line[:at])
	all, end := shellWords(line)
	c := completer{before: before[min(1, len(before)):], last: last, all: append(all[min(1, len(all)):], end), in: in}
	found, files := c.candidates()
	kind := "words"
	if files {
		kind = "files"
	}
	fmt.Fprintln(out, kind)
	for _, w := range slices.Compact(slices.Sorted(slices.Values(found))) {
		if !strings.HasPrefix(w, last) {
			continue
		}
		if len(words) > 2 {
			w = w[max(0, len(last)-len(words[2])):]
		}
		fmt.Fprintln(out, w)
	}
	return 0
}

// shellWords are the words of the beginning of a command line, and the last one, which may be empty or in an open quote.
func shellWords(line string) (words []string, last string) {
	var word []byte
	var quote byte
	begun := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word, begun = append(word, line[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t':
			if begun {
				words = append(words, string(word))
			}
			word, begun = nil, false
		default:
			word, begun = append(word, c), true
		}
	}
	return words, string(word)
}

// A completer finds what could be at the place of the cursor in a command line.
type completer struct {
	before []string // the words before the one that is typed, without hdb
	last   string   // what is typed of it
	all    []string // the words of the whole line
	in     *os.File
}

// candidates are words that could be there, and whether files could.
func (c *completer) candidates() (words []string, files bool) {
	if slices.Contains(c.before, "--") {
		return nil, true // a program and its arguments
	}
	verb, at := "", c.first()
	if at >= 0 && slices.Contains(append(firstWords(), "help"), c.before[at]) || at >= 0 && console.IsCommand(c.before[at]) {
		verb = c.before[at]
	}
	if at >= 0 && verb == "" && !isSaved(c.before[at]) {
		return nil, true // arguments of a program
	}
	help := c.help(verb)
	if len(c.before) > 0 {
		if words, files, is := c.value(help, c.before[len(c.before)-1]); is {
			return words, files
		}
	}
	switch {
	case strings.HasPrefix(c.last, "-"):
		return flagsOf(help), false
	case at < 0:
		return append(firstWords(), "help", "leaks", "top", "allocs", "diff", "find"), true
	}
	switch first := at == len(c.before)-1; {
	case verb == "export" && first:
		for _, f := range report.Formats() {
			words = append(words, f.Name)
		}
		return words, false
	case verb == "capture" && first:
		return captureVerbs, false
	case verb == "completion" && first:
		return []string{"bash", "fish", "zsh"}, false
	case verb == "help" && first:
		return append(firstWords(), c.console("help ")...), false
	case verb == "attach" && first, verb == "py" && first:
		return processes(), verb == "py"
	case verb != "" && !slices.Contains(firstWords(), verb):
		return c.console(strings.Join(c.before[at:], " ") + " "), true
	}
	return nil, true
}

// first is the index of the first word that is no flag of hdb and no value of one, -1: there is none.
func (c *completer) first() int {
	var own options
	for i := 0; i < len(c.before); i++ {
		w := c.before[i]
		switch {
		case !flags.Is(w):
			return i
		case own.flag(strings.TrimLeft(w, "-")).TakesValue():
			i++ // the value
		}
	}
	return -1
}

// help is what --help says of a verb.
func (c *completer) help(verb string) string {
	argv := []string{"--help"}
	if verb != "" {
		argv = []string{verb, "--help"}
	}
	var text bytes.Buffer
	if run(argv, c.in, &text, io.Discard) != 0 {
		return ""
	}
	return text.String()
}

// shownFlag is a flag in a help text, with the name of its value.
var shownFlag = lazyregexp.New(`(?m)(?:^ *|[ ,|[])(--?[a-zA-Z][\w-]*)(?: ([A-Z]+))?`)

func flagsOf(help string) (all []string) {
	for _, m := range shownFlag().FindAllStringSubmatch(help, -1) {
		all = append(all, m[1])
	}
	return all
}

// value completes the value of a flag; not is if the word before is no flag with one.
func (c *completer) value(help, flag string) (words []string, files, is bool) {
	if name := strings.TrimLeft(flag, "-"); flags.Is(flag) && (name == "ex" || name == "iex") {
		return c.console(""), false, true
	}
	for _, m := range shownFlag().FindAllStringSubmatch(help, -1) {
		if m[1] != flag || m[2] == "" {
			continue
		}
		switch m[2] {
		case "PID":
			return processes(), false, true
		case "MEASURE":
			return report.Measures[:], false, true
		case "MOMENT", "M":
			return []string{"start", "peak", "end"}, false, true
		case "COND":
			line := "break alloc if "
			for _, w := range c.console(line) {
				words = append(words, strings.TrimPrefix(w, line))
			}
			return words, false, true
		}
		return nil, slices.Contains([]string{"FILE", "DIR", "DIRS", "DEV", "CORE", "OUT"}, m[2]), true
	}
	return nil, false, false
}

// console completes a line of the console that begins with head and ends with the word, for the program or capture that the
// command line names. The words begin with the word that is typed.
func (c *completer) console(head string) []string {
	argv := []string{"-nx", "-q", "-batch", "-ex", "complete " + head + c.last}
	for _, w := range c.all {
		if st, err := os.Stat(w); err == nil && st.Mode().IsRegular() {
			argv = append(argv, w)
			break
		}
	}
	var out bytes.Buffer
	if run(argv, c.in, &out, io.Discard) != 0 {
		return nil
	}
	var words []string
	for l := range strings.Lines(out.String()) {
		if word, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), head); ok {
			words = append(words, word)
		}
	}
	return words
}

// processes are the numbers of processes that hdb could attach to: those of the user, or all for root.
func processes() (all []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if _, err := os.Readlink("/proc/" + e.Name() + "/exe"); err == nil {
			all = append(all, e.Name())
		}
	}
	return all
}
