package console

import (
	"context"
	"fmt"
	"strings"

	"hdb/console/line"
	"hdb/report"
)

// A treeBrowser is `tree --interactive`: it has the whole terminal until the user
// ends it. All of it is done on the console's goroutine; keys and signals of the
// terminal come on others, which post what is to be done.
type treeBrowser struct {
	c      *Console
	b      *report.Browser
	calls  chan func()
	hungUp chan struct{} // has one when the terminal is gone
	held   line.HeldKeys
	quit   bool
	typing bool   // a search is being typed
	search string // the last one
	note   string // what came of it
}

// browse shows the tree of the profile until the user ends it.
func (c *Console) browse(ctx context.Context, in Input, r *Report) error {
	if _, ok := c.in.(line.KeySource); !ok || !c.tui.ready() || c.out != c.tui.out {
		return &terminalError{in.Name + " --interactive"}
	}
	p, err := c.s.Profile(r.parts)
	if err != nil {
		return err
	}
	b := report.NewBrowser(report.NewTree(p, r.Tree))
	defer c.unsplit()()
	t := &treeBrowser{c: c, b: b, calls: make(chan func(), 64), hungUp: make(chan struct{}, 1)}
	t.held = line.HeldKeys{From: c.in.(line.KeySource), Typed: t.typed}
	return t.run(ctx)
}

// post has f run on the console's goroutine. After 64 that wait, keys are dropped.
func (t *treeBrowser) post(f func()) {
	select {
	case t.calls <- f:
	default:
	}
}

// run takes the terminal and gives it back.
func (t *treeBrowser) run(ctx context.Context) (err error) {
	if err := t.held.Hold(); err != nil {
		return err
	}
	t.c.notices.hold()
	t.c.tui.screen.begin("", screenUser{resized: func() { t.post(t.paint) }, lost: func() { t.post(t.regain) }})
	defer func() {
		t.c.tui.screen.end()
		if released := t.held.Release(); err == nil {
			err = released
		}
		t.c.notices.release()
		t.c.screen()
	}()
	for t.paint(); !t.quit; t.paint() {
		select {
		case f := <-t.calls:
			f()
		case <-t.hungUp:
			t.quit = true
		case <-ctx.Done():
			t.quit = true
		}
	}
	return nil
}

// regain is called when somebody else had the terminal.
func (t *treeBrowser) regain() { t.quit = !t.held.Regain(t.c.Notify) || t.quit }

// typed is called with keys, on a goroutine of the reader's. None at all is a
// terminal that has hung up. It must not wait: regain waits for that goroutine.
func (t *treeBrowser) typed(keys []byte) {
	if len(keys) == 0 {
		select {
		case t.hungUp <- struct{}{}:
		default:
		}
		return
	}
	t.post(func() {
		for _, k := range line.SplitKeys(keys) {
			t.key(k)
		}
	})
}

// key does what a key asks for.
func (t *treeBrowser) key(k string) {
	if t.typing {
		t.letter(k)
		return
	}
	rows, _ := t.c.tui.size()
	page := max(1, rows-3)
	t.note = ""
	switch k {
	case "q", "Q", "\x03", "\x04", "\x1b":
		t.quit = true
	case "\x1b[A", "\x1bOA", "k":
		t.b.Move(-1)
	case "\x1b[B", "\x1bOB", "j":
		t.b.Move(1)
	case "\x1b[C", "\x1bOC", "l":
		t.b.Open()
	case "\x1b[D", "\x1bOD", "h":
		t.b.Close()
	case "\r", "\n", " ":
		t.b.Toggle()
	case "\x1b[5~":
		t.b.Move(-page)
	case "\x1b[6~":
		t.b.Move(page)
	case "\x1b[H", "\x1bOH", "\x1b[1~", "g":
		t.b.Move(-1 << 30)
	case "\x1b[F", "\x1bOF", "\x1b[4~", "G":
		t.b.Move(1 << 30)
	case "/":
		t.typing, t.search = true, ""
	case "n":
		t.find()
	}
}

// letter edits the search.
func (t *treeBrowser) letter(k string) {
	switch {
	case k == "\r" || k == "\n":
		t.typing = false
		t.find()
	case k == "\x1b" || k == "\x03":
		t.typing, t.search = false, ""
	case k == "\x7f" || k == "\b":
		letters := []rune(t.search)
		t.search = string(letters[:max(0, len(letters)-1)])
	case k >= " " && k[0] != '\x1b' && len(t.search) < 200:
		t.search += k
	}
}

func (t *treeBrowser) find() {
	if t.search != "" && !t.b.Search(t.search) {
		t.note = fmt.Sprintf("no function has %q in its name", t.search)
	}
}

// paint shows the tree as it is.
func (t *treeBrowser) paint() {
	t.c.screen()
	rows, cols := t.c.tui.size()
	to := t.c.reportText()
	to.Width = max(1, cols)
	lines, cursor := t.b.Lines(to, max(0, rows-2))
	status := "arrows move, open and close   / search   n next   q end"
	switch {
	case t.typing:
		status = "/" + t.search
	case t.note != "":
		status = t.note
	case cursor < 0:
		status = "nothing was counted: --measure has other numbers   q end"
	}
	o := t.c.out
	var b strings.Builder
	b.WriteString("\x1b[0m\x1b[?25l\x1b[?7l" + goTo(1) + "\x1b[K" + o.fit([]span{{styleHead, t.b.Head()}}, 0, cols))
	for i := range max(0, rows-2) {
		b.WriteString(goTo(i+2) + "\x1b[0m\x1b[K")
		if i >= len(lines) {
			continue
		}
		if i == cursor {
			b.WriteString("\x1b[7m")
		}
		b.WriteString((&output{}).fit([]span{{plain, lines[i]}}, 0, cols))
	}
	if rows > 1 {
		b.WriteString(goTo(rows) + "\x1b[0m\x1b[K" + o.fit([]span{{styleGuess, status}}, 0, cols))
	}
	t.c.tui.screen.write(b.String(), b.String())
}
