package planes

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"hdb/capture"
)

// difference is empty, or tells the first difference of two recordings of one
// program. Those of a program with one thread must be the same, with the same
// addresses unless they roam: then the same pattern of addresses. Of several
// threads each must make the same calls, in any order, and the blocks that are
// left must be the same.
func difference(a, b *calls, roams bool) string {
	ta, tb := a.byThread(), b.byThread()
	if la, lb := len(ta), len(tb); la != lb {
		return fmt.Sprintf("%d threads make calls in the %s plane, %d in the %s plane", la, a.plane, lb, b.plane)
	}
	if len(ta) == 1 {
		return inOrder(a, b, roams)
	}
	if d := perThread(a, b, ta, tb); d != "" {
		return d
	}
	return leftBehind(a, b)
}

// inOrder compares events one by one.
func inOrder(a, b *calls, roams bool) string {
	ea, eb := slices.Collect(a.Events(0)), slices.Collect(b.Events(0))
	pairs := pairing{roams: roams, of: map[uint64]uint64{}}
	for i := range min(len(ea), len(eb)) {
		x, y := ea[i], eb[i]
		if why := unlike(a, b, x, y, pairs); why != "" {
			return fmt.Sprintf("%s differs in event %d of %d and %d:\n%s%s%s", why, i+1, len(ea), len(eb), a.describe(x), b.describe(y), around(a, b, ea, eb, i))
		}
	}
	if len(ea) == len(eb) {
		return ""
	}
	longer, c := ea, a
	if len(eb) > len(ea) {
		longer, c = eb, b
	}
	return fmt.Sprintf("%d events in the %s plane, %d in the %s plane; the first surplus one:\n%s",
		len(ea), a.plane, len(eb), b.plane, c.describe(longer[min(len(ea), len(eb))]))
}

// A pairing tells which address of one recording is which of the other.
type pairing struct {
	roams bool
	of    map[uint64]uint64
}

// made pairs the addresses of a new block, which may have stood for another one.
func (p pairing) made(a, b uint64) bool {
	p.of[a] = b
	return p.roams && (a == 0) == (b == 0) || a == b
}

func (p pairing) same(a, b uint64) bool {
	other, known := p.of[a]
	return a == b || p.roams && known && other == b
}

// unlike names what differs in two events, or nothing.
func unlike(a, b *calls, x, y capture.Event, pairs pairing) string {
	switch {
	case a.function(x) != b.function(y):
		return "the function"
	case x.Kind != y.Kind:
		return "the kind"
	case x.Size != y.Size:
		return "the size"
	case x.Aux != y.Aux:
		return "count or alignment"
	case x.Failed != y.Failed || x.Abandoned != y.Abandoned:
		return "the outcome"
	case !pairs.same(x.Old, y.Old):
		return "the old block"
	case x.Kind == capture.Free && !pairs.same(x.Addr, y.Addr), x.Kind != capture.Free && !pairs.made(x.Addr, y.Addr):
		return "the address"
	case a.stack(x) != b.stack(y):
		return "the stack"
	}
	return ""
}

// around lists the events next to the first difference, a line each.
func around(a, b *calls, ea, eb []capture.Event, i int) string {
	var out strings.Builder
	for _, side := range []struct {
		c *calls
		e []capture.Event
	}{{a, ea}, {b, eb}} {
		for k := max(0, i-2); k < min(len(side.e), i+4); k++ {
			line, _, _ := strings.Cut(side.c.describe(side.e[k]), "\n")
			fmt.Fprintf(&out, "   %s\n", line)
		}
	}
	return out.String()
}

// A tally is how often each call occurs, and one event of each.
type tally map[call]*tallied

type tallied struct {
	n    int
	last capture.Event
}

func (t tally) add(c call, e capture.Event) {
	x := t[c]
	if x == nil {
		x = &tallied{}
		t[c] = x
	}
	x.n, x.last = x.n+1, e
}

func (t tally) of(c call) int {
	if x := t[c]; x != nil {
		return x.n
	}
	return 0
}

// unlike describes a call that one side made more often, the earliest there is.
func (t tally) unlike(a, b *calls, other tally) string {
	first, text := ^uint64(0), ""
	for _, side := range []struct {
		c          *calls
		mine, them tally
	}{{a, t, other}, {b, other, t}} {
		for k, x := range side.mine {
			if x.n > side.them.of(k) && x.last.Seq < first {
				first = x.last.Seq
				text = fmt.Sprintf("%d times in the %s plane, %d in the %s plane, one of the former:\n%s",
					t.of(k), a.plane, other.of(k), b.plane, side.c.describe(x.last))
			}
		}
	}
	return text
}

// perThread compares what each thread calls.
func perThread(a, b *calls, ta, tb map[int]tally) string {
	for _, n := range slices.Sorted(maps.Keys(ta)) {
		if d := ta[n].unlike(a, b, tb[n]); d != "" {
			return fmt.Sprintf("thread %d: %s", n, d)
		}
	}
	return ""
}

func (c *calls) byThread() map[int]tally {
	all := map[int]tally{}
	for e := range c.Events(0) {
		n := c.thread(e)
		if all[n] == nil {
			all[n] = tally{}
		}
		all[n].add(c.call(e), e)
	}
	return all
}

// together compares what all threads call.
func together(a, b *calls) string {
	if d := a.tally(a.Events(0)).unlike(a, b, b.tally(b.Events(0))); d != "" {
		return d
	}
	return leftBehind(a, b)
}

func (c *calls) tally(events iter.Seq[capture.Event]) tally {
	t := tally{}
	for e := range events {
		t.add(c.call(e), e)
	}
	return t
}

// occurring compares which calls occur at all, not how often nor for how much.
func occurring(a, b *calls) string {
	kinds := func(c *calls) tally {
		t := tally{}
		for e := range c.Events(0) {
			if k := (call{function: c.function(e), stack: c.stack(e)}); t.of(k) == 0 {
				t.add(k, e)
			}
		}
		return t
	}
	return kinds(a).unlike(a, b, kinds(b))
}

// leftBehind compares the blocks that live at the end, by who allocated them.
func leftBehind(a, b *calls) string {
	remains := func(c *calls) tally {
		blocks, _ := c.live()
		return c.tally(maps.Values(blocks))
	}
	if d := remains(a).unlike(a, b, remains(b)); d != "" {
		return "blocks left at the end: " + d
	}
	return ""
}
