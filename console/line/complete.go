package line

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Completer is the function behind the Tab key. It returns the part of line before the word at
// byte offset pos, the words that could be there, and the rest of the line. It returns no words
// when ctx ends, by Ctrl-C. It is called on a goroutine of the Reader's. The words go to the
// terminal as they are: it must clean them.
type Completer func(ctx context.Context, line string, pos int) (head string, words []string, tail string)

// MaxCandidates is the most words that Tab offers. More are of no help.
const MaxCandidates = 400

// Offer returns what a Completer returns when words can be in place of line[start:pos]. A single
// word gets a blank behind it, unless it is a folder.
func Offer(line string, pos, start int, words []string) (head string, offered []string, tail string) {
	if len(words) == 1 && !strings.HasSuffix(words[0], "/") {
		words[0] += " "
	}
	return line[:start], words, line[pos:]
}

// StartingWith returns the words with the prefix, sorted, each once.
func StartingWith(words []string, prefix string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// FileNames returns the paths that begin with word. Folders end in a slash.
func FileNames(word string) []string {
	dir, base := filepath.Split(word)
	entries, err := os.ReadDir(ExpandHome(filepath.Clean("./" + dir)))
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, "~/") {
		entries, err = os.ReadDir(ExpandHome(dir))
	}
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") || len(out) >= MaxCandidates {
			continue
		}
		st, err := os.Stat(filepath.Join(ExpandHome(dir), name))
		if err == nil && st.IsDir() {
			name += "/"
		}
		out = append(out, dir+name)
	}
	return out
}

// ExpandHome replaces a leading ~/.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
