package query

import (
	"fmt"
	"slices"
	"strconv"

	"hdb/capture"
	"hdb/heap"
	"hdb/names"
	"hdb/report"
)

// Per is what the rows of Top represent.
type Per uint8

// What rows represent.
const (
	PerFunction Per = iota
	PerLine
	PerModule
	PerThread
	PerSize
	PerStack
	PerType   // of live blocks: see TopTypes
	PerGlobal // a variable of the program, of what memory holds
)

// Pers are the words for them, in their order.
var Pers = [...]string{"function", "line", "module", "thread", "size", "stack", "type", "global"}

func (p Per) String() string { return Pers[p] }

// Top adds up the allocations up to the moment, with a row per function, line and so on.
func (r *Recording) Top(by heap.Measure, per Per) ([]heap.Row, error) {
	return r.top(r.Moment, by, per)
}

// top is Top up to event #to. It is an error if the recording does not distinguish what the rows
// represent.
func (r *Recording) top(to uint64, by heap.Measure, per Per) ([]heap.Row, error) {
	x := r.Index
	if r.Source.Info().Aggregate && (per == PerThread || per == PerSize) {
		return nil, ErrSums
	}
	switch per {
	case PerThread:
		threads := r.Source.Threads()
		return heap.TopBy(x, to, by, heap.KeyThread, func(tid uint64) heap.Site {
			return threadSite(threads, int32(uint32(tid)))
		}), nil
	case PerSize:
		return heap.TopBy(x, to, by, heap.KeySize, func(size uint64) heap.Site {
			return heap.Site{Size: size}
		}), nil
	}
	return heap.Top(x, to, by, r.Sites(per)), nil
}

// Sites tells to which function, line or module the blocks of a stack belong: per anything else to a function.
func (r *Recording) Sites(per Per) func(id capture.StackID) heap.Site {
	x, frames := r.Index, r.newStackSites()
	return func(id capture.StackID) heap.Site {
		if per == PerLine {
			return frames.lineOf(id, x.Named(id))
		}
		site := frames.siteOf(id, x.Named(id))
		if per == PerModule {
			return heap.Site{Function: site.Module, Module: site.Module}
		}
		return site
	}
}

// threadSite is the site of rows that represent a thread.
func threadSite(threads []capture.Thread, tid int32) heap.Site {
	i := slices.IndexFunc(threads, func(t capture.Thread) bool { return t.TID == tid })
	if i < 0 {
		return heap.Site{Function: fmt.Sprintf("thread of TID %d", tid)}
	}
	return heap.Site{Function: fmt.Sprintf("thread %d %q", threads[i].Num, threads[i].Name)}
}

// A StackRow is what was allocated with one stack.
type StackRow struct {
	heap.Row
	Stack names.Stack
}

// TopStacks are the stacks with the largest numbers, at most limit of them, and the number
// of stacks that have any by this measure.
func (r *Recording) TopStacks(by heap.Measure, limit int) (rows []StackRow, total int) {
	all := heap.Top(r.Index, r.Moment, by, r.alikeStacks().site)
	all = slices.DeleteFunc(all, func(row heap.Row) bool { return !by.NonZero(row) })
	total = len(all)
	for _, row := range all[:min(limit, total)] {
		id := stackOf(row.Site)
		row.Site = r.Site(id, r.Index.Named(id))
		rows = append(rows, StackRow{row, r.namedStack(id)})
	}
	return rows, total
}

// Leaks are the stacks of blocks that are live, the largest first, at most limit of them, and how
// many stacks there are. Those whose blocks language runtimes keep for themselves are left out,
// unless strict; kept is what they have. Left out are those, too, that the suppressions are about.
func (r *Recording) Leaks(limit int, strict bool, s *report.Suppressions) (rows []StackRow, total int, kept Kept) {
	alike := r.alikeStacks()
	owned, suppressed := alike.runtimeOwned(strict), alike.suppressed(s)
	kept.Suppressed = s.Count()
	for _, row := range heap.Top(r.Index, r.Moment, heap.ByLive, alike.site) {
		if !heap.ByLive.NonZero(row) {
			continue
		}
		id := stackOf(row.Site)
		if one := suppressed(id, report.LeakAny); one >= 0 {
			kept.Suppressed.Add(one, row.LiveBlocks, row.LiveBytes)
			continue
		}
		if owned(id) {
			kept.add(&row)
			continue
		}
		if total++; total <= limit {
			row.Site = r.Site(id, r.Index.Named(id))
			rows = append(rows, StackRow{row, r.namedStack(id)})
		}
	}
	return rows, total, kept
}

// Kept is what language runtimes keep for themselves of what is live, and what is suppressed.
type Kept struct {
	Bytes  uint64 `json:"runtime_live_bytes,omitempty"` // of language runtimes
	Blocks uint64 `json:"runtime_live_blocks,omitempty"`

	*report.Suppressed // nil without suppressions
}

func (k *Kept) add(row *heap.Row) {
	k.Bytes += row.LiveBytes
	k.Blocks += row.LiveBlocks
}

// runtimeOwned tells the stacks whose blocks language runtimes keep for themselves, none if strict.
func (a *alikeStacks) runtimeOwned(strict bool) func(capture.StackID) bool {
	if strict {
		return func(capture.StackID) bool { return false }
	}
	owned := a.frames.p.RuntimeOwned()
	return func(id capture.StackID) bool {
		st := a.frames.stack(id, a.r.Index.Named(id))
		return owned(&st)
	}
}

// suppressed finds the suppression that applies to the blocks of a stack which are held in a way, -1 none.
func (a *alikeStacks) suppressed(s *report.Suppressions) func(capture.StackID, report.LeakKind) int {
	if s == nil {
		return func(capture.StackID, report.LeakKind) int { return -1 }
	}
	user := a.frames.p.Suppressor(s)
	return func(id capture.StackID, how report.LeakKind) int {
		st := a.frames.stack(id, a.r.Index.Named(id))
		return user.Find(&st, how)
	}
}

// numberedSite is the site of rows that represent stacks.
func numberedSite(id capture.StackID) heap.Site {
	return heap.Site{Function: strconv.FormatUint(uint64(id), 10)}
}

// stackOf is the stack that a numberedSite represents.
func stackOf(s heap.Site) capture.StackID {
	n, _ := strconv.ParseUint(s.Function, 10, 32) // which numberedSite has written
	return capture.StackID(n)
}

// namedStack is a recorded stack as it was when it was seen.
func (r *Recording) namedStack(id capture.StackID) names.Stack {
	return r.Names.RecordedStack(r.Source, id, r.Index.Named(id))
}
