package allocs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/query"
	"hdb/session/heaps"
)

// growthHelp is what help says of leaks growth.
const growthHelp = "`leaks growth` compares several moments and shows the stacks whose live bytes grew from each moment to the next, the largest growth first, with the rate per second and how their live blocks are held now. A stack that grew once, such as a cache that was filled, is only counted. Stacks whose blocks are all still reachable are only counted, in a line: --reachable lists them instead, --all lists both. The moments are the ones given, and now, or for a program that freed its memory at its end a moment before that; a single moment divides the time since then into four parts, and `over 60s` divides the last 60 seconds. Without a moment it compares the last 16 marks, or if there are none, the second half of the recorded time, divided into four parts.\n\n"

// growthOf takes `growth [MOMENT...]` out of a line, where it is at its beginning or behind one word.
func growthOf(text string) (rest string, moments []query.Moment, over time.Duration, ok bool, err error) {
	first, behind := shell.SplitWord(text)
	if first == "growth" {
		first = ""
	} else if word, after := shell.SplitWord(behind); word == "growth" {
		behind = after
	} else {
		return text, nil, 0, false, nil
	}
	if word, after := shell.SplitWord(behind); word == "over" && after != "" {
		over, err = time.ParseDuration(strings.TrimSpace(after))
		if err != nil || over <= 0 {
			return first, nil, 0, true, fmt.Errorf("leaks: growth over %q: a time like 60s or 1.5s expected", after)
		}
		return first, nil, over, true, nil
	}
	for behind = strings.TrimSpace(behind); behind != ""; behind = strings.TrimSpace(behind) {
		var moment string
		if end := strings.IndexByte(behind[1:], behind[0]); strings.Contains("\"'", behind[:1]) && end >= 0 {
			moment, behind = behind[1:1+end], behind[end+2:]
		} else {
			moment, behind = shell.SplitWord(behind)
		}
		moments = append(moments, query.ParseMoment(moment))
	}
	return first, moments, 0, true, nil
}

// runLeaksGrowth answers leaks growth; words is what is left of the line but for `growth` and flags.
func runLeaksGrowth(ctx context.Context, c *desk.Desk, in shell.Input, q leaksAsked) error {
	ask := heaps.GrowthQuestion{
		Moments: q.moments, Over: q.over, Limit: q.Limit, Strict: q.Strict, Suppressions: q.Suppressions,
		Lost: q.all || !q.reachable, Held: q.all || q.reachable, Snapshot: q.Snapshot,
	}
	a, err := c.Session.Heap.Growth(ctx, ask)
	if err != nil {
		return fmt.Errorf("leaks: growth: %w", err)
	}
	showLeaksGrowth(c, in, q, a)
	return nil
}

// A growthRowView is a stack whose live bytes grew from moment to moment.
type growthRowView struct {
	stackRowView
	Bytes  int64          `json:"change_bytes"`
	Blocks int64          `json:"change_blocks"`
	Live   []query.Amount `json:"live_at"`
	*rateView
	*reachView
}

// An instantView is a moment that was found.
type instantView struct {
	Moment string `json:"moment"`
	Event  uint64 `json:"after"`
	Time   int64  `json:"time_ns"`
}

func showLeaksGrowth(c *desk.Desk, in shell.Input, q leaksAsked, a *heaps.GrowthAnswer) {
	instants := make([]instantView, 0, len(a.Instants))
	for _, at := range a.Instants {
		instants = append(instants, instantView{at.String(), at.Seq, int64(at.Time)})
	}
	views := make([]growthRowView, 0, len(a.Rows))
	for i := range a.Rows {
		views = append(views, viewGrowthRow(&a.Rows[i], a))
	}
	c.AnswerOfHeap(in, &a.Doubts, c.Session.Recorded.Gaps(), struct {
		Moments []instantView `json:"moments"`
		Elapsed int64         `json:"elapsed_ns"`
		Total   int           `json:"total"`
		Others  int           `json:"stacks_that_grew_otherwise,omitempty"`
		Once    int           `json:"stacks_that_grew_at_some_moments,omitempty"`
		query.Kept
		Rows []growthRowView `json:"rows"`
		Copy *heaps.Copy     `json:"copy,omitempty"`
	}{instants, int64(a.Elapsed), a.Total, a.Others, a.Unsteady, a.Kept, views, a.Copy}, func(o *screen.Output) {
		o.Printf("compared: live bytes at %s, over %s\n", instantNames(a.Instants), units.Time(a.Elapsed))
		if a.Total == 0 {
			o.Printf("%s grew at each of them\n", noStack(q, a))
		}
		for i := range a.Rows {
			printGrowthRow(c, o, a, &a.Rows[i])
		}
		if len(a.Rows) < a.Total {
			o.Printf("%d of %s; `%s` shows all\n", len(a.Rows), units.Count(a.Total, "stack"), q.command(a.Total))
		}
		if a.Others > 0 {
			other := q
			other.reachable = !q.reachable
			what := "whose blocks are all still reachable"
			if q.reachable {
				what = "of which blocks are lost"
			}
			o.Printf("%s grew, too, %s: `%s`\n", units.Count(a.Others, "stack"), what, other.command(a.Others))
		}
		if a.Unsteady > 0 {
			o.Printf("%s grew, but not at each moment: `%s` lists them, too\n", units.Count(a.Unsteady, "stack"), diffBetween(a.Instants[0], a.Instants[len(a.Instants)-1]))
		}
		noteKept(o, a.Kept)
		noteCopy(o, a.Copy)
		if a.Why != nil {
			o.Printf("all blocks that were not freed, reachable or not: %v\n", a.Why)
		}
		noteUnrecorded(c.Session, o, true)
	})
}

// diffBetween is the command that compares stacks at two moments.
func diffBetween(from, to query.Instant) string {
	words := []string{"diff", desk.AsWord(from.String())}
	if !to.IsPresent() {
		words = append(words, desk.AsWord(to.String()))
	}
	return strings.Join(append(words, "per stack"), " ")
}

// noStack is what did not grow.
func noStack(q leaksAsked, a *heaps.GrowthAnswer) string {
	switch {
	case a.Why != nil || q.all:
		return "no stack"
	case q.reachable:
		return "no stack whose blocks are all still reachable"
	}
	return "no stack of which blocks are lost"
}

// instantNames are the moments for a sentence.
func instantNames(all []query.Instant) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].String()
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func viewGrowthRow(r *heaps.GrowthRow, a *heaps.GrowthAnswer) growthRowView {
	bytes, blocks := r.Grown()
	v := growthRowView{viewStackRow(r.StackRow), bytes, blocks, r.Live, rate(bytes, blocks, a.Elapsed), nil}
	if a.Why == nil {
		v.reachView = new(viewReach(&r.Held))
	}
	return v
}

// printGrowthRow prints a stack whose live bytes grew from moment to moment.
func printGrowthRow(c *desk.Desk, o *screen.Output, a *heaps.GrowthAnswer, r *heaps.GrowthRow) {
	bytes, blocks := r.Grown()
	o.Printf("%s in %s%s\n", o.Sizes.Signed(bytes), units.Change(blocks, "block"), inTime(o, bytes, blocks, a.Elapsed))
	live := make([]string, len(r.Live))
	for i := range r.Live {
		live[i] = o.Sizes.Short(r.Live[i].Bytes)
	}
	how := ""
	for _, k := range reachKinds {
		if n := r.Held[k].Blocks; n > 0 {
			how += ", " + units.Grouped(n) + " " + k.String()
		}
	}
	if how != "" {
		how = ":" + how[1:]
	}
	o.Printf("live: %s in %s%s\n", strings.Join(live, ", "), units.Count(r.Live[len(r.Live)-1].Blocks, "block"), how)
	printUserFrames(c, o, r.StackRow.Stack, "")
}

// growthAgain is how leaks growth is asked for the same with other words.
func (q *leaksAsked) growthAgain() string {
	words := []string{"growth"}
	if q.over > 0 {
		words = append(words, "over "+q.over.String())
	}
	for _, m := range q.moments {
		words = append(words, desk.AsWord(m.String()))
	}
	return strings.Join(words, " ")
}
