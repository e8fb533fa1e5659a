package console

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hdb/console/shell"

	"github.com/mattn/go-runewidth"
)

// wideLines are the lines that may be wider than the terminal, which then goes on below by
// itself.
var wideLines = []struct {
	why   string
	line  *regexp.Regexp // "" any
	typed *regexp.Regexp
}{
	{"a path, a build ID or a string of the program is copied whole", regexp.MustCompile(`^ *\S*(/|[0-9a-f]{40})\S*$`), nil},
	{"source is shown as it was written", regexp.MustCompile(`^( *([0-9.]+ [KMG]?i?B +[0-9]+)? +|=> *)[0-9]+  `), nil},
	{"printf, echo and dprintf have the user's own layout", nil, regexp.MustCompile(`^printf `)},
	{"a command of the shell prints", nil, regexp.MustCompile(`^pipe `)},
}

// TestNothingIsWiderThanTheTerminal has every command that prints do so at several widths.
func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	used := make([]int, len(wideLines))
	widths := []int{40, 60, 80, 120}
	if testing.Short() { // a tour takes seconds
		widths = []int{40, 80}
	}
	for _, width := range widths {
		for _, v := range takeTours(t, nil, "set width "+strconv.Itoa(width)) {
			for line := range strings.Lines(v.out + v.err) {
				line = strings.TrimSuffix(line, "\n")
				w := (&runewidth.Condition{}).StringWidth(line)
				if w <= width {
					continue
				}
				excused := false
				for i, e := range wideLines {
					if (e.line == nil || e.line.MatchString(line)) && (e.typed == nil || e.typed.MatchString(v.line)) {
						used[i]++
						excused = true
						break
					}
				}
				if !excused {
					t.Errorf("%s, `%s`: %d columns of %d: %s", v.tour, v.line, w, width, line)
				}
			}
		}
	}
	for i, n := range used {
		if n == 0 {
			t.Errorf("no line is wide because %s", wideLines[i].why)
		}
	}
}

// notToured are the commands that the tours leave out.
var notToured = map[string]string{
	"monitor": "has the whole terminal", "tui": "splits the terminal", "tui enable": "splits the terminal", "tui disable": "splits the terminal",
	"focus": "of the split screen", "refresh": "of the split screen",
	"goroutines": "no Go program", "goroutine": "no Go program", "info goroutines": "no Go program",
	"info macro": "its program has no macros", "info macros": "its program has no macros", "macro expand": "its program has no macros", "output": "ends no line",
	"shell": "prints nothing of its own", "make": "prints nothing of its own", "quit": "prints nothing", "attach": "needs a second process: its sessions", "interrupt": "needs a program in the background: its sessions", "trust": "writes to the user's configuration",
}

// TestToursHaveAllCommands: each prints without an error at least once.
func TestToursHaveAllCommands(t *testing.T) {
	ran := map[string]bool{}
	for _, v := range takeTours(t, nil) {
		if _, _, name, err := commandTable(nil).Resolve(v.line); err == nil {
			ran[name] = ran[name] || !strings.Contains(v.err, "error: ") || name == "assert"
		}
	}
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		if cmd.Run != nil && !ran[full] && notToured[full] == "" && !strings.HasPrefix(full, "py ") && !strings.HasPrefix(full, "cy ") { // the program is not in CPython
			t.Errorf("%s: not in the tours, or only with an error", full)
		}
	})
}
