package report

import (
	"fmt"
	"slices"
	"strings"

	"hdb/internal/units"
)

// maxTreeRows is where a tree ends in text: more is not read.
const maxTreeRows = 20000

// maxChain is how many functions of a chain are named in a row.
const maxChain = 12

// leastName is how many columns a function's name keeps in a row.
const leastName = 8

// treeWriter writes the rows of a tree.
type treeWriter struct {
	*page
	t      *Tree
	value  int // width of the column
	rows   int
	missed int
}

func (g *page) tree(t *Tree) {
	o := t.o
	way := "callers above the functions they call"
	if o.Inverted {
		way = "functions that allocate above their callers"
	}
	g.line("%s; %s", o.Measure.Title(), way)
	if len(t.Root.stacks) == 0 {
		if g.p.Events == 0 {
			g.line("no allocation was recorded")
		} else {
			g.line("%s", o.Measure.nothing())
		}
		g.caveats()
		return
	}
	w := &treeWriter{page: g, t: t, value: g.wide(o.Measure.amount(g.sizes, t.Root.Value))}
	w.value = max(w.value, len("1023.9 KiB"))
	whole := o.Measure.amount(g.sizes, t.Root.Value) + " in all"
	if o.Measure.IsBytes() && g.p.mappedBy(o.Measure).Count > 0 {
		whole += ": " + g.layers(o.Measure, t.Root.Blocks)
	} else if o.Measure.IsBytes() {
		whole += ", " + units.Count(t.Root.Blocks, "block")
	}
	g.line("%s", whole)
	g.caveats()
	w.children(t.Root, "", 0)
	if w.missed > 0 {
		g.line("the tree is cut off after %s: use --min or --depth", units.Count(uint64(w.rows), "row"))
	}
}

// layers names what a measure counts of which some is mappings of the program.
func (g *page) layers(m Measure, blocks uint64) string {
	mapped := g.p.mappedBy(m)
	return fmt.Sprintf("%s in %s and %s in %s", g.sizes.Short(m.Of(g.p.Total())), units.Count(blocks, "block"), g.sizes.Short(mapped.Bytes), units.Count(mapped.Count, "mapping"))
}

// mappedBy is the part of a measure that is mappings of the program.
func (p *Profile) mappedBy(m Measure) MappedSum {
	switch m {
	case Live:
		return p.LiveMapped.Program
	case Peak:
		return p.PeakMapped
	}
	return MappedSum{}
}

// nothing is said of a tree without stacks.
func (m Measure) nothing() string {
	switch m {
	case Live, LiveBlocks:
		return "no block is live at this moment: use --measure peak, bytes or count"
	case Temporary:
		return "no block was temporary"
	}
	return "no allocation was recorded"
}

// row adds a row of the tree.
func (w *treeWriter) row(value uint64, lines, text string) {
	if w.rows == maxTreeRows {
		w.missed++
		return
	}
	w.rows++
	w.line("%s  %7s  %s%s", w.right(w.t.o.Measure.amount(w.sizes, value), w.value), units.Percent(value, w.t.Root.Value), lines, text)
}

// children adds the rows below a node, those of the depth. before leads them; the
// first have no lines.
func (w *treeWriter) children(n *Node, before string, depth int) {
	if w.missed > 0 {
		return
	}
	nodes, others, rest := n.shown()
	self := n.Self
	if len(n.Children()) == 0 {
		self = 0 // the node's own row says so
	}
	left := len(nodes)
	if self > 0 {
		left++
	}
	if others > 0 {
		left++
	}
	lead := func() (row, below string) {
		left--
		switch {
		case depth == 0:
			return "", ""
		case left > 0:
			return before + w.pick("├ ", "|-"), before + w.pick("│ ", "| ")
		}
		return before + w.pick("└ ", "`-"), before + "  "
	}
	for _, c := range nodes {
		row, below := lead()
		chain := c.chain()
		last := chain[len(chain)-1]
		text, deeper := w.chainText(chain, w.room(row)), len(last.Children()) > 0
		if d := w.t.o.Depth; deeper && d > 0 && depth+1 >= d {
			text += w.pick(" …", " ...")
			deeper = false
		}
		w.row(c.Value, row, text)
		if deeper {
			w.children(last, below, depth+1)
		}
	}
	if self > 0 {
		row, _ := lead()
		w.row(self, row, w.t.itself())
	}
	if others > 0 {
		row, _ := lead()
		w.row(rest, row, w.t.others(others))
	}
}

// itself is the row of what a function allocated without calling another one.
func (t *Tree) itself() string {
	if t.o.Inverted {
		return "(no caller)"
	}
	return "(itself)"
}

// others is the row of functions without one of their own.
func (t *Tree) others(n int) string {
	text := fmt.Sprintf("(%s with less than %.3g %%", units.Count(uint64(n), "other"), 100*t.o.Min)
	if n > 1 {
		text += " each"
	}
	return text + ")"
}

// room is how many columns are left for text behind lines; 0 is no bound.
func (w *treeWriter) room(lines string) int {
	if w.Width <= 0 {
		return 0
	}
	return max(20, w.Width-w.value-2-7-2-w.wide(lines))
}

// A chainName is a function in a row of the tree. What is behind its name is never cut.
type chainName struct{ name, behind string }

// chainText names the functions of a row, and where the innermost of them is, in full with --full. Of a long chain the middle is
// left out.
func (w *treeWriter) chainText(chain []*Node, room int) string {
	names, where := w.chainNames(chain), w.chainPlace(chain)
	arrow := w.pick(" → ", " > ")
	if w.t.o.Inverted {
		arrow = w.pick(" ← ", " < ")
	}
	shown, text := names, joined(names, arrow)
	over := func() bool { return room > 0 && w.wide(text)+w.wide(where) > room }
	for keep := min(maxChain, len(names)-1); keep >= 2 && (keep == maxChain || over()); keep-- {
		left := len(names) - keep
		shown = slices.Concat(names[:1], []chainName{{behind: fmt.Sprintf("(%d more)", left)}}, names[left+1:])
		text = joined(shown, arrow)
	}
	if !over() {
		return text + where
	}
	if w.wide(where) > room/3 {
		where = w.cut(where, max(room/3, room-w.wide(text)))
	}
	free := max(leastName, room-w.wide(where))
	w.shorten(shown, free-w.wide(arrow)*(len(shown)-1))
	return w.cut(joined(shown, arrow), free) + where
}

// chainNames are the functions of a chain. One that called itself is named once.
func (w *treeWriter) chainNames(chain []*Node) (names []chainName) {
	for i := 0; i < len(chain); {
		n := 1
		for i+n < len(chain) && chain[i+n].kind == chain[i].kind {
			n++
		}
		name := w.nodeName(chain[i])
		if n > 1 {
			name.behind += fmt.Sprintf(" %s%d", w.pick("×", "x"), n)
		}
		names = append(names, name)
		i += n
	}
	return names
}

// chainPlace is where the function of a row is that its numbers belong to.
func (w *treeWriter) chainPlace(chain []*Node) string {
	at := chain[len(chain)-1]
	if w.t.o.Inverted {
		at = chain[0]
	}
	f := w.t.kinds[at.kind].frame
	if f == nil {
		return ""
	}
	where := w.where(f, at.Line)
	if where == "" {
		return ""
	}
	if !w.t.o.Full && f.File != "" {
		where = where[strings.LastIndexByte(where, '/')+1:]
	}
	return "  " + where
}

func joined(names []chainName, arrow string) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, n.name+n.behind)
	}
	return strings.Join(texts, arrow)
}

// shorten cuts the longest of the names until all of them have room.
func (w *treeWriter) shorten(names []chainName, room int) {
	widths, total := make([]int, len(names)), 0
	for i, n := range names {
		widths[i] = w.wide(n.name)
		total += widths[i] + w.wide(n.behind)
	}
	for ; total > room; total-- {
		longest := slices.Index(widths, slices.Max(widths))
		if widths[longest] <= leastName {
			break
		}
		widths[longest]--
	}
	for i := range names {
		names[i].name = w.fit(names[i].name, widths[i])
	}
}

// nodeName is a node's function with its marks.
func (w *treeWriter) nodeName(n *Node) chainName {
	k := &w.t.kinds[n.kind]
	if k.frame == nil {
		return chainName{name: printable(k.text)}
	}
	name := chainName{name: w.name(k.frame)}
	if k.frame.Inlined {
		name.behind += " [inlined]"
	}
	if k.frame.Guess {
		name.behind += " [guess]"
	}
	return name
}
