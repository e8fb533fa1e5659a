package data

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/session"
	"hdb/session/view"
	"hdb/values"
)

func infoRegisters(_ context.Context, c *desk.Desk, in shell.Input) error {
	return showRegisters(c, in, false)
}

func infoAllRegisters(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) > 0 {
		return showRegisters(c, in, false)
	}
	in.Args = []string{"float", "vector", "ymm"}
	return showRegisters(c, in, true)
}

// showRegisters shows the registers that are named; with general, or if none is, all
// those that are no vectors.
func showRegisters(c *desk.Desk, in shell.Input, general bool) error {
	regs, err := c.Session.Selection.Registers()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, a := range in.Args {
		wanted[map[string]string{"pc": "rip", "sp": "rsp", "fp": "rbp"}[strings.TrimPrefix(a, "$")]] = true
		wanted[strings.TrimPrefix(a, "$")] = true
	}
	views := map[string]*string{}
	var rows [][]screen.Span
	for _, r := range regs {
		if len(in.Args) > 0 && !general && !wanted[r.Name] {
			continue
		}
		if !r.Known {
			views[r.Name] = nil
			rows = append(rows, []screen.Span{screen.Head(r.Name), screen.Guess("<not saved>"), {}})
			continue
		}
		value := fmt.Sprintf("%#x", r.Value)
		views[r.Name] = &value
		rows = append(rows, []screen.Span{screen.Head(r.Name), screen.Addr(value), screen.Plain(registerText(c.Session, r))})
	}
	for _, name := range vectorNames(in.Args) {
		value, err := c.Session.Values.Show("$"+name, registerOptions(name))
		if errors.Is(err, values.ErrNotSaved) {
			views[name] = nil
			rows = append(rows, []screen.Span{screen.Head(name), screen.Guess("<not saved>"), {}})
			continue
		}
		if general && errors.Is(err, values.ErrAbsent) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		views[name] = &value
		rows = append(rows, []screen.Span{screen.Head(name), {}, screen.Plain(value)})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no register %q", strings.Join(in.Args, " "))
	}
	c.Show(in, struct {
		Registers map[string]*string `json:"registers"`
	}{views}, func(o *screen.Output) { o.Table([]screen.Column{{}, {}, {}}, rows) })
	return nil
}

// vectorNames are the registers of x87, SSE and AVX that words of info registers ask for: float and
// vector represent all of a kind.
func vectorNames(words []string) []string {
	var out []string
	for _, w := range words {
		w = strings.TrimPrefix(w, "$")
		switch {
		case w == "float":
			for i := range 8 {
				out = append(out, fmt.Sprintf("st%d", i))
			}
		case w == "vector":
			for i := range 16 {
				out = append(out, fmt.Sprintf("xmm%d", i))
			}
			out = append(out, "mxcsr")
		case w == "ymm":
			for i := range 16 {
				out = append(out, fmt.Sprintf("ymm%d", i))
			}
		case strings.HasPrefix(w, "xmm"), strings.HasPrefix(w, "ymm"), strings.HasPrefix(w, "st"), w == "mxcsr":
			out = append(out, w)
		}
	}
	return out
}

// registerOptions show vectors in hexadecimal, as gdb does.
func registerOptions(name string) values.Options {
	o := values.Options{}
	if strings.HasPrefix(name, "xmm") || strings.HasPrefix(name, "ymm") {
		o.Letter = 'x'
	}
	return o
}

// registerText says what a register's value could be: a symbol or a number.
func registerText(s *session.Session, r view.Register) string {
	if r.Name == "eflags" {
		if text, err := s.Values.Show("$eflags", values.Options{}); err == nil {
			return text
		}
	}
	if sym, err := symbolAt(s, r.Value); err == nil {
		return "<" + sym + ">"
	}
	if r.Name == "rsp" || r.Name == "rbp" || strings.HasSuffix(r.Name, "_base") {
		return fmt.Sprintf("%#x", r.Value)
	}
	return fmt.Sprint(int64(r.Value))
}
