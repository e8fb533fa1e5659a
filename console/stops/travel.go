package stops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/units"
	"hdb/query"
	"hdb/session"
	"hdb/session/stopped"
)

func travelCommands(c *desk.Desk) []*shell.Command {
	const moments = "A moment is an event #N, a share N% of the events, a time since the start like 1.5s, peak, start, end, stop N of info stops, or the name of a mark."
	return []*shell.Command{
		{Name: "next-alloc", Aliases: []string{"na"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N] [if CONDITION]", Raw: true, Args: []shell.ArgKind{shell.ArgCondition},
			Short: "run to the next allocation, or the N-th from here", Needs: shell.NeedRecord, Run: c.Does(nextEvent(query.Forward, false, (*session.Execution).NextAlloc)),
			Long: "Breakpoints on the way stop the program too, except in a capture.\n\nExamples:\n  next-alloc\n  na 10\n  na if size >= 64k && thread == 2"},
		{Name: "next-free", Aliases: []string{"nf"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N] [if CONDITION]", Raw: true, Args: []shell.ArgKind{shell.ArgCondition},
			Short: "run to the next free, and stop before it runs", Needs: shell.NeedRecord, Run: c.Does(nextEvent(query.Forward, true, (*session.Execution).NextFree)),
			Long: "In a capture it moves to the event.\n\nExample:\n  next-free if addr == 0x7ffff4c00010"},
		{Name: "prev-alloc", Aliases: []string{"pa"}, Group: shell.GroupRunning, Synopsis: "[N] [if CONDITION]", Raw: true, Args: []shell.ArgKind{shell.ArgCondition},
			Short: "move back to the previous recorded allocation", Needs: shell.NeedPast, Run: c.Does(nextEvent(query.Back, false, nil)),
			Long: "Examples:\n  prev-alloc\n  pa 10 if size >= 64k"},
		{Name: "prev-free", Aliases: []string{"pf"}, Group: shell.GroupRunning, Synopsis: "[N] [if CONDITION]", Raw: true, Args: []shell.ArgKind{shell.ArgCondition},
			Short: "move back to the previous recorded free", Needs: shell.NeedPast, Run: c.Does(nextEvent(query.Back, true, nil)),
			Long: "Example:\n  prev-free if addr == 0x7ffff4c00010"},
		{Name: "reverse-continue", Aliases: []string{"rc"}, Group: shell.GroupRunning, Synopsis: "[N]", Short: "move back to the previous recorded event that matches an allocation stop", Needs: shell.NeedPast, Run: c.Does(replayer(query.Back)),
			Long: "With N, to the N-th of them. A stop's hit count goes up in both directions. If no event matches, it ends at the first event of the recording.\n\nExample:\n  break alloc if size >= 1MiB\n  reverse-continue"},
		{Name: "goto", Group: shell.GroupAllocs, Synopsis: "MOMENT", Raw: true, Short: "move the view to a moment of the recording", Args: []shell.ArgKind{shell.ArgMoment}, Needs: shell.NeedPast, Repeat: shell.RepeatNone, Run: c.Does(runGoto),
			Long: "bt, frame and list then show the event's stack; allocs, live, top and the reports answer for the moment after it. `goto start` moves to just after the first event; in other commands, start means before it. `goto end` returns to the whole recording.\n\nWith a recorded process, only the view moves; the process stays stopped. Commands that need its memory or registers, or that let it run, are refused until `goto now` returns to the present. continue, next-alloc and next-free move forward in the recording, and return to the present at its end.\n\n" + moments + "\n\nExamples:\n  goto #4711\n  goto 81%\n  goto peak\n  goto now\n  goto stop 3"},
		{Name: "mark", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[NAME]", Raw: true, Short: "name this moment of the recording, or list the marks", Repeat: shell.RepeatNone, Run: c.Does(runMark),
			Long: "goto and diff take the name as a moment, here and in the capture. A name that is a mark already gets a number: the second `mark round` is round.2. Quote a name that contains blanks.\n\nExamples:\n  mark warm\n  mark"},
		{Name: "marks", Under: "info", While: shell.RunsAlongside, Short: "list the marks of the recording", Run: c.Does(infoMarks), Repeat: shell.RepeatNone},
	}
}

// nextEvent moves to an allocation or a free: the program, if there is a verb for
// that, or the capture.
func nextEvent(d query.Direction, frees bool, live func(*session.Execution, int, *cond.Cond) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(ctx context.Context, c *desk.Desk, in shell.Input) error {
		count, condition, err := desk.CountAndCondition(in)
		if err == nil {
			err = c.Session.Conditions.CheckTypes(condition)
		}
		if err != nil {
			return err
		}
		count = max(count, 1)
		if live != nil && !c.Session.Recalled() {
			return desk.Reported(c, in)(live(c.Session.Execution, count, condition))
		}
		return traveled(c, in)(c.Session.Travel.ReplayTo(ctx, d, frees, count, condition))
	}
}

// replayer continues in a capture, or back.
func replayer(d query.Direction) func(context.Context, *desk.Desk, shell.Input) error {
	return func(ctx context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		return traveled(c, in)(c.Session.Travel.Replay(ctx, d, n))
	}
}

// traveled is reported for what Ctrl-C ends by an error.
func traveled(c *desk.Desk, in shell.Input) func(*stopped.Report, error) error {
	return func(r *stopped.Report, err error) error {
		switch {
		case errors.Is(err, context.Canceled):
			return shell.ErrInterrupted
		case err != nil:
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		c.Report(in, r)
		return nil
	}
}

// momentName is what is left of a line as the name of a moment, which may be in quotes.
func momentName(in shell.Input) string {
	name := strings.TrimSpace(in.Raw)
	if n := len(name); n > 1 && name[0] == name[n-1] && (name[0] == '"' || name[0] == '\'') {
		return name[1 : n-1]
	}
	return name
}

func runGoto(_ context.Context, c *desk.Desk, in shell.Input) error {
	moment := momentName(in)
	if moment == "" {
		return errors.New("goto: a moment must follow: #N, N%, a time like 1.5s, peak, start, end, stop N or the name of a mark")
	}
	if moment == "now" {
		return traveled(c, in)(c.Session.Travel.Present())
	}
	return desk.Reported(c, in)(c.Session.Travel.Goto(query.ParseMoment(moment)))
}

func runMark(_ context.Context, c *desk.Desk, in shell.Input) error {
	name := momentName(in)
	if name == "" {
		showMarks(c, in, c.Session.Recorded.Marks())
		return nil
	}
	given, seq, err := c.Session.Travel.Mark(name)
	switch {
	case err != nil:
		return err
	case given != name:
		c.Say("mark %s after #%d: %s is a mark already", given, seq, name)
	default:
		c.Say("mark %s after #%d", given, seq)
	}
	return nil
}

func infoMarks(_ context.Context, c *desk.Desk, in shell.Input) error {
	showMarks(c, in, c.Session.Recorded.Marks())
	return nil
}

func showMarks(c *desk.Desk, in shell.Input, marks []capture.MarkRecord) {
	var rows [][]screen.Span
	for _, m := range marks {
		rows = append(rows, []screen.Span{screen.Head(m.Name), screen.Plain("#" + strconv.FormatUint(m.Seq, 10)), screen.Plain(units.Time(m.Time))})
	}
	c.Show(in, struct {
		Marks []capture.MarkRecord `json:"marks"`
	}{shell.List(marks)}, func(o *screen.Output) {
		if len(rows) == 0 {
			o.Printf("no marks: mark NAME names a moment while events are recorded\n")
			return
		}
		o.Table([]screen.Column{{Head: "mark"}, {Head: "after", Right: true}, {Head: "time", Right: true}}, rows)
	})
}
