package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hdb/internal/units"
)

// topPlaces is how many places stats lists.
const topPlaces = 5

// Stats are the numbers of a profile.
type Stats struct {
	Program     string        `json:"program"`
	PID         int           `json:"pid"`
	Start       time.Time     `json:"start"`
	Begin       time.Duration `json:"begin_ns,omitempty"` // of the recording
	Duration    time.Duration `json:"duration_ns"`        // to the last event, from the start
	Events      uint64        `json:"event_count"`
	Allocs      uint64        `json:"allocations"`
	Bytes       uint64        `json:"allocated_bytes"`
	AllocRate   float64       `json:"allocations_per_second"`
	ByteRate    float64       `json:"allocated_bytes_per_second"`
	Temporary   uint64        `json:"temporary_blocks"`
	Live        uint64        `json:"live_bytes"`
	LiveBlocks  uint64        `json:"live_blocks"`
	Peak        uint64        `json:"peak_bytes"`
	PeakBlocks  uint64        `json:"peak_blocks"`
	PeakMapped  *MappedSum    `json:"peak_mapped,omitempty"`          // the part of Peak that is mappings of the program
	MostMapped  uint64        `json:"mapped_at_once_bytes,omitempty"` // where there are sums and no events: mapped at once by the program, perhaps not at Peak
	PeakTime    time.Duration `json:"peak_time_ns"`
	PeakEvent   uint64        `json:"peak_event"`
	PeakRSS     uint64        `json:"peak_rss_bytes,omitempty"` // of the samples
	Mapped      *LiveMapped   `json:"mapped,omitempty"`
	Failed      uint64        `json:"failed"`
	Lost        uint64        `json:"lost_events"`
	LostOpen    bool          `json:"lost_at_least,omitempty"` // there may be more
	Partial     []string      `json:"partial,omitempty"`       // why events of the run are not recorded
	Warnings    []string      `json:"warnings,omitempty"`      // what makes the numbers less certain
	Stacks      int           `json:"stack_count"`
	Stackless   uint64        `json:"allocations_without_stack"`
	Truncated   uint64        `json:"allocations_with_truncated_stack"`
	Guessed     uint64        `json:"allocations_with_guessed_frames"`
	Sizes       []sizeView    `json:"sizes"` // by powers of two
	Calls       []callView    `json:"calls"`
	MostBytes   []Place       `json:"most_bytes"`
	MostAllocs  []Place       `json:"most_allocations"`
	truncations map[string]uint64
}

// LiveMapped is the mappings that were not unmapped. What the program mapped itself counts for the peak, and is
// distinguished there.
type LiveMapped struct {
	Program   MappedSum `json:"mmap"`         // that the program made itself
	Arenas    MappedSum `json:"python_arena"` // of CPython's allocator, where the blocks in them were not recorded
	Unknown   uint64    `json:"unknown_calls,omitempty"`
	Most      string    `json:"most,omitempty"` // the function with the most bytes, and its place
	MostBytes uint64    `json:"most_mapped_bytes,omitempty"`
}

// A MappedSum adds mappings up, in bytes. Reserved ones cannot be accessed: addresses without memory.
type MappedSum struct {
	Bytes    uint64 `json:"live_bytes"`
	Count    int    `json:"live_mappings"`            // with memory
	Reserved uint64 `json:"reserved_bytes,omitempty"` // besides: not accessible
}

// Any reports whether there is anything to say.
func (m *LiveMapped) Any() bool {
	return m.Program != (MappedSum{}) || m.Arenas != (MappedSum{}) || m.Unknown > 0
}

type sizeView struct {
	Low    uint64 `json:"low_bytes"` // the smallest size of the class
	High   uint64 `json:"high_bytes"`
	Allocs uint64 `json:"allocations"`
	Bytes  uint64 `json:"allocated_bytes"`
}

type callView struct {
	Function string `json:"function"`
	Count    uint64 `json:"count"`
}

// StatsOf counts.
func StatsOf(p *Profile) Stats {
	total := p.Total()
	s := Stats{
		Program: p.Program, PID: p.PID, Start: p.Start, Begin: min(p.Begin, p.Moment.Time), Duration: p.Moment.Time, Events: p.Events,
		Allocs: total.Allocs, Bytes: total.Bytes, Temporary: total.Temporary,
		AllocRate: rate(total.Allocs, p.Moment.Time-p.Begin), ByteRate: rate(total.Bytes, p.Moment.Time-p.Begin),
		Live: p.Moment.Live, LiveBlocks: p.Moment.Blocks,
		Peak: p.PeakBytes(), PeakBlocks: p.Peak.Blocks, PeakTime: p.Peak.Time, PeakEvent: p.Peak.Seq,
		Failed: p.Failed, Lost: p.Lost, LostOpen: p.LostOpen, Partial: ReasonTexts(p.Partial), Warnings: p.Caveats.Lines(), Stacks: len(p.Stacks), Sizes: []sizeView{}, Calls: []callView{},
		truncations: map[string]uint64{},
	}
	if p.MostMapped > p.PeakMapped.Bytes {
		s.MostMapped = p.MostMapped
	}
	if p.PeakMapped.Count > 0 {
		s.PeakMapped = &p.PeakMapped
	}
	if p.LiveMapped.Any() {
		s.Mapped = &p.LiveMapped
	}
	for _, k := range p.Sizes {
		s.Sizes = append(s.Sizes, sizeView(k))
	}
	for _, c := range p.Calls {
		s.Calls = append(s.Calls, callView(c))
	}
	for _, r := range p.RSS {
		s.PeakRSS = max(s.PeakRSS, r.RSS)
	}
	for i := range p.Stacks {
		st := &p.Stacks[i]
		switch {
		case len(st.Frames) == 0:
			s.Stackless += st.Allocs
		case st.Truncated != "":
			s.Truncated += st.Allocs
			s.truncations[st.Truncated] += st.Allocs
		}
		for _, f := range st.Frames {
			if p.Frames[f].Guess {
				s.Guessed += st.Allocs
				break
			}
		}
	}
	lines := p.places(true)
	s.MostBytes, s.MostAllocs = largest(lines, Bytes, topPlaces), largest(lines, Allocs, topPlaces)
	return s
}

// WriteStats writes the numbers for people: totals, a histogram of the sizes, the
// allocator's functions, and where most was allocated.
func WriteStats(w io.Writer, p *Profile, t Text) error {
	g, s := newPage(p, t), StatsOf(p)
	g.line("%s", p.heading())
	g.totals(&s)
	g.histogram(&s)
	if len(s.Calls) > 0 {
		g.line("")
		var rows [][]string
		for _, c := range s.Calls {
			rows = append(rows, []string{units.Grouped(c.Count), c.Function})
		}
		g.table("  ", []string{"calls", "function"}, rows, 1)
	}
	g.ranking(&s, Bytes, s.MostBytes)
	g.ranking(&s, Allocs, s.MostAllocs)
	return g.flush(w)
}

// maxTitle is how many bytes of a command line are shown.
const maxTitle = 300

// ShortTitle is the program with its arguments in one line.
func (p *Profile) ShortTitle() string {
	text := strings.Join(strings.Fields(p.Title), " ")
	if len(text) > maxTitle {
		text = strings.ToValidUTF8(text[:maxTitle], "") + "..."
	}
	return printable(text)
}

// heading says what was recorded.
func (p *Profile) heading() string { return p.ShortTitle() + ", " + p.Process() }

// Process says which process was recorded, and when.
func (p *Profile) Process() string {
	text := fmt.Sprintf("pid %d", p.PID)
	if !p.Start.IsZero() {
		text += p.Start.UTC().Format(", 2006-01-02 15:04:05 UTC")
	}
	return text
}

// within is the time that is recorded.
func (s *Stats) within() string {
	if s.Begin == 0 {
		return units.Time(s.Duration)
	}
	return units.Time(s.Duration-s.Begin) + " from " + units.Time(s.Begin) + " on"
}

func (g *page) totals(s *Stats) {
	row := func(name, format string, args ...any) { g.line("  %-12s  %s", name, fmt.Sprintf(format, args...)) }
	row("duration", "%s, %s", s.within(), units.Count(s.Events, "event"))
	unfollowed := s.Events == 0 && g.p.Unfollowed()
	if unfollowed {
		row("allocated", "not known")
	} else {
		g.blockTotals(s, row)
	}
	if s.PeakRSS > 0 {
		row("resident", "%s, with hdb's own memory, in the highest of %s", g.sizes.Short(s.PeakRSS), units.Count(uint64(len(g.p.RSS)), "sample"))
	}
	if !unfollowed {
		row("failed", "%s", units.Count(s.Failed, "allocation"))
	}
	row("lost", "%s%s", atLeast(s.LostOpen && s.Lost > 0), units.Count(s.Lost, "call"))
	if len(s.Partial) > 0 {
		row("partial", "%s", strings.Join(s.Partial, "; "))
	}
	for _, text := range []string{NoTypesText(g.p.NoTypes), DamageText(g.p.Damage), DoubtText(g.p.Doubt)} {
		if text != "" {
			row("careful", "%s", text)
		}
	}
	if s.Stackless > 0 {
		row("no stack", "%s", units.Count(s.Stackless, "allocation"))
	}
	if s.Truncated > 0 {
		row("truncated", "stacks of %s", units.Count(s.Truncated, "allocation"))
	}
}

// blockTotals writes what is known of blocks and mappings.
func (g *page) blockTotals(s *Stats, row func(name, format string, args ...any)) {
	row("allocated", "%s", units.Blocks(g.sizes, s.Bytes, s.Allocs))
	if s.AllocRate > 0 {
		row("rate", "%s and %s a second", units.Count(uint64(s.AllocRate+0.5), "allocation"), g.sizes.Short(uint64(s.ByteRate)))
	}
	row("temporary", "%s, %s of the allocations", units.Count(s.Temporary, "block"), units.Percent(s.Temporary, s.Allocs))
	if s.Peak > 0 {
		row("peak", "%s at %s, event #%d", g.peak(s), units.Time(s.PeakTime), s.PeakEvent)
	}
	row("live", "%s, %s of what was allocated", units.Blocks(g.sizes, s.Live, s.LiveBlocks), units.Percent(s.Live, s.Bytes))
	if s.Mapped != nil {
		for _, text := range g.mapped(s.Mapped) {
			row("mapped", "%s", text)
		}
	}
}

// peak says how much was live at the peak, and in what.
func (g *page) peak(s *Stats) string {
	m, besides := s.PeakMapped, ""
	if most := s.MostMapped; most > 0 { // the moments between are not known
		besides = fmt.Sprintf(" (the program had up to %s mapped, perhaps at another moment)", g.sizes.Short(most))
	}
	if m == nil {
		return units.Blocks(g.sizes, s.Peak, s.PeakBlocks) + besides
	}
	return fmt.Sprintf("%s: %s, and %s in %s", g.sizes.Short(s.Peak), units.Blocks(g.sizes, s.Peak-m.Bytes, s.PeakBlocks), g.sizes.Long(m.Bytes), units.Count(m.Count, "mapping")) + besides
}

// histogram draws the sizes from the smallest class that was allocated to the
// largest. Several classes of which nothing was allocated are one row.
func (g *page) histogram(s *Stats) {
	var most uint64
	var some []int
	for i, k := range s.Sizes {
		if k.Allocs > 0 {
			some, most = append(some, i), max(most, k.Allocs)
		}
	}
	if len(some) == 0 {
		return
	}
	head := []string{"size", "allocations", "share", "bytes", ""}
	rows, parts := [][]string{}, []float64{}
	add := func(part float64, row ...string) { rows, parts = append(rows, append(row, "")), append(parts, part) }
	for n, i := range some {
		k := s.Sizes[i]
		switch {
		case n > 0 && i == some[n-1]+2:
			add(0, s.Sizes[i-1].text(g.sizes), "0", "", "")
		case n > 0 && i > some[n-1]+2:
			add(0, g.pick("…", "..."), "0", "", "")
		}
		add(units.Share(k.Allocs, most), k.text(g.sizes), units.Grouped(k.Allocs), units.Percent(k.Allocs, s.Allocs), g.sizes.Short(k.Bytes))
	}
	used := 2
	for i := range head {
		column := g.wide(head[i])
		for _, r := range rows {
			column = max(column, g.wide(r[i]))
		}
		used += column + 2
	}
	for i, part := range parts {
		rows[i][len(head)-1] = g.bar(part, max(0, min(50, g.canvas()-used)))
	}
	g.line("")
	g.table("  ", head, rows, 1)
}

// text is the sizes of the class.
func (k *sizeView) text(sizes units.Sizes) string {
	switch {
	case sizes.Raw && k.High > k.Low:
		return fmt.Sprintf("%d - %d B", k.Low, k.High)
	case sizes.Raw || k.High == k.Low:
		return fmt.Sprintf("%d B", k.Low)
	case k.High < 1024:
		return fmt.Sprintf("%d - %d B", k.Low, k.High)
	}
	// A power of 2, and the next one, which belongs to the next class.
	low, high := sizes.Argument(k.Low), sizes.Argument(k.High+1)
	if number, same := strings.CutSuffix(low, high[strings.IndexByte(high, ' '):]); same {
		low = number
	}
	return low + " - " + high
}

// eighths are the left parts of a block, of 1/8 to 7/8.
var eighths = []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar is a bar of at most width columns. What is not nothing can be seen.
func (g *page) bar(part float64, width int) string {
	if part <= 0 || width <= 0 {
		return ""
	}
	if !g.Unicode {
		return strings.Repeat("#", max(1, int(part*float64(width)+0.5)))
	}
	n := max(1, int(part*float64(width)*8+0.5))
	text := strings.Repeat("█", n/8)
	if n%8 > 0 {
		text += eighths[n%8-1]
	}
	return text
}

// ranking lists places.
func (g *page) ranking(s *Stats, by Measure, places []Place) {
	if len(places) == 0 {
		return
	}
	g.line("")
	total, heads := s.Bytes, []string{"bytes", "share", "allocations", "where most bytes are allocated", ""}
	if by == Allocs {
		total, heads = s.Allocs, []string{"allocations", "share", "bytes", "where most blocks are allocated", ""}
	}
	var rows [][]string
	for i := range places {
		a := &places[i]
		row := []string{g.sizes.Short(a.Bytes), units.Percent(a.Bytes, total), units.Grouped(a.Allocs)}
		if by == Allocs {
			row = []string{units.Grouped(a.Allocs), units.Percent(a.Allocs, total), g.sizes.Short(a.Bytes)}
		}
		rows = append(rows, append(row, g.name(a.frame), g.where(a.frame, a.Line)))
	}
	g.table("  ", heads, rows, 2)
}
