package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/console/stops"
	"hdb/internal/units"
	"hdb/session"
	"hdb/symbols"
)

func fileCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "file", Aliases: []string{"exec-file"}, Group: shell.GroupFiles, Synopsis: "PROGRAM", Short: "choose the program to run", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runFile),
			Long: "A name without a slash is searched for in the working directory and then in PATH.\n\nExample:\n  file ./server"},
		{Name: "cd", Group: shell.GroupFiles, Synopsis: "[DIRECTORY]", Short: "change the working directory of hdb, and of programs that it starts", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runCd),
			Long: "Without DIRECTORY it is the home directory. `set cwd` changes it for the programs only.\n\nExample:\n  cd build"},
		{Name: "pwd", Group: shell.GroupFiles, Short: "print the working directory", Repeat: shell.RepeatNone, Run: c.Does(runPwd)},
		{Name: "save", Group: shell.GroupFiles, Synopsis: "FILE [--force]\nbreakpoints FILE [--force]", Short: "save the recording and the stops to a capture, or the stops as commands", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runSave),
			Long: "The capture has stacks, modules with their build IDs, resolved names and the source lines they need, so that it opens on machines without the program and its source. An existing file is only replaced with --force.\n\n`save breakpoints` writes a FILE for `source`: commands that set the numbered stops again, with conditions, counts and commands, and the settings of handle and skip. Watchpoints are skipped if there is no process when it is sourced.\n\nExamples:\n  save big-pages.hdb\n  save breakpoints stops.hdb"},
		{Name: "open", Group: shell.GroupFiles, Synopsis: "CAPTURE", Short: "open a capture", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runOpen),
			Long: "allocs, live, top, bt, list, frame, goto and info work on it as on a process.\n\nIf there is a process, the capture opens in a nested console; `quit` returns to the still-stopped process. In a script, without a terminal, use `diff CAPTURE` to compare, or `shell hdb VERB CAPTURE` to query it.\n\nExample:\n  open big-pages.hdb"},
		allocs.ExportCommand(c),
	}
}

type programView struct {
	Path      string   `json:"path"`
	Type      string   `json:"type"`
	Debug     string   `json:"debug"`
	DebugFile string   `json:"debug_file,omitempty"`
	DWARF     int      `json:"dwarf_version,omitempty"`
	Units     int      `json:"units,omitempty"`
	BuildID   string   `json:"build_id,omitempty"`
	Languages []string `json:"languages,omitempty"`
	Go        bool     `json:"go,omitempty"`
	Static    bool     `json:"static,omitempty"`
	PIE       bool     `json:"pie,omitempty"`
	Entry     string   `json:"entry"`
	Problem   string   `json:"problem,omitempty"`
}

func viewProgram(p session.ProgramInfo) programView {
	return programView{p.Path, p.Type, p.Debug.String(), p.DebugFile, p.DWARFVersion, p.Units, p.BuildID, p.Languages,
		p.Go, p.Static, p.PIE, p.Entry.String(), p.Problem}
}

// debugText says what is known of a program's source.
func debugText(p session.ProgramInfo) string {
	text := p.Debug.String()
	switch p.Debug {
	case symbols.DebugDWARF:
		text = fmt.Sprintf("debug info found (DWARF %d, %s)", p.DWARFVersion, units.Count(p.Units, "unit"))
		if p.DebugFile != "" {
			text += " in " + p.DebugFile
		}
	case symbols.DebugNone:
		text = "no symbols at all"
	}
	if p.Problem != "" {
		text += "; " + p.Problem
	}
	return text
}

// Load makes path the program, as `file` does, and says what is known of it.
func (c *Console) Load(path string) error {
	if _, err := c.Session.Load(path); err != nil {
		return err
	}
	if !c.Opt.Quiet {
		p, _ := c.Session.Program()
		c.Notify(screen.ShortPath(p.Path) + ": " + debugText(p))
	}
	return nil
}

func runFile(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) != 1 {
		return errors.New("file: one program must follow")
	}
	if _, err := c.Session.Load(line.ExpandHome(in.Args[0])); err != nil {
		return err
	}
	p, _ := c.Session.Program()
	c.Source.Listing = desk.Listing{}
	c.Show(in, viewProgram(p), func(o *screen.Output) { o.Printf("%s: %s\n", screen.ShortPath(p.Path), debugText(p)) })
	return nil
}

func runCd(ctx context.Context, c *desk.Desk, in shell.Input) error {
	dir := "~"
	switch len(in.Args) {
	case 0:
	case 1:
		dir = in.Args[0]
	default:
		return errors.New("cd: one directory must follow")
	}
	if err := os.Chdir(line.ExpandHome(dir)); err != nil {
		return fmt.Errorf("cd: %w", err)
	}
	return runPwd(ctx, c, in)
}

func runPwd(_ context.Context, c *desk.Desk, in shell.Input) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("pwd: %w", err)
	}
	c.Show(in, struct {
		Directory string `json:"directory"`
	}{dir}, func(o *screen.Output) { o.Printf("working directory %s\n", dir) })
	return nil
}

func runSave(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 && in.Args[0] == "breakpoints" {
		return stops.SaveStops(c, in.Args[1:])
	}
	files, force, err := desk.ParseSave("save", in.Args)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return errors.New("save: one file must follow")
	}
	info, err := c.Session.Captures.Save(line.ExpandHome(files[0]), force)
	if err != nil {
		return err
	}
	desk.ShowSaved(c, in, info)
	return nil
}

// saveFirst asks whether what was recorded and not saved shall be, before hdb ends; stay tells
// that it shall not end. It asks only who typed the command at a terminal.
func saveFirst(c *desk.Desk) (stay bool, err error) {
	unsaved := c.Session.Captures.Unsaved()
	if unsaved == 0 || !c.Set.Flag("confirm") || !c.Interactive() || c.Scripted() {
		return false, nil
	}
	info, err := c.Session.Recorded.Info()
	if err != nil {
		return false, nil // nothing can be saved
	}
	path := fmt.Sprintf("%s.%d.hdb", filepath.Base(info.Program), info.PID)
	for {
		answer, err := c.ReadLine(screen.Clean(fmt.Sprintf("%s recorded and not saved. Save to %s? (y, n, or c to stay) ", units.Count(unsaved, "event"), path)))
		if err != nil {
			return true, nil
		}
		if yes, ok := shell.YesOrNo(answer); ok {
			if !yes {
				return false, nil
			}
			return false, runSave(context.Background(), c, shell.Input{Name: "save", Args: []string{path}})
		}
		if word := strings.ToLower(strings.TrimSpace(answer)); word == "c" || word == "cancel" {
			return true, nil
		}
		c.Say("Please answer y, n or c.")
	}
}

// openBeside looks at a capture while a process is under the debugger, in an hdb of its own that
// has the terminal until it is left.
func openBeside(c *desk.Desk, pid int, path string) error {
	if !c.Interactive() || c.Scripted() || c.Bg.Running() {
		return fmt.Errorf("open: process %d is under hdb: kill or detach it first, or use `diff %s` or `shell hdb top %s`", pid, path, path)
	}
	path = line.ExpandHome(path)
	if st, err := os.Stat(path); err != nil {
		return fmt.Errorf("open %s: %w", path, errors.Unwrap(err))
	} else if !st.Mode().IsRegular() {
		return fmt.Errorf("open %s: not a regular file", path)
	}
	c.Say("nested console on %s; quit returns to process %d, which stays stopped", screen.ShortPath(path), pid)
	defer c.Split.Pause()()
	if strings.HasPrefix(path, "-") { // which would be a flag
		path = "./" + path
	}
	cmd := exec.Command("/proc/self/exe", "open", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := shell.Aside(cmd.Run); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("open: %w", err)
	}
	c.Say("back at process %d", pid)
	return nil
}

// Open makes the session one about a capture, as `open` does.
func (c *Console) Open(path string) error {
	return runOpen(context.Background(), c.Desk, shell.Input{Name: "open", Args: []string{path}})
}

func runOpen(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) != 1 {
		return errors.New("open: one capture must follow")
	}
	if pid, _, _, live := c.Session.Process(); live {
		return openBeside(c, pid, in.Args[0])
	}
	info, err := c.Session.Captures.Open(line.ExpandHome(in.Args[0]))
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	readable, selected := c.Session.Captures.Opened()
	c.Answer(in, struct {
		captureView
		Readable int    `json:"events_readable"`
		Selected string `json:"selected,omitempty"`
	}{viewCapture(c.Session, info), readable, selected}, func(o *screen.Output) {
		o.Printf("%s: %s, pid %d, recorded %s by %s\n", filepath.Base(in.Args[0]), strings.Join(append([]string{info.Program}, info.Args...), " "),
			info.PID, info.Start.Format("2006-01-02 15:04:05 MST"), info.Created)
		events := units.Count(readable, "event")
		if total := info.Totals.Events; uint64(readable) < total {
			events = fmt.Sprintf("%s of %s can be read,", units.Grouped(readable), units.Count(total, "event"))
		} else if _, seen := c.Session.Recorded.Counts(); seen > total {
			events = fmt.Sprintf("%s of %s recorded,", units.Grouped(readable), units.Count(seen, "event"))
		}
		o.Printf("%s over %s\n", events, units.Time(info.Totals.Last))
		if selected != "" {
			o.Printf("selected: %s\n", desk.WithSizes(c, selected))
		}
	})
	return nil
}
