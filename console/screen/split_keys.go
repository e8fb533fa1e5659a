package screen

import "bytes"

// A splitKey is a key, or several in a row, that the split screen takes.
type splitKey struct {
	typed  string
	source bool // only while the source has the keys
	do     func(*Split)
}

// splitKeys are those that it takes while it is on. The line editor has no use for
// PgUp and PgDn; Ctrl-L would make it clear the source too.
func splitKeys() []splitKey {
	return []splitKey{
		{"\x0c", false, (*Split).repaint},
		{"\x1b[5~", false, func(t *Split) { t.scroll(-t.page()) }},
		{"\x1b[6~", false, func(t *Split) { t.scroll(t.page()) }},
		{"\x1b[A", true, func(t *Split) { t.scroll(-1) }},
		{"\x1bOA", true, func(t *Split) { t.scroll(-1) }},
		{"\x1b[B", true, func(t *Split) { t.scroll(1) }},
		{"\x1bOB", true, func(t *Split) { t.scroll(1) }},
		{"\x1b[C", true, func(t *Split) { t.shift(8) }},
		{"\x1bOC", true, func(t *Split) { t.shift(8) }},
		{"\x1b[D", true, func(t *Split) { t.shift(-8) }},
		{"\x1bOD", true, func(t *Split) { t.shift(-8) }},
	}
}

// keyX is Ctrl-X, gdb's prefix for the keys of its split screen.
const keyX = 24

// take takes the split screen's keys out of what was typed. It is called on the
// reader's goroutine. A sequence that arrives in two pieces is left to the line
// editor: nothing may be held back, an escape is a key too.
func (t *Split) take(typed []byte) (rest []byte) {
	for i := 0; i < len(typed); {
		b := typed[i]
		switch {
		case t.ctrlX:
			t.ctrlX = false
			switch b {
			case 'a', 'A', 1: // gdb's Ctrl-X A, Ctrl-X Ctrl-A
				t.host.Post(t.toggle)
				i++
				continue
			case 'o', 'O':
				t.host.Post(t.changeFocus)
				i++
				continue
			}
		case b == keyX:
			t.ctrlX = true
			i++
			continue
		}
		n := t.taken(typed[i:])
		if n == 0 {
			rest = append(rest, b)
			n = 1
		}
		i += n
	}
	return rest
}

// taken has the key at the beginning of typed done, and tells its length; 0 it is none.
func (t *Split) taken(typed []byte) int {
	if !t.On() {
		return 0
	}
	for _, k := range splitKeys() {
		if bytes.HasPrefix(typed, []byte(k.typed)) && (!k.source || t.onSource.Load()) {
			t.host.Post(func() { k.do(t) })
			return len(k.typed)
		}
	}
	return 0
}

// page is how far PgUp and PgDn go: one line stays in sight.
func (t *Split) page() int { return max(1, divide(t.rows, t.cols).source-1) }

// scroll moves the source window by a number of lines.
func (t *Split) scroll(lines int) {
	d := divide(t.rows, t.cols)
	if t.On() && d.fits() && t.shown.Text != nil {
		t.top = t.shown.bounded(t.top+lines, d.source)
		t.paintSource()
	}
}

// shift moves it by a number of columns.
func (t *Split) shift(columns int) {
	if t.On() && t.shown.Text != nil {
		t.left = min(max(0, t.left+columns), maxShown)
		t.paintSource()
	}
}

// changeFocus is Ctrl-X O.
func (t *Split) changeFocus() {
	t.onSource.Store(!t.onSource.Load())
	t.paintSource()
}
