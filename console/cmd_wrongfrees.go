package console

import (
	"context"
	"fmt"
	"strconv"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session"
)

func wrongFreeCommands(c *Desk) []*shell.Command {
	return []*shell.Command{{
		Name: "wrong-frees", Group: shell.GroupAllocs, Beside: shell.RunsBeside, Raw: true, Synopsis: "[N | all]", Short: "recorded calls that gave back what was no block", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatSame, Run: c.does(runWrongFrees),
		Long: "A block that was given back twice, an address inside of a block, or a block that a function of another family has made, as operator new[] and delete. N is how many are shown with their stacks, 10 without it. What a recording does not have is not told: of a block that was made before, nothing is wrong as far as anybody knows.\n\nWhile a program runs, `set wrong-frees` says what happens before such a call runs; see docs/heap.md.\n\nExamples:\n  wrong-frees\n  wrong-frees all",
	}}
}

// A wrongView is a call that gives back what is no block.
type wrongView struct {
	Kind   string      `json:"kind"`
	Why    string      `json:"why"`
	Call   eventView   `json:"event"`
	Addr   string      `json:"address"`
	Unsure bool        `json:"unsure,omitempty"`
	Made   *eventView  `json:"made,omitempty"`
	Freed  *eventView  `json:"freed,omitempty"`
	Frames []frameView `json:"frames,omitempty"`

	MadeFrames  []frameView `json:"made_frames,omitempty"`
	FreedFrames []frameView `json:"freed_frames,omitempty"`
}

func viewWrong(w *query.WrongFree) *wrongView {
	v := &wrongView{
		Kind: w.Kind.String(), Why: w.Why((*recording.Event).Call), Call: viewEvent(w.Call), Addr: fmt.Sprintf("%#x", w.Addr), Unsure: w.Unsure,
		Frames: viewFrames(w.CallFrames), MadeFrames: viewFrames(w.MadeFrames), FreedFrames: viewFrames(w.FreedFrames),
	}
	if w.Made != nil {
		v.Made = new(viewEvent(w.Made))
	}
	if w.Freed != nil {
		v.Freed = new(viewEvent(w.Freed))
	}
	return v
}

// wrongText says why a call is wrong.
func wrongText(o *screen.Output, w *query.WrongFree) string {
	text := w.Why(called(o))
	if w.Unsure {
		text += " (perhaps: not all calls are recorded, the block may have been handed out again)"
	}
	return text
}

// printWrong prints the stacks of the calls before.
func printWrong(o *screen.Output, w *query.WrongFree) {
	print := func(what string, frames []names.Frame) {
		if len(frames) > 0 {
			o.Line(screen.Guess(what + ":"))
			printFrames(o, userFrames(frames))
		}
	}
	if w.Made != nil {
		print(fmt.Sprintf("made by #%d %s", w.Made.Seq, called(o)(w.Made)), w.MadeFrames)
	}
	if w.Freed != nil {
		print(fmt.Sprintf("given back by #%d %s", w.Freed.Seq, called(o)(w.Freed)), w.FreedFrames)
	}
}

// threadOf names a recorded thread.
func threadOf(s *session.Session, tid int32) string {
	for _, t := range s.Recorded.Threads() {
		if t.TID == tid {
			return fmt.Sprintf("thread %d %q", t.Num, t.Name)
		}
	}
	return fmt.Sprintf("thread with TID %d", tid)
}

func runWrongFrees(_ context.Context, c *Desk, in shell.Input) error {
	limit := 10
	if n, err := strconv.Atoi(in.Raw); err == nil && n > 0 {
		limit = n
	} else if in.Raw == "all" {
		limit = 0
	} else if in.Raw != "" {
		return fmt.Errorf("wrong-frees: %q: a number or `all` expected", in.Raw)
	}
	all, err := c.s.Queries.WrongFrees()
	if err != nil {
		return err
	}
	total := len(all)
	if limit > 0 && total > limit {
		all = all[:limit]
	}
	views := make([]*wrongView, len(all))
	for i, w := range all {
		views[i] = viewWrong(w)
	}
	c.answer(in, struct {
		Total int          `json:"total"`
		Wrong []*wrongView `json:"wrong_frees"`
	}{total, views}, func(o *screen.Output) {
		if total == 0 {
			o.Text("no recorded call gave back what was no block\n")
		}
		for _, w := range all {
			o.Text(fmt.Sprintf("%s: #%d %s   %s\n", w.Kind, w.Call.Seq, called(o)(w.Call), threadOf(c.s, w.Call.TID)))
			o.Line(screen.Guess("   " + wrongText(o, w)))
			if len(w.CallFrames) > 0 {
				printFrames(o, userFrames(w.CallFrames))
			}
			printWrong(o, w)
		}
		if total > len(all) {
			o.Text(fmt.Sprintf("%d of %s; `wrong-frees all` lists all\n", len(all), units.Count(total, "call")))
		}
	})
	return nil
}
