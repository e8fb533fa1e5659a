package allocs

import (
	"context"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session/recordings"
	"hdb/session/target"
)

func recordCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{
		Name: "record", Group: shell.GroupAllocs, Synopsis: "start [--max-size SIZE] [--ring SIZE] [--last D] [--aggregate] [--paused] [--python-allocators]\nstop\npause\nresume\nfilter [CONDITION]\nstatus",
		Short: "record allocation events with their stacks", Args: []shell.ArgKind{shell.ArgSub},
		Long: "The probe, code inside the process, writes each event to memory that it shares with hdb: a fraction of a microsecond a call. Where it cannot be used, and with `set probe off`, plain breakpoints follow the allocators: each call stops its thread twice, tens of microseconds. `record status` shows which of the two is in use.\n\n" +
			"To record to a file without a console, use `hdb record` on the command line.\n\nExample:\n  record start\n  continue\n  top by live",
		Sub: []*shell.Command{
			{Name: "start", Short: "start recording, or resume it after record stop", Synopsis: "[--max-size SIZE] [--ring SIZE] [--last D] [--aggregate] [--paused] [--python-allocators]", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(runRecordStart),
				Long: "These flags limit the size of this run's recording, or of the next run's; events already recorded count. They are the flags of `hdb record`:\n\n" + desk.BoundFlags + "\nThe recording is then kept in an unnamed file in the temporary directory (TMPDIR). With --ring and --last, hdb copies the file before it answers a question, if there are new events. `monitor` refuses such a recording: it needs all events.\n\n" + desk.PausedFlag + desk.PythonFlag + "\n--python-allocators is the same as `set python-allocators on`; see docs/python.md.\n\nExamples:\n  record start\n  record start --last 30s\n  record start --python-allocators\n  record start --paused"},
			{Name: "stop", Short: "stop recording; keep what was recorded", Repeat: shell.RepeatNone, Run: c.Does(runRecordStop),
				Long: "Allocator calls are no longer followed, unless a stop at allocations needs them. Once the program continues, hdb does not know which blocks are still live. Frees of recorded blocks are still added, but only if an allocation stop sees them.\n\n" +
					"`record start` resumes the recording of the same run. Blocks that were allocated in between are then missing, and blocks that were freed appear live until their address is allocated again: reports, `assert` and the capture carry that caveat. Use `record pause` instead to keep the live heap known."},
			{Name: "pause", Short: "keep events out of the recording for a while", Repeat: shell.RepeatNone, Run: c.Does(runRecordPause),
				Long: "Calls are still followed, so that the live heap stays accurate. Frees of recorded blocks are still recorded. An event at which the program stops is always recorded, and so is the free of its block.\n\nExample:\n  record pause"},
			{Name: "resume", Short: "record events again after record pause", Repeat: shell.RepeatNone, Run: c.Does(runRecordResume), Long: "Example:\n  record resume"},
			{Name: "filter", Raw: true, Synopsis: "[CONDITION]", Short: "record only events that match, and the frees of their blocks", Args: []shell.ArgKind{shell.ArgCondition}, Repeat: shell.RepeatNone, Run: c.Does(runRecordFilter),
				Long: "Without a condition all events are recorded again. An event at which the program stops is always recorded, and so is the free of its block. See `help conditions`.\n\nExamples:\n  record filter size >= 64k && func(\"parse\")\n  record filter"},
			{Name: "status", While: shell.RunsAlongside, Short: "show how much was recorded, and how much was lost", Run: c.Does(runRecordStatus)},
		},
	}
}

func runRecordStart(_ context.Context, c *desk.Desk, in shell.Input) error {
	bounds, more, err := desk.ParseBounds(in.Args)
	if err != nil {
		return err
	}
	if err := c.Session.Recorder.Bound(bounds); err != nil {
		return err
	}
	if more.Python {
		c.Session.Recorder.PythonAllocators()
	}
	c.Session.Recorder.BeginPaused(more.Paused)
	if err := c.Session.Recorder.Start(); err != nil {
		return err
	}
	if plane := c.Session.Planes.Plane(); plane.Probe && (c.Session.Mode() == target.Empty || c.Session.Mode() == target.Loaded) {
		c.Say("recording from where the program begins on, by code inside the process if that can be used there")
	} else {
		c.Say("recording %s", planeText(plane))
	}
	if more.Paused {
		c.Say("paused until `record resume`, or until the program resumes it")
	}
	return nil
}

// planeText says what follows the allocators, and what that costs.
func planeText(p recordings.Plane) string {
	if p.Probe {
		return "by code inside the process: a fraction of a microsecond a call"
	}
	return screen.Sprintf("by plain breakpoints (%s): each call costs two stops, tens of microseconds", p.Reason)
}

func runRecordStop(_ context.Context, c *desk.Desk, _ shell.Input) error {
	if err := c.Session.Recorder.Stop(); err != nil {
		return err
	}
	st := c.Session.Recorded.Status()
	text := screen.Sprintf("recording stopped: %s kept", units.Count(st.Recorded, "event"))
	if st.Unfollowed {
		text += ": " + desk.UnfollowedText
	}
	c.Say("%s", text)
	return nil
}

func runRecordPause(_ context.Context, c *desk.Desk, _ shell.Input) error {
	if err := c.Session.Recorder.Pause(); err != nil {
		return err
	}
	c.Say("recording paused at %s: events are followed, but not kept", units.Count(c.Session.Recorded.Status().Recorded, "event"))
	return nil
}

func runRecordResume(_ context.Context, c *desk.Desk, _ shell.Input) error {
	if err := c.Session.Recorder.Resume(); err != nil {
		return err
	}
	c.Say("recording resumed")
	return nil
}

func runRecordFilter(_ context.Context, c *desk.Desk, in shell.Input) error {
	text := strings.TrimSpace(in.Raw)
	if word, rest := shell.SplitWord(text); word == "if" {
		text = strings.TrimSpace(rest)
	}
	if text == "" {
		st := c.Session.Recorded.Status()
		if err := c.Session.Recorder.Filter(nil); err != nil {
			return err
		}
		switch {
		case st.Paused:
			c.Say("no filter: all events are recorded when the pause ends")
		case st.Filter != "":
			c.Say("all events are recorded")
		default:
			c.Say("no filter: all events are recorded")
		}
		return nil
	}
	condition, err := cond.Parse(text)
	if err == nil {
		err = c.Session.Conditions.CheckTypes(condition)
	}
	if err != nil {
		return err
	}
	if err := c.Session.Recorder.Filter(condition); err != nil {
		return err
	}
	c.Session.Conditions.Warn(condition)
	c.Say("only events with %s are recorded, and the frees of their blocks", condition.String())
	return nil
}

type recordView struct {
	Recording   bool       `json:"recording"`
	Paused      bool       `json:"paused,omitempty"`
	Filter      string     `json:"filter,omitempty"`
	Plane       string     `json:"plane,omitempty"` // "probe" or "breakpoints"
	PlaneReason string     `json:"plane_reason,omitempty"`
	Seen        uint64     `json:"events_seen"`
	Recorded    uint64     `json:"events_recorded"`
	Stacks      int        `json:"stack_count"`
	Truncated   int        `json:"truncated_stacks"`
	LiveBytes   uint64     `json:"live_bytes"` // of all events seen
	LiveBlocks  int        `json:"live_blocks"`
	KeptBytes   uint64     `json:"recorded_live_bytes"`
	KeptBlocks  int        `json:"recorded_live_blocks"`
	PeakBytes   uint64     `json:"peak_bytes"`
	Sites       int        `json:"trapped_functions"`
	Lost        uint64     `json:"lost_events"`
	Losses      []lossView `json:"losses,omitempty"`
	LostStacks  uint64     `json:"lost_stacks,omitempty"`
	Waits       uint64     `json:"waits,omitempty"`
	Bytes       int64      `json:"capture_bytes,omitempty"`
	Bounds      string     `json:"bounds,omitempty"`      // as flags of record start
	Full        bool       `json:"full,omitempty"`        // it has its --max-size, and has ended
	Left        uint64     `json:"events_left,omitempty"` // after older ones were dropped
	Partial     []string   `json:"partial,omitempty"`     // why else numbers are not those of the run
	Damage      string     `json:"damage,omitempty"`
	Warnings    []string   `json:"warnings,omitempty"` // why what is live may not be
}

type lossView struct {
	Count  uint64 `json:"count"`
	Reason string `json:"reason"`
}

// ViewRecord is the status of a recording for JSON.
func ViewRecord(st recordings.RecordStatus) recordView {
	v := recordView{
		Recording: st.Recording, Paused: st.Paused, Filter: st.Filter, Seen: st.Seen, Recorded: st.Recorded,
		Stacks: st.Stacks, Truncated: st.Truncated, LiveBytes: st.LiveBytes, LiveBlocks: st.LiveBlocks, PeakBytes: st.PeakBytes,
		KeptBytes: st.KeptBytes, KeptBlocks: st.KeptBlocks,
		Sites: st.Sites, Lost: st.Lost, LostStacks: st.Probe.LostSt, Waits: st.Probe.Waits, Bytes: st.Bytes,
		Partial: report.ReasonTexts(st.Partial), Damage: report.DamageText(st.Damage), Warnings: desk.Warnings(st.Doubt),
	}
	if st.Bounds.Any() {
		v.Bounds, v.Full, v.Left = st.Bounds.String(), st.Full, st.Left
	}
	if st.Sites > 0 {
		v.Plane, v.PlaneReason = "breakpoints", st.Plane.Reason
		if st.Plane.Probe {
			v.Plane = "probe"
		}
	}
	for _, l := range st.Losses {
		v.Losses = append(v.Losses, lossView{l.Count, report.ReasonText(l.Reason)})
	}
	return v
}

func runRecordStatus(_ context.Context, c *desk.Desk, in shell.Input) error {
	st := c.Session.Recorded.Status()
	c.Show(in, ViewRecord(st), func(o *screen.Output) { PrintRecord(c, o, st) })
	return nil
}

// boundsText says what the bounds did to a recording.
func boundsText(st recordings.RecordStatus) string {
	switch b := st.Bounds; {
	case st.Err != nil:
		return screen.Sprintf("%s: it has ended: %v", b, st.Err)
	case st.Full:
		return screen.Sprintf("%s: reached, the recording has ended", b)
	case st.Left > 0:
		return screen.Sprintf("%s: the last %s of %s are left, what was allocated before is unknown", b, units.Grouped(st.Left), units.Count(st.Recorded, "event"))
	case b.Aggregate:
		return screen.Sprintf("%s: totals for each stack are kept, no events", b)
	default:
		return screen.Sprintf("%s: no events were dropped so far", b)
	}
}

// PymallocText says what a recording of a Python program has not, and how it would.
const PymallocText = "pymalloc: blocks of up to 512 bytes from Python's arenas are not recorded; use `record start --python-allocators`, or PYTHONMALLOC=malloc in the environment"

// PrintRecord prints the status of a recording.
func PrintRecord(c *desk.Desk, o *screen.Output, st recordings.RecordStatus) {
	state := "not recording"
	switch {
	case st.Paused:
		state = "recording paused"
	case st.Recording:
		state = "recording"
	}
	left := st.Recorded
	if st.Left > 0 {
		left = st.Left
	}
	kept := units.Count(left, "event") + " with " + units.Count(st.Stacks, "stack")
	if c.Session.Mode() == target.Saved {
		o.Printf("the capture has %s; %s seen in its run\n", kept, units.Count(st.Seen, "event"))
	} else {
		o.Printf("%s: %s kept, %s seen in this run\n", state, kept, units.Count(st.Seen, "event"))
	}
	if st.Bounds.Any() {
		o.Printf("%s\n", boundsText(st))
	}
	if st.Filter != "" {
		o.Printf("filter: %s\n", st.Filter)
	}
	switch {
	case st.Unfollowed:
		o.Printf("live: not known\n")
	case c.Session.Mode() != target.Saved || st.Recorded == st.Seen:
		of := ""
		if st.KeptBlocks != st.LiveBlocks || st.Recorded != st.Seen {
			of = "of all "
		}
		o.Printf("live: %s, peak %s%s\n", desk.LiveText(o.Sizes, st), of, o.Sizes.Long(st.PeakBytes))
	default: // of the rest of the heap a capture knows nothing
		o.Printf("live: %s in %s, peak of those %s\n", o.Sizes.Long(st.KeptBytes), units.Count(st.KeptBlocks, "recorded block"), o.Sizes.Long(st.PeakBytes))
	}
	desk.NoteDoubt(c, st.Doubt)
	switch functions := units.Count(st.Sites, "allocator function"); {
	case st.Sites == 0:
	case st.Plane.Probe:
		o.Printf("probe: in %s, at a fraction of a microsecond a call\n", functions)
	default:
		o.Printf("plain breakpoints (%s): on %s, at tens of microseconds a call\n", st.Plane.Reason, functions)
	}
	if st.Bytes > 0 {
		o.Printf("size: %s of encoded events\n", o.Sizes.Long(uint64(st.Bytes)))
	}
	if st.HidesPython {
		o.Printf("%s\n", PymallocText)
	}
	if st.Truncated > 0 {
		o.Printf("truncated: %s of %s; bt #N tells why\n", units.Grouped(st.Truncated), units.Count(st.Stacks, "stack"))
	}
	if len(st.Partial) > 0 {
		o.Line(screen.Warning("partial: " + strings.Join(report.ReasonTexts(st.Partial), "; ")))
	}
	if text := report.DamageText(st.Damage); text != "" {
		o.Line(screen.Warning(text))
	}
	for _, l := range st.Losses {
		o.Line(screen.Warning(fmt.Sprintf("lost: %s, %s", units.Count(l.Count, "call"), report.ReasonText(l.Reason))))
	}
	if n := st.Probe.LostSt; n > 0 {
		o.Line(screen.Warning(fmt.Sprintf("lost: %s; their events have no stack", units.Count(n, "stack"))))
	}
	if n := st.Probe.LostPy; n > 0 {
		o.Line(screen.Warning(fmt.Sprintf("lost: the Python functions of %s, which have their native stacks", units.Count(n, "event"))))
	}
	if st.Unrecorded != "" {
		o.Line(screen.Guess("(" + st.Unrecorded + ")"))
	}
	if n := st.Unmerged; n > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%s have no Python frames, because these did not agree with the native ones)", units.Count(n, "stack"))))
	}
	if n := st.Probe.Waits; n > 0 {
		o.Printf("waits: %s for hdb to make room in the ring; nothing was lost\n", units.Count(n, "time"))
	}
}
