package console

import (
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// cursorRow is a row in reverse video, as tmux captures it.
var cursorRow = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?7m.*`)

// browsed waits for a picture of the tree whose cursor, the row in reverse video, is
// on a row with the text.
func (g *glass) browsed(cursor string, texts ...string) []string {
	g.t.Helper()
	return g.until("the cursor on "+cursor, func(rows []string) bool {
		screen := strings.Join(rows, "\n")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		row := cursorRow.FindString(g.tell("capture-pane", "-p", "-e"))
		return strings.Contains(row, cursor)
	})
}

// TestTreeIsBrowsed opens and closes functions, searches, and changes the size of
// the terminal meanwhile.
func TestTreeIsBrowsed(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 20, 90, "LC_ALL=C.UTF-8")
	g.say(testprogs.HDB(t) + " -nx -q " + testprogs.Build(t, "phases"))
	g.see("(hdb)")
	g.hdb("record start")
	g.hdb("run")
	g.say("tree --interactive --measure bytes --min 0")
	rows := g.browsed("main", "bytes: all that were allocated; 1.0 MiB in all", "▾ main", "serve", "arrows move")
	if !strings.Contains(rows[1], "100.0 %  ▾ main") {
		t.Errorf("the first row is %q", rows[1])
	}
	g.press("Down")
	g.browsed("report")
	g.press("Left")
	g.browsed("main")
	g.press("Left")
	g.until("main is closed", func(rows []string) bool {
		screen := strings.Join(rows, "\n")
		return strings.Contains(screen, "▸ main") && !strings.Contains(screen, "serve")
	})
	g.resize(12, 50)
	g.browsed("main", "▸ main")
	g.write("/LOAD")
	g.see("/LOAD")
	g.press("Enter")
	rows = g.browsed("load", "▾ main", "serve")
	for _, row := range rows {
		if len([]rune(row)) > 50 {
			t.Errorf("wider than the terminal: %q", row)
		}
	}
	g.write("/nowhere")
	g.press("Enter")
	g.browsed("load", `no function has "nowhere" in its name`)
	g.resize(24, 100)
	g.browsed("load", "phases.c:15")
	g.press("C-z")
	g.until("the shell's screen", func(rows []string) bool { return strings.Contains(strings.Join(rows, "\n"), "Stopped") })
	g.say("fg")
	g.browsed("load", "phases.c:15")
	g.press("End")
	g.browsed("serve")
	g.press("q")
	rows = g.prompt("tree --interactive") // what is typed before it is lost in the change of the terminal's mode
	if screen := strings.Join(rows, "\n"); strings.Contains(screen, "▾") {
		t.Errorf("the tree is still there:\n%s", screen)
	}
	g.hdb("echo back")
	g.say("quit")
}
