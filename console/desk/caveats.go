package desk

import (
	"fmt"
	"slices"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/glibc"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session/heaps"
)

// Answer shows numbers that come from the recording, with what makes them less certain.
func (c *Desk) Answer(in shell.Input, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, c.Session.Recorded.Gaps(), text)
}

// AnswerOfMemory shows an answer that memory was read for. It knows the blocks allocated before hdb attached, so
// that gap of the recording is not named.
func (c *Desk) AnswerOfMemory(in shell.Input, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, c.Session.Recorded.GapsOfMemory(), text)
}

// AnswerOfHeap shows an answer that the walk of a heap has part in, with the doubts of the walk. gaps are the
// recording's: all of them, or those that matter to a question of memory.
func (c *Desk) AnswerOfHeap(in shell.Input, d *heaps.Doubts, gaps []string, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, slices.Concat(gaps, doubtTexts(d, c.Out.Sizes)), text)
}

// NoteDoubt says when what seems to live may be gone. In JSON the object says so.
func NoteDoubt(c *Desk, doubt report.Doubt) {
	if doubt != report.NoDoubt && !c.Opt.JSON {
		c.Notify(report.DoubtText(doubt))
	}
}

// Warnings are those of a JSON object, none if there is no doubt.
func Warnings(doubt report.Doubt) []string {
	if doubt == report.NoDoubt {
		return nil
	}
	return []string{report.DoubtText(doubt)}
}

// doubtTexts say what makes it less certain who holds the blocks.
func doubtTexts(d *heaps.Doubts, sizes units.Sizes) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if d.Other != "" {
		say("the heap of %s was not walked: blocks that are not recorded are unknown, and so is what they hold", d.Other)
	}
	if d.Torn > 0 {
		say("%s of the heap did not hold together, a thread may be inside the allocator: blocks there may be shown wrong", units.Count(d.Torn, "place"))
	}
	if d.Uncached {
		say("no tcache of jemalloc was found: what threads have in one is shown as live")
	}
	if d.Foreign {
		say("the heap of a copy of the C library that is of another release was not walked: its blocks are unknown, and so is what they hold")
	}
	if d.Locked > 0 {
		say("a thread is inside malloc or free: blocks that it works on may be shown wrong")
	}
	if len(d.Damage) > 0 && d.Damage[0].Kind == glibc.Unsearched && len(d.Damage)+d.More == 1 {
		say("not all memory was searched for blocks of malloc: blocks may be missing, and what they hold may be shown as lost")
	} else if len(d.Damage) > 0 {
		say("the heap is damaged in %s, the first: %v", units.Count(len(d.Damage)+d.More, "place"), d.Damage[0])
	}
	if d.Stale > 0 {
		say("%s left out, whose free was not recorded: the allocator has the memory again", units.CountVerb(d.Stale, "block", "is", "are"))
	}
	if d.Unread > 0 {
		say("%s could not be read: what only they hold is shown as lost", sizes.Long(d.Unread))
	}
	return all
}
