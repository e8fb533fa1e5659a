package screen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// A KeySharer is a reader of lines that can share its terminal with a split screen.
type KeySharer interface {
	// Share names what takes keys before the line editor gets them, and what is called right before
	// hdb is suspended and right after it was. All three are called on a goroutine of the reader's.
	Share(take func(typed []byte) (rest []byte), away, back func())
}

// A Host is the console below the source. All of its methods but Post are called on its
// goroutine.
type Host interface {
	Picture(before *Picture, again bool) Picture // what there is to show; again: look for a missing source again
	TabWidth() int
	Layout()                  // takes over the size of the terminal for what is printed
	Post(f func())            // runs f on the host's goroutine when a line is awaited next, or now if one is
	Notify(string)            // prints a line
	Fail(error)               // prints an error
	Warn(error)               // prints an error that fails no command
	Aside(func() error) error // runs f on a goroutine that may start processes
}

// A Split is the split screen: the source above, a bar, and below it the console, which is a
// scrolling region of the terminal (DECSTBM) that the line editor, the commands and the inferior
// continue writing to as if it were all there is.
//
// It belongs to the host's goroutine, which also paints while a prompt is open. Other
// goroutines touch what is atomic, and the screen, only.
type Split struct {
	host       Host
	out        *Output // the host's own: a command may print to another one
	screen     FullScreen
	onSource   atomic.Bool // the arrow keys are the source's
	ctrlX      bool        // of the goroutine that reads keys: Ctrl-X came
	stale      atomic.Bool // another program had the terminal: all is to be painted
	rows, cols int         // of the terminal when it was painted; 0 not yet
	shown      Picture
	top, left  int    // the first line and the first column shown
	question   string // of the pager, while it is open
}

// NewSplit returns a split screen on the terminal of out that shares its keys. Without a
// terminal, or without keys, there can be none: then Ready is false and Enable fails.
func NewSplit(host Host, out *Output, keys KeySharer) *Split {
	t := &Split{host: host, out: out}
	tty, isFile := out.W.(*os.File)
	if _, _, isTerminal := TerminalSize(out); keys == nil || !isFile || !isTerminal {
		return t
	}
	t.screen.tty, t.screen.w, t.screen.aside = tty, tty, host.Aside
	out.Notices.said = &transcript{}
	keys.Share(t.take, t.screen.suspend, t.screen.comeBack)
	return t
}

// On reports whether the screen is split now.
func (t *Split) On() bool { return t.screen.on.Load() }

// FullScreen is the screen of the terminal, for a view that has all of it.
func (t *Split) FullScreen() *FullScreen { return &t.screen }

// FocusSource gives the arrow keys to the source, or to the line.
func (t *Split) FocusSource(on bool) { t.onSource.Store(on) }

// Refresh paints all anew.
func (t *Split) Refresh() {
	t.look(true)
	t.paintAll()
}

// SetQuestion describes the pager's question, "" when it was answered. It is painted with the rest.
func (t *Split) SetQuestion(question string) { t.question = question }

// PrintsTo reports whether o is the output of the split screen's terminal.
func (t *Split) PrintsTo(o *Output) bool { return t.out == o }

// Ready reports whether there can be a split screen.
func (t *Split) Ready() bool { return t.screen.tty != nil }

// Shows reports whether the source is on the screen, so that o need not show it too.
func (t *Split) Shows(o *Output) bool {
	return t.On() && divide(t.Size()).fits() && o == t.out
}

// Size asks the terminal.
func (t *Split) Size() (rows, cols int) {
	cols, rows, _ = TerminalSize(t.out)
	return rows, cols
}

// Enable splits the screen; it does nothing when it is split. before is written
// to the screen that is left.
func (t *Split) Enable(before string) error {
	switch {
	case !t.Ready():
		return errNoSplit
	case t.On():
		return nil
	}
	rows, cols := t.Size()
	if !divide(rows, cols).fits() {
		return fmt.Errorf("the terminal is too small for a split screen: %d by %d, and %d rows by %d columns are needed", rows, cols, minRows, minCols)
	}
	t.screen.Begin(before, User{Resized: func() { t.host.Post(t.resized) }, Lost: t.lost})
	t.shown, t.top, t.left = Picture{}, 0, 0
	t.onSource.Store(false)
	t.look(true)
	t.paintAll()
	return nil
}

// Disable gives the whole terminal back to the console; it does nothing when
// it has it.
func (t *Split) Disable() {
	if !t.On() {
		return
	}
	t.screen.End()
	t.rows, t.cols = 0, 0
	t.host.Layout()
}

// Pause takes the split screen away, if there is one, for a view that has the whole
// terminal; resume brings it back.
func (t *Split) Pause() (resume func()) {
	if !t.On() {
		return func() {}
	}
	t.Disable()
	return func() {
		if err := t.Enable(""); err != nil {
			t.host.Warn(err) // it has become too small
		}
	}
}

// toggle is Ctrl-X A: a prompt is open, and its line continues.
func (t *Split) toggle() {
	if t.On() {
		t.Disable()
	} else if err := t.Enable(noPrompt); err != nil { // it will be on the other screen
		_, _ = io.WriteString(t.screen.tty, noPrompt)
		t.host.Fail(fmt.Errorf("tui: %w", err))
	}
	redrawPrompt()
}

// redrawPrompt makes the line editor draw its line where the cursor is now.
func redrawPrompt() { _ = syscall.Kill(os.Getpid(), syscall.SIGWINCH) }

// BeforePrompt shows where the program is now, and what size the screen is.
func (t *Split) BeforePrompt() {
	if !t.On() {
		return
	}
	t.look(false)
	rows, cols := t.Size()
	if t.stale.Swap(false) || rows != t.rows || cols != t.cols {
		t.paintAll()
		return
	}
	t.paintSource()
}

// resized is what SIGWINCH does at an open prompt.
func (t *Split) resized() {
	if rows, cols := t.Size(); t.On() && (rows != t.rows || cols != t.cols) {
		t.repaint()
	}
}

// repaint draws everything anew at an open prompt.
func (t *Split) repaint() {
	if !t.On() {
		return
	}
	t.stale.Store(false)
	t.paintAll()
	if t.question == "" {
		redrawPrompt()
	}
}

// ConsoleHeight is how many lines the pager may print.
func (t *Split) ConsoleHeight(whole int) int {
	if whole == 0 || !t.On() {
		return whole
	}
	rows, cols := t.Size()
	if d := divide(rows, cols); d.fits() {
		return min(whole, d.console)
	}
	return whole
}

// lost is called on another goroutine when another program had the terminal. What was on it is
// painted again at the open prompt, or before the next.
func (t *Split) lost() {
	t.stale.Store(true)
	t.host.Post(func() {
		if t.stale.Load() {
			t.repaint()
		}
	})
}

// look finds out what the source window has to show.
func (t *Split) look(again bool) {
	p := t.host.Picture(&t.shown, again)
	moved := p.Key() != t.shown.Key()
	if p.File != t.shown.File {
		t.top, t.left = 0, 0
	}
	t.shown = p
	if rows, cols := t.Size(); moved || t.top == 0 {
		t.top = p.around(t.top, divide(rows, cols).source)
	}
}

// Check tells why there is no split screen to act upon, or nil.
func (t *Split) Check() error {
	switch {
	case !t.Ready():
		return errNoSplit
	case !t.On():
		return errors.New("the screen is not split: tui enable")
	}
	return nil
}

// errNoSplit is the error of a split screen without a terminal.
var errNoSplit = NoTerminal("a split screen")
