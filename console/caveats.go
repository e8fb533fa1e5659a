package console

import (
	"slices"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/session/heaps"
)

// answer is show for numbers that are drawn from the recording: with what makes them
// less sure.
func (c *Desk) answer(in shell.Input, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, c.s.Recorded.Gaps(), text)
}

// answerOfMemory is answer for what memory, or one block, is asked: it lacks nothing that was made before an attach.
func (c *Desk) answerOfMemory(in shell.Input, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, c.s.Recorded.GapsOfMemory(), text)
}

// answerOfHeap is answer, or answerOfMemory, by its gaps, for what a walk of the heap has found.
func (c *Desk) answerOfHeap(in shell.Input, d *heaps.Doubts, gaps []string, data any, text func(o *screen.Output)) {
	c.ShowCareful(in, data, slices.Concat(gaps, doubtTexts(d, c.Out.Sizes)), text)
}
