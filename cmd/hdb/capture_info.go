package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/report"
)

// captureSummary is what hdb capture info says.
type captureSummary struct {
	File      string               `json:"path"`
	Bytes     int64                `json:"size"`
	Format    string               `json:"format"`
	Created   string               `json:"created_by"` // version of the hdb that recorded
	Aggregate bool                 `json:"aggregate"`
	Program   string               `json:"program"`
	Args      []string             `json:"args"`
	PID       int                  `json:"pid"`
	Host      string               `json:"host"`
	Kernel    string               `json:"kernel"`
	Arch      string               `json:"arch"`
	Start     time.Time            `json:"start"`
	Events    int                  `json:"event_count"` // that can be read
	First     uint64               `json:"first_event"`
	Last      uint64               `json:"last_event"`
	From      time.Duration        `json:"from_ns"` // of the first event
	To        time.Duration        `json:"to_ns"`
	Totals    capture.Totals       `json:"totals"`
	PerEvent  float64              `json:"bytes_per_event"` // of the chunks of events alone
	Stacks    int                  `json:"stack_count"`
	Functions int                  `json:"function_count"`
	Modules   int                  `json:"module_count"`
	Threads   int                  `json:"thread_count"`
	Stops     int                  `json:"stop_count"`
	Samples   int                  `json:"sample_count"`
	Log       int                  `json:"log_line_count"` // of the console
	Stopped   []capture.StopRecord `json:"stopped"`
	Marks     []capture.MarkRecord `json:"marks"`
	Partial   []string             `json:"partial"` // why not all events of the run are there
	Losses    []captureLoss        `json:"losses"`
	Parts     []file.Part          `json:"parts"`
	Damage    string               `json:"damage"`
}

type captureLoss struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
	Places int    `json:"place_count"`
}

// captureInfo is `hdb capture info`.
func captureInfo(path string, asJSON, log bool, out, errw io.Writer) int {
	f, err := file.Open(path)
	if err != nil {
		return fail(errw, err, exitTarget)
	}
	defer f.Close()
	if log {
		return captureLog(f, asJSON, out, errw)
	}
	c := summarize(path, f)
	if asJSON {
		if err := json.NewEncoder(out).Encode(c); err != nil {
			return fail(errw, err, 1)
		}
		return 0
	}
	c.print(out)
	return 0
}

// captureLog prints the console log of a capture as it was on the screen.
func captureLog(f *file.File, asJSON bool, out, errw io.Writer) int {
	for _, l := range f.Console() {
		text := l.Text
		if l.Typed {
			text = "(hdb) " + text
		}
		if asJSON {
			if err := json.NewEncoder(out).Encode(l); err != nil {
				return fail(errw, err, 1)
			}
			continue
		}
		fmt.Fprintln(out, screen.Clean(text))
	}
	if len(f.Console()) == 0 {
		warn(errw, "the capture has no console log")
	}
	return 0
}

func summarize(path string, f *file.File) *captureSummary {
	info := f.Info()
	c := &captureSummary{
		File: path, Bytes: f.Size(), Format: info.Version, Created: info.Created, Aggregate: info.Aggregate,
		Program: info.Program, Args: info.Args, PID: info.PID, Host: info.Host, Kernel: info.Kernel, Arch: info.Arch, Start: info.Start,
		Events: f.Len(), Totals: info.Totals, Stacks: f.Stacks(), Functions: len(f.Functions()), Modules: len(f.Modules()),
		Threads: len(f.Threads()), Stops: len(f.Stops()), Samples: len(f.Samples()), Log: len(f.Console()), Parts: f.Parts(),
		Stopped: append([]capture.StopRecord{}, f.Stops()...), Marks: append([]capture.MarkRecord{}, f.Marks()...), Losses: []captureLoss{}, Partial: append([]string{}, report.ReasonTexts(info.Partial)...),
	}
	var from, to time.Duration
	c.First, c.Last, from, to = f.Span()
	c.From, c.To = from, to
	for _, p := range c.Parts {
		if p.Kind == "events" && c.Events > 0 {
			c.PerEvent = float64(p.Bytes) / float64(c.Events)
		}
	}
	at := map[capture.Reason]int{}
	for _, l := range f.Losses() {
		i, ok := at[l.Reason]
		if !ok {
			i = len(c.Losses)
			at[l.Reason] = i
			c.Losses = append(c.Losses, captureLoss{Reason: report.ReasonText(l.Reason)})
		}
		c.Losses[i].Count += l.Count
		c.Losses[i].Places++
	}
	if err := f.Damage(); err != nil {
		c.Damage = strings.TrimPrefix(err.Error(), path+": ")
	}
	return c
}

// print is the summary for people.
func (c *captureSummary) print(out io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-10s %s\n", name, screen.Clean(fmt.Sprintf(format, args...)))
	}
	line("file", "%s, %s", c.File, units.Short(c.Bytes))
	line("format", "%s, by %s", c.Format, c.Created)
	line("program", "%s", strings.Join(append([]string{c.Program}, c.Args...), " "))
	process := fmt.Sprintf("%d on %s, %s", c.PID, c.Host, c.Arch)
	if c.Kernel != "" { // hdb kept none before, and anonymize leaves it out
		process += ", kernel " + c.Kernel
	}
	line("process", "%s", process)
	line("start", "%s", c.Start.Format(time.RFC3339))
	switch {
	case c.Aggregate:
		line("events", "none, sums of %s", units.Count(c.Totals.Events, "event"))
	case c.Events == 0:
		line("events", "none")
	default:
		line("events", "%s, #%d to #%d, %s to %s, %.2f bytes each", units.Count(c.Events, "event"), c.First, c.Last,
			units.Time(c.From), units.Time(c.To), c.PerEvent)
	}
	t := c.Totals
	line("totals", "blocks and mappings: %s of %s, %s freed, %s failed", units.Grouped(t.Allocs), units.Short(t.Bytes), units.Grouped(t.Frees), units.Grouped(t.Failed))
	line("tables", "%s, %s, %s, %s, %s, %s, %s", units.Count(c.Stacks, "stack"), units.Count(c.Functions, "function"),
		units.Count(c.Modules, "module"), units.Count(c.Threads, "thread"), units.Count(c.Stops, "stop"), units.Count(c.Samples, "sample"), units.Count(c.Log, "line")+" of console")
	for _, p := range c.Parts {
		line("  "+filepath.Base(p.Kind), "%10s  %7s  %s", units.Short(p.Bytes), units.Percent(p.Bytes, c.Bytes), units.Count(p.Chunks, "chunk"))
	}
	const shown = 20
	for i, s := range c.Stopped {
		if i == shown {
			line("stop", "and %d more", len(c.Stopped)-shown)
			break
		}
		line("stop", "%d, after #%d, %s: %s", i+1, s.Seq, units.Time(s.Time), s.Text)
	}
	for i, m := range c.Marks {
		if i == shown {
			line("mark", "and %d more", len(c.Marks)-shown)
			break
		}
		line("mark", "%s, after #%d, %s", m.Name, m.Seq, units.Time(m.Time))
	}
	for _, why := range c.Partial {
		line("partial", "%s", why)
	}
	for i, l := range c.Losses {
		if i == shown {
			line("lost", "for %d more reasons", len(c.Losses)-shown)
			break
		}
		line("lost", "%s at %s: %s", units.Count(l.Count, "call"), units.Count(l.Places, "place"), l.Reason)
	}
	if c.Damage != "" {
		line("damage", "%s", c.Damage)
	} else {
		line("damage", "none is known: hdb capture check reads all")
	}
}

// captureCheck is `hdb capture check`.
func captureCheck(paths []string, out, errw io.Writer) (code int) {
	for _, path := range paths {
		f, err := file.OpenWhole(path)
		if err != nil {
			return fail(errw, err, exitTarget)
		}
		wrong := f.Verify()
		lost := lostParts(f)
		found := "damaged or wrong"
		if len(wrong) == 0 {
			found = cmp.Or(cutText(f), found)
		}
		f.Close()
		if len(wrong)+len(lost) == 0 {
			what := units.Count(f.Len(), "event")
			if info := f.Info(); info.Aggregate {
				what = "sums of " + units.Count(info.Totals.Events, "event")
			}
			if info := f.Info(); len(info.Partial) > 0 {
				what += "; partial: " + strings.Join(report.ReasonTexts(info.Partial), "; ")
			}
			if lost := f.Info().Totals.Lost; lost > 0 {
				what += "; " + units.Count(lost, "call") + " lost while it was recorded"
			}
			fmt.Fprintf(out, "%s: whole, %s\n", screen.Clean(path), screen.Clean(what))
			continue
		}
		code = 1
		fmt.Fprintf(out, "%s: %s\n", screen.Clean(path), found)
		for _, l := range append(lost, wrong...) {
			fmt.Fprintf(out, "  %s\n", screen.Clean(l))
		}
	}
	return code
}

// cutText says up to where a capture is complete of which nothing but the end is missing, "" of others.
func cutText(f *file.File) string {
	var d *capture.DamageError
	if !errors.As(f.Damage(), &d) || !d.OnlyEnd() {
		return ""
	}
	how := "cut off"
	if slices.ContainsFunc(d.Lost, func(l capture.Lost) bool { return l.Kind == capture.NotClosed }) {
		how = "not closed"
	}
	if info := f.Info(); info.Aggregate {
		return how + ": sums of " + units.Count(info.Totals.Events, "event")
	}
	if d.Events == 0 {
		return how + " before the first event"
	}
	_, last, _, to := f.Span()
	return fmt.Sprintf("%s: complete up to event #%d, %s", how, last, units.Time(to))
}

// lostParts are lines of what is lost of a capture.
func lostParts(f *file.File) []string {
	var d *capture.DamageError
	if !errors.As(f.Damage(), &d) {
		return nil
	}
	const shown = 20
	var lines []string
	for i, l := range d.Lost {
		if i == shown {
			lines = append(lines, fmt.Sprintf("%d more", len(d.Lost)-shown+d.More))
			break
		}
		lines = append(lines, l.String())
	}
	if d.Missing > 0 {
		lines = append(lines, atLeast(d.Open, units.Count(d.Missing, "event")+" missing"))
	}
	return append(lines, units.Count(d.Events, "event")+" can be read")
}

// atLeast is a text that begins with a number, to which there may be more.
func atLeast(more bool, text string) string {
	if more {
		return "at least " + text
	}
	return text
}
