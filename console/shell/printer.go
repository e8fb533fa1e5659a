package shell

import (
	"os"
	"strings"

	"hdb/console/screen"
)

// A Printer prints what commands have found and what happens while they run, in words or as JSON.
type Printer struct {
	Opt     Options
	Out     *screen.Output // data
	Err     *screen.Output // messages
	Notices screen.Notices
}

// NewPrinter is a Printer of its own, for the answer to one question.
func NewPrinter(opt Options) *Printer {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	p := &Printer{Opt: opt}
	p.Out, p.Err = &screen.Output{W: opt.Out, Notices: &p.Notices}, &screen.Output{W: opt.Err, Notices: &p.Notices}
	return p
}

// Show prints what a command found: as JSON when that was asked for, else as
// text does it.
func (p *Printer) Show(in Input, data any, text func(o *screen.Output)) {
	if p.Opt.JSON {
		p.Out.Raw(JSONLine(in.Name, data))
		return
	}
	text(p.Out)
}

// Say prints one line about what a command did. It is not data: with --json it
// goes to standard error.
func (p *Printer) Say(format string, args ...any) {
	if p.Opt.JSON {
		p.Err.Printf(format+"\n", args...)
		return
	}
	defer p.Out.Whole()() // it is done
	p.Out.Printf(format+"\n", args...)
}

// ShowCareful is show with caveats.
func (p *Printer) ShowCareful(in Input, data any, gaps []string, text func(o *screen.Output)) {
	if p.Opt.JSON {
		p.Out.Raw(JSONLine(in.Name, data, gaps...))
		return
	}
	text(p.Out)
	p.Out.Careful(gaps)
}

// Warn prints an error that fails no command.
func (p *Printer) Warn(err error) {
	p.Err.Line(screen.Warning("warning: "), screen.Plain(err.Error()))
}

// Notify prints a line about something that happened while the command ran. Any goroutine may call it.
func (p *Printer) Notify(line string) {
	if p.Opt.JSON {
		p.Notices.Print(p.Opt.Out, JSONLine("notice", notice{line}))
		return
	}
	p.Notices.Print(p.Opt.Err, p.Notices.Wrapped(strings.TrimRight(screen.Clean(line), " "))+"\n")
}

// Print prints texts of the program's stops that continue, as dprintf. Any goroutine may call it.
func (p *Printer) Print(texts ...string) {
	var b strings.Builder
	for _, text := range texts {
		if p.Opt.JSON {
			text = JSONLine("dprintf", struct {
				Text string `json:"text"`
			}{text})
		} else {
			text = screen.CleanTabs(text)
		}
		b.WriteString(text)
	}
	p.Notices.Print(p.Opt.Out, b.String())
}
