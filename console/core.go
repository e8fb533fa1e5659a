package console

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/session"
)

func coreCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "core-file", Aliases: []string{"core"}, Group: shell.GroupFiles, Synopsis: "[FILE]", Short: "open a core file", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runCoreFile),
			Long: "Stacks, variables and memory are shown as for a stopped process; nothing can be run or changed. The program is the one given by `file` if the core came from it, otherwise the one that the core names; its build ID must match the one in the core. File pages that the core leaves out are read from the files, if these are unchanged since they were mapped. Without FILE the core is closed; `run` closes it, too, and starts the program." +
				"\n\nExample:\n  core-file core.4711"},
		{Name: "gcore", Aliases: []string{"generate-core-file"}, Group: shell.GroupFiles, Synopsis: "[FILE] [--force]", Short: "write a core file of the process", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Needs: shell.NeedLive, Run: c.Does(runGcore),
			Long: "It is the file that the kernel would write if the process died here: /proc/PID/coredump_filter and madvise(2) decide which memory is in it. Breakpoints and the probe are left out. The selected thread is the first in it. Without FILE it is core.PID in hdb's working directory. An existing file is only replaced with --force.\n\nExample:\n  gcore stuck.core"},
	}
}

type coreView struct {
	Path    string          `json:"path"`
	Program string          `json:"program,omitempty"`
	PID     int             `json:"pid"`
	Args    string          `json:"args,omitempty"`
	Threads int             `json:"thread_count"`
	Missing uint64          `json:"missing_bytes,omitempty"`
	Damage  string          `json:"damage,omitempty"`
	Fault   string          `json:"fault_address,omitempty"`
	Stop    desk.ReportView `json:"stop"`
}

// Core makes the session one about a core file, as `core-file` does. program is the file
// that ran, "" to have it found.
func (c *Console) Core(path, program string) error {
	return openCore(c.Desk, shell.Input{Name: "core-file", Args: []string{path}}, path, program)
}

func runCoreFile(_ context.Context, c *desk.Desk, in shell.Input) error {
	switch len(in.Args) {
	case 0:
		if !c.Session.Cores.Close() {
			return errors.New("core-file: no core file is open")
		}
		c.Source.Listing = desk.Listing{}
		c.Say("the core file is let go")
		return nil
	case 1:
		return openCore(c, in, in.Args[0], "")
	}
	return errors.New("core-file: one core file must follow, or none")
}

func openCore(c *desk.Desk, in shell.Input, path, program string) error {
	if pid, _, _, live := c.Session.Process(); live {
		return fmt.Errorf("core-file: process %d is under hdb: kill or detach it first", pid)
	}
	info, r, err := c.Session.Cores.Open(line.ExpandHome(path), program)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	v := coreView{Path: info.Path, Program: info.Program, PID: info.PID, Args: info.Args, Threads: info.Threads, Missing: info.Missing, Stop: desk.ViewReport(r)}
	if info.Damage != nil {
		v.Damage = info.Damage.Error()
	}
	signal := r.Signal()
	if signal != nil && signal.IsFault() {
		v.Fault = signal.Addr.String()
	}
	c.Show(in, v, func(o *screen.Output) {
		o.Printf("%s\n", coreTitle(info))
		if info.Program != "" {
			o.Printf("program %s\n", screen.ShortPath(info.Program))
		}
		for _, lack := range coreLacks(info, c.Out.Sizes) {
			o.Line(screen.Warning("! " + lack))
		}
		if signal == nil {
			o.Printf("no signal: the process ran on   thread %d %s\n", r.Thread.Num, desk.Quoted(r.Thread.Name))
		}
		desk.PrintReport(c, o, r)
	})
	c.Eval.ShowDisplays()
	return nil
}

// coreTitle is what a core is of.
func coreTitle(info session.CoreInfo) string {
	what := info.Args
	if what == "" {
		what = info.Program
	}
	if what == "" {
		what = "an unknown program"
	}
	return fmt.Sprintf("%s: core of %s, pid %d, %s", filepath.Base(info.Path), what, info.PID, units.Count(info.Threads, "thread"))
}

// coreLacks is what is not in a core that should be.
func coreLacks(info session.CoreInfo, sizes units.Sizes) (lacks []string) {
	if info.Missing > 0 {
		lacks = append(lacks, fmt.Sprintf("the core is cut off: the last %s are missing (ulimit -c, or a full disk)", sizes.Short(info.Missing)))
	}
	if info.Damage != nil {
		lacks = append(lacks, "not all of its notes can be read: "+info.Damage.Error())
	}
	if info.Program == "" {
		lacks = append(lacks, "the core does not say which program ran: use file PROGRAM, then core-file again")
	}
	return lacks
}

func runGcore(_ context.Context, c *desk.Desk, in shell.Input) error {
	files, force, err := desk.ParseSave("gcore", in.Args)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		return errors.New("gcore: one file must follow, or none")
	}
	path := ""
	if len(files) == 1 {
		path = line.ExpandHome(files[0])
	}
	w, err := c.Session.Cores.Write(path, force)
	if err != nil {
		return fmt.Errorf("gcore: %w", err)
	}
	c.Show(in, struct {
		Path    string `json:"path"`
		Threads int    `json:"thread_count"`
		Size    int64  `json:"size"`
		Bytes   int64  `json:"disk_bytes"`
	}{w.Path, w.Threads, w.Size, w.Bytes}, func(o *screen.Output) {
		o.Printf("core file %s: %s, %s, %s on the disk\n", w.Path, units.Count(w.Threads, "thread"), o.Sizes.Short(uint64(w.Size)), o.Sizes.Short(uint64(w.Bytes)))
	})
	return nil
}
