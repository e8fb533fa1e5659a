package allocs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
)

// diffPers are what the rows of diff can represent.
var diffPers = []string{"function", "line", "module", "stack"}

func diffCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{Name: "diff", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "MOMENT [MOMENT] [per function|line|module]\nMOMENT [MOMENT] per stack [N]\nFILE.hdb [per ...]", Short: "compare what is live at two moments, or in another capture", Args: []shell.ArgKind{shell.ArgMomentOrFile}, Repeat: shell.RepeatNone, Run: c.Does(runDiff),
		Long: "The second moment is by default the current one. A moment has any form that goto takes. With FILE.hdb it first compares peak, end and totals of both, and then what was live at their ends, or at their peaks if both programs have ended. Between two moments of one recording each change is also shown per second, idle time included.\n\n" +
			"A function is shown with the line that changed most. Lines of different builds are not compared: a function that allocated at several lines is then shown without one.\n\n" +
			"Of two captures what changed most comes first, whether it grew or shrank; of two moments what grew most.\n\n`per stack` shows the first N stacks, 5 by default. Stacks of two captures match if their functions and lines do; in Python, and in modules of which the captures have different builds, if their functions do.\n\n`leaks since MOMENT` counts only the blocks that were allocated after the moment.\n\nExamples:\n  diff warm\n  diff 10% 90%\n  diff warm end per stack\n  diff yesterday.hdb per line"}
}

// since takes `since MOMENT` out of a line, where it is at its beginning or behind one word. The
// number may also come last, unless there is a mark of that name.
func since(c *desk.Desk, in shell.Input) (shell.Input, query.Moment, error) {
	first, rest := shell.SplitWord(in.Raw)
	word, behind := first, rest
	if word == "since" {
		first = ""
	} else if word, behind = shell.SplitWord(rest); first == "if" || word != "since" {
		return in, query.Present, nil
	}
	moment, rest := behind, ""
	if behind != "" && strings.Contains("\"'", behind[:1]) {
		if end := strings.IndexByte(behind[1:], behind[0]); end >= 0 {
			moment, rest = behind[1:1+end], behind[end+2:]
		}
	} else if before, condition, ok := strings.Cut(behind+" ", " if "); ok {
		moment, rest = before, "if "+condition
	}
	if moment = strings.TrimSpace(moment); first == "" && !strings.HasPrefix(behind, "\"") && !strings.HasPrefix(behind, "'") {
		moment, first = countBehind(c, moment)
	}
	if moment == "" {
		return in, query.Present, fmt.Errorf("%s: since: a moment must follow: the name of a mark, #N, N%%, a time like 1.5s, peak, start or stop N", in.Name)
	}
	in.Raw = strings.TrimSpace(first + " " + rest)
	in.Args = strings.Fields(in.Raw)
	return in, query.ParseMoment(moment), nil
}

// countBehind cuts the number of rows off that may follow a moment.
func countBehind(c *desk.Desk, moment string) (before, count string) {
	words := strings.Fields(moment)
	n := len(words)
	if n < 2 || strings.Trim(words[n-1], "0123456789") != "" || words[n-2] == "stop" ||
		slices.ContainsFunc(c.Session.Recorded.Marks(), func(m capture.MarkRecord) bool { return m.Name == moment }) {
		return moment, ""
	}
	return strings.TrimSpace(strings.TrimSuffix(moment, words[n-1])), words[n-1]
}

func showGrowth(c *desk.Desk, in shell.Input, g *query.Growth, from query.Moment, kept leftOut, mapped mappedStacks) {
	type view struct {
		stackRowView
		*rateView
	}
	views := make([]view, 0, len(g.Rows))
	for _, r := range g.Rows {
		views = append(views, view{viewStackRow(r), rate(int64(r.LiveBytes), int64(r.LiveBlocks), g.Elapsed)})
	}
	c.Answer(in, struct {
		By        string `json:"measure"`
		Since     string `json:"since"`
		Elapsed   int64  `json:"elapsed_ns"`
		Total     int    `json:"total"`
		LiveBytes uint64 `json:"live_bytes"`
		Blocks    uint64 `json:"live_blocks"`
		*rateView
		query.Kept
		Rows     []view                              `json:"rows"`
		Mappings *desk.MappingsView[mappedStackView] `json:"mapped,omitempty"`
	}{heap.ByLive.String(), from.String(), int64(g.Elapsed), g.Total, g.Bytes, g.Blocks, rate(int64(g.Bytes), int64(g.Blocks), g.Elapsed), g.Kept, views, mapped.view()}, func(o *screen.Output) {
		if g.Total == 0 {
			o.Printf("no recorded block is live that was allocated since %s\n", from)
		} else {
			o.Printf("since %s: %s live%s\n", from, units.Blocks(o.Sizes, g.Bytes, g.Blocks), inTime(o, int64(g.Bytes), int64(g.Blocks), g.Elapsed))
		}
		for _, r := range g.Rows {
			o.Printf("%s, of %s allocated%s\n", units.Blocks(o.Sizes, r.LiveBytes, r.LiveBlocks), units.Grouped(r.Count), inTime(o, int64(r.LiveBytes), int64(r.LiveBlocks), g.Elapsed))
			printUserFrames(c, o, r.Stack, "")
		}
		if len(g.Rows) < g.Total {
			o.Printf("%d of %s; `leaks %d since %s%s` shows all\n", len(g.Rows), units.Count(g.Total, "stack"), g.Total, from, kept.flag())
		}
		noteKept(o, g.Kept)
		kept.note(o)
		noteUnrecorded(c.Session, o, true)
		mapped.print(c, o, func(n int) string {
			return fmt.Sprintf("leaks %d since %s%s", n, from, kept.flag())
		})
	})
}

// leftOut is what leaks leaves out, nothing if it is strict.
type leftOut struct {
	query.Kept
	strict bool
	file   string // of suppressions, "" none
	why    error  // why memory is not searched for who holds the blocks; nil: that is not the question
	golang bool   // some of the blocks may be of Go
}

// note says that the blocks were not freed, which says less than that nothing holds them.
func (l leftOut) note(o *screen.Output) {
	if l.why != nil {
		o.Printf("all blocks that were not freed, reachable or not: %v\n", l.why)
	}
	if l.golang {
		o.Printf("the garbage collector frees blocks of Go: `diff 50%% per stack` shows which stacks have grown in the second half of the recording; `hdb leaks -- PROGRAM` searches Go's heap for what holds its blocks\n")
	}
}

// flag is how the same is asked for again.
func (l leftOut) flag() string {
	flag := ""
	if l.strict {
		flag = " --strict"
	}
	if l.file != "" {
		flag += " --suppressions " + l.file
	}
	return flag
}

// noteKept says what leaks leaves out.
func noteKept(o *screen.Output, k query.Kept) {
	if k.Blocks > 0 {
		o.Printf("not counted: %s, kept by language runtimes for themselves; `leaks --strict` lists them\n", units.Blocks(o.Sizes, k.Bytes, k.Blocks))
	}
	if u := k.Suppressed; u != nil {
		o.Printf("suppressed: %s\n", units.Blocks(o.Sizes, u.Bytes, u.Blocks))
		o.Text(u.Text())
	}
}

// A rateView is what a number is in a second.
type rateView struct {
	Bytes  float64 `json:"live_bytes_per_second"`
	Blocks float64 `json:"live_blocks_per_second"`
}

// rate is what bytes and blocks are in a second, nil if no time has passed.
func rate(bytes, blocks int64, elapsed time.Duration) *rateView {
	if elapsed <= 0 {
		return nil
	}
	return &rateView{float64(bytes) / elapsed.Seconds(), float64(blocks) / elapsed.Seconds()}
}

// inTime is the rate for a sentence, "" if no time has passed.
func inTime(o *screen.Output, bytes, blocks int64, elapsed time.Duration) string {
	r := rate(bytes, blocks, elapsed)
	if r == nil {
		return ""
	}
	return fmt.Sprintf(": %s and %s blocks/s over %s", o.Sizes.Rate(r.Bytes), units.PerSecond(r.Blocks), units.Time(elapsed))
}

func runDiff(_ context.Context, c *desk.Desk, in shell.Input) error {
	words, limit := in.Args, 5
	if n := len(words) - 3; n >= 0 && words[n] == "per" && words[n+1] == "stack" {
		most, err := strconv.Atoi(words[n+2])
		if err != nil || most < 1 {
			return fmt.Errorf("diff: %q: a number of stacks expected", words[n+2])
		}
		words, limit = words[:n+2], most
	}
	args, per, err := perOf(in, words, diffPers)
	if err != nil {
		return err
	}
	var d *query.Diff
	switch st, statErr := os.Stat(strings.Join(args, " ")); {
	case len(args) == 0 || len(args) > 2:
		return errors.New("diff: one or two moments, or a capture, must follow")
	case len(args) == 1 && statErr == nil && st.Mode().IsRegular():
		d, err = c.Session.Queries.DiffCapture(args[0], per)
	case len(args) == 1:
		d, err = c.Session.Queries.Diff(query.ParseMoment(args[0]), query.Present, per)
	default:
		d, err = c.Session.Queries.Diff(query.ParseMoment(args[0]), query.ParseMoment(args[1]), per)
	}
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	if per == query.PerStack {
		again := "diff"
		for _, a := range args {
			again += " " + desk.AsWord(a)
		}
		showStackDiff(c, in, d, limit, func(n int) string { return fmt.Sprintf("%s per stack %d", again, n) })
	} else {
		showDiff(c, in, d, per)
	}
	return nil
}

const maxChanges = 40

func showDiff(c *desk.Desk, in shell.Input, d *query.Diff, per query.Per) {
	views := make([]changeView, 0, len(d.Changes))
	var table [][]screen.Span
	shown := d.Changes
	if len(shown) > maxChanges { // what grew most, and what shrank most
		shown = slices.Concat(shown[:maxChanges/2], shown[len(shown)-maxChanges/2:])
	}
	for _, ch := range d.Changes {
		views = append(views, viewChange(ch, d))
	}
	columns := []screen.Column{{Head: "change", Right: true}, {Head: "blocks", Right: true}, {Head: "live", Right: true}}
	if d.Elapsed() > 0 {
		columns = append(columns, screen.Column{Head: "bytes/s", Right: true}, screen.Column{Head: "blocks/s", Right: true})
	}
	columns = append(columns, screen.Column{Head: per.String()}, screen.Column{})
	for _, ch := range shown {
		row := []screen.Span{screen.Plain(c.Out.Sizes.Signed(ch.Bytes)), screen.Plain(units.Signed(ch.Blocks)), screen.Plain(c.Out.Sizes.Short(ch.After))}
		if r := rate(ch.Bytes, ch.Blocks, d.Elapsed()); r != nil {
			row = append(row, screen.Plain(c.Out.Sizes.Rate(r.Bytes)), screen.Plain(units.PerSecond(r.Blocks)))
		}
		table = append(table, append(row, screen.Func(siteName(c.Out, per, ch.Site)), sitePlace(ch.Site, per)))
	}
	c.ShowCareful(in, viewDiff(d, per, views, 0), d.Gaps, func(o *screen.Output) {
		printDiffHead(o, d)
		if len(table) == 0 {
			o.Printf("nothing that is live changed\n")
		} else {
			o.Table(columns, table)
		}
		if len(shown) < len(d.Changes) {
			o.Printf("%d of %d, those that changed most\n", len(shown), len(d.Changes))
		}
		printMappedDiff(c, o, d, per, maxChanges/2, nil)
	})
}

// A changeView is how much a site changed.
type changeView struct {
	heap.Change
	*rateView
}

func viewChange(ch heap.Change, d *query.Diff) changeView {
	return changeView{ch, rate(ch.Bytes, ch.Blocks, d.Elapsed())}
}

// A diffView is a comparison whose rows are of type T.
type diffView[T any] struct {
	From       string `json:"from"`
	To         string `json:"to"`
	FromBytes  uint64 `json:"from_live_bytes"`
	ToBytes    uint64 `json:"to_live_bytes"`
	FromBlocks uint64 `json:"from_live_blocks"`
	ToBlocks   uint64 `json:"to_live_blocks"`
	*wholeView
	Elapsed int64 `json:"elapsed_ns,omitempty"`
	Total   int   `json:"total,omitempty"` // of the changes, if not all are there
	Changes []T   `json:"changes"`

	Mapped []mappedChangeView `json:"mapped_changes,omitempty"`
}

// A wholeView is what two recordings have as a whole.
type wholeView struct {
	FromPeak      uint64 `json:"from_peak_bytes"`
	ToPeak        uint64 `json:"to_peak_bytes"`
	FromAllocated uint64 `json:"from_allocated_bytes"`
	ToAllocated   uint64 `json:"to_allocated_bytes"`
	AtPeaks       bool   `json:"at_peaks,omitempty"` // the changes are those between the peaks
}

// viewWhole is nil for two moments of one recording.
func viewWhole(d *query.Diff) *wholeView {
	if !d.Apart {
		return nil
	}
	return &wholeView{d.FromWhole.Peak, d.ToWhole.Peak, d.FromWhole.Allocated, d.ToWhole.Allocated, d.AtPeaks}
}

// A mappedChangeView is how the mappings of a function, or whatever is asked for, differ.
type mappedChangeView struct {
	Layer string `json:"layer"`
	heap.Site
	Bytes    int64            `json:"change_bytes"`
	Mappings int64            `json:"change_mappings"`
	Before   uint64           `json:"from_live_bytes"`
	After    uint64           `json:"to_live_bytes"`
	Frames   []desk.FrameView `json:"frames,omitempty"`
}

func viewDiff[T any](d *query.Diff, per query.Per, changes []T, total int) diffView[T] {
	v := diffView[T]{d.From, d.To, d.FromBytes, d.ToBytes, d.FromBlocks, d.ToBlocks, viewWhole(d), int64(d.Elapsed()), total, changes, nil}
	for i := range d.Mapped {
		ch := &d.Mapped[i]
		row := mappedChangeView{ch.Layer.String(), ch.Site, ch.Bytes, ch.Blocks, ch.Before, ch.After, nil}
		if per == query.PerStack {
			row.Function, row.Frames = "", desk.ViewFrames(d.Stack(&ch.Change).Frames)
		}
		v.Mapped = append(v.Mapped, row)
	}
	return v
}

// printMappedDiff prints how the mappings differ, at most limit of their rows. They are in no other number.
// again is the command that shows n rows, nil if none does.
func printMappedDiff(c *desk.Desk, o *screen.Output, d *query.Diff, per query.Per, limit int, again func(n int) string) {
	if d.FromMapped != d.ToMapped || len(d.Mapped) > 0 {
		o.Printf("mapped by the program: %s in %s, then %s in %s\n", o.Sizes.Long(d.FromMapped.Bytes), units.Count(d.FromMapped.Count, "mapping"), o.Sizes.Long(d.ToMapped.Bytes), units.Count(d.ToMapped.Count, "mapping"))
	}
	shown := d.Mapped[:min(limit, len(d.Mapped))]
	var table [][]screen.Span
	for i := range shown {
		ch := &shown[i]
		if per == query.PerStack {
			o.Printf("%s in %s, %s mapped\n", o.Sizes.Signed(ch.Bytes), changedMappings(ch.Layer, ch.Blocks), o.Sizes.Short(ch.After))
			printUserFrames(c, o, d.Stack(&ch.Change), "")
			continue
		}
		table = append(table, []screen.Span{screen.Plain(o.Sizes.Signed(ch.Bytes)), screen.Plain(changedMappings(ch.Layer, ch.Blocks)), screen.Plain(o.Sizes.Short(ch.After)), screen.Func(siteName(c.Out, per, ch.Site)), sitePlace(ch.Site, per)})
	}
	if len(table) > 0 {
		o.Table([]screen.Column{{Head: "change", Right: true}, {}, {Head: "mapped", Right: true}, {Head: per.String()}, {}}, table)
	}
	if len(shown) < len(d.Mapped) {
		all := ""
		if again != nil {
			all = fmt.Sprintf("; `%s` shows all", again(len(d.Mapped)))
		}
		o.Printf("%d of %d with mappings%s\n", len(shown), len(d.Mapped), all)
	}
}

// printDiffHead prints what is compared.
func printDiffHead(o *screen.Output, d *query.Diff) {
	if viewWhole(d) != nil {
		printWhole(o, d)
		return
	}
	to := "at " + d.To
	if d.To == "now" {
		to = d.To
	}
	o.Printf("live: %s at %s, %s %s\n", units.Blocks(o.Sizes, d.FromBytes, d.FromBlocks), d.From, units.Blocks(o.Sizes, d.ToBytes, d.ToBlocks), to)
	if bytes, blocks := int64(d.ToBytes)-int64(d.FromBytes), int64(d.ToBlocks)-int64(d.FromBlocks); bytes != 0 || blocks != 0 {
		o.Printf("change: %s in %s%s\n", o.Sizes.Signed(bytes), units.Change(blocks, "block"), inTime(o, bytes, blocks, d.Elapsed()))
	}
}

// printWhole prints what two recordings have as a whole.
func printWhole(o *screen.Output, d *query.Diff) {
	row := func(what string, from, to uint64) []screen.Span {
		return []screen.Span{screen.Plain(what), screen.Plain(o.Sizes.Short(from)), screen.Plain(o.Sizes.Short(to)), screen.Plain(o.Sizes.Signed(int64(to) - int64(from)))}
	}
	a, b := &d.FromWhole, &d.ToWhole
	o.Printf("from %s to %s:\n", d.From, d.To)
	o.Table([]screen.Column{{}, {Head: "from", Right: true}, {Head: "to", Right: true}, {Head: "change", Right: true}}, [][]screen.Span{
		row("peak", a.Peak, b.Peak), row("live at the end", a.Live, b.Live), row("allocated", a.Allocated, b.Allocated),
	})
	if d.AtPeaks {
		o.Printf("what was live at the peaks:\n")
	} else {
		o.Printf("what is live at the ends, or now:\n")
	}
}

// changedMappings is how many mappings of a layer came or went.
func changedMappings(l query.Layer, n int64) string {
	if l == query.PythonArenas {
		return units.Change(n, "arena")
	}
	return units.Change(n, "mapping")
}

// showStackDiff shows the changes of stacks that are the largest, at most limit of them; again is the command that shows n
// of them.
func showStackDiff(c *desk.Desk, in shell.Input, d *query.Diff, limit int, again func(n int) string) {
	type view struct {
		changeView
		Frames []desk.FrameView `json:"frames"`
	}
	shown := d.Changes[:min(limit, len(d.Changes))]
	views := make([]view, 0, len(shown))
	stacks := make([]names.Stack, len(shown))
	for i := range shown {
		stacks[i] = d.Stack(&shown[i])
		row := viewChange(shown[i], d)
		row.Site = heap.Site{} // whose function is a key for the stack
		views = append(views, view{row, desk.ViewFrames(stacks[i].Frames)})
	}
	c.ShowCareful(in, viewDiff(d, query.PerStack, views, len(d.Changes)), d.Gaps, func(o *screen.Output) {
		printDiffHead(o, d)
		if len(shown) == 0 {
			o.Printf("nothing that is live changed\n")
		}
		for i, ch := range shown {
			o.Printf("%s in %s, %s live%s\n", o.Sizes.Signed(ch.Bytes), units.Change(ch.Blocks, "block"), o.Sizes.Short(ch.After), inTime(o, ch.Bytes, ch.Blocks, d.Elapsed()))
			printUserFrames(c, o, stacks[i], "")
		}
		if len(shown) < len(d.Changes) {
			o.Printf("%d of %s that changed; `%s` shows all\n", len(shown), units.Count(len(d.Changes), "stack"), again(len(d.Changes)))
		}
		printMappedDiff(c, o, d, query.PerStack, limit, again)
	})
}
