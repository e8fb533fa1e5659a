package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hdb/goruntime"
	"hdb/names"
)

// What goroutines are grouped by.
const (
	GroupByCreator = "creator" // the go statement that made them
	GroupByStart   = "start"   // their functions
	GroupByWhere   = "where"   // where in the user's code they are
	GroupByReason  = "reason"  // what they do, or wait for
)

// A GoroutineGroup is goroutines that have something in common. Where they differ in the rest, the
// most frequent represents all.
type GoroutineGroup struct {
	Count   int
	Stack   uint64        // bytes of their stacks
	Waited  time.Duration // the longest
	Example uint64        // the number of one
	Reason  string        // what most do
	Reasons int           // how many different there are,
	Where   *names.Frame  // nil unknown
	Wheres  int
	Start   *names.Frame
	Creator *names.Frame
	Makers  int
}

// Does is what a goroutine does in the words of Go's tracebacks: its status, or why it waits.
func (x *Goroutine) Does() string {
	if x.Reason != "" && x.Status == goruntime.Waiting {
		return x.Reason
	}
	return string(x.Status)
}

// A goLine is a line of code in a function.
type goLine struct {
	function, file string
	line           int
}

func lineOf(f *names.Frame) goLine {
	if f == nil {
		return goLine{}
	}
	return goLine{f.Function, f.File, f.Line}
}

// A tally counts how often each key comes, and remembers the first value of each.
type tally[V any] struct {
	counts map[any]int
	first  map[any]V
}

func (t *tally[V]) add(key any, v V) {
	if t.counts == nil {
		t.counts, t.first = map[any]int{}, map[any]V{}
	}
	if t.counts[key]++; t.counts[key] == 1 {
		t.first[key] = v
	}
}

// most is the value that came most often, and how many different there were. order orders those
// that came equally often.
func (t *tally[V]) most(order func(a, b V) int) (v V, n int) {
	best := 0
	for key, count := range t.counts {
		if count > best || count == best && order(t.first[key], v) < 0 {
			best, v = count, t.first[key]
		}
	}
	return v, len(t.counts)
}

// Group groups goroutines, the largest group first.
func (g *Goroutines) Group(list []Goroutine, by string) ([]GoroutineGroup, error) {
	key := map[string]func(x *Goroutine) any{
		GroupByCreator: func(x *Goroutine) any { return lineOf(x.Creator) },
		GroupByStart:   func(x *Goroutine) any { return x.StartPC },
		GroupByWhere:   func(x *Goroutine) any { return lineOf(x.Where) },
		GroupByReason:  func(x *Goroutine) any { return x.Does() },
	}[by]
	if key == nil {
		return nil, fmt.Errorf("goroutines are grouped by creator, start, where or reason, not by %q", by)
	}
	type building struct {
		GoroutineGroup
		reasons        tally[string]
		wheres, makers tally[*names.Frame]
	}
	groups := map[any]*building{}
	var order []*building
	for i := range list {
		if i%4096 == 0 {
			if err := g.givenUp(); err != nil {
				return nil, err
			}
		}
		x := &list[i]
		k := key(x)
		b := groups[k]
		if b == nil {
			b = &building{GoroutineGroup: GoroutineGroup{Example: x.ID, Start: x.Start}}
			groups[k] = b
			order = append(order, b)
		}
		b.Count++
		b.Stack += x.StackHigh - x.StackLow
		b.Waited = max(b.Waited, x.Waited)
		b.reasons.add(x.Does(), x.Does())
		b.wheres.add(lineOf(x.Where), x.Where)
		b.makers.add(lineOf(x.Creator), x.Creator)
	}
	out := make([]GoroutineGroup, 0, len(order))
	for _, b := range order {
		b.Reason, b.Reasons = b.reasons.most(cmp.Compare[string])
		b.Where, b.Wheres = b.wheres.most(compareLines)
		b.Creator, b.Makers = b.makers.most(compareLines)
		out = append(out, b.GoroutineGroup)
	}
	slices.SortStableFunc(out, func(a, b GoroutineGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Example, b.Example))
	})
	return out, nil
}

// compareLines orders places by their names; unknown ones come last.
func compareLines(a, b *names.Frame) int {
	if a == nil || b == nil {
		return noFrame(a) - noFrame(b)
	}
	x, y := lineOf(a), lineOf(b)
	return cmp.Or(cmp.Compare(x.function, y.function), cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
}

func noFrame(f *names.Frame) int {
	if f == nil {
		return 1
	}
	return 0
}
