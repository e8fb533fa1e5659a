package desk

import (
	"fmt"
	"path/filepath"
	"strings"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/query"
	"hdb/session"
)

// tracedView is what a trace reports, in JSON.
type tracedView struct {
	Stop     int           `json:"stop"`
	What     string        `json:"what"` // call, return, left or place
	Thread   int           `json:"thread"`
	TID      int           `json:"tid"`
	Depth    int           `json:"depth"`
	Function string        `json:"function"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Args     []ValueView   `json:"arguments,omitempty"`
	Returned *returnedView `json:"returned,omitempty"`
	Why      string        `json:"why,omitempty"`
}

// Traced prints what a trace describes: it is what session.Config.Traced should call. Any goroutine
// may call it.
func (c *Desk) Traced(t session.Traced) {
	if !c.Opt.JSON {
		c.Notices.Print(c.Opt.Out, screen.CleanTabs(tracedText(t))+"\n")
		return
	}
	v := tracedView{Stop: t.Stop, What: "call", Thread: t.Thread.Num, TID: t.Thread.TID, Depth: t.Depth,
		Function: t.Frame.Name(), File: t.Frame.File, Line: t.Frame.Line, Args: FrameArgs{0: t.Args}.View(0), Why: t.Why}
	switch {
	case t.Place:
		v.What = "place"
	case t.Left:
		v.What = "left"
	case t.Return:
		v.What = "return"
		v.Returned = tracedReturn(t)
	}
	c.Notices.Print(c.Opt.Out, shell.JSONLine("trace", v))
}

// tracedReturn is the value of a return; nil: there is none.
func tracedReturn(t session.Traced) *returnedView {
	switch {
	case t.Value != nil:
		return &returnedView{Type: t.Value.Type, Value: t.Value.Value}
	case t.Why != "":
		return &returnedView{RAX: fmt.Sprintf("%#x", t.RAX), Why: t.Why}
	}
	return nil
}

// tracedText is a line: > for a call, < for a return, * for a place, and behind the thread
// two blanks for each call that this one is inside of.
func tracedText(t session.Traced) string {
	text := fmt.Sprintf("> thread %d: %s", t.Thread.Num, strings.Repeat("  ", t.Depth))
	switch {
	case t.Return, t.Left:
		text = "<" + text[1:]
	case t.Place:
		text = "*" + text[1:]
	}
	text += screen.ShortName(query.WithoutParameters(t.Frame.Name()))
	if t.Left {
		return text + " was left by an exception or longjmp"
	}
	if t.Return {
		switch {
		case t.Value != nil:
			return text + " = " + t.Value.Value
		case t.Why != "":
			return text + fmt.Sprintf(" returned: rax = %#x, its type is not known", t.RAX)
		}
		return text + " returned"
	}
	if t.Why == "" {
		args, _ := FrameArgs{t.Frame.Num: t.Args}.list(t.Frame)
		text += args
	}
	if t.Frame.File != "" {
		text += fmt.Sprintf("  %s:%d", filepath.Base(t.Frame.File), t.Frame.Line)
	}
	return text
}
