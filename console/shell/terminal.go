package shell

import (
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/console/screen"
)

// Layout takes over the terminal's size and the settings of colour and width.
// It is called before each command, since windows change.
func (c *Shell) Layout() {
	for _, o := range []*screen.Output{c.Out, c.Err} {
		width, height, tty := screen.TerminalSize(o)
		color := c.wantsColor(tty)
		if n, err := strconv.Atoi(c.Opt.Getenv("COLUMNS")); err == nil && n > 0 && !tty {
			width = n
		}
		if n, err := strconv.Atoi(c.Set.Value("width")); err == nil && n > 0 {
			width, tty = n, true
		}
		o.Width, o.Height, o.Fit = width, height, tty
		if n, err := strconv.Atoi(c.Set.Value("height")); err == nil && n > 0 {
			o.Height = n
		}
		if !c.Set.Flag("pagination") {
			o.Height = 0
		}
		o.Height = c.Split.ConsoleHeight(o.Height)
		o.Color = color
		o.Theme = screen.ThemeNamed(c.Set.Value("style"))
	}
	if c.Notices.SetWidth(0); c.Err.Fit {
		c.Notices.SetWidth(c.Err.Width)
	}
}

// PrintingTo has f print elsewhere. What it sets of the terminal holds behind it.
func (c *Shell) PrintingTo(o *screen.Output, f func() error) error {
	terminal := c.Out
	c.Out = o
	defer func() { c.Out = terminal; c.Layout() }()
	return f()
}

// wantsColor follows no-color.org and the CLICOLOR convention
// (bixense.com/clicolors), after the user's own setting.
func (c *Shell) wantsColor(tty bool) bool {
	if c.Opt.JSON || c.Set.Value("style") == "off" {
		return false
	}
	if c.Opt.Getenv("NO_COLOR") != "" {
		return false
	}
	if force := c.Opt.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return tty && !c.Opt.Batch && c.Opt.Getenv("TERM") != "dumb" && c.Opt.Getenv("CLICOLOR") != "0"
}

// Interactive reports whether a person can be asked.
func (c *Shell) Interactive() bool {
	return c.In != nil && c.In.Interactive() && !c.Opt.Batch && !c.Opt.JSON
}

// Confirm asks the person who typed the command. A command of a script, and one that comes from no
// terminal, has no one to ask: as in gdb the answer is then yes, which is said, and the line after
// it remains a command.
func (c *Shell) Confirm(format string, args ...any) bool {
	if !c.Set.Flag("confirm") || c.Opt.Batch || c.Opt.JSON {
		return true
	}
	question := screen.Clean(screen.Sprintf(format, args...)) + " (y or n) "
	if scripted := c.interp.depth > 0 || c.interp.hooking; scripted || !c.Interactive() {
		c.Notify(question + "[answered y: input is not from a terminal]")
		return true
	}
	for {
		answer, err := c.ReadLine(question)
		if err != nil {
			return false
		}
		if yes, ok := YesOrNo(answer); ok {
			return yes
		}
		c.Say("Please answer y or n.")
	}
}

// YesOrNo reads an answer; ok tells that it is one.
func YesOrNo(answer string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, true
	case "n", "no":
		return false, true
	}
	return false, false
}

// ReadLine reads a line. No notice comes between what a person types.
func (c *Shell) ReadLine(prompt string) (string, error) {
	if c.In.Interactive() {
		c.Split.BeforePrompt()
		c.Notices.Hold()
		defer c.Notices.Release()
	}
	line, err := c.sig.read(c.In, prompt)
	if err == nil {
		c.Notices.Keep(prompt + screen.Clean(line) + "\n")
	}
	return line, err
}

// askMore is the pager's question.
func (c *Shell) askMore() bool {
	if !c.Interactive() || c.Bg != nil { // the process waits for what is done meanwhile
		return true
	}
	const question = "-- more: Enter, c (all of it), q (no more) -- "
	read := func() (string, error) { return c.In.ReadLine(question) }
	if keys, ok := c.In.(line.KeyReader); ok {
		read = func() (string, error) { return keys.ReadKey(question) }
	}
	c.Notices.Hold()
	c.Split.SetQuestion(question)
	answer, err := c.sig.await(c.In, read)
	c.Split.SetQuestion("")
	c.Notices.Release()
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "q":
		return false
	case "c":
		c.Out.Height = 0 // until layout sets it for the next command
	}
	return true
}
