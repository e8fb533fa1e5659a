package console

import (
	"context"
	"fmt"
	"strings"

	"hdb/capture"
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session"
)

func statusCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "info", Aliases: []string{"i", "inf", "in"}, Group: shell.GroupStatus, Synopsis: "WORD [ARGS...]", Short: "show facts about the program and the session", Args: []shell.ArgKind{shell.ArgSub}},
		{Name: "auxv", Under: "info", Short: "show the auxiliary vector that the kernel gave the program", Needs: shell.NeedMemory, Run: c.Does(infoAuxv), Repeat: shell.RepeatNone},
		{Name: "proc", Under: "info", Short: "show facts about the process", Synopsis: "[cmdline|cwd|exe|mappings|stat|status]", Args: []shell.ArgKind{shell.ArgWord}, Needs: shell.NeedMemory, Run: c.Does(infoProc), Repeat: shell.RepeatNone,
			Long: "With a word it shows that part only, as the kernel reports it.\n\nExamples:\n  info proc mappings\n  info proc cwd"},
		{Name: "mappings", Under: "info", Aliases: []string{"maps"}, Short: "list the memory mappings of the process", Needs: shell.NeedMemory, Run: c.Does(infoMappings), Repeat: shell.RepeatNone},
		{Name: "program", Under: "info", Aliases: []string{"file", "files"}, Short: "show the program's file, and where its process is stopped", Needs: shell.NeedProgram, Run: c.Does(infoProgram), Repeat: shell.RepeatNone},
		{Name: "log", Under: "info", While: shell.RunsAlongside, Short: "show what was typed and printed in this session, or while the capture was made", Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgWord}, Run: c.Does(infoLog), Repeat: shell.RepeatNone,
			Long: "With N it shows the last N lines. Each line begins with the last event recorded before it, and that event's time. `save` stores the log in the capture, at most its last 32,768 lines or its last MiB. A typed line that begins with a blank is not logged; `set log off` stops logging and deletes the log; `hdb capture anonymize` removes it.\n\nExample:\n  info log 20"},
		{Name: "capture", Under: "info", While: shell.RunsAlongside, Short: "show where a capture comes from", Run: c.Does(infoCapture), Repeat: shell.RepeatNone},
		{Name: "symbols", Under: "info", Short: "show where each module's names come from, and how to get missing ones", Synopsis: "[ADDRESS]", Raw: true, Needs: shell.NeedProgram, Run: c.Does(infoSymbols), Repeat: shell.RepeatNone,
			Long: "For each module it shows the share of the recorded frames in it, what was found (DWARF, minidebuginfo, a symbol table, dynamic symbols, nothing), where hdb searched for debug files, and what to install or to set. `hdb doctor` prints the same. With an address it is info symbol.\n\nExample:\n  info symbols"},
	}
}

type captureView struct {
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	PID     int      `json:"pid"`
	Start   string   `json:"start"`
	Host    string   `json:"host,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Arch    string   `json:"arch"`
	Created string   `json:"created_by"`
	Version string   `json:"format,omitempty"`
	Events  uint64   `json:"event_count"`
	Allocs  uint64   `json:"obtained"`
	Frees   uint64   `json:"released"`
	Failed  uint64   `json:"obtain_failed"`
	Bytes   uint64   `json:"obtained_bytes"`
	Last    int64    `json:"duration_ns"`
	Partial []string `json:"partial,omitempty"`
	Lost    uint64   `json:"lost_events,omitempty"` // calls
	Damage  string   `json:"damage,omitempty"`
}

// viewCapture is info of the recording, with what makes its numbers less certain.
func viewCapture(s *session.Session, i capture.Info) captureView {
	t, careful := i.Totals, s.Recorded.Caveats()
	return captureView{i.Program, i.Args, i.PID, i.Start.UTC().Format("2006-01-02T15:04:05Z"), i.Host, i.Kernel, i.Arch, i.Created, i.Version,
		t.Events, t.Allocs, t.Frees, t.Failed, t.Bytes, t.Last.Nanoseconds(), report.ReasonTexts(careful.Partial), careful.Lost, report.DamageText(careful.Damage)}
}

func infoCapture(_ context.Context, c *desk.Desk, in shell.Input) error {
	info, err := c.Session.Recorded.Info()
	if err != nil {
		return err
	}
	v := viewCapture(c.Session, info)
	c.Show(in, v, func(o *screen.Output) {
		process := fmt.Sprintf("%d on %s, %s", v.PID, data.OrUnknown(v.Host), v.Arch)
		if v.Kernel != "" {
			process += ", kernel " + v.Kernel
		}
		rows := [][]screen.Span{
			{screen.Head("program"), screen.Plain(strings.Join(append([]string{v.Program}, v.Args...), " "))},
			{screen.Head("process"), screen.Plain(process)},
			{screen.Head("started"), screen.Plain(v.Start)},
			{screen.Head("recorded by"), screen.Plain(v.Created)},
			{screen.Head("events"), screen.Plain(fmt.Sprintf("%s; blocks and mappings: %s of %s, %s freed, %s failed", units.Grouped(v.Events), units.Grouped(v.Allocs), c.Out.Sizes.Long(v.Bytes), units.Grouped(v.Frees), units.Grouped(v.Failed)))},
			{screen.Head("until"), screen.Plain(units.Time(info.Totals.Last))},
		}
		if len(v.Partial) > 0 {
			rows = append(rows, []screen.Span{screen.Head("partial"), screen.Plain(strings.Join(v.Partial, "; "))})
		}
		if v.Lost > 0 {
			rows = append(rows, []screen.Span{screen.Head("lost"), screen.Warning(units.Count(v.Lost, "call") + ": record status tells why")})
		}
		if v.Damage != "" {
			rows = append(rows, []screen.Span{screen.Head("damage"), screen.Warning(v.Damage)})
		}
		o.Table([]screen.Column{{}, {}}, rows)
	})
	return nil
}
