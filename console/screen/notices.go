package screen

import (
	"io"
	"strings"
	"sync"

	"hdb/internal/units"
)

// Notices are lines about what happens while the command runs. They come from any goroutine, also
// from the one that takes events from the probe's ring while a command prints or a person types:
// each is written as one piece between two lines of the output, and kept back while a line is being
// edited.
type Notices struct {
	mu   sync.Mutex   // held for one line of the output
	held int          // prompts that are open
	late []lateNotice // at most maxLate
	// dropped is how many more there were, before the last one of late.
	dropped int
	log     consoleLines
	prompt  Prompt      // a line that is edited while the program runs in the background; nil: none
	covered bool        // something was printed over it
	shown   io.Writer   // where a line of progress is, nil: nowhere
	width   int         // the columns of the terminal to which lines are broken; 0: they are not
	said    *transcript // what was printed last, for a split screen that is painted anew; nil: is not kept
}

// maxLate bounds the lines that are kept back: a process may fork for hours while its
// live view is open.
const maxLate = 1000

type lateNotice struct {
	w    io.Writer
	text string
}

// SetWidth sets the columns that Wrapped breaks lines to, 0 for none.
func (n *Notices) SetWidth(columns int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.width = columns
}

// Wrapped is a line of cleaned text, broken at words where it does not fit.
func (n *Notices) Wrapped(line string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return (&Output{Fit: n.width > 0, Width: n.width}).wrapped(line)
}

// Print writes whole lines now, or when the prompt is closed. Errors are those of
// a reader who is gone, which the output finds out.
func (n *Notices) Print(w io.Writer, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held == 1 && n.prompt != nil {
		n.cover()
		_, _ = io.WriteString(w, text)
		n.printed(text)
		n.covered = false
		n.prompt.Redraw()
		return
	}
	if n.held > 0 {
		if len(n.late) < maxLate {
			n.late = append(n.late, lateNotice{w, text})
		} else {
			n.late[maxLate-1] = lateNotice{w, text}
			n.dropped++
		}
		return
	}
	n.unshow()
	_, _ = io.WriteString(w, text)
	n.printed(text)
}

// A Prompt is a line that is being edited.
type Prompt interface {
	// Clear takes it off the terminal, Redraw shows it anew, with the cursor at its end. Any
	// goroutine may call them.
	Clear()
	Redraw()
}

// Open notes that a line is being edited over which the output may print, nil: one that
// cannot be shown anew.
func (n *Notices) Open(p Prompt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.prompt, n.covered = p, false
}

// Uncover shows an open line again that the output covered.
func (n *Notices) Uncover() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.prompt != nil && n.covered {
		n.covered = false
		n.prompt.Redraw()
	}
}

// cover takes an open line off the terminal; the lock is held.
func (n *Notices) cover() {
	if n.prompt != nil && !n.covered {
		n.covered = true
		n.prompt.Clear()
	}
}

// Progress shows a line on a terminal that the next one replaces, "" none.
func (n *Notices) Progress(w io.Writer, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unshow()
	if text != "" && n.held == 0 {
		_, _ = io.WriteString(w, text)
		n.shown = w
	}
}

// unshow takes the line of progress away; the lock is held.
func (n *Notices) unshow() {
	if n.shown != nil {
		_, _ = io.WriteString(n.shown, "\r\x1b[K")
		n.shown = nil
	}
}

// write writes a line of the output.
func (n *Notices) write(w io.Writer, text string) error {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.unshow()
		n.cover()
		n.printed(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// printed notes what was printed; the lock is held.
func (n *Notices) printed(text string) {
	n.said.add(text)
	n.log.add(text)
}

// Hold keeps notices back: the terminal's last line is being edited.
func (n *Notices) Hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unshow()
	n.held++
}

// Release prints what was kept back.
func (n *Notices) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held--; n.held > 0 {
		return
	}
	for i, l := range n.late {
		if i == maxLate-1 && n.dropped > 0 {
			l.text = "(" + units.Count(n.dropped, "message") + " left out)\n" + l.text
		}
		_, _ = io.WriteString(l.w, l.text)
		n.printed(l.text)
	}
	n.late, n.dropped = nil, 0
}

// Latest is the last line that was kept back, "" without any.
func (n *Notices) Latest() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.late) == 0 {
		return ""
	}
	return strings.TrimSpace(n.late[len(n.late)-1].text)
}

// Keep notes what was printed without notices: a prompt with its answer.
func (n *Notices) Keep(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said.add(text)
}
