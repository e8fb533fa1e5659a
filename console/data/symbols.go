package data

import (
	"context"
	"errors"
	"fmt"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
)

func symbolCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "symbols", Group: shell.GroupFiles, Synopsis: "embed [FILE] [--force]\nrefresh", Short: "search for names again, or store them in a capture", Args: []shell.ArgKind{shell.ArgSub}, Repeat: shell.RepeatNone,
			Long: "hdb looks names up when they are needed, from a module's build ID and the address in its file. So if hdb was killed before it stored names, the capture still shows names on any machine that has the program's files. A file with a different build ID is not used.\n\n" +
				"Example:\n  symbols refresh",
			Sub: []*shell.Command{
				{Name: "embed", Synopsis: "[FILE] [--force]", Short: "rewrite the opened capture with all known names and source lines", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runSymbolsEmbed),
					Long: "The capture then has functions, inlined calls, lines, the origin of each name, and the source lines around them: it opens on machines without the program and its source. Without FILE it replaces the opened capture; another existing file is only replaced with --force. `save` does this for a process.\n\n" +
						"Example:\n  symbols embed everywhere.hdb"},
				{Name: "refresh", Short: "search for debug files and sources again", Needs: shell.NeedProgram, Repeat: shell.RepeatNone, Run: c.Does(runSymbolsRefresh),
					Long: "Use it after you install a debug file, or change `set debug-file-directory` or `set sysroot`. In a capture, names that are found replace stored names, unless the stored ones say more.\n\n" +
						"Example:\n  set debug-file-directory /usr/lib/debug:/home/me/debug\n  symbols refresh"},
			}},
	}
}

func runSymbolsEmbed(_ context.Context, c *desk.Desk, in shell.Input) error {
	files, force, err := desk.ParseSave("symbols embed", in.Args)
	if err != nil {
		return err
	}
	path := ""
	switch {
	case len(files) > 1:
		return errors.New("symbols embed: one file may follow")
	case len(files) == 1:
		path = line.ExpandHome(files[0])
	}
	info, err := c.Session.Captures.Embed(path, force)
	if err != nil {
		return err
	}
	c.Source.Listing = desk.Listing{}
	desk.ShowSaved(c, in, info)
	return nil
}

func runSymbolsRefresh(_ context.Context, c *desk.Desk, in shell.Input) error {
	changes, err := c.Session.Symbols.Refresh()
	if err != nil {
		return err
	}
	clear(c.Source.Missing)
	type view struct {
		Module    string `json:"module"`
		Path      string `json:"path"`
		Before    string `json:"names_before"`
		After     string `json:"names_after,omitempty"`
		DebugFile string `json:"debug_file,omitempty"`
		Error     string `json:"error,omitempty"`
	}
	coming := viewDownloads(c.Session.Names().Debuginfod.OnTheWay())
	views := make([]view, 0, len(changes))
	for _, ch := range changes {
		v := view{Module: ch.Module, Path: ch.Path, Before: ch.Before, After: ch.After, DebugFile: ch.DebugFile}
		if ch.Err != nil {
			v.Error = ch.Err.Error()
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Modules  []view         `json:"modules"`
		OnTheWay []downloadView `json:"on_the_way,omitempty"`
	}{views, coming}, func(o *screen.Output) {
		switch {
		case len(coming) > 0:
			defer printComing(o, coming)
		case len(views) == 0:
			o.Printf("nothing new was found\n")
		}
		for _, v := range views {
			switch {
			case v.Error != "":
				o.Line(screen.Head(v.Module), screen.Warning(": "+v.Error))
			case v.DebugFile != "":
				o.Line(screen.Head(v.Module), screen.Plain(fmt.Sprintf(": %s, was %s, in ", v.After, v.Before)), screen.File(screen.ShortPath(v.DebugFile)))
			default:
				o.Line(screen.Head(v.Module), screen.Plain(fmt.Sprintf(": %s, was %s, in ", v.After, v.Before)), screen.File(screen.ShortPath(v.Path)))
			}
		}
	})
	return nil
}

// printComing describes files that servers are sending: what they bring is not there yet.
func printComing(o *screen.Output, coming []downloadView) {
	const shown = 5
	for i, v := range coming {
		if i == shown {
			o.Printf("and %s\n", units.Count(len(coming)-shown, "file")+" more")
			break
		}
		name := v.what()
		if v.Source == "" {
			name += " of build ID " + v.BuildID
		}
		o.Line(screen.Plain(name + ": " + v.state(o.Sizes)))
	}
	o.Printf("files that arrive are used at the next stop, or by `symbols refresh`; see info debuginfod\n")
}
