package console

import (
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/console/screen"
)

// layout takes over the terminal's size and the settings of colour and width.
// It is called before each command, since windows change.
func (c *Shell) layout() {
	for _, o := range []*screen.Output{c.out, c.err} {
		width, height, tty := screen.TerminalSize(o)
		color := c.wantsColor(tty)
		if n, err := strconv.Atoi(c.opt.Getenv("COLUMNS")); err == nil && n > 0 && !tty {
			width = n
		}
		if n, err := strconv.Atoi(c.set.value("width")); err == nil && n > 0 {
			width, tty = n, true
		}
		o.Width, o.Height, o.Fit = width, height, tty
		if n, err := strconv.Atoi(c.set.value("height")); err == nil && n > 0 {
			o.Height = n
		}
		if !c.set.flag("pagination") {
			o.Height = 0
		}
		o.Height = c.tui.ConsoleHeight(o.Height)
		o.Color = color
		o.Theme = screen.ThemeNamed(c.set.value("style"))
	}
	if c.notices.SetWidth(0); c.err.Fit {
		c.notices.SetWidth(c.err.Width)
	}
}

// printingTo has f print elsewhere. What it sets of the terminal holds behind it.
func (c *Shell) printingTo(o *screen.Output, f func() error) error {
	terminal := c.out
	c.out = o
	defer func() { c.out = terminal; c.layout() }()
	return f()
}

// wantsColor follows no-color.org and the CLICOLOR convention
// (bixense.com/clicolors), after the user's own setting.
func (c *Shell) wantsColor(tty bool) bool {
	if c.opt.JSON || c.set.value("style") == "off" {
		return false
	}
	if c.opt.Getenv("NO_COLOR") != "" {
		return false
	}
	if force := c.opt.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return tty && !c.opt.Batch && c.opt.Getenv("TERM") != "dumb" && c.opt.Getenv("CLICOLOR") != "0"
}

// interactive tells whether a person can be asked.
func (c *Shell) interactive() bool {
	return c.in != nil && c.in.Interactive() && !c.opt.Batch && !c.opt.JSON
}

// confirm asks the person who typed the command. A command of a script, and one
// that comes from no terminal, has nobody to ask: as in gdb the answer is then yes,
// which is said, and the line after it remains a command.
func (c *Shell) confirm(format string, args ...any) bool {
	if !c.set.flag("confirm") || c.opt.Batch || c.opt.JSON {
		return true
	}
	question := screen.Clean(screen.Sprintf(format, args...)) + " (y or n) "
	if scripted := c.interp.depth > 0 || c.interp.hooking; scripted || !c.interactive() {
		c.Notify(question + "[answered y: input is not from a terminal]")
		return true
	}
	for {
		answer, err := c.readLine(question)
		if err != nil {
			return false
		}
		if yes, ok := yesOrNo(answer); ok {
			return yes
		}
		c.say("Please answer y or n.")
	}
}

// yesOrNo reads an answer; ok tells that it is one.
func yesOrNo(answer string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, true
	case "n", "no":
		return false, true
	}
	return false, false
}

// readLine reads a line. No notice comes between what a person types.
func (c *Shell) readLine(prompt string) (string, error) {
	if c.in.Interactive() {
		c.tui.BeforePrompt()
		c.notices.Hold()
		defer c.notices.Release()
	}
	line, err := c.sig.read(c.in, prompt)
	if err == nil {
		c.notices.Keep(prompt + screen.Clean(line) + "\n")
	}
	return line, err
}

// askMore is the pager's question.
func (c *Shell) askMore() bool {
	if !c.interactive() || c.bg != nil { // the process waits for what is done beside it
		return true
	}
	const question = "-- more: Enter, c (all of it), q (no more) -- "
	read := func() (string, error) { return c.in.ReadLine(question) }
	if keys, ok := c.in.(line.KeyReader); ok {
		read = func() (string, error) { return keys.ReadKey(question) }
	}
	c.notices.Hold()
	c.tui.SetQuestion(question)
	answer, err := c.sig.await(c.in, read)
	c.tui.SetQuestion("")
	c.notices.Release()
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "q":
		return false
	case "c":
		c.out.Height = 0 // until layout sets it for the next command
	}
	return true
}
