// Package golden compares what a test made with a file that was reviewed and
// committed. It keeps no state: any test may call it from any goroutine.
package golden

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata with what the tests make")

// Check fails the test unless testdata/name holds exactly got. With the flag
// -update it writes the file instead. Name says what made the content, as in
// "alloc-stop.width=40", and may contain folders.
func Check(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("golden file: %v (make it with go test -update)", err)
		return
	}
	if diff := Diff(want, got); diff != "" {
		t.Errorf("%s differs (- golden, + got; accept with go test -update):\n%s", path, diff)
	}
}

func write(t testing.TB, path string, got []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Diff is "" when want and got are equal, otherwise the lines that differ
// between their common beginning and end, with two lines around them. What is
// not text is compared as a hex dump.
func Diff(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	if !isText(want) || !isText(got) {
		want, got = []byte(hex.Dump(want)), []byte(hex.Dump(got))
	}
	return diffLines(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(string(got), "\n"))
}

// isText reports whether b prints as itself.
func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	return !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\x1b'
	})
}

func diffLines(want, got []string) string {
	const around = 2 // lines of context
	const most = 40  // lines shown of each side
	head := 0
	for head < len(want) && head < len(got) && want[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(got)-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "line %d:\n", head+1)
	show := func(sign string, lines []string) {
		for i, line := range lines {
			if i == most {
				fmt.Fprintf(&b, "%s ... %d more lines\n", sign, len(lines)-most)
				return
			}
			fmt.Fprintf(&b, "%s %s\n", sign, visible(line))
		}
	}
	show(" ", want[max(0, head-around):head])
	show("-", want[head:len(want)-tail])
	show("+", got[head:len(got)-tail])
	show(" ", want[len(want)-tail:min(len(want), len(want)-tail+around)])
	return b.String()
}

// visible shows what would else be overlooked: white space before the line's
// end, a missing line end, control characters.
func visible(line string) string {
	text, whole := strings.CutSuffix(line, "\n")
	text = strings.NewReplacer("\r", `\r`, "\x1b", `\x1b`).Replace(text)
	if trimmed := strings.TrimRight(text, " \t"); trimmed != text {
		text = trimmed + strings.NewReplacer(" ", "·", "\t", `\t`).Replace(text[len(trimmed):])
	}
	if !whole && text != "" {
		text += " (no line end)"
	}
	return text
}
