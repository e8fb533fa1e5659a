package console

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/testprogs"
)

// hdb runs the real program on a script of -ex commands and returns what it
// printed on standard output, and its exit code.
func hdb(t *testing.T, flags []string, prog string, commands ...string) (out, errs string, code int) {
	t.Helper()
	args := append([]string{"-batch", "-nx"}, flags...)
	for _, c := range commands {
		args = append(args, "-ex", c)
	}
	cmd := exec.Command(testprogs.HDB(t), append(args, prog)...)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // the exit code says it
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func TestLiveHooks(t *testing.T) {
	basic := testprogs.Build(t, "basic")
	out, errs, code := hdb(t, nil, basic, "break alloc if size >= 4000", "commands", "silent", "echo hit", "continue", "echo never", "end", "run", "echo after")
	if got := strings.Count(out, "hit\n"); got != 2 || strings.Contains(out, "never") || !strings.HasSuffix(out, "exited with code 0\nafter\n") || errs != "" || code != 0 {
		t.Errorf("exit code %d, errors %q, %d hits:\n%s", code, errs, got, out)
	}
}

func TestLiveExitCodes(t *testing.T) {
	basic, segv := testprogs.Build(t, "basic"), testprogs.Build(t, "segv")
	for _, tc := range []struct {
		name     string
		flags    []string
		prog     string
		commands []string
		code     int
	}{
		{"all ran", nil, basic, []string{"run"}, desk.ExitOK},
		{"a command failed", nil, basic, []string{"nonsense", "run"}, desk.ExitFailed},
		{"cannot attach", nil, basic, []string{"attach 1073741824"}, desk.ExitLaunch},
		{"stands at a fatal signal", nil, segv, []string{"run", "bt"}, desk.ExitSignal},
		{"died by a signal", nil, segv, []string{"run", "continue"}, desk.ExitSignal},
		{"the child's result", []string{"--return-child-result"}, segv, []string{"run", "continue"}, 128 + 11},
		{"quit decides", nil, segv, []string{"run", "quit 9"}, 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, errs, code := hdb(t, tc.flags, tc.prog, tc.commands...); code != tc.code {
				t.Errorf("exit code %d, want %d:\n%s%s", code, tc.code, out, errs)
			}
		})
	}
}

// TestLiveJSON holds every command that prints data to one object a line.
func TestLiveJSON(t *testing.T) {
	basic := testprogs.Build(t, "basic")
	saved := filepath.Join(t.TempDir(), "x.hdb")
	commands := []string{
		"break main", "start", "record start", "info breakpoints", "bt", "frame", "info frame", "list", "info line", "info source", "info sources",
		"info functions ^main", "info types ^int$", "info variables ^std", "search return", "reverse-search main", "symbols refresh", "info symbol main", "info address main", "info registers", "x/4xg $sp", "x/2i $pc", "info threads", "thread", "info sharedlibrary",
		"info proc", "info mappings", "info program", "info signals SIGINT", "next-alloc", "next", "step", "finish", "allocs", "live", "top", "list -cost 1,20", "alloc list",
		"record status", "info stops", "show listsize", "show", "save " + saved, "info capture", "kill",
	}
	out, errs, _ := hdb(t, []string{"--json"}, basic, commands...)
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var head struct {
			V       int
			Command string
			Error   string
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil || head.V != shell.JSONVersion {
			t.Errorf("%v: %q", err, line)
		}
		if head.Error != "" && head.Command != "finish" {
			t.Errorf("%s: %s", head.Command, head.Error)
		}
		seen[head.Command] = true
	}
	for _, want := range []string{"start", "bt", "list", "x", "info threads", "next-alloc", "allocs", "top", "save"} {
		if !seen[want] {
			t.Errorf("no object of %s in\n%s%s", want, out, errs)
		}
	}
}

func TestLiveInterrupt(t *testing.T) {
	k := newKeyboard(t, exec.Command(testprogs.HDB(t), "-nx", testprogs.Build(t, "spin")))
	k.expect("(hdb) ")
	k.press("run" + keyEnter)
	k.expect("spinning")
	k.press(keyCtrlC)
	k.expect("SIGINT") // in turn or in main: wherever it was
	k.expect("(hdb) ")
	k.press("break tur" + keyTab + keyEnter) // completed from the symbols
	k.expect("breakpoint 1: turn at")
	k.expect("(hdb) ")
	k.press("c" + keyEnter)
	k.expect("breakpoint 1, hit 1")
	k.expect("(hdb) ")
	k.press("up" + keyEnter)
	k.expect("#1  main")
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	k.expect("and quit? (y or n) ")
	k.press("n" + keyEnter)
	k.expect("(hdb) ")
	k.press(keyCtrlD)
	k.expect("and quit? (y or n) ")
	k.press("y" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

func TestLiveInfoSource(t *testing.T) {
	basic := testprogs.Build(t, "basic")
	source := testprogs.Source(t, "basic")
	out, errs, code := hdb(t, nil, basic, "start", "info source")
	for _, want := range []string{source + ":7 c\n", " lines\ncompiled in " + filepath.Dir(source) + "\nby GNU C", ", DWARF ", "into " + basic + "\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q %q, exit code %d", want, out, errs, code)
		}
	}
}
