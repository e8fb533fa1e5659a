package console

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hdb/console/shell"
	"hdb/testprogs"
)

// A tabber is a person who presses Tab behind everything before a line that begins
// with Tab is typed. It is pressed where liner does: on the reader's goroutine.
type tabber struct {
	typist
	offered map[string][]string // behind "thread ", by the line that was typed then
}

func (t *tabber) ReadLine(prompt string) (string, error) {
	if len(t.lines) > 0 && t.lines[0][0] == '\t' {
		t.lines[0] = t.lines[0][1:]
		commandTable(nil).Each(func(full string, cmd *shell.Command) {
			for _, rest := range []string{"", " ", " zz", " 1", " alloc if s", " z y ", ` "`} {
				t.complete(context.Background(), full+rest, len(full+rest))
			}
		})
		for _, s := range settingTable(nil) {
			line := "set " + s.Name + " "
			t.complete(context.Background(), line, len(line))
		}
		_, words, _ := t.complete(context.Background(), "thread ", len("thread "))
		t.offered[t.lines[0]] = words
	}
	return t.typist.ReadLine(prompt)
}

// TestCompletionInEveryState presses Tab behind every command and kind of argument:
// each may ask the session, which has an owner, and may have nothing to ask.
func TestCompletionInEveryState(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, st := range []struct {
		name, prog string
		lines      []string
		want       map[string][]string
	}{
		{"launched", "threads", []string{
			"\techo empty", "file PROG", "\techo loaded", "break work", "record start", "commands 1", "\techo in a block", "end",
			"run 1 1 > /dev/null", "\techo stopped", "next-alloc", "\techo at an allocation", "save CAPTURE", "delete 1", "continue", "\techo ended",
			"open CAPTURE", "\techo saved", "prev-alloc", "\techo back",
		}, map[string][]string{
			"echo empty": nil, "echo loaded": nil, "echo ended": nil,
			"echo stopped": {"1", "2", "apply"}, "echo at an allocation": {"1", "2", "apply"}, "echo saved": {"1", "2", "apply"},
		}},
		{"go", "golang", []string{"file PROG", "\techo loaded", "break main.chain", "run > /dev/null", "\techo stopped"}, nil},
	} {
		t.Run(st.name, func(t *testing.T) {
			dir := t.TempDir()
			paths := strings.NewReplacer("PROG", testprogs.Build(t, st.prog), "CAPTURE", filepath.Join(dir, "c.hdb"))
			t.Chdir(dir)
			in := &tabber{offered: map[string][]string{}}
			in.person = true
			for _, line := range st.lines {
				in.lines = append(in.lines, paths.Replace(line))
			}
			s := newStage(t, func(cfg *Config) { cfg.In = in })
			s.Top("set confirm off")
			s.Top("set pagination off")
			s.Run()
			if errs := s.err.String(); strings.Contains(errs, "no completion") || strings.Contains(errs, "error: ") || len(in.lines) > 0 {
				t.Errorf("printed %s\n%s", s.out.String(), errs)
			}
			for line, want := range st.want {
				if got := in.offered[line]; !slices.Equal(got, want) {
					t.Errorf("%s: offers threads %q, want %q", line, got, want)
				}
			}
		})
	}
}

// TestCompletionThatPanics loses the completion and nothing else.
func TestCompletionThatPanics(t *testing.T) {
	in := &tabber{offered: map[string][]string{}}
	in.person, in.lines = true, []string{"\techo goes on"}
	s := newStage(t, func(cfg *Config) { cfg.In = in })
	s.Table.Commands = append(s.Table.Commands, nil) // what completes a command's name does not expect
	s.Run()
	if want := "warning: no completion of \"echo\": error in hdb: "; !strings.Contains(s.err.String(), want) {
		t.Errorf("printed %q, want %q", s.err.String(), want)
	}
	if !strings.Contains(s.out.String(), "goes on\n") {
		t.Errorf("printed %q", s.out.String())
	}
}

// TestCompletionIsGivenUp: what Tab looks for in all names of a program ends with Ctrl-C,
// and offers nothing then.
func TestCompletionIsGivenUp(t *testing.T) {
	st := newStage(t, nil)
	if _, err := st.Session.Load(testprogs.Build(t, "basic")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ctx  context.Context
		some bool
	}{{t.Context(), true}, {newCountdown(0), false}} {
		_, words, _ := st.Complete(c.ctx, "break ma", len("break ma"))
		if slices.Contains(words, "main ") != c.some {
			t.Errorf("to the end %v: %q", c.some, words)
		}
	}
}
