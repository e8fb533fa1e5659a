package data

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/symbols"
)

func macroCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "macro", Group: shell.GroupData, Short: "expand preprocessor macros", Sub: []*shell.Command{
			{Name: "expand", Aliases: []string{"exp"}, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "EXPRESSION", Short: "show an expression with its macros expanded", Needs: shell.NeedProgram, Run: c.Does(runMacroExpand), Repeat: shell.RepeatNone,
				Long: "The macros are those defined at the line of the selected frame, or in main if there is no process. print, conditions and all other expressions expand macros, too. Compilers write macros to the debug information with -g3.\n\nExample:\n  macro expand MAX(a, 5)"},
		}},
	}
}

// macroInfos are the words behind info.
func macroInfos(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "macro", Under: "info", Args: []shell.ArgKind{shell.ArgWord}, Synopsis: "NAME", Short: "show the definition of a macro, and its place", Needs: shell.NeedProgram, Run: c.Does(infoMacro), Repeat: shell.RepeatNone,
			Long: "It is the definition at the line of the selected frame, or in main if there is no process. Compilers write macros to the debug information with -g3.\n\nExample:\n  info macro MAX_ITEMS"},
		{Name: "macros", Under: "info", Short: "list the macros defined at the line of the selected frame", Needs: shell.NeedProgram, Run: c.Does(infoMacros), Repeat: shell.RepeatNone},
	}
}

type macroView struct {
	Name     string   `json:"name"`
	Define   string   `json:"define"`
	Place    string   `json:"place"`
	Included []string `json:"included,omitempty"`
}

func viewOfMacro(m symbols.Macro) macroView {
	v := macroView{Name: m.Name, Define: m.String(), Place: m.Place.String()}
	for _, p := range m.Place.Included {
		v.Included = append(v.Included, p.String())
	}
	return v
}

func infoMacro(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) != 1 {
		return errors.New("info macro: the name of a macro must follow")
	}
	m, ok, err := c.Session.Scopes.Macro(in.Args[0])
	if err == nil && !ok {
		err = fmt.Errorf("%s is not a macro here", in.Args[0])
	}
	if err != nil {
		return fmt.Errorf("info macro: %w", err)
	}
	v := viewOfMacro(m)
	c.Show(in, v, func(o *screen.Output) {
		o.Text("Defined at " + v.Place + "\n")
		for _, at := range v.Included {
			o.Text("  included at " + at + "\n")
		}
		o.Text(v.Define + "\n")
	})
	return nil
}

func infoMacros(_ context.Context, c *desk.Desk, in shell.Input) error {
	list, err := c.Session.Scopes.Macros()
	if err != nil {
		return fmt.Errorf("info macros: %w", err)
	}
	views := make([]macroView, 0, len(list))
	for _, m := range list {
		views = append(views, viewOfMacro(m))
	}
	c.Show(in, struct {
		Macros []macroView `json:"macros"`
	}{views}, func(o *screen.Output) {
		for _, v := range views {
			o.Text(v.Define + "\n")
		}
	})
	return nil
}

func runMacroExpand(_ context.Context, c *desk.Desk, in shell.Input) error {
	if strings.TrimSpace(in.Raw) == "" {
		return errors.New("macro expand: an expression must follow")
	}
	text, err := c.Session.Scopes.ExpandMacros(in.Raw)
	if err != nil {
		return fmt.Errorf("macro expand: %w", err)
	}
	c.Show(in, struct {
		Text string `json:"text"`
	}{text}, func(o *screen.Output) { o.Text("expands to: " + text + "\n") })
	return nil
}
