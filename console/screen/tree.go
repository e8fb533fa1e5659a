package screen

import (
	"context"
	"fmt"

	"hdb/console/line"
	"hdb/report"
)

// A TreeBrowser shows a tree whose rows are opened and closed by keys. It has the whole
// terminal until the user ends it. All of it is done on the goroutine that runs it; keys
// and signals of the terminal come on others, which post what is to be done.
type TreeBrowser struct {
	split  *Split
	b      *report.Browser
	text   func() report.Text // how rows are laid out now
	calls  chan func()
	hungUp chan struct{} // has one when the terminal is gone
	held   line.HeldKeys
	quit   bool
	typing bool   // a search is being typed
	search string // the last one
	note   string // what came of it
}

// NewTreeBrowser prepares a view on the terminal of a split screen, with the keys of its
// reader.
func NewTreeBrowser(t *Split, keys line.KeySource, b *report.Browser, text func() report.Text) *TreeBrowser {
	v := &TreeBrowser{split: t, b: b, text: text, calls: make(chan func(), 64), hungUp: make(chan struct{}, 1)}
	v.held = line.HeldKeys{From: keys, Typed: v.typed}
	return v
}

// post has f run on the console's goroutine. After 64 that wait, keys are dropped.
func (t *TreeBrowser) post(f func()) {
	select {
	case t.calls <- f:
	default:
	}
}

// Run takes the terminal and gives it back.
func (t *TreeBrowser) Run(ctx context.Context) (err error) {
	if err := t.held.Hold(); err != nil {
		return err
	}
	t.split.out.Notices.Hold()
	t.split.FullScreen().Begin("", User{Resized: func() { t.post(t.paint) }, Lost: func() { t.post(t.regain) }})
	defer func() {
		t.split.FullScreen().End()
		if released := t.held.Release(); err == nil {
			err = released
		}
		t.split.out.Notices.Release()
		t.split.host.Layout()
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

// regain is called when another program had the terminal.
func (t *TreeBrowser) regain() { t.quit = !t.held.Regain(t.split.host.Notify) || t.quit }

// typed is called with keys, on a goroutine of the reader's. None at all is a
// terminal that has hung up. It must not wait: regain waits for that goroutine.
func (t *TreeBrowser) typed(keys []byte) {
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
func (t *TreeBrowser) key(k string) {
	if t.typing {
		t.letter(k)
		return
	}
	rows, _ := t.split.Size()
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
func (t *TreeBrowser) letter(k string) {
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

func (t *TreeBrowser) find() {
	if t.search != "" && !t.b.Search(t.search) {
		t.note = fmt.Sprintf("no function has %q in its name", t.search)
	}
}

// paint shows the tree as it is.
func (t *TreeBrowser) paint() {
	t.split.host.Layout()
	rows, cols := t.split.Size()
	to := t.text()
	to.Width = max(1, cols)
	lines, cursor := t.b.Lines(to, max(0, rows-2))
	status := "arrows move, open and close   / search   n next   q end"
	switch {
	case t.typing:
		status = "/" + t.search
	case t.note != "":
		status = t.note
	case cursor < 0:
		status = "nothing was counted: choose another --measure   q end"
	}
	o := t.split.out
	screen := make([]string, max(1, rows))
	screen[0] = o.fit([]Span{{styleHead, t.b.Head()}}, 0, cols)
	for i := range min(len(lines), max(0, rows-2)) {
		row := (&Output{}).fit([]Span{{plain, lines[i]}}, 0, cols)
		if i == cursor {
			row = "\x1b[7m" + row
		}
		screen[i+1] = row
	}
	if rows > 1 {
		screen[rows-1] = o.fit([]Span{{styleGuess, status}}, 0, cols)
	}
	t.split.FullScreen().Show(screen, rows)
}
