package console

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/internal/cond"
)

// complete is the Tab key, pressed on the goroutine of the line's reader. No
// completion is worth the session: one that panics says so and offers nothing.
func (c *Console) complete(ctx context.Context, text string, pos int) (head string, words []string, tail string) {
	answered := c.sig.ask(func() {
		defer func() {
			if r := recover(); r != nil {
				words = nil
				c.Notify(screen.Sprintf("warning: no completion of %q: error in hdb: %v", text[:pos], r))
			}
		}()
		head, words, tail = c.completeAt(ctx, text, pos)
		for i, w := range words {
			words[i] = strings.Clone(screen.Clean(w))
		}
	})
	if !answered || len(words) == 0 {
		return text[:pos], nil, text[pos:]
	}
	return head, words, tail
}

// completeAt is the Tab key: the words that could stand where the one before
// byte offset pos stands, none if ctx ends before all were looked at.
func (c *Console) completeAt(ctx context.Context, text string, pos int) (head string, words []string, tail string) {
	left := text[:pos]
	reading := capture.NewReading(ctx)
	defer c.s.Within(c.s.Within(reading))
	start, words := c.candidates(left)
	if reading.Cut() != nil {
		return left, nil, text[pos:]
	}
	return line.Offer(text, pos, start, words)
}

// candidates are the words that could stand at the end of left, and where that
// word begins.
func (c *Console) candidates(left string) (start int, words []string) {
	trimmed := strings.TrimLeft(left, " \t")
	start = len(left) - len(trimmed)
	if word, rest := commandWord(trimmed); rest == "" && !strings.HasSuffix(trimmed, " ") {
		return start, c.commandNames(word)
	}
	word, rest := commandWord(trimmed)
	if full, ok := c.aliases[word]; ok {
		word, _ = commandWord(full)
	}
	cmd, err := find(c.table, word, "command")
	if err != nil {
		return len(left), nil
	}
	for len(cmd.Sub) > 0 {
		word, after := commandWord(rest)
		if after == "" && !strings.HasSuffix(rest, " ") {
			words := line.StartingWith(subNames(cmd), word)
			if len(words) > 0 || cmd.Run == nil || len(cmd.Args) == 0 {
				return len(left) - len(word), words
			}
			break
		}
		sub, err := find(cmd.Sub, word, "")
		if err != nil {
			break
		}
		cmd, rest = sub, after
	}
	return c.argument(cmd, left, rest)
}

// argument completes the last word of rest, the arguments so far of cmd.
func (c *Console) argument(cmd *Command, left, rest string) (int, []string) {
	if len(cmd.Args) == 0 {
		return len(left), nil
	}
	word := rest[strings.LastIndexAny(rest, " \t")+1:]
	before := strings.Fields(rest[:len(rest)-len(word)])
	kind := cmd.Args[min(len(before), len(cmd.Args)-1)]
	if slices.Contains(before, "if") && kind != ArgFile {
		kind = ArgCondition
	}
	switch kind {
	case ArgSetting, ArgValue:
		return c.settingWords(left, rest)
	case ArgCondition:
		word = word[strings.LastIndexAny(word, "(!&|=<>")+1:]
	}
	return len(left) - len(word), c.wordsOf(kind, cmd, word)
}

// wordsOf are the words of a kind that begin as typed.
func (c *Console) wordsOf(kind ArgKind, cmd *Command, word string) []string {
	switch kind {
	case ArgCommand:
		return c.commandNames(word)
	case ArgHelp:
		names := c.commandNames(word)
		for _, g := range groupTitles() {
			names = append(names, string(g.Group))
		}
		for _, t := range topics() {
			names = append(names, t.name)
		}
		return line.StartingWith(names, word)
	case ArgSub:
		return line.StartingWith(subNames(cmd), word)
	case ArgFile:
		return line.FileNames(word)
	case ArgLocation:
		return append(append(line.StartingWith(stopWords(), word), c.functionNames(word)...), c.sourceNames(word)...)
	case ArgFunction:
		return c.functionNames(word)
	case ArgSource:
		return c.sourceNames(word)
	case ArgStop:
		var ids []string
		for _, st := range c.s.Stops() {
			ids = append(ids, strconv.Itoa(st.ID))
		}
		return line.StartingWith(ids, word)
	case ArgThread:
		return c.threadNumbers(word)
	case ArgSignal:
		var names []string
		for _, s := range c.s.Signals() {
			names = append(names, s.Name)
		}
		return line.StartingWith(names, word)
	case ArgCondition:
		var names []string
		for _, f := range cond.Fields() {
			names = append(names, f.Name)
		}
		return line.StartingWith(append(names, `func("`, `module("`, `caller("`, "kind"), word)
	case ArgMoment:
		return c.moments(word)
	case ArgWord:
		return line.StartingWith(synopsisWords(cmd.Synopsis), word)
	}
	return nil
}

// moments completes what goto and diff take.
func (c *Console) moments(word string) []string {
	names := []string{"peak", "start", "end"}
	for i := range c.s.StopRecords() {
		names = append(names, "stop"+strconv.Itoa(i+1))
	}
	for _, m := range c.s.Marks() {
		names = append(names, m.Name)
	}
	return line.StartingWith(names, word)
}

// synopsisWords are the lower-case words of a synopsis: what is typed as it stands.
func synopsisWords(s string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" []|\n", r) }) {
		if w == strings.ToLower(w) && !strings.Contains(w, "...") && len(w) > 1 {
			words = append(words, w)
		}
	}
	return words
}

func (c *Console) commandNames(word string) []string {
	var names []string
	for _, cmd := range c.table {
		names = append(names, cmd.Name)
		for _, a := range cmd.Aliases {
			if len(a) > 2 && word != "" {
				names = append(names, a)
			}
		}
	}
	for name := range c.aliases {
		names = append(names, name)
	}
	for name := range c.defined {
		names = append(names, name)
	}
	return line.StartingWith(names, word)
}

// functionNames completes a function; nothing is offered for an empty word,
// which would read every symbol there is.
func (c *Console) functionNames(word string) []string {
	if word == "" {
		return nil
	}
	re, err := regexp.Compile("^" + regexp.QuoteMeta(word))
	if err != nil {
		return nil
	}
	fns, err := c.s.Names().Functions(re)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range fns {
		name := f.Name
		if i := strings.IndexAny(name, "( "); i > 0 {
			name = name[:i]
		}
		if len(names) < line.MaxCandidates {
			names = append(names, name)
		}
	}
	return line.StartingWith(names, word)
}

// sourceNames completes a source file by its base name.
func (c *Console) sourceNames(word string) []string {
	if word == "" {
		return nil
	}
	files, err := c.s.Names().SourceFiles()
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		if base := filepath.Base(f); strings.HasPrefix(base, word) && len(names) < line.MaxCandidates {
			names = append(names, base)
		}
	}
	return line.StartingWith(names, word)
}

func (c *Console) threadNumbers(word string) []string {
	threads, err := c.s.Threads()
	if err != nil {
		return nil
	}
	ids := []string{"apply"}
	for _, t := range threads {
		ids = append(ids, strconv.Itoa(t.Num))
	}
	return line.StartingWith(ids, word)
}

// settingWords completes the name of a setting, of one or two words, and then
// its value.
func (c *Console) settingWords(left, rest string) (int, []string) {
	for _, s := range c.settings {
		value, ok := strings.CutPrefix(rest, s.name+" ")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, " ")
		at := len(left) - len(value)
		switch s.kind {
		case kindBool:
			return at, line.StartingWith([]string{"on", "off"}, value)
		case kindEnum:
			return at, line.StartingWith(s.values, value)
		case kindFile:
			return at, line.FileNames(value)
		}
		return at, nil
	}
	return len(left) - len(rest), line.StartingWith(c.settingNames(), rest)
}
