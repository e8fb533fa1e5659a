package query

import (
	"cmp"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/names"
)

// stackSites names the functions that the blocks of recorded stacks belong to. Each address is
// named once.
type stackSites struct {
	r       *Recording
	note    func(*names.Frame) int // is called for each frame once, and returns its number; nil: not called
	modules []capture.Module
	shared  bool                // several files were mapped at the same addresses, one after the other
	covers  map[addr.Code][]int // indexes of the modules that had the address at some time; only where files share addresses
	chains  map[siteCode][]siteFrame

	last                capture.Stack
	stacked, spare      []*siteFrame // of the last stack, and the slice that was used before
	begins, spareBegins []int        // index of the first frame of each address, the same way
	roles               []Role       // of its frames that are shown,
	shown, merged       []*siteFrame // which these are, and room for them,
	parts               []names.Part // and what decides on it
}

// siteCode decides which frames an address represents.
type siteCode struct {
	code   addr.Code
	module int // where files share addresses: another library may have taken its place
	guess  bool
}

// A siteFrame is a function that an address represents.
type siteFrame struct {
	site   heap.Site
	role   Role
	part   names.Part
	number int // that note has given it
}

func (r *Recording) newStackSites() *stackSites {
	c := &stackSites{r: r, covers: map[addr.Code][]int{}, chains: map[siteCode][]siteFrame{}}
	c.modules = slices.Clone(r.Source.Modules())
	slices.SortFunc(c.modules, func(a, b capture.Module) int { return cmp.Compare(a.Low, b.Low) })
	for i := range c.modules {
		c.shared = c.shared || i > 0 && c.modules[i].Low < c.modules[i-1].High
	}
	return c
}

// siteOf is the function that the blocks of a recorded stack belong to.
func (c *stackSites) siteOf(id capture.StackID, seq uint64) heap.Site {
	user := c.find(id, seq)
	if len(c.shown) == 0 {
		return heap.Site{Function: noStack}
	}
	return c.shown[user].site
}

// lineOf is the line that the blocks of a recorded stack belong to.
func (c *stackSites) lineOf(id capture.StackID, seq uint64) heap.Site {
	site := c.siteOf(id, seq)
	site.ByLine = len(c.shown) > 0
	return site
}

// find finds the frames of a recorded stack, and which of them the blocks belong to.
func (c *stackSites) find(id capture.StackID, seq uint64) (user int) {
	rec := c.r.Source.Stack(id)
	same := c.sameCalls(&rec)
	before, begins := c.stacked, c.begins
	c.stacked, c.begins = c.spare[:0], c.spareBegins[:0]
	for i := range len(rec.PCs) - same {
		c.begins = append(c.begins, len(c.stacked))
		chain := c.chain(&rec, i, seq)
		for k := range chain {
			c.stacked = append(c.stacked, &chain[k])
		}
	}
	if same > 0 {
		shared := begins[len(begins)-same:]
		moved := len(c.stacked) - shared[0]
		c.stacked = append(c.stacked, before[shared[0]:]...)
		for _, at := range shared {
			c.begins = append(c.begins, at+moved)
		}
	}
	c.last, c.spare, c.spareBegins = rec, before, begins
	c.show()
	c.roles = c.roles[:0]
	for _, f := range c.shown {
		c.roles = append(c.roles, f.role)
	}
	return Owner(c.roles)
}

// show leaves out what is not shown of the last stack.
func (c *stackSites) show() {
	c.shown = c.stacked
	if !slices.ContainsFunc(c.last.PCs, capture.IsInterpreted) {
		return
	}
	c.parts = c.parts[:0]
	for _, f := range c.stacked {
		c.parts = append(c.parts, f.part)
	}
	c.merged = names.Keep(append(c.merged[:0], c.stacked...), c.r.Names.ShownParts(c.parts))
	c.shown = c.merged
}

// sameCalls is how many of the outermost calls of a stack are those of the last one.
func (c *stackSites) sameCalls(rec *capture.Stack) int {
	a, b := rec.PCs, c.last.PCs
	if c.shared || rec.Guess != nil || rec.Interrupted != nil || c.last.Guess != nil || c.last.Interrupted != nil {
		return 0
	}
	n := 0
	for most := min(len(a), len(b)) - 1; n < most && a[len(a)-1-n] == b[len(b)-1-n]; n++ { // the innermost may be no call
	}
	return n
}

// chain is the frames that address i of a stack represents.
func (c *stackSites) chain(rec *capture.Stack, i int, seq uint64) []siteFrame {
	key := siteCode{code: rec.Code(i), guess: rec.Guessed(i)}
	if c.shared {
		key.module = c.module(key.code, seq)
	}
	if known, ok := c.chains[key]; ok {
		return known
	}
	var out []siteFrame
	for _, f := range c.r.Names.AppendRecorded(nil, c.r.Source, rec, i, seq) {
		named := siteFrame{site: siteOf(&f), role: c.r.Attribution.Role(&f), part: f.Part()}
		if c.note != nil {
			named.number = c.note(&f)
		}
		out = append(out, named)
	}
	c.chains[key] = out
	return out
}

// module is the index of the module that had an address when event seq happened, -1 if none did.
func (c *stackSites) module(code addr.Code, seq uint64) int {
	pc := code.Lookup()
	covers, ok := c.covers[code]
	if !ok {
		for i, m := range c.modules {
			if m.Covers(pc) {
				covers = append(covers, i)
			}
		}
		c.covers[code] = covers
	}
	for _, i := range covers {
		if c.modules[i].Holds(pc, seq) {
			return i
		}
	}
	return -1
}
