package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/testprogs"
)

// TestScriptsStopAtTheirFirstError holds files, what they source and define, and the
// commands of breakpoints to one rule: nothing runs after an error, which is told with
// its place. -ex and standard input go on with their next line, as in gdb; the exit
// code tells of the error all the same.
func TestScriptsStopAtTheirFirstError(t *testing.T) {
	basic := testprogs.Build(t, "basic")
	program := testprogs.HDB(t)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"plain.hdb":    "echo begun\nnonsense\necho never\n",
		"outer.hdb":    "source plain.hdb\necho never\n",
		"define.hdb":   "define mine\necho begun\nnonsense\necho never\nend\nmine\necho never\n",
		"commands.hdb": "break alloc\ncommands\nsilent\necho begun\nnonsense\ncontinue\nend\nrun\necho never\n",
		"later.hdb":    "tbreak alloc\ncommands\nsilent\necho begun\ncontinue\nend\nbreak free\ncommands\nnonsense\necho never\nend\nrun\necho never\n",
		"two.hdb":      "break alloc\ncommands\nsilent\nend\nbreak alloc\ncommands\nsilent\necho begun\nend\nbreak alloc\ncommands\nnonsense\nend\nrun\necho never\n",
		"nested.hdb":   "break alloc\ncommands\nsilent\nsource plain.hdb\necho never\nend\nrun\necho never\n",
		"asserts.hdb":  "record start\nbreak free\ncommands\necho begun\nassert --max-allocs 0\necho never\nend\nrun\necho never\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const unknown = `unknown command "nonsense": see ` + "`help`\n"
	for _, tc := range []struct {
		args []string
		errs string
		code int
	}{
		{[]string{"-x", "plain.hdb"}, "error: plain.hdb:2: " + unknown, desk.ExitFailed},
		{[]string{"-x", "outer.hdb"}, "error: outer.hdb:1: plain.hdb:2: " + unknown, desk.ExitFailed},
		{[]string{"-x", "define.hdb"}, "error: define.hdb:6: mine:2: " + unknown, desk.ExitFailed},
		{[]string{"-x", "commands.hdb"}, "error: commands.hdb:8: commands of breakpoint 1:3: " + unknown, desk.ExitFailed},
		{[]string{"-x", "later.hdb"}, "error: later.hdb:12: commands of breakpoint 2:1: " + unknown, desk.ExitFailed},
		{[]string{"-x", "two.hdb"}, "error: two.hdb:14: commands of breakpoint 3:1: " + unknown, desk.ExitFailed},
		{[]string{"-x", "nested.hdb"}, "error: nested.hdb:7: commands of breakpoint 1:2: plain.hdb:2: " + unknown, desk.ExitFailed},
		{[]string{"-x", "asserts.hdb"}, "error: asserts.hdb:8: commands of breakpoint 1:2: ", desk.ExitAssertion},
		{[]string{"-ex", "break alloc", "-ex", "commands", "-ex", "echo begun", "-ex", "nonsense", "-ex", "echo never", "-ex", "end", "-ex", "run"},
			"error: commands of breakpoint 1:2: " + unknown, desk.ExitFailed},
	} {
		out, errs, code := hdb(t, tc.args, basic, "echo next")
		if !strings.Contains(out, "begun\n") || strings.Contains(out, "never") || !strings.HasSuffix(out, "next\n") || code != tc.code || !strings.HasPrefix(errs, tc.errs) {
			t.Errorf("%s: exit code %d, errors %q, want %q; printed\n%s", tc.args, code, errs, tc.errs, out)
		}
	}
	cmd := exec.Command(program, "-nx", basic)
	cmd.Stdin = strings.NewReader("break alloc\ncommands\nnonsense\necho never\nend\nrun\necho next\n")
	out, _ := cmd.Output() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); !strings.HasSuffix(string(out), "next\n") || strings.Contains(string(out), "never") || code != desk.ExitFailed {
		t.Errorf("standard input: exit code %d, printed\n%s", code, out)
	}
}

// TestQuestionsLeaveTheNextLine asks where nobody can answer, and at a terminal where
// the next command has been typed already.
func TestQuestionsLeaveTheNextLine(t *testing.T) {
	const asked, answered = "Delete stop 1? (y or n) ", "[answered y: input is not from a terminal]\n"
	script := filepath.Join(t.TempDir(), "s.hdb")
	if err := os.WriteFile(script, []byte("delete\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		person  bool
		confirm string
		asks    []string
		prompts int // questions
		says    bool
	}{
		{"pipe", false, "on", []string{"delete"}, 0, true},
		{"pipe, no questions wanted", false, "off", []string{"delete"}, 0, false},
		{"script at a terminal", true, "on", []string{"source " + script}, 0, true},
		{"definition at a terminal", true, "on", []string{"define mine", "delete", "end", "mine"}, 0, true},
		{"terminal", true, "on", []string{"delete", "echo lost", "y"}, 2, false},
	} {
		st := newStage(t, func(c *Config) { c.In.(*typist).person = tc.person }, slices.Concat([]string{"file /bin/true", "break alloc"}, tc.asks, []string{"echo next", "info breakpoints"})...)
		st.Top("set confirm " + tc.confirm)
		st.Run()
		questions := 0
		for _, p := range st.in.prompts {
			if p == asked {
				questions++
			}
		}
		if says := strings.Contains(st.err.String(), asked+answered); questions != tc.prompts || says != tc.says {
			t.Errorf("%s: %d questions, errors %q", tc.name, questions, st.err.String())
		}
		if out := st.out.String(); !strings.Contains(out, "next\n") || !strings.Contains(out, "no breakpoints") {
			t.Errorf("%s: printed %q", tc.name, out)
		}
	}
}

// TestDebuginfodQuestionIsNoCommand asks a person who types the next command instead of
// an answer: it is neither lost nor a yes.
func TestDebuginfodQuestionIsNoCommand(t *testing.T) {
	st := newStage(t, func(c *Config) { c.In.(*typist).person = true }, "echo typed", "show debuginfod")
	asked := servers(t, st)
	data.StartDebuginfod(st.Desk)
	_, _ = st.Session.Names().Debuginfod.DebugInfo(missingID) // there is none yet, so hdb asks
	st.Run()
	if out := st.out.String(); !strings.Contains(out, "\ntyped\ndebuginfod is off\n") || asked.Load() != 0 || st.in.prompts[0] != "Ask them in this session? (y or n) " {
		t.Errorf("asked %d times, prompts %q, printed %q", asked.Load(), st.in.prompts, out)
	}
}
