package console

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"hdb/session"
)

// A splitReader is a Reader that can share its terminal with a split screen.
type splitReader interface {
	// Share names what takes keys before the line editor has them, and what is
	// called right before hdb is suspended and right after it was. All three are
	// called on a goroutine of the reader's.
	Share(take func(typed []byte) (rest []byte), away, back func())
}

// tui is the split screen: the source above, a bar, and below it the console,
// which is a scrolling region of the terminal (DECSTBM) that the line editor, the
// commands and the inferior go on writing to as if it were all there is.
//
// It belongs to the console's goroutine, which also paints while a prompt is
// open: signals.await runs what other goroutines hand over. Those touch what is
// atomic, and the screen, only.
type tui struct {
	c          *Console
	out        *output // the console's own: a pipe command has another one
	screen     fullScreen
	onSource   atomic.Bool // the arrow keys are the source's
	ctrlX      bool        // of the goroutine that reads keys: Ctrl-X came
	stale      atomic.Bool // somebody else had the terminal: all is to be painted
	rows, cols int         // of the terminal when it was painted; 0 not yet
	shown      picture
	top, left  int    // the first line and the first column shown
	question   string // of the pager, while it is open
}

// newTUI connects the split screen with the reader's keys. Without a terminal
// there is nothing to connect, and enable says so.
func newTUI(c *Console) *tui {
	t := &tui{c: c, out: c.out}
	shared, ok := c.in.(splitReader)
	tty, isFile := c.out.w.(*os.File)
	if _, _, isTerminal := terminalSize(c.out); !ok || !isFile || !isTerminal || !c.interactive() {
		return t
	}
	t.screen.tty, t.screen.w = tty, tty
	c.notices.said = &transcript{}
	shared.Share(t.take, t.screen.suspend, t.screen.comeBack)
	return t
}

// ready tells whether there can be a split screen.
func (t *tui) ready() bool { return t.screen.tty != nil }

// visible tells whether the source is on the screen, so that o need not show it too.
func (t *tui) visible(o *output) bool {
	return t.screen.on.Load() && divide(t.size()).fits() && o == t.out
}

// size asks the terminal.
func (t *tui) size() (rows, cols int) {
	cols, rows, _ = terminalSize(t.out)
	return rows, cols
}

// enable splits the screen; it does nothing when it is split. before is written
// to the screen that is left.
func (t *tui) enable(before string) error {
	switch {
	case !t.ready():
		return errNoSplit
	case t.screen.on.Load():
		return nil
	}
	rows, cols := t.size()
	if !divide(rows, cols).fits() {
		return fmt.Errorf("the terminal is too small for a split screen: %d by %d, and %d rows by %d columns are needed", rows, cols, minRows, minCols)
	}
	t.screen.begin(before, screenUser{resized: func() { t.c.beside(t.resized) }, lost: t.lost})
	t.shown, t.top, t.left = picture{}, 0, 0
	t.onSource.Store(false)
	t.look(true)
	t.paintAll()
	return nil
}

// disable gives the whole terminal back to the console; it does nothing when
// it has it.
func (t *tui) disable() {
	if !t.screen.on.Load() {
		return
	}
	t.screen.end()
	t.rows, t.cols = 0, 0
	t.c.screen()
}

// unsplit takes the split screen away, if there is one, for a view that has the whole
// terminal; again brings it back.
func (c *Console) unsplit() (again func()) {
	if !c.tui.screen.on.Load() {
		return func() {}
	}
	c.tui.disable()
	return func() {
		if err := c.tui.enable(""); err != nil {
			c.warn(err) // it has become too small
		}
	}
}

// toggle is Ctrl-X A: a prompt is open, and its line goes on.
func (t *tui) toggle() {
	if t.screen.on.Load() {
		t.disable()
	} else if err := t.enable(noPrompt); err != nil { // it will be on the other screen
		_, _ = io.WriteString(t.screen.tty, noPrompt)
		t.c.fail(fmt.Errorf("tui: %w", err))
	}
	redrawPrompt()
}

// redrawPrompt makes the line editor draw its line where the cursor is now.
func redrawPrompt() { _ = syscall.Kill(os.Getpid(), syscall.SIGWINCH) }

// beforePrompt shows where the program is now, and what size the screen is.
func (t *tui) beforePrompt() {
	if !t.screen.on.Load() {
		return
	}
	t.look(false)
	rows, cols := t.size()
	if t.stale.Swap(false) || rows != t.rows || cols != t.cols {
		t.paintAll()
		return
	}
	t.paintSource()
}

// resized is what SIGWINCH does at an open prompt.
func (t *tui) resized() {
	if rows, cols := t.size(); t.screen.on.Load() && (rows != t.rows || cols != t.cols) {
		t.repaint()
	}
}

// repaint draws everything anew at an open prompt.
func (t *tui) repaint() {
	if !t.screen.on.Load() {
		return
	}
	t.stale.Store(false)
	t.paintAll()
	if t.question == "" {
		redrawPrompt()
	}
}

// consoleHeight is how many lines the pager may print.
func (t *tui) consoleHeight(whole int) int {
	if whole == 0 || !t.screen.on.Load() {
		return whole
	}
	rows, cols := t.size()
	if d := divide(rows, cols); d.fits() {
		return min(whole, d.console)
	}
	return whole
}

// lost is called on another goroutine when somebody else had the terminal. What was
// on it is painted again at the open prompt, or before the next.
func (t *tui) lost() {
	t.stale.Store(true)
	t.c.beside(func() {
		if t.stale.Load() {
			t.repaint()
		}
	})
}

// look finds out what the source window has to show. A source that was not found
// is looked for again when the place changes, or when again says so: on a server
// that takes a while.
func (t *tui) look(again bool) {
	p := t.c.place()
	old := &t.shown
	moved := p.key() != old.key()
	if p.file != "" {
		if !moved && !again && old.text == nil && old.why != "" && t.c.s.Debuginfod.Mode() != session.DebuginfodOff {
			p.why = old.why
		} else if text, err := t.c.s.Source(p.file); err != nil {
			p.why = "no source: " + err.Error()
		} else {
			p.text = text
		}
	}
	if p.file != old.file {
		t.top, t.left = 0, 0
	}
	t.shown = p
	if rows, cols := t.size(); moved || t.top == 0 {
		t.top = p.around(t.top, divide(rows, cols).source)
	}
}
