package data

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
)

func sourceCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "search", Aliases: []string{"forward-search", "fo"}, Group: shell.GroupData, Raw: true, Synopsis: "REGEXP", Short: "find the next line that matches, after the last one listed", Repeat: shell.RepeatSame, Needs: shell.NeedProgram, Run: c.Does(searcher(1)),
			Long: "`list` then shows the lines around it.\n\nExample:\n  search malloc\\("},
		{Name: "reverse-search", Aliases: []string{"rev"}, Group: shell.GroupData, Raw: true, Synopsis: "REGEXP", Short: "find the previous line that matches, before the last one listed", Repeat: shell.RepeatSame, Needs: shell.NeedProgram, Run: c.Does(searcher(-1)),
			Long: "Example:\n  reverse-search ^static"},
	}
}

// searcher finds a line from the one listed last on, forwards or backwards.
func searcher(step int) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		if in.Raw == "" {
			return fmt.Errorf("%s: a regular expression must follow", in.Name)
		}
		re, err := desk.Pattern(in.Raw)
		if err != nil {
			return err
		}
		l := c.Source.Listing
		from := l.Last + 1
		switch {
		case l.Found > 0:
			from = l.Found + step
		case l.Last > 0 && step < 0:
			from = l.First - 1
		case l.Last == 0:
			file, line, language, current := c.Source.Here()
			if file == "" {
				return fmt.Errorf("%s: no source here: list FILE:LINE first", in.Name)
			}
			l = desk.Listing{File: file, Language: language, Current: current}
			from = line + step
		}
		src, err := c.Session.Names().Source(l.File)
		if err != nil {
			return err
		}
		for n := from; n >= 1 && n <= src.Last(); n += step {
			text, ok := src.Line(n)
			if !ok || !re.MatchString(text) {
				continue
			}
			l.First, l.Last, l.Found = n, n, n
			c.Source.Listing = l
			showFound(c, in, n, text)
			return nil
		}
		hint := ""
		if step < 0 && (c.Table.Missing("reverse-"+in.Raw) != nil || in.Raw == "continue") {
			hint = fmt.Sprintf(" (rev is gdb's reverse-search; for delve's rev %s: see help reverse-%s)", in.Raw, in.Raw)
		}
		return fmt.Errorf("%s: no line of %s from %d on matches %s%s", in.Name, screen.ShortPath(l.File), max(from, 1), in.Raw, hint)
	}
}

func showFound(c *desk.Desk, in shell.Input, n int, text string) {
	l := c.Source.Listing
	w := screen.Window{File: l.File, Language: l.Language, First: n, Lines: []string{text}, Current: l.Current}
	c.Show(in, struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Text string `json:"text"`
	}{l.File, n, text}, func(o *screen.Output) { w.Print(o, c.Set.Count("tab-width")) })
}

// costMargin puts what the lines of a window allocated before them.
func costMargin(sizes units.Sizes, w *screen.Window, costs map[int]query.LineCost) {
	w.Margin = func(n int) string {
		cost, ok := costs[n]
		if !ok {
			return strings.Repeat(" ", 22)
		}
		return fmt.Sprintf("%10s %9s  ", sizes.Short(cost.Bytes), units.Grouped(cost.Count))
	}
}

// costHead is above the margin.
var costHead = fmt.Sprintf("%10s %9s", "bytes", "calls")

func infoSource(_ context.Context, c *desk.Desk, in shell.Input) error {
	file, line, language, _ := c.Source.Here()
	if file == "" {
		return errors.New("no source file: the code has no line information")
	}
	type view struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Found    string `json:"found,omitempty"`
		Lines    int    `json:"line_count,omitempty"`
		Kept     bool   `json:"kept,omitempty"`    // only what the capture kept of it
		Changed  bool   `json:"changed,omitempty"` // the file here is another than the capture's
		Language string `json:"language,omitempty"`
		CompDir  string `json:"compilation_directory,omitempty"`
		Producer string `json:"producer,omitempty"`
		DWARF    int    `json:"dwarf_version,omitempty"`
		Module   string `json:"module,omitempty"`
		Error    string `json:"error,omitempty"`
	}
	v := view{File: file, Line: line, Language: language}
	if src, err := c.Session.Names().Source(file); err != nil {
		v.Error = err.Error()
	} else {
		v.Found, v.Lines, v.Kept, v.Changed = src.Path, src.Last(), !src.Whole(), src.Changed
	}
	if unit, module, ok := c.Session.Locations.UnitAt(); ok {
		v.CompDir, v.Producer, v.DWARF, v.Module = unit.CompDir, unit.Producer, unit.Version, module
		if v.Language == "" {
			v.Language = unit.Language.String()
		}
	}
	c.Show(in, v, func(o *screen.Output) {
		o.Line(screen.File(fmt.Sprintf("%s:%d", v.File, v.Line)), screen.Plain(" "+v.Language))
		switch {
		case v.Error != "":
			o.Printf("not found: %s\n", v.Error)
		case v.Changed:
			o.Printf("from the capture, up to line %d: the file on this machine has changed since\n", v.Lines)
		case v.Kept:
			o.Printf("from the capture, up to line %d\n", v.Lines)
		case v.Found != v.File:
			o.Printf("read from %s, %s\n", v.Found, units.Count(v.Lines, "line"))
		default:
			o.Printf("%s\n", units.Count(v.Lines, "line"))
		}
		if v.CompDir != "" {
			o.Printf("compiled in %s\n", v.CompDir)
		}
		if v.Producer != "" {
			o.Printf("by %s, DWARF %d\n", v.Producer, v.DWARF)
		}
		if v.Module != "" {
			o.Printf("into %s\n", screen.ShortPath(v.Module))
		}
	})
	return nil
}

func infoTypes(_ context.Context, c *desk.Desk, in shell.Input) error {
	return showGlobals(c, in, "types", c.Session.Names().Symbols.Types)
}

func infoVariables(_ context.Context, c *desk.Desk, in shell.Input) error {
	return showGlobals(c, in, "variables", c.Session.Names().Symbols.Variables)
}

func showGlobals(c *desk.Desk, in shell.Input, what string, find func(*regexp.Regexp) ([]names.GlobalInfo, error)) error {
	re, err := desk.Pattern(in.Raw)
	if err != nil {
		return err
	}
	found, err := find(re)
	if err != nil {
		return err
	}
	type view struct {
		Name   string `json:"name"`
		Kind   string `json:"kind,omitempty"`
		Addr   string `json:"address,omitempty"`
		Size   uint64 `json:"size,omitempty"`
		File   string `json:"file,omitempty"`
		Line   int    `json:"line,omitempty"`
		Module string `json:"module"`
		Source string `json:"source"`
	}
	views := make([]view, 0, len(found))
	var rows [][]screen.Span
	for _, g := range found {
		v := view{Name: g.Name, Kind: g.Kind, Size: g.Size, File: g.File, Line: g.Line, Module: g.Module, Source: g.From.String()}
		if g.Addr != 0 {
			v.Addr = g.Addr.String()
		}
		views = append(views, v)
		place := screen.Guess("[" + screen.ShortPath(g.Module) + "]")
		if g.File != "" {
			place = screen.File(fmt.Sprintf("%s:%d", screen.ShortPath(g.File), g.Line))
		}
		first := screen.Addr(v.Addr)
		if what == "types" {
			first = screen.Plain(g.Kind)
		}
		rows = append(rows, []screen.Span{first, place, screen.Type(g.Name)})
	}
	c.Show(in, map[string]any{what: views}, func(o *screen.Output) {
		if len(rows) == 0 {
			o.Printf("none of the %s that are known matches\n", what)
			return
		}
		head := "address"
		if what == "types" {
			head = "kind"
		}
		o.Table([]screen.Column{{Head: head}, {Head: "place"}, {Head: "name"}}, rows)
	})
	return nil
}
