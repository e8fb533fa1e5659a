package console

import (
	"strings"

	"hdb/console/screen"
)

// Notify prints a line about something that happened beside the command: it is
// what session.Config.Notify should call. Any goroutine may call it.
func (c *Shell) Notify(line string) {
	if c.opt.JSON {
		c.notices.Print(c.opt.Out, jsonLine("notice", notice{line}))
		return
	}
	c.notices.Print(c.opt.Err, c.notices.Wrapped(strings.TrimRight(screen.Clean(line), " "))+"\n")
}

// Print prints texts of the program's stops that go on, as dprintf: it is what
// session.Config.Print should call. Any goroutine may call it.
func (c *Shell) Print(texts ...string) {
	var b strings.Builder
	for _, text := range texts {
		if c.opt.JSON {
			text = jsonLine("dprintf", struct {
				Text string `json:"text"`
			}{text})
		} else {
			text = screen.CleanTabs(text)
		}
		b.WriteString(text)
	}
	c.notices.Print(c.opt.Out, b.String())
}
