package screen

import "strings"

// consoleLines takes what is printed apart into the lines of the console log.
type consoleLines struct {
	to   func(line string) // nil: no log is kept
	off  bool              // what is printed now does not belong there
	part string            // of a line that is not whole yet
}

// add takes text of the terminal: clean, but for hdb's own colours.
func (l *consoleLines) add(text string) {
	if l.to == nil || l.off {
		return
	}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if len(l.part) < maxLogged {
			l.part += line
		}
		if whole {
			l.to(uncoloured(l.part))
			l.part = ""
		}
	}
}

// maxLogged is how many bytes of a line are put together from parts: the log keeps less.
const maxLogged = 64 << 10

// uncoloured is text without hdb's colours: the sequences ESC [ ... m, which paint
// writes, and which no text that comes from elsewhere holds.
func uncoloured(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(after, "m")
	}
}

// LogTo makes the notices call to with each line that is printed. It is called before
// anything is printed.
func (n *Notices) LogTo(to func(line string)) { n.log.to = to }

// Unlogged keeps what f prints out of the log.
func (n *Notices) Unlogged(f func()) {
	set := func(off bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.log.off = off
	}
	set(true)
	defer set(false)
	f()
}
