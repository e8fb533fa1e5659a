package console

import (
	"context"
	"fmt"
	"strings"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session"
	"hdb/session/target"
)

func infoProc(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return infoProcWord(ctx, c, in)
	}
	pid, exe, attached, lives := c.Session.Process()
	core, isCore := c.Session.Cores.Opened()
	if isCore {
		pid, exe = core.PID, core.Program
	}
	threads, err := c.Session.Selection.Threads()
	if err != nil {
		return err
	}
	args := c.Session.Settings.Args
	if isCore {
		args = core.Args
	}
	c.Show(in, struct {
		PID      int    `json:"pid"`
		Exe      string `json:"program"`
		Args     string `json:"args,omitempty"`
		Attached bool   `json:"attached"`
		Threads  int    `json:"thread_count"`
		Core     string `json:"core,omitempty"`
	}{pid, exe, args, attached, len(threads), core.Path}, func(o *screen.Output) {
		how := "launched"
		switch {
		case attached:
			how = "attached"
		case !lives:
			how = "of a core file"
		}
		o.Printf("process %d, %s, %s\n", pid, how, units.Count(len(threads), "thread"))
		o.Printf("program %s\n", exe)
		if args != "" {
			o.Printf("arguments %s\n", args)
		}
	})
	return nil
}

// infoProcWord shows one part of what the kernel tells about the process.
func infoProcWord(ctx context.Context, c *desk.Desk, in shell.Input) error {
	word := in.Arg(0)
	if strings.HasPrefix("mappings", word) {
		return infoMappings(ctx, c, in)
	}
	words := []session.ProcWord{session.ProcCmdline, session.ProcCwd, session.ProcExe, session.ProcStat, session.ProcStatus}
	for _, w := range words {
		if !strings.HasPrefix(string(w), word) || (len(word) == 1 && word != "e") {
			continue
		}
		text, err := c.Session.ProcText(w)
		if err != nil {
			return fmt.Errorf("info proc: %w", err)
		}
		c.Show(in, struct {
			Word string `json:"word"`
			Text string `json:"text"`
		}{string(w), text}, func(o *screen.Output) {
			if w == session.ProcStat || w == session.ProcStatus {
				for line := range strings.Lines(text) {
					o.Printf("%s\n", strings.ReplaceAll(strings.TrimRight(line, " \n"), "\t", " "))
				}
				return
			}
			o.Printf("%s = '%s'\n", w, text)
		})
		return nil
	}
	return fmt.Errorf("info proc: %q is none of cmdline, cwd, exe, mappings, stat, status", word)
}

func infoMappings(_ context.Context, c *desk.Desk, in shell.Input) error {
	maps, err := c.Session.Memory.Mappings()
	if err != nil {
		return err
	}
	type rowView struct {
		Low    string `json:"low"`
		High   string `json:"high"`
		Perm   string `json:"perm"`
		Offset uint64 `json:"offset"`
		Path   string `json:"path,omitempty"`
	}
	views := make([]rowView, 0, len(maps))
	var rows [][]screen.Span
	for _, m := range maps {
		views = append(views, rowView{m.Low.String(), m.High.String(), m.Perm, m.Offset, m.Path})
		rows = append(rows, []screen.Span{screen.Addr(m.Low.String()), screen.Addr(m.High.String()), screen.Plain(c.Out.Sizes.Short(uint64(m.High - m.Low))), screen.Plain(m.Perm), screen.Plain(fmt.Sprintf("%#x", m.Offset)), screen.File(m.Path)})
	}
	c.Show(in, struct {
		Mappings []rowView `json:"mappings"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "from", Right: true}, {Head: "to", Right: true}, {Head: "size", Right: true}, {Head: "perm"}, {Head: "in file", Right: true}, {Head: "file"}}, rows)
	})
	return nil
}

func infoProgram(_ context.Context, c *desk.Desk, in shell.Input) error {
	p, ok := c.Session.Program()
	if !ok {
		return target.ErrNoProgram
	}
	v := struct {
		programView
		Process *processView `json:"process,omitempty"`
	}{programView: viewProgram(p)}
	if c.Session.Mode() == target.Live {
		v.Process = viewProcess(c)
	}
	c.Show(in, v, func(o *screen.Output) {
		kind := v.Type
		if v.PIE {
			kind = "position-independent " + kind
		}
		if v.Static {
			kind = "static " + kind
		}
		o.Printf("%s: %s, %s\n", v.Path, kind, debugText(p))
		if v.BuildID != "" {
			o.Printf("build ID %s, entry point %s\n", v.BuildID, v.Entry)
		}
		if len(v.Languages) > 0 {
			o.Printf("languages %s\n", strings.Join(v.Languages, ", "))
		}
		if v.Process != nil {
			v.Process.print(o)
		}
	})
	return nil
}

// processView is where a process is.
type processView struct {
	PID      int    `json:"pid"`
	Attached bool   `json:"attached,omitempty"`
	Thread   int    `json:"thread,omitempty"`
	PC       string `json:"pc,omitempty"`
	Stop     string `json:"headline,omitempty"` // the headline of its last stop
}

func viewProcess(c *desk.Desk) *processView {
	var v processView
	v.PID, _, v.Attached, _ = c.Session.Process()
	v.Stop = c.Stopped[v.PID]
	threads, err := c.Session.Selection.Threads()
	if err != nil {
		return &v
	}
	for _, t := range threads {
		if t.Selected && t.Err == nil {
			v.Thread, v.PC = t.Num, t.Frame.Code.Addr().String()
		}
	}
	return &v
}

func (v *processView) print(o *screen.Output) {
	how := "was started by hdb"
	if v.Attached {
		how = "was attached to"
	}
	where := ""
	if v.PC != "" {
		where = fmt.Sprintf(", thread %d is at %s", v.Thread, v.PC)
	}
	o.Printf("process %d %s%s\n", v.PID, how, where)
	if v.Stop != "" {
		o.Printf("it stopped last at: %s\n", v.Stop)
	}
}

func infoAuxv(_ context.Context, c *desk.Desk, in shell.Input) error {
	entries, err := c.Session.Memory.Auxv()
	if err != nil {
		return err
	}
	type rowView struct {
		Type  uint64 `json:"type"`
		Name  string `json:"name,omitempty"`
		Value uint64 `json:"value"`
		Text  string `json:"text"`
	}
	views := []rowView{}
	var rows [][]screen.Span
	for _, e := range entries {
		views = append(views, rowView{e.Type, e.Name, e.Value, e.Text})
		rows = append(rows, []screen.Span{screen.Plain(fmt.Sprint(e.Type)), screen.Head(data.OrUnknown(e.Name)), screen.Guess(e.Meaning), screen.Plain(e.Text)})
	}
	c.Show(in, struct {
		Entries []rowView `json:"entries"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Right: true}, {Head: "entry"}, {Head: "meaning"}, {Head: "value"}}, rows)
	})
	return nil
}
