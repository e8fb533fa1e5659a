package report

import (
	"fmt"
	"strings"
)

// maxSearched is how many nodes a search looks at.
const maxSearched = 200000

// A Browser is a tree on a screen, of which functions are opened and closed. It
// knows no terminal.
type Browser struct {
	t      *Tree
	open   map[*Node]bool // by the last of the row's chain
	rows   []browserRow
	cursor int
	top    int // the first row on the screen
}

// browserRow is a row on the screen: a chain, or text about what has none.
type browserRow struct {
	chain  []*Node
	text   string
	value  uint64
	depth  int
	parent int // its row, -1 none
}

// last is the node whose children the row opens.
func (r *browserRow) last() *Node {
	if len(r.chain) == 0 {
		return nil
	}
	return r.chain[len(r.chain)-1]
}

// NewBrowser opens the largest function and the largest that it calls.
func NewBrowser(t *Tree) *Browser {
	b := &Browser{t: t, open: map[*Node]bool{}}
	n := t.Root
	for range 2 {
		nodes, _, _ := n.shown()
		if len(nodes) == 0 {
			break
		}
		chain := nodes[0].chain()
		if n = chain[len(chain)-1]; len(n.Children()) == 0 {
			break // nothing to open
		}
		b.open[n] = true
	}
	b.arrange()
	return b
}

// arrange makes the rows anew.
func (b *Browser) arrange() {
	b.rows = b.rows[:0]
	b.below(b.t.Root, 0, -1)
	b.cursor = max(0, min(b.cursor, len(b.rows)-1))
}

func (b *Browser) below(n *Node, depth, parent int) {
	nodes, others, rest := n.shown()
	for _, c := range nodes {
		row := browserRow{chain: c.chain(), value: c.Value, depth: depth, parent: parent}
		b.rows = append(b.rows, row)
		if last := row.last(); b.open[last] {
			b.below(last, depth+1, len(b.rows)-1)
		}
	}
	if n.Self > 0 && len(n.Children()) > 0 {
		b.rows = append(b.rows, browserRow{text: b.t.itself(), value: n.Self, depth: depth, parent: parent})
	}
	if others > 0 {
		b.rows = append(b.rows, browserRow{text: b.t.others(others), value: rest, depth: depth, parent: parent})
	}
}

// Move moves the cursor by a number of rows.
func (b *Browser) Move(rows int) { b.cursor = max(0, min(b.cursor+rows, len(b.rows)-1)) }

// Open opens the row, or goes to what it has opened already.
func (b *Browser) Open() {
	if len(b.rows) == 0 {
		return
	}
	n := b.rows[b.cursor].last()
	switch {
	case n == nil || len(n.Children()) == 0:
	case b.open[n]:
		b.Move(1)
	default:
		b.open[n] = true
		b.arrange()
	}
}

// Close closes the row, or goes to the one that it is in.
func (b *Browser) Close() {
	if len(b.rows) == 0 {
		return
	}
	r := &b.rows[b.cursor]
	if n := r.last(); n != nil && b.open[n] {
		delete(b.open, n)
		b.arrange()
	} else if r.parent >= 0 {
		b.cursor = r.parent
	}
}

// Toggle opens the row or closes it.
func (b *Browser) Toggle() {
	if len(b.rows) == 0 {
		return
	}
	if n := b.rows[b.cursor].last(); n != nil && b.open[n] {
		b.Close()
	} else {
		b.Open()
	}
}

// Search goes to the next function below the cursor that has the text in its name, source file or module,
// in either case of letters, and opens what it is in. From the end it continues at the beginning. It is
// false if there is none among the first 200,000.
func (b *Browser) Search(text string) bool {
	text = strings.ToLower(text)
	var current *Node
	if len(b.rows) > 0 {
		current = b.rows[b.cursor].last()
	}
	var first, next []*Node // paths to the last of chains
	seen, passed := 0, false
	var walk func(n *Node, path []*Node) bool
	walk = func(n *Node, path []*Node) bool {
		nodes, _, _ := n.shown()
		for _, c := range nodes {
			if seen++; seen > maxSearched {
				return true
			}
			chain := c.chain()
			last := chain[len(chain)-1]
			here := append(path[:len(path):len(path)], last)
			for _, k := range chain {
				if !k.has(text) {
					continue
				}
				if passed && last != current {
					next = here
					return true
				}
				if first == nil {
					first = here
				}
			}
			passed = passed || last == current
			if walk(last, here) {
				return true
			}
		}
		return false
	}
	walk(b.t.Root, nil)
	if next == nil {
		next = first
	}
	if next == nil {
		return false
	}
	for _, n := range next[:len(next)-1] {
		b.open[n] = true
	}
	b.arrange()
	for i := range b.rows {
		if b.rows[i].last() == next[len(next)-1] {
			b.cursor = i
		}
	}
	return true
}

// Head says what the tree counts, and of how much, with the caveats.
func (b *Browser) Head() string {
	head := fmt.Sprintf("%s; %s in all", b.t.o.Measure.Title(), b.t.o.Measure.amount(b.t.p.Units, b.t.Root.Value))
	for _, text := range b.t.p.Caveats.Lines() {
		head += "; ! " + printable(text)
	}
	return head
}

// Lines are at most that number of rows, with the cursor's among them, and its index in them; -1
// without rows.
func (b *Browser) Lines(to Text, height int) (lines []string, cursor int) {
	if len(b.rows) == 0 || height <= 0 {
		return nil, -1
	}
	b.top = max(0, min(b.top, b.cursor, len(b.rows)-height))
	b.top = max(b.top, b.cursor-height+1)
	g := newPage(b.t.p, to)
	w := &treeWriter{page: g, t: b.t, value: max(g.wide(b.t.o.Measure.amount(g.sizes, b.t.Root.Value)), len("1023.9 KiB"))}
	for _, r := range b.rows[b.top:min(b.top+height, len(b.rows))] {
		indent, text := strings.Repeat("  ", r.depth), r.text
		if n := r.last(); n != nil {
			mark := "  "
			switch {
			case len(n.Children()) == 0:
			case b.open[n]:
				mark = w.pick("▾ ", "- ")
			default:
				mark = w.pick("▸ ", "+ ")
			}
			indent += mark
			text = w.chainText(r.chain, w.room(indent))
		} else {
			indent += "  "
		}
		w.row(r.value, indent, text)
	}
	return strings.Split(strings.TrimSuffix(g.b.String(), "\n"), "\n"), b.cursor - b.top
}
