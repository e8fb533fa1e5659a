package shell

import (
	"context"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/console/line"
	"hdb/console/screen"
)

// A completer finds what could be in a line.
type completer struct{ c *Shell }

// complete is the Tab key, pressed on the goroutine of the line's reader. No
// completion is worth the session: one that panics says so and offers nothing.
func (k completer) complete(ctx context.Context, text string, pos int) (head string, words []string, tail string) {
	answered := k.c.sig.ask(func() {
		defer func() {
			if r := recover(); r != nil {
				words = nil
				k.c.Notify(screen.Sprintf("warning: no completion of %q: error in hdb: %v", text[:pos], r))
			}
		}()
		head, words, tail = k.c.Complete(ctx, text, pos)
		for i, w := range words {
			words[i] = strings.Clone(screen.Clean(w))
		}
	})
	if !answered || len(words) == 0 {
		return text[:pos], nil, text[pos:]
	}
	return head, words, tail
}

// Complete is the Tab key: the words that could be where the one before byte offset pos is, none if
// ctx ends before all were looked at.
func (c *Shell) Complete(ctx context.Context, text string, pos int) (head string, words []string, tail string) {
	left := text[:pos]
	reading := capture.NewReading(ctx)
	defer c.host.Within(reading)()
	start, words := c.Completions(left)
	if reading.Cut() != nil {
		return left, nil, text[pos:]
	}
	return line.Offer(text, pos, start, words)
}

// Completions are the words that could be at the end of a line, and where the last one begins.
func (c *Shell) Completions(line string) (start int, words []string) {
	return completer{c}.candidates(line)
}

// candidates are the words that could be at the end of left, and where that word begins.
func (k completer) candidates(left string) (start int, words []string) {
	trimmed := strings.TrimLeft(left, " \t")
	start = len(left) - len(trimmed)
	if word, rest := commandWord(trimmed); rest == "" && !strings.HasSuffix(trimmed, " ") {
		return start, k.commandNames(word)
	}
	word, rest := commandWord(trimmed)
	if full, ok := k.c.interp.aliases[word]; ok {
		word, _ = commandWord(full)
	}
	cmd, err := k.c.Table.find(k.c.Table.Commands, word, "command")
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
		sub, err := k.c.Table.find(cmd.Sub, word, "")
		if err != nil {
			break
		}
		cmd, rest = sub, after
	}
	return k.argument(cmd, left, rest)
}

// argument completes the last word of rest, the arguments so far of cmd.
func (k completer) argument(cmd *Command, left, rest string) (int, []string) {
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
		if name, expr, ok := strings.Cut(rest, " "); ok && (name == "var" || name == "variable") {
			return k.c.host.Expression(ArgExpression, left, expr)
		}
		if strings.HasPrefix(rest, "$") {
			return k.c.host.Expression(ArgExpression, left, rest)
		}
		return k.settingWords(left, rest)
	case ArgCondition, ArgExpression, ArgType:
		return k.c.host.Expression(kind, left, rest)
	}
	switch last := len(before) - 1; {
	case kind == ArgSince && last >= 0 && before[last] == "--suppressions":
		kind = ArgFile
	case kind == ArgSince && slices.Contains(before, "growth"):
		kind = ArgMoment
	case last >= 0 && (before[last] == "--from" || before[last] == "--to" || before[last] == "since" && kind == ArgSince):
		kind = ArgMoment
	}
	return len(left) - len(word), k.wordsOf(kind, cmd, word)
}

// wordsOf are the words of a kind that begin as typed.
func (k completer) wordsOf(kind ArgKind, cmd *Command, word string) []string {
	switch kind {
	case ArgCommand:
		return k.commandNames(word)
	case ArgHelp:
		return line.StartingWith(append(k.commandNames(word), k.c.Table.topicNames()...), word)
	case ArgSub:
		return line.StartingWith(subNames(cmd), word)
	case ArgFile:
		return line.FileNames(word)
	case ArgWord, ArgSince:
		return line.StartingWith(synopsisWords(cmd.Synopsis), word)
	}
	return k.c.host.Words(kind, word)
}

// synopsisWords are the lower-case words of a synopsis: what is typed literally.
func synopsisWords(s string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" []|\n", r) }) {
		if w == strings.ToLower(w) && !strings.Contains(w, "...") && len(w) > 1 {
			words = append(words, w)
		}
	}
	return words
}

func (k completer) commandNames(word string) []string {
	var names []string
	for _, cmd := range k.c.Table.Commands {
		names = append(names, cmd.Name)
		for _, a := range cmd.Aliases {
			if len(a) > 2 && word != "" {
				names = append(names, a)
			}
		}
	}
	for name := range k.c.interp.aliases {
		names = append(names, name)
	}
	for name := range k.c.interp.defined {
		names = append(names, name)
	}
	return line.StartingWith(names, word)
}

// settingWords completes the name of a setting, of one or two words, and then
// its value.
func (k completer) settingWords(left, rest string) (int, []string) {
	for _, s := range k.c.Set.Table {
		value, ok := strings.CutPrefix(rest, s.Name+" ")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, " ")
		at := len(left) - len(value)
		switch s.Kind {
		case KindBool:
			return at, line.StartingWith([]string{"on", "off"}, value)
		case KindSwitch:
			return at, line.StartingWith([]string{"on", "off", "auto"}, value)
		case KindEnum:
			return at, line.StartingWith(s.Values, value)
		case KindFile:
			return at, line.FileNames(value)
		}
		return at, nil
	}
	return len(left) - len(rest), line.StartingWith(k.c.Set.names(), rest)
}
