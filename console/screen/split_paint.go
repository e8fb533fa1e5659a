package screen

import (
	"fmt"
	"strings"
)

// What the split screen sends to the terminal (ECMA-48, and xterm's private modes).
const (
	// The alternate screen with the cursor saved, cleared: terminals that have no
	// alternate screen keep what is on theirs.
	enterScreen = "\x1b[?1049h\x1b[H\x1b[2J"
	// No margins, wrapping, no colour, a cursor; the last line, for those without.
	leaveScreen = "\x1b[0m\x1b(B\x1b[?6l\x1b[?7h\x1b[?25h\x1b[r\x1b[999;1H\x1b[K\x1b[?1049l"
	// The same modes on the alternate screen, wherever a program left the terminal.
	// Mode 1047 changes nothing on a screen that is the alternate one.
	settleScreen = "\x1b[?1047h\x1b[0m\x1b(B\x1b[?6l\x1b[?7h\x1b[?25h\x1b[r\x1b[H\x1b[2J"
	// The line editor's line is taken away.
	noPrompt = "\r\x1b[K"
)

// A division is how many rows the parts of a split screen have.
type division struct {
	rows, cols      int
	source, console int // and one between them
}

// What a split screen needs: three lines of source, the bar and four of the console.
const (
	minRows = 8
	minCols = 24
)

// Most rows and columns of source that are painted, however large the terminal
// says it is.
const (
	maxSourceRows = 300
	maxSourceCols = 1000
)

// divide gives the console a third of the terminal, as gdb does.
func divide(rows, cols int) division {
	d := division{rows: rows, cols: min(cols, maxSourceCols)}
	d.console = max(4, rows/3)
	d.source = rows - 1 - d.console
	if d.source > maxSourceRows {
		d.source = maxSourceRows
		d.console = rows - 1 - d.source
	}
	return d
}

func (d division) fits() bool { return d.rows >= minRows && d.cols >= minCols }

// source is the text that paints the source window and the bar, row by row, and
// sets the margins. Lines are not wrapped meanwhile: a character that the terminal
// takes for wider than hdb does costs the end of its row only.
func (t *Split) source(d division) string {
	var b strings.Builder
	b.WriteString("\x1b[0m\x1b[?7l")
	for i, row := range t.shown.lines(t.out, t.host.TabWidth(), t.top, t.left, d.source, d.cols) {
		b.WriteString(goTo(i+1) + "\x1b[K" + row)
	}
	fmt.Fprintf(&b, "%s\x1b[K%s\x1b[?7h", goTo(d.source+1), t.shown.bar(t.out, t.onSource.Load(), d.cols))
	fmt.Fprintf(&b, "\x1b[%d;%dr", d.source+2, d.rows)
	return b.String()
}

// paintSource paints the upper part and leaves the console as it is. The cursor is
// always in the last row there, unless a program has moved it: it goes back.
func (t *Split) paintSource() {
	if d := divide(t.rows, t.cols); d.fits() {
		source := t.source(d)
		t.write("\x1b[?1047h\x1b7"+source+"\x1b8\x1b[999B", source+goTo(d.rows))
	}
}

// paintAll paints the whole screen for its present size. The console shows again
// what hdb said last; what programs wrote is not known. A terminal that became too
// small has no source until it is larger.
func (t *Split) paintAll() {
	before := divide(t.rows, t.cols)
	t.rows, t.cols = t.Size()
	t.host.Layout()
	d := divide(t.rows, t.cols)
	source, first, rows := "", 1, t.rows
	if d.fits() {
		if seen := t.shown.First >= t.top && t.shown.Last < t.top+before.source; seen || !before.fits() {
			t.top = t.shown.around(t.top, d.source)
		}
		t.top = t.shown.bounded(t.top, d.source)
		source, first, rows = t.source(d), d.rows, d.console
	}
	text := settleScreen + source + goTo(first)
	for _, line := range t.out.Notices.lastLines(rows - 1) {
		text += line + "\r\n"
	}
	t.write(text+t.question, source+goTo(t.rows))
}

// goTo brings the cursor to the beginning of a row, counted from 1.
func goTo(row int) string { return fmt.Sprintf("\x1b[%d;1H", row) }

// write sends one piece to the terminal, so that nothing comes between: not what
// the line editor echoes, and no notice.
func (t *Split) write(text, last string) {
	t.out.Notices.mu.Lock()
	defer t.out.Notices.mu.Unlock()
	t.screen.write(text, last)
}
