package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"hdb/internal/units"
)

// mattering is how many functions a summary names.
const mattering = 5

// A Summary is what a person wants to know a recording first.
type Summary struct {
	Stats Stats `json:"stats"`
	// What language runtimes keep for themselves of what was not freed, as RuntimeOwned tells.
	RuntimeLive   uint64     `json:"runtime_live_bytes,omitempty"`
	RuntimeBlocks uint64     `json:"runtime_live_blocks,omitempty"`
	Functions     []Mattered `json:"functions"` // those that matter most
	Warnings      []string   `json:"warnings"`  // what makes the numbers less certain
}

// A Mattered is a function that matters, and by what.
type Mattered struct {
	Place   Place   `json:"place"`
	Measure string  `json:"measure"`           // of which it has its largest part
	Share   float64 `json:"share"`             // of it, 0 to 1
	Runtime bool    `json:"runtime,omitempty"` // all its blocks are language runtimes' own
	by      Measure
	whole   uint64
	busiest int // of several lines, the one with most; 0: there is one, or none is known
}

// SummaryOf sums up.
func SummaryOf(p *Profile) Summary {
	kept := *p // by language runtimes
	kept.Stacks = nil
	owned := p.RuntimeOwned()
	for i := range p.Stacks {
		if owned(&p.Stacks[i]) {
			kept.Stacks = append(kept.Stacks, p.Stacks[i])
		}
	}
	s := Summary{Stats: StatsOf(p), Functions: p.matter(kept.places(false))}
	for i := range kept.Stacks {
		s.RuntimeLive += kept.Stacks[i].Live
		s.RuntimeBlocks += kept.Stacks[i].LiveBlocks
	}
	s.Warnings = s.Stats.warnings(p)
	return s
}

// matter ranks functions by the largest part that they have of anything. What is live counts as a part of the peak:
// the last bytes of a program that returned all others matter little. Functions of which all blocks are language
// runtimes' own come behind the program's. runtime is what these have.
func (p *Profile) matter(runtime []Place) []Mattered {
	all := p.Counted()
	total := all.Total()
	out := []Mattered{}
	for _, a := range all.places(false) {
		f := Mattered{Place: a, Runtime: slices.ContainsFunc(runtime, func(b Place) bool {
			return b.sameFunction(&a) && b.Allocs == a.Allocs
		})}
		for _, m := range []struct {
			by          Measure
			part, whole uint64
		}{
			{Live, a.Live, max(total.Peak, total.Live)}, {Peak, a.Peak, total.Peak}, {Bytes, a.Bytes, total.Bytes}, {Allocs, a.Allocs, total.Allocs},
		} {
			if v := units.Share(m.part, m.whole); v > f.Share {
				f.by, f.Measure, f.whole, f.Share = m.by, m.by.String(), m.whole, v
			}
		}
		if f.Share > 0 {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Mattered) int {
		return cmp.Or(order(a.Runtime, b.Runtime), cmp.Compare(b.Share, a.Share), cmp.Compare(b.Place.Bytes, a.Place.Bytes), cmp.Compare(a.Place.Function, b.Place.Function))
	})
	out = out[:min(mattering, len(out))]
	most := map[*Mattered]uint64{}
	for _, line := range all.places(true) {
		for i := range out {
			f := &out[i]
			if f.Place.Line == 0 && line.Line != 0 && line.sameFunction(&f.Place) && f.by.Of(line.Numbers) > most[f] {
				most[f], f.busiest = f.by.Of(line.Numbers), line.Line
			}
		}
	}
	return out
}

// order has false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// warnings say what makes the numbers less certain than they look.
func (s *Stats) warnings(p *Profile) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, printable(fmt.Sprintf(format, args...))) }
	for _, text := range p.Caveats.Lines() {
		add("%s", text)
	}
	if s.Stackless > 0 {
		add("%s recorded without a stack (%s)", units.CountVerb(s.Stackless, "allocation", "is", "are"), units.Percent(s.Stackless, s.Allocs))
	}
	if s.Truncated > 0 {
		why := slices.SortedFunc(maps.Keys(s.truncations), func(a, b string) int {
			return cmp.Or(cmp.Compare(s.truncations[b], s.truncations[a]), cmp.Compare(a, b))
		})
		text := why[0]
		if len(why) > 1 {
			text += fmt.Sprintf(", and %s", units.Count(uint64(len(why)-1), "other reason"))
		}
		add("outer frames of %s are missing (%s): %s", units.Count(s.Truncated, "allocation"), units.Percent(s.Truncated, s.Allocs), text)
	}
	if s.Guessed > 0 {
		add("frames of %s were guessed (%s)", units.Count(s.Guessed, "allocation"), units.Percent(s.Guessed, s.Allocs))
	}
	if n := p.nameless(); n > 0 {
		add("%s in functions without a name (%s): hdb doctor shows what is missing", units.CountVerb(n, "allocation", "is", "are"), units.Percent(n, s.Allocs))
	}
	if s.Failed > 0 {
		add("%s failed: the program got no memory, or requested too much", units.Count(s.Failed, "allocation"))
	}
	return out
}

// nameless is how many allocations were made in functions of which only the
// address is known.
func (p *Profile) nameless() (n uint64) {
	for i := range p.Stacks {
		if f := p.site(&p.Stacks[i]); f != nil && f.Unnamed {
			n += p.Stacks[i].Allocs
		}
	}
	return n
}

// WriteSummary writes one screen for people: what the program did, its peak, what it did not
// return, the functions that matter, and what to be careful with.
func WriteSummary(w io.Writer, p *Profile, t Text) error {
	g, s := newPage(p, t), SummaryOf(p)
	st := &s.Stats
	g.line("%s", p.heading())
	g.line("")
	if st.Events == 0 {
		g.line("  Nothing was recorded.")
	} else {
		g.story(&s)
	}
	if len(s.Functions) > 0 {
		g.line("")
		g.functions(&s)
	}
	if len(s.Warnings) > 0 {
		g.line("")
		g.line("Careful:")
		for _, text := range s.Warnings {
			g.sentence("! ", text)
		}
	}
	return g.flush(w)
}

// story tells what the program did.
func (g *page) story(sum *Summary) {
	s := &sum.Stats
	who := "It"
	if g.p.GoHeap() {
		who = "Its C code"
	}
	if s.Allocs == 0 {
		g.sentence("", fmt.Sprintf("%s allocated no block, within %s.", who, s.within()))
		g.peakSentence(s)
		g.mappings(s)
		return
	}
	text := fmt.Sprintf("%s allocated %s, within %s", who, units.Blocks(g.sizes, s.Bytes, s.Allocs), s.within())
	if s.AllocRate >= 1 && s.Duration-s.Begin >= time.Second {
		text += fmt.Sprintf(": %s a second", units.Count(uint64(s.AllocRate+0.5), "block"))
	}
	g.sentence("", text+".")
	if s.Temporary > 0 {
		were := "were"
		if s.Temporary == 1 {
			were = "was"
		}
		g.sentence("", fmt.Sprintf("%s of them (%s) %s temporary: freed before another one was allocated.", units.Grouped(s.Temporary), units.Percent(s.Temporary, s.Allocs), were))
	}
	g.peakSentence(s)
	switch {
	case s.LiveBlocks > 0 || s.Live > 0:
		text := fmt.Sprintf("Not freed: %s, %s of all bytes", units.Blocks(g.sizes, s.Live, s.LiveBlocks), units.Percent(s.Live, s.Bytes))
		switch n := sum.RuntimeBlocks; {
		case n > 0 && n == s.LiveBlocks:
			text += "; language runtimes keep all of it for themselves"
		case n > 0:
			text += fmt.Sprintf("; language runtimes keep %s of that for themselves", units.Blocks(g.sizes, sum.RuntimeLive, n))
		}
		g.sentence("", text+".")
	case len(s.Warnings) > 0:
		g.sentence("", "All recorded blocks were freed.")
	default:
		g.sentence("", "All blocks were freed.")
	}
	g.mappings(s)
}

// peakSentence describes the peak.
func (g *page) peakSentence(s *Stats) {
	if s.Peak > 0 {
		text := fmt.Sprintf("Its peak was %s, at %s (event #%d)", g.peak(s), units.Time(s.PeakTime), s.PeakEvent)
		if s.PeakRSS > 0 {
			text += fmt.Sprintf("; %s were resident, with hdb's own memory, in the highest of %s", g.sizes.Short(s.PeakRSS), units.Count(uint64(len(g.p.RSS)), "sample"))
		}
		g.sentence("", text+".")
	}
}

// mappings describes those that are live, which no other number counts.
func (g *page) mappings(s *Stats) {
	if s.Mapped == nil {
		return
	}
	for _, text := range g.mapped(s.Mapped) {
		g.sentence("", "Mapped: "+text+".")
	}
}

// mapped says what is mapped, layer by layer.
func (g *page) mapped(m *LiveMapped) (lines []string) {
	if p := m.Program; p.Count > 0 {
		text := fmt.Sprintf("%s in %s, not unmapped", g.sizes.Short(p.Bytes), units.Count(p.Count, "mapping"))
		switch {
		case m.MostBytes == p.Bytes:
			text += ", by " + m.Most
		case m.Most != "":
			text += fmt.Sprintf(", %s by %s", g.sizes.Short(m.MostBytes), m.Most)
		}
		lines = append(lines, text)
	}
	if p := m.Program; p.Reserved > 0 {
		lines = append(lines, g.sizes.Short(p.Reserved)+" reserved, which cannot be accessed")
	}
	if a := m.Arenas; a.Count > 0 {
		lines = append(lines, fmt.Sprintf("%s in %s of pymalloc, which has Python's small objects", g.sizes.Short(a.Bytes), units.Count(a.Count, "arena")))
	}
	if m.Unknown > 0 {
		lines = append(lines, fmt.Sprintf("what %s of mmap mapped is unknown; the recording was made by an older hdb", units.Count(m.Unknown, "call")))
	}
	return lines
}

// sentence is a paragraph, broken at blanks to fit the width.
func (g *page) sentence(mark, text string) {
	width := g.canvas()
	line := "  " + mark
	indent := strings.Repeat(" ", len(line))
	empty := true
	for _, word := range strings.Fields(printable(text)) {
		if !empty && g.wide(line)+1+g.wide(word) > width {
			g.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	g.line("%s", line)
}

// partOf says of what a function has its part.
func (m Measure) partOf() string {
	return [numMeasures]string{"not given back", "of the peak", "of all bytes", "of all blocks", "of the temporary blocks", "of the live blocks"}[m]
}

func (g *page) functions(s *Summary) {
	var rows [][]string
	for i := range s.Functions {
		f := &s.Functions[i]
		n := f.by.Of(f.Place.Numbers)
		what := f.by.partOf()
		part := units.Percent(n, f.whole)
		if f.by == Live { // whose part is one of the peak
			part = units.Percent(f.Place.Live, s.Stats.Live+g.p.LiveMapped.Program.Bytes)
			what = "of what is live"
		}
		where := g.where(f.Place.frame, f.Place.Line)
		if f.busiest > 0 {
			where = g.where(f.Place.frame, f.busiest) + " and other lines"
		}
		if f.Runtime {
			where = strings.TrimSpace(where + "  for a language runtime's own use")
		}
		rows = append(rows, []string{f.by.amount(g.sizes, n), part, what, g.name(f.Place.frame), where})
	}
	g.line("What matters most:")
	g.table("  ", nil, rows, 3)
}
