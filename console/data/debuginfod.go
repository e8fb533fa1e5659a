package data

import (
	"context"
	"fmt"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/symbols/debuginfod"
)

// StartDebuginfod takes the servers from the environment. A person is asked before the
// first of them is; scripts say so by `set debuginfod on`, and then wait for what they
// need.
func StartDebuginfod(c *desk.Desk) {
	if c.Session == nil {
		return
	}
	cfg := debuginfod.FromEnv(c.Opt.Getenv)
	cfg.UserAgent = "hdb/" + c.Opt.Version
	c.Session.Names().Debuginfod.Configure(cfg, !c.Interactive())
	if c.Interactive() && len(cfg.URLs) > 0 {
		c.Session.Symbols.SetDebuginfod(names.DebuginfodAsk)
	}
}

// SetDebuginfod is the setting debuginfod.
func SetDebuginfod(c *desk.Desk, v string) error {
	c.Session.Symbols.SetDebuginfod(names.DebuginfodMode(v))
	if v != "off" && len(c.Session.Names().Debuginfod.Servers()) == 0 {
		c.Notify("debuginfod: no server to ask: set DEBUGINFOD_URLS")
	}
	return nil
}

// AskDebuginfod asks once, before a prompt, whether the servers may be asked for what
// commands have missed. To want no questions is no leave to use the network. A line
// that is no answer was typed for the prompt: it is the next command, and no yes.
func AskDebuginfod(c *desk.Desk) {
	if !c.Interactive() || c.Session.Names().Debuginfod.Waiting() == 0 {
		return
	}
	mode := names.DebuginfodOff
	if c.Set.Flag("confirm") {
		c.Say("debug info is missing that these servers may have:")
		for _, url := range c.Session.Names().Debuginfod.Servers() {
			c.Say("  %s", url)
		}
		answer, err := c.ReadLine("Ask them in this session? (y or n) ")
		yes, ok := shell.YesOrNo(answer)
		switch {
		case err != nil:
		case yes:
			mode = names.DebuginfodOn
		case !ok:
			c.Unread(answer)
		}
	}
	c.Session.Symbols.SetDebuginfod(mode)
	if mode == names.DebuginfodOn {
		c.Say("`config -save` keeps the answer for later sessions")
		return
	}
	c.Say("debuginfod is off: `set debuginfod on` asks the servers")
}

// FetchedText says in a line what servers have sent.
func FetchedText(f names.Fetched) string {
	if f.Files == 0 {
		if f.Failed == 1 {
			return f.String() // the reason
		}
		return f.String() + ": see `info debuginfod`"
	}
	it := "it"
	if f.Files > 1 {
		it = "them"
	}
	arrived := names.Fetched{Files: f.Files, Last: f.Last}
	text := fmt.Sprintf("%v: the next stop uses %s, or `symbols refresh` now", arrived, it)
	if f.Failed > 0 {
		text += fmt.Sprintf("; %d could not be fetched: see `info debuginfod`", f.Failed)
	}
	return text
}

type downloadView struct {
	BuildID string `json:"build_id"`
	Source  string `json:"source,omitempty"`
	Path    string `json:"path,omitempty"`
	Done    int64  `json:"done_bytes,omitempty"`
	Total   int64  `json:"total_bytes,omitempty"`
	Error   string `json:"error,omitempty"`
}

func viewDownloads(rows []names.DownloadStatus) (views []downloadView) {
	for _, row := range rows {
		v := downloadView{BuildID: row.BuildID, Source: row.File, Path: row.Path, Done: row.Done, Total: max(row.Total, 0)}
		if row.Err != nil {
			v.Error = row.Err.Error()
		}
		views = append(views, v)
	}
	return views
}

// what is the file.
func (v downloadView) what() string {
	if v.Source == "" {
		return "debug info"
	}
	return v.Source
}

// state says where a file is, or why it is nowhere.
func (v downloadView) state(sizes units.Sizes) string {
	switch {
	case v.Error != "":
		return v.Error
	case v.Path != "":
		return screen.ShortPath(v.Path)
	case v.Total > 0:
		return "on the way: " + sizes.Long(uint64(v.Done)) + " of " + sizes.Long(uint64(v.Total))
	}
	return "on the way: " + sizes.Long(uint64(v.Done))
}

func infoDebuginfod(_ context.Context, c *desk.Desk, in shell.Input) error {
	d := c.Session.Names().Debuginfod
	view := struct {
		Mode    string         `json:"mode"`
		Servers []string       `json:"servers"`
		Cache   string         `json:"cache,omitempty"`
		Files   []downloadView `json:"files"`
	}{Mode: string(d.Mode()), Servers: append([]string{}, d.Servers()...), Cache: d.CacheDir(), Files: []downloadView{}}
	view.Files = append(view.Files, viewDownloads(d.Downloads())...)
	c.Show(in, view, func(o *screen.Output) {
		if len(view.Servers) == 0 {
			o.Printf("debuginfod is %s; DEBUGINFOD_URLS names no server\n", view.Mode)
			return
		}
		o.Printf("debuginfod is %s; files are kept in %s\n", view.Mode, screen.ShortPath(view.Cache))
		for _, url := range view.Servers {
			o.Line(screen.Plain("  "), screen.File(url))
		}
		var rows [][]screen.Span
		for _, v := range view.Files {
			rows = append(rows, []screen.Span{screen.Guess(v.BuildID[:min(len(v.BuildID), 12)]), screen.Plain(v.what()), screen.Plain(v.state(o.Sizes))})
		}
		if len(rows) > 0 {
			o.Table([]screen.Column{{Head: "build ID"}, {Head: "file"}, {Head: "state"}}, rows)
		}
	})
	return nil
}
