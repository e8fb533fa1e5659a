package stops

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/session/stepping"
)

func runJump(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw == "" {
		return errors.New("jump: a location must follow: a line, a function or *ADDRESS")
	}
	p, inside, err := c.Session.Stepping.JumpPlace(in.Raw)
	if err != nil {
		return fmt.Errorf("jump: %w", err)
	}
	if !inside && !c.Confirm("%s is not in the function of the innermost frame. Jump anyway?", desk.PlaceText(p)) {
		return nil
	}
	if !c.Opt.JSON {
		c.Say("continuing at %s", desk.PlaceText(p))
	}
	return desk.Reported(c, in)(c.Session.Stepping.Jump(p.Addr))
}

func runReturn(_ context.Context, c *desk.Desk, in shell.Input) error {
	f, err := c.Session.Selection.Frame()
	if err != nil {
		return err
	}
	if !c.Confirm("Make %s return now?", screen.ShortName(f.Function)) {
		return nil
	}
	r, err := c.Session.Stepping.Return(in.Raw)
	if err != nil {
		return fmt.Errorf("return: %w", err)
	}
	return desk.Reported(c, in)(r, nil)
}

func runSignal(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) != 1 {
		return errors.New("signal: a signal must follow, or 0 for none")
	}
	if !c.Opt.JSON {
		if in.Args[0] == "0" {
			c.Say("continuing without a signal")
		} else {
			c.Say("continuing with signal %s", in.Args[0])
		}
	}
	return desk.Reported(c, in)(c.Session.Stepping.Signal(in.Args[0]))
}

// runSkip is skip with its own words.
func runSkip(_ context.Context, c *desk.Desk, in shell.Input) error {
	skips := &c.Session.Stepping.Skips
	word, rest := shell.SplitWord(in.Raw)
	switch word {
	case "delete", "enable", "disable":
		return changeSkips(skips, word, rest)
	case "file":
		if rest == "" {
			f, err := c.Session.Selection.Frame()
			if err != nil || f.File == "" {
				return errors.Join(err, errors.New("skip file: the selected frame has no source file: give a name"))
			}
			rest = f.File
		}
		return tellSkip(c, in)(skips.Add("", rest))
	case "function":
		word = rest
	default:
		word = in.Raw
	}
	if word == "" {
		f, err := c.Session.Selection.Frame()
		if err != nil || f.Function == "" {
			return errors.Join(err, errors.New("skip: the selected frame has no name: give one"))
		}
		word = f.Function
	}
	return tellSkip(c, in)(skips.Add(word, ""))
}

func changeSkips(skips *stepping.Skips, verb, number string) error {
	id := 0
	if number != "" {
		var err error
		if id, err = skipNumber(skips, number); err != nil {
			return fmt.Errorf("skip %s: %q: %w", verb, number, err)
		}
	}
	if verb == "delete" {
		return skips.Delete(id)
	}
	return skips.Enable(id, verb == "enable")
}

// skipNumber reads a number, or what a skip was made with.
func skipNumber(skips *stepping.Skips, text string) (int, error) {
	if id, err := strconv.Atoi(text); err == nil && id > 0 {
		return id, nil
	}
	function, file := text, ""
	switch word, rest := shell.SplitWord(text); {
	case word == "function" && rest != "":
		function = rest
	case word == "file" && rest != "":
		function, file = "", rest
	}
	for _, x := range skips.All() {
		if x.Function == function && x.File == file {
			return x.ID, nil
		}
	}
	return 0, errors.New("the number or the name of a skip expected: see info skip")
}

type skipView struct {
	ID       int    `json:"skip"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Enabled  bool   `json:"enabled"`
}

// tellSkip shows a skip that was made.
func tellSkip(c *desk.Desk, in shell.Input) func(*stepping.Skip, error) error {
	return func(x *stepping.Skip, err error) error {
		if err != nil {
			return err
		}
		c.Show(in, skipView(*x), func(o *screen.Output) { o.Printf("%s\n", skipText(x)) })
		return nil
	}
}

func skipText(x *stepping.Skip) string {
	off := ""
	if !x.Enabled {
		off = "  (disabled)"
	}
	if x.File != "" {
		return fmt.Sprintf("skip %d: functions of %s%s", x.ID, x.File, off)
	}
	return fmt.Sprintf("skip %d: %s%s", x.ID, x.Function, off)
}

func infoSkip(_ context.Context, c *desk.Desk, in shell.Input) error {
	all := c.Session.Stepping.Skips.All()
	views := make([]skipView, 0, len(all))
	for _, x := range all {
		views = append(views, skipView(*x))
	}
	c.Show(in, struct {
		Skips []skipView `json:"skips"`
	}{views}, func(o *screen.Output) {
		for _, x := range all {
			o.Printf("%s\n", skipText(x))
		}
		if len(all) == 0 {
			o.Printf("step enters all functions with lines: see `help skip`\n")
		}
	})
	return nil
}
