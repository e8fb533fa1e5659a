package data

import (
	"context"
	"errors"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/query"
)

func dataCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "list", Aliases: []string{"l", "ls"}, Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNext, Needs: shell.NeedProgram, Run: c.Does(RunList),
			Synopsis: "[-cost]\n-\n[-cost] N\n[-cost] A,B\n[-cost] [FILE:]FUNCTION\n[-cost] FILE:LINE\n[-cost] -function NAME | -line N | -source FILE -line N\n[-cost] *ADDRESS\n[-cost] #EVENT", Short: "show source lines",
			Long: "Without arguments it shows the lines around the selected frame's line; repeated, the lines that follow; `list -` goes back. The arrow => marks the frame's line. `set listsize` sets the number of lines.\n\n" +
				"-cost shows before each line the bytes and calls of the recorded allocations for which it is the innermost line of the user's code. Allocations of inlined functions count for their own lines and for the line of the call, once for each.\n\n" +
				"Examples:\n  list\n  list 120\n  list 100,140\n  list Index::read_page\n  list index.cc:188\n  list -source index.cc -line 188\n  list #4711\n  list -cost Index::read_page"},
		{Name: "x", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[/NFU] [ADDRESS]", Short: "show memory", Repeat: shell.RepeatNext, Needs: shell.NeedMemory, Run: c.Does(desk.RunExamine),
			Long: "N is how many units to show, from ADDRESS on; -N shows the N units before it; F is x (hexadecimal), d, u, o, t (binary), a (address with its symbol), c, f, s (string) or i (instruction); U is b, h, w or g for 1, 2, 4 or 8 bytes. ADDRESS is a number, $register or symbol, with + and -, or #EVENT for the block that an event made. An empty line continues after the memory shown, or with -N before it." +
				"\n\nExamples:\n  x/4xg $rsp\n  x/s 0x55555578a2c0\n  x/5i $pc\n  x/-5i $pc"},
		{Name: "directory", Aliases: []string{"dir"}, Group: shell.GroupData, Synopsis: "[DIRECTORY...]", Short: "add directories to search for sources, or remove all of them", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runDirectory),
			Long: "Example:\n  directory /home/me/src"},
	}
}

// RunList is list.
func RunList(_ context.Context, c *desk.Desk, in shell.Input) error {
	raw, cost := flags.Cut(in.Raw, "cost")
	in.Raw = strings.TrimSpace(raw)
	cost = cost || in.Repeated && c.Source.Listing.Cost
	r, err := c.Source.Parse(in.Raw)
	if err != nil {
		return err
	}
	var costs map[int]query.LineCost
	if cost {
		if costs, err = c.Session.Queries.LineCosts(r.File); err != nil {
			return err
		}
	}
	w, err := c.Source.Window(r.File, r.Language, r.First, r.Last, r.Current)
	var past *desk.PastEndError
	if errors.As(err, &past) && r.Asked > 0 {
		past.Line = r.Asked
	}
	if err != nil {
		return err
	}
	last := w.First + len(w.Lines) - 1
	c.Source.Listing = desk.Listing{File: r.File, Language: r.Language, First: w.First, Last: last, Current: r.Current, Cost: cost}
	type lineView struct {
		Line  int    `json:"line"`
		Text  string `json:"text"`
		Bytes uint64 `json:"allocated_bytes,omitempty"`
		Calls uint64 `json:"allocations,omitempty"`
	}
	var lines []lineView
	for i, l := range w.Lines {
		lines = append(lines, lineView{w.First + i, l, costs[w.First+i].Bytes, costs[w.First+i].Count})
	}
	show := c.Show
	if cost {
		show = c.Answer
	}
	show(in, struct {
		File    string     `json:"file"`
		Current int        `json:"current_line,omitempty"`
		Lines   []lineView `json:"lines"`
	}{r.File, r.Current, lines}, func(o *screen.Output) {
		if c.Split.Shows(o) && !cost {
			return // before the next prompt
		}
		if in.Raw != "" && in.Raw != "-" {
			o.Line(screen.File(screen.ShortPath(r.File)))
		}
		if cost {
			o.Line(screen.Guess(costHead))
			costMargin(c.Out.Sizes, &w, costs)
		}
		w.Print(o, c.Set.Count("tab-width"))
	})
	return nil
}

func runDirectory(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) == 0 {
		if !c.Confirm("Remove all source directories?") {
			return nil
		}
		desk.SetSources(c, c.Session.Names().Sources.Substitute, nil)
		return nil
	}
	dirs := desk.SplitPath(strings.Join(in.Args, ":"))
	desk.SetSources(c, c.Session.Names().Sources.Substitute, append(dirs, c.Session.Names().Sources.Dirs...))
	clear(c.Source.Missing)
	c.Say("sources are searched for in %s", strings.Join(c.Session.Names().Sources.Dirs, ":"))
	return nil
}
