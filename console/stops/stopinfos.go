package stops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session"
)

// stopInfos tell about stops.
func stopInfos(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "breakpoints", Under: "info", Aliases: []string{"b", "bp"}, While: shell.RunsAlongside, Short: "list the stops", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.Does(infoBreakpoints), Repeat: shell.RepeatNone, Long: "Example:\n  info breakpoints"},
		{Name: "watchpoints", Under: "info", While: shell.RunsAlongside, Short: "list the watchpoints", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.Does(infoWatchpoints), Repeat: shell.RepeatNone, Long: "Example:\n  info watchpoints"},
		{Name: "signals", Under: "info", Aliases: []string{"handle"}, Short: "show what happens when a signal arrives", Synopsis: "[SIGNAL]", Args: []shell.ArgKind{shell.ArgSignal}, Run: c.Does(infoSignals), Repeat: shell.RepeatNone, Long: "Example:\n  info signals SIGUSR1"},
		{Name: "skip", Under: "info", While: shell.RunsAlongside, Short: "list the functions and files that step does not enter", Run: c.Does(infoSkip), Repeat: shell.RepeatNone},
		{Name: "stops", Under: "info", While: shell.RunsAlongside, Short: "list where this session or capture stopped", Run: c.Does(infoStops), Repeat: shell.RepeatNone},
		{Name: "breakpoints", Aliases: []string{"bp"}, While: shell.RunsAlongside, Group: shell.GroupStatus, Short: "list the stops", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgStop}, Run: c.Does(infoBreakpoints), Repeat: shell.RepeatNone, Long: "Example:\n  breakpoints 2"},
	}
}

// typedStop is a stop in the words of the command that has set it.
func typedStop(st *breakpoints.Stop) string {
	if st.Caught == "" {
		return st.Spec.String()
	}
	spec := st.Spec
	spec.Location, spec.Thrown = "catch "+st.Event(), nil
	return spec.String()
}

// printStop is a row of info breakpoints and what hangs below it, as gdb's.
func printStop(s *session.Session, o *screen.Output, st *breakpoints.Stop) {
	state := []string{}
	if !st.Enabled {
		state = append(state, "disabled")
	}
	if st.Hardware {
		state = append(state, "hardware")
	}
	if st.Temporary {
		state = append(state, "temporary")
	}
	if st.Pending {
		state = append(state, "pending")
	}
	row := []screen.Span{screen.Head(fmt.Sprintf("%-4d", st.ID)), screen.Plain(typedStop(st))}
	if len(st.Places) == 1 {
		row = append(row, screen.File("  "+desk.PlaceText(st.Places[0])))
	}
	if len(state) > 0 {
		row = append(row, screen.Guess("  ("+strings.Join(state, ", ")+")"))
	}
	o.Line(row...)
	below := func(format string, args ...any) { o.Printf("      "+format+"\n", args...) }
	if len(st.Places) > 1 {
		for i, p := range st.Places {
			below("%d.%d  %s", st.ID, i+1, desk.PlaceText(p))
		}
	}
	if st.Print != nil {
		below("prints %s", st.Print)
	}
	if st.Trace {
		below("prints calls and returns")
	}
	if text := s.Stops.Cost(st); text != "" {
		below("%s", text)
	}
	d, _ := s.Stops.Detail(st)
	if text := whereDecided(d); text != "" {
		below("%s", text)
	}
	if d.Doubt != report.NoDoubt {
		below("%s", report.DoubtText(d.Doubt))
	}
	switch hits := units.Count(st.Hits, "time"); {
	case d.Passed > 0 && st.Hits > 0:
		below("hit %s; %s, frees counted too, did not match", hits, units.Count(d.Passed, "other event"))
	case d.Passed > 0:
		below("not hit; %s, frees counted too, did not match", units.Count(d.Passed, "event"))
	case st.Hits > 0:
		below("hit %s", hits)
	}
	if d.Unsized > 0 {
		below("%s of unknown size freed: no comparison with the size holds", units.Count(d.Unsized, "block"))
	}
	if d.Undecided > 0 {
		below("at %s a variable had no value, so the condition did not hold: %s", units.Count(d.Undecided, "event"), d.Why)
	}
	if st.Ignore > 0 {
		below("passes the next %s", units.Count(st.Ignore, "hit"))
	}
	if st.Silent {
		below("    silent")
	}
	for _, l := range st.Commands {
		below("    %s", l)
	}
}

func infoBreakpoints(_ context.Context, c *desk.Desk, in shell.Input) error {
	return listStops(c, in, "no breakpoints: see `help break`", func(*breakpoints.Stop) bool { return true })
}

func infoWatchpoints(_ context.Context, c *desk.Desk, in shell.Input) error {
	return listStops(c, in, "no watchpoints: see `help watch`", func(st *breakpoints.Stop) bool { return st.Kind == breakpoints.StopWatch })
}

// listStops lists the stops that are wanted; none says that there is none.
func listStops(c *desk.Desk, in shell.Input, none string, wanted func(*breakpoints.Stop) bool) error {
	ids, err := stopIDs(c.Session, in, in.Args)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id int) bool {
		st, err := c.Session.Stops.At(id)
		return err == nil && !wanted(st)
	})
	views := make([]stopView, 0, len(ids))
	for _, id := range ids {
		st, err := c.Session.Stops.At(id)
		if err != nil {
			return err
		}
		v := viewStop(st)
		v.Cost = c.Session.Stops.Cost(st)
		d, atAllocs := c.Session.Stops.Detail(st)
		if v.Warnings = desk.Warnings(d.Doubt); atAllocs {
			v.InProcess, v.Outside, v.Passed, v.Unsized, v.Undecided = d.InProcess, d.Outside, &d.Passed, d.Unsized, d.Undecided
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Stops []stopView `json:"stops"`
	}{views}, func(o *screen.Output) {
		if len(ids) == 0 {
			o.Printf("%s\n", none)
			return
		}
		for _, id := range ids {
			if st, err := c.Session.Stops.At(id); err == nil {
				printStop(c.Session, o, st)
			}
		}
	})
	return nil
}

func infoStops(_ context.Context, c *desk.Desk, in shell.Input) error {
	type view struct {
		Num int `json:"stop"`
		capture.StopRecord
	}
	views := []view{}
	var rows [][]screen.Span
	for i, r := range c.Session.Recorded.Stops() {
		views = append(views, view{i + 1, r})
		rows = append(rows, []screen.Span{screen.Head(fmt.Sprint(i + 1)), screen.Plain(units.Time(r.Time)), screen.Plain(desk.WithSizes(c, r.Text))})
	}
	if len(rows) == 0 && !c.Opt.JSON {
		return errors.New("no stop yet")
	}
	c.Show(in, struct {
		Stops []view `json:"stops"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "stop", Right: true}, {Head: "time", Right: true}, {Head: "why"}}, rows)
	})
	return nil
}
