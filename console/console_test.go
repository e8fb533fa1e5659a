package console

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/shell"
	"hdb/session"
	"hdb/session/target"
	"hdb/testprogs"
)

var update = flag.Bool("update", false, "write the generated documents instead of comparing them")

// typist is a line.Reader that types lines. Interactive, it records prompts.
type typist struct {
	lines    []string
	person   bool
	prompts  []string
	history  []string
	complete line.Completer
	closed   bool
}

func (t *typist) ReadLine(prompt string) (string, error) {
	t.prompts = append(t.prompts, prompt)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	next := t.lines[0]
	t.lines = t.lines[1:]
	if next == "^C" {
		return "", line.ErrCancelled
	}
	return next, nil
}

func (t *typist) Interactive() bool         { return t.person }
func (t *typist) SetHistory(lines []string) { t.history = slices.Clone(lines) }
func (t *typist) Close() error              { t.closed = true; return nil }
func (t *typist) SetCompleter(f line.Completer) {
	t.complete = f
}

// stage is a console with everything around it faked but the session.
type stage struct {
	*Console
	in       *typist
	out, err bytes.Buffer
	env      map[string]string
	home     string
}

func newStage(t *testing.T, change func(*Config), lines ...string) *stage {
	t.Helper()
	st := &stage{in: &typist{lines: lines}, home: t.TempDir()}
	st.env = map[string]string{"HOME": st.home, "SHELL": "/bin/sh"}
	cfg := Config{
		Session: session.New(target.Config{Version: "test", Cache: testprogs.Kept(t)}),
		NoInit:  true,
		Options: shell.Options{In: st.in, Out: &st.out, Err: &st.err, Version: "test", Getenv: func(name string) string { return st.env[name] }},
	}
	if change != nil {
		change(&cfg)
	}
	st.Console = New(cfg)
	return st
}

// play runs lines and returns what was printed to either stream.
func play(t *testing.T, lines ...string) (out, errs string, code int) {
	t.Helper()
	st := newStage(t, nil, lines...)
	code = st.Run()
	return st.out.String(), st.err.String(), code
}

func TestEcho(t *testing.T) {
	st := newStage(t, func(c *Config) { c.Echo = true }, "echo one", "# a comment", "", "define twice", "echo $arg0 $argc", "end", "twice a b")
	if code := st.Run(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	want := "(hdb) echo one\none\n(hdb) # a comment\n(hdb)\n(hdb) define twice\n    > echo $arg0 $argc\n    > end\n(hdb) twice a b\na 2\n"
	if got := st.out.String(); got != want {
		t.Errorf("transcript:\n%s\nwant:\n%s", got, want)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"brek main", `error: unknown command "brek": did you mean "break"?`},
		{"frobnicate", "error: unknown command \"frobnicate\": see `help`"},
		{"record frobnicate", "error: unknown record word \"frobnicate\": see `help record`"},
		{"commands 7", "error: no breakpoint 7: see info breakpoints; the block has no `end`"},
		{"heap", "error: no process: use run, start or attach"},
		{"events", "error: events: allocs lists recorded events"},
		{"top live", "error: no process and no recording: use run, start or attach, or open a capture"},
		{"leaks", "error: leaks: no process and no recording: use run, start or attach, or open a capture"},
		{"live", "error: no process and no recording: use run, start or attach, or open a capture"},
		{"allocs", "error: no process and no recording: use run, start or attach, or open a capture"},
		{"top size", "error: top: \"size\": a number of rows or `by live|bytes|count|temporary|peak|blocks|retained` expected"},
		{"s\x1b[31m", `error: `},
		{"di", `error: ambiguous command "di": diff, directory, disable, disassemble, display`},
		{"info", "error: info: one of address, "},
		{"info nothing", `error: unknown info word "nothing"`},
		{"set listsize many", `error: listsize: "many": a number or unlimited expected`},
		{"set stlye off", `error: unknown setting "stlye": did you mean "style"?`},
		{"set h 3", `error: ambiguous setting "h": height, history save, history size`},
		{"next", "error: no process: use run, start or attach"},
		{"run", "error: no program: use file, attach or open"},
		{"bt", "error: no process: use run, start or attach"},
		{"attach x", `error: attach: "x" is not a process ID`},
		{"source /nowhere/x", "error: open /nowhere/x: no such file or directory"},
		{"end", `error: unknown command "end"`},
		{`file "a`, "error: unfinished quote \""},
		{"alias bt = list", "error: alias: bt is a command of hdb"},
		{"alias q2 = nothing", `error: alias: unknown command "nothing"`},
		{"define info", "error: define info: the block has no `end`"},
		{"commands", "error: "},
		{"pipe help", "error: pipe: COMMAND | SHELL COMMAND expected"},
		{"quit nine", `error: quit: "nine": an exit code from 0 to 255 expected`},
		{"file /etc/passwd", "error: "},
		{"delete 7", "error: no breakpoint 7: see info breakpoints"},
		{"handle SIGNONE stop", `error: handle: no signal "SIGNONE"`},
		{"top by size", `error: top: "by size": `},
	} {
		t.Run(tc.line, func(t *testing.T) {
			out, errs, code := play(t, tc.line)
			if !strings.HasPrefix(errs, tc.want) || strings.Count(errs, "\n") != 1 || out != "" {
				t.Errorf("printed %q and %q, want %q on standard error", out, errs, tc.want)
			}
			if code != desk.ExitFailed {
				t.Errorf("exit code %d, want %d", code, desk.ExitFailed)
			}
			if hostile(errs, "\n") {
				t.Errorf("not clean: %q", errs)
			}
		})
	}
}

func TestRepeat(t *testing.T) {
	st := newStage(t, func(c *Config) { c.In.(*typist).person = true }, "define once", "echo x", "end", "once", "", "", "help quit", "", "# c", "")
	st.Run()
	if got := strings.Count(st.out.String(), "x\n"); got != 3 {
		t.Errorf("a definition ran %d times, want 3: %q", got, st.out.String())
	}
	if got := strings.Count(st.out.String(), "leave hdb"); got != 1 {
		t.Errorf("help was shown %d times, want 1", got)
	}
}

func TestRepeatForms(t *testing.T) {
	for _, tc := range []struct {
		line   string
		repeat shell.Repeat
		name   string
	}{
		{"next 3", shell.RepeatSame, "next"}, {"n", shell.RepeatSame, "next"}, {"list main", shell.RepeatNext, "list"}, {"l 1,2", shell.RepeatNext, "list"}, {"x/4xg $sp", shell.RepeatNext, "x"},
		{"run a", shell.RepeatNone, "run"}, {"info b", shell.RepeatNone, "info breakpoints"}, {"up", shell.RepeatSame, "up"}, {"quit", shell.RepeatNone, "quit"},
	} {
		cmd, _, name, err := commandTable(nil).Resolve(tc.line)
		if err != nil || cmd.Repeat != tc.repeat || name != tc.name {
			t.Errorf("an empty line after %q repeats %q by %v, %v; want %q by %v", tc.line, name, cmd.Repeat, err, tc.name, tc.repeat)
		}
	}
}

func TestBlocksNest(t *testing.T) {
	out, errs, _ := play(t, "define outer", "  define inner", "    echo in $arg0", "  end", "  inner $arg0", "end", "document outer", "  Text of help.", "end", "outer 7", "help outer")
	if want := "in 7\nText of help.\n"; out != want || errs != "" {
		t.Errorf("printed %q and %q, want %q", out, errs, want)
	}
}

func TestEndlessRecursionEnds(t *testing.T) {
	_, errs, _ := play(t, "define me", "me", "end", "me")
	if !strings.Contains(errs, "nested more than") {
		t.Errorf("errors: %q", errs)
	}
	_, errs, _ = play(t, "alias aa = help", "alias bb = aa", "unalias aa", "alias aa = bb", "aa")
	if !strings.Contains(errs, "expands to itself") {
		t.Errorf("errors: %q", errs)
	}
}

func TestScripts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.hdb", "# comment\r\ndefine hello\n echo hello\nend\nhello\n")
	bad := write("bad.hdb", "echo one\n\nnonsense\necho two\n")
	binary := write("binary", "\x7fELF\x00")
	out, errs, code := play(t, "source "+good, "source "+bad, "source "+binary)
	if out != "hello\none\n" {
		t.Errorf("printed %q", out)
	}
	if !strings.Contains(errs, "bad.hdb:3: unknown command") || !strings.Contains(errs, "not a script") || code != desk.ExitFailed {
		t.Errorf("errors %q, exit code %d", errs, code)
	}
}

func TestStartup(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "s.hdb")
	if err := os.WriteFile(script, []byte("echo from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st := newStage(t, func(c *Config) {
		c.Batch = true
		c.Startup = []shell.Startup{{Text: "echo a"}, {Text: script, File: true}, {Text: "define mine"}, {Text: "echo in mine"}, {Text: "end"}, {Text: "nonsense"}, {Text: "mine"}}
	}, "echo never read")
	code := st.Run()
	if got, want := st.out.String(), "a\nfrom file\nin mine\n"; got != want || code != desk.ExitFailed {
		t.Errorf("printed %q, exit code %d, want %q and 1", got, code, want)
	}
}

func TestQuitCode(t *testing.T) {
	if _, _, code := play(t, "nonsense", "quit 7", "echo not reached"); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestPromptCancelAndEnd(t *testing.T) {
	st := newStage(t, func(c *Config) { c.In.(*typist).person = true }, "echo a", "^C", "define x", "^C", "echo b")
	if code := st.Run(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got, want := st.out.String(), "a\nb\nquit\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if want := []string{"(hdb) ", "(hdb) ", "(hdb) ", "    > ", "(hdb) ", "(hdb) "}; !slices.Equal(st.in.prompts, want) {
		t.Errorf("prompts %q, want %q", st.in.prompts, want)
	}
	if !st.in.closed {
		t.Error("the reader was not closed")
	}
}

func TestHistoryIsKept(t *testing.T) {
	st := newStage(t, func(c *Config) { c.In.(*typist).person = true }, "echo a", "echo b", " echo secret", "echo a", "history")
	st.Run()
	b, err := os.ReadFile(filepath.Join(st.home, ".local/state/hdb/history"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(b), "echo b\necho a\nhistory\n"; got != want {
		t.Errorf("history file %q, want %q", got, want)
	}
	if !slices.Equal(st.in.history, []string{"echo b", "echo a", "history"}) {
		t.Errorf("history offered: %q", st.in.history)
	}
}

func TestJSONObjects(t *testing.T) {
	st := newStage(t, func(c *Config) { c.JSON = true }, "show listsize", "info breakpoints", "nonsense", "next", "attach 0")
	st.Run()
	want := `{"v":1,"command":"show","name":"listsize","value":"10"}` + "\n" +
		`{"v":1,"command":"info breakpoints","stops":[]}` + "\n" +
		`{"v":1,"command":"","error":"unknown command \"nonsense\": see ` + "`help`" + `"}` + "\n" +
		`{"v":1,"command":"next","error":"no process: use run, start or attach"}` + "\n" +
		`{"v":1,"command":"attach","error":"attach: \"0\" is not a process ID"}` + "\n"
	if got := st.out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

func TestPipeAndShell(t *testing.T) {
	out, errs, _ := play(t, "pipe echo a||b | cat -", "| help quit | grep -c leave", "pipe -d @@ echo x|y @@ tr x z", "!echo shell", "pipe help all | head -1")
	if want := "a||b\n1\nz|y\nshell\nRunning the program and stepping\n"; out != want || errs != "" {
		t.Errorf("printed %q and %q, want %q", out, errs, want)
	}
}

func TestDeleteAsks(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  string
	}{
		{[]string{"break alloc", "delete", "n"}, "Delete stop 1? (y or n) "},
		{[]string{"break alloc", "break free", "clearall", "y"}, "Delete all 2 stops? (y or n) "},
	} {
		st := newStage(t, func(c *Config) { c.In.(*typist).person = true }, append([]string{"file /bin/true"}, tc.lines...)...)
		st.Run()
		if !slices.Contains(st.in.prompts, tc.want) {
			t.Errorf("asked %q, want %q", st.in.prompts, tc.want)
		}
	}
}

// TestOneWordForRunning: a line that is refused while the program runs says what the session says.
func TestOneWordForRunning(t *testing.T) {
	if got := shell.ErrRuns; got.Error() != target.ErrNotStopped.Error() {
		t.Errorf("the shell says %q, the session %q", got, target.ErrNotStopped)
	}
}
