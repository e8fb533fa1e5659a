package shell

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"hdb/capture"
)

// A bareHost is no program at all.
type bareHost struct{ failed []error }

func (h *bareHost) Check(need Need) error {
	if need == NeedLive {
		return errors.New("no process")
	}
	return nil
}
func (h *bareHost) Advise(err error) error                               { return err }
func (h *bareHost) Failed(err error)                                     { h.failed = append(h.failed, err) }
func (h *bareHost) Lost() error                                          { return nil }
func (h *bareHost) BeforePrompt()                                        {}
func (h *bareHost) Interrupt() error                                     { return nil }
func (h *bareHost) Pass(syscall.Signal) bool                             { return false }
func (h *bareHost) Going() bool                                          { return false }
func (h *bareHost) Alongside(f func())                                   { f() }
func (h *bareHost) KeepTerminal(bool)                                    {}
func (h *bareHost) StepsTaken() func() uint64                            { return nil }
func (h *bareHost) Within(*capture.Reading) func()                       { return func() {} }
func (h *bareHost) Moment()                                              {}
func (h *bareHost) Logged(string, bool)                                  {}
func (h *bareHost) Holds(expr string) (bool, error)                      { return expr == "yes", nil }
func (h *bareHost) Assign(string) (bool, error)                          { return false, nil }
func (h *bareHost) ShowVariables(Input) error                            { return nil }
func (h *bareHost) History(context.Context, Input) error                 { return nil }
func (h *bareHost) Words(ArgKind, string) []string                       { return nil }
func (h *bareHost) Expression(_ ArgKind, left, _ string) (int, []string) { return len(left), nil }

// bareShell is a shell with its own commands and a few more, which print their names and arguments.
func bareShell(t *testing.T) (c *Shell, h *bareHost, out, errs *bytes.Buffer) {
	t.Helper()
	h, out, errs = &bareHost{}, &bytes.Buffer{}, &bytes.Buffer{}
	c = New(Options{Out: out, Err: errs, Getenv: func(string) string { return "" }}, h)
	says := func(_ context.Context, in Input) error {
		c.Out.Printf("%s:%s\n", in.Name, strings.Join(in.Args, "+"))
		return nil
	}
	c.Use(&Table{
		Commands: append(c.Words(),
			&Command{Name: "same", Group: GroupData, Synopsis: "[N]", Repeat: RepeatSame, Run: says},
			&Command{Name: "onward", Group: GroupData, Synopsis: "[N]", Repeat: RepeatNext, Run: says},
			&Command{Name: "once", Group: GroupData, Synopsis: "[N]", Repeat: RepeatNone, Run: says},
			&Command{Name: "live", Group: GroupData, Needs: NeedLive, Run: says}),
		Missing: func(string) error { return nil },
	}, []*Setting{
		{Name: "confirm", Kind: KindBool, Default: "on"}, {Name: "pagination", Kind: KindBool, Default: "off"},
		{Name: "prompt", Default: "> "}, {Name: "width"}, {Name: "height"}, {Name: "style", Default: "off"},
	})
	return c, h, out, errs
}

func TestRepeated(t *testing.T) {
	c, _, _, _ := bareShell(t)
	for _, tc := range []struct{ line, again string }{
		{"same 3", "same 3"}, {"sam", "sam"}, {"onward 7", "onward"}, {"onw", "onward"}, {"once a", ""}, {"nonsense", ""}, {"# a comment", ""},
	} {
		c.interp.repeated(tc.line)
		if got := c.interp.repeated(""); got != tc.again {
			t.Errorf("after %q an empty line does %q, want %q", tc.line, got, tc.again)
		}
	}
}

// TestShellAlone runs lines without a program.
func TestShellAlone(t *testing.T) {
	c, h, out, errs := bareShell(t)
	for _, line := range []string{"same 1 'a b'", "alias o = onward 2", "o 3", "live", "frob", "with width 40 -- show width"} {
		c.Top(line)
	}
	if want := "same:1+a b\nonward:2+3\nwidth is 40\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if want := "error: no process\nerror: unknown command \"frob\": see `help`\n"; errs.String() != want || len(h.failed) != 2 {
		t.Errorf("said %q with %d failures, want %q with 2", errs, len(h.failed), want)
	}
}
