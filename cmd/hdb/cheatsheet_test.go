package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var sheetFlag = regexp.MustCompile(`^--?[a-z-]+$`)

// TestCheatsheet has the help explain each command of docs/cheatsheet.md with its flags, and hdb read its conditions.
func TestCheatsheet(t *testing.T) {
	page, err := os.ReadFile("../../docs/cheatsheet.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(page)) {
		typed, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		lines++
		typed, _, _ = strings.Cut(typed, "  ")
		words := strings.Fields(typed)
		if words[0] == "hdb" {
			words = words[1:]
			if end := slices.IndexFunc(words, func(w string) bool { return w == "--" || strings.HasPrefix(w, "./") }); end >= 0 {
				words = words[:end] // the program and its own arguments follow
			}
			checkExplained(t, typed, words, nil)
			continue
		}
		checkExplained(t, typed, words, []string{"info", "py", "record"})
		if strings.HasPrefix(typed, "break ") {
			if _, said := answered("-nx", "-q", "-batch", "-ex", typed); strings.Contains(said, "condition") {
				t.Errorf("%s: %s", typed, said)
			}
		}
	}
	if lines < 40 {
		t.Errorf("%d commands", lines)
	}
}

// answered is what hdb prints, and its errors.
func answered(words ...string) (code int, text string) {
	var out bytes.Buffer
	code = run(words, os.Stdin, &out, &out)
	return code, out.String()
}

// checkExplained looks for the help of a command: of the first two words together, or of the first one alone, but not of a parent
// command. Without a word it is the help of hdb.
func checkExplained(t *testing.T, typed string, words, parents []string) {
	t.Helper()
	tries := [][]string{{"--help"}}
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		tries = nil
		if len(words) > 1 {
			tries = append(tries, []string{"help", words[0], words[1]})
		}
		if !slices.Contains(parents, words[0]) {
			tries = append(tries, []string{"help", words[0]})
		}
	}
	for _, try := range tries {
		code, help := answered(try...)
		if code != 0 {
			continue
		}
		for _, w := range words {
			if sheetFlag.MatchString(w) && !strings.Contains(help, w) {
				t.Errorf("%s: the help has no %s", typed, w)
			}
		}
		return
	}
	t.Errorf("no such command: %s", typed)
}
