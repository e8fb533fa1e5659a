package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	for _, tc := range []struct{ set, show, want string }{
		{"set listsize 20", "show listsize", "listsize is 20\n"},
		{"set lis 20", "show listsize", "listsize is 20\n"},
		{"set listsize unlimited", "show listsize", "listsize is 0\n"},
		{"set confirm off", "show confirm", "confirm is off\n"},
		{"set confirm", "show confirm", "confirm is on\n"},
		{"set pagination no", "show pagination", "pagination is off\n"},
		{"set follow-fork-mode c", "show follow-fork-mode", "follow-fork-mode is child\n"},
		{"set args -v 'a b' # x > out", "show args", "args is -v 'a b' # x > out\n"},
		{`set prompt "> "`, "show prompt", "prompt is > \n"},
		{"set history size 5", "show history size", "history size is 5\n"},
		{"set his si 5", "show history size", "history size is 5\n"},
		{"set environment A=b c", "show environment", "environment is A=b c\n"},
		{"set environment A b c", "show environment", "environment is A=b c\n"},
		{"set env A = b", "show environment", "environment is A=b\n"},
		{"unset environment HOME", "show environment", "environment is no HOME\n"},
		{`set substitute-path /build "/home/a b"`, "show substitute-path", "substitute-path is /build \"/home/a b\"\n"},
		{"set disable-randomization off", "show disable-randomization", "disable-randomization is off\n"},
		{"set listsize = 30", "show listsize", "listsize is 30\n"},
		{"config listsize 30", "show listsize", "listsize is 30\n"},
	} {
		t.Run(tc.set, func(t *testing.T) {
			out, errs, _ := play(t, tc.set, tc.show)
			if out != tc.want || errs != "" {
				t.Errorf("printed %q and %q, want %q", out, errs, tc.want)
			}
		})
	}
}

func TestUnset(t *testing.T) {
	out, errs, _ := play(t, "set listsize 3", "unset listsize", "show listsize", "set substitute-path /a /b", "unset substitute-path /a", "unset substitute-path /a")
	if out != "listsize is 10\n" || errs != "error: substitute-path: no rule for \"/a\"\n" {
		t.Errorf("printed %q and %q", out, errs)
	}
}

func TestWith(t *testing.T) {
	out, errs, _ := play(t, "with listsize 3 -- show listsize", "show listsize")
	if out != "listsize is 3\nlistsize is 10\n" || errs != "" {
		t.Errorf("printed %q and %q", out, errs)
	}
}

func TestConfigIsKept(t *testing.T) {
	st := newStage(t, nil, "set listsize 25", `set prompt "hdb> "`, "set args secret", "alias ba = break alloc", "set substitute-path /a /b", "config -save")
	st.Run()
	path := filepath.Join(st.home, ".config/hdb/config")
	if got, want := st.out.String(), "saved "+path+"\n"; got != want {
		t.Fatalf("printed %q, want %q; errors %q", got, want, st.err.String())
	}
	again := newStage(t, func(c *Config) { c.NoInit = false }, "show listsize", "show prompt", "show args", "alias", "show substitute-path")
	again.env["HOME"] = st.home
	again.Run()
	want := "listsize is 25\nprompt is hdb> \nargs is not set: arguments and redirections of the next run, as typed\nalias ba = break alloc\nsubstitute-path is /a /b\n"
	if got := again.out.String(); got != want || again.err.String() != "" {
		t.Errorf("printed %q and %q, want %q", got, again.err.String(), want)
	}
}

// A configuration that others can have written is not run, and one that was not read is not replaced: what it
// holds would be lost.
func TestConfigOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		noInit bool
		change func(path string) error
		said   string
	}{
		"not read":      {true, func(string) error { return nil }, "hdb was started with -nx"},
		"writable":      {false, func(path string) error { return os.Chmod(path, 0o606) }, "it is writable by others (mode 0606): chmod go-w"},
		"somebody's":    {false, func(path string) error { return os.Chown(path, 65534, 65534) }, fmt.Sprintf("it belongs to user 65534, not to you (%d) or root", os.Geteuid())},
		"no plain file": {false, func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/proc/kmsg", path)) }, "made up by the kernel, not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && (name == "somebody's" || name == "no plain file") {
				t.Skip("only root can make this file")
			}
			st := newStage(t, func(c *Config) { c.NoInit = tc.noInit }, "show listsize", "config -save")
			path := filepath.Join(st.home, ".config/hdb/config")
			text := []byte("set listsize 25\n")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600), tc.change(path)); err != nil {
				t.Fatal(err)
			}
			st.Run()
			if out := st.out.String(); out != "listsize is 10\n" {
				t.Errorf("printed %q", out)
			}
			if errs := st.err.String(); !strings.Contains(errs, tc.said) || !strings.Contains(errs, "error: config: "+path+" was not read, and saving would overwrite it: ") {
				t.Errorf("errors %q", errs)
			}
			if name == "no plain file" {
				return // to read it would wait for ever
			}
			if b, err := os.ReadFile(path); string(b) != string(text) {
				t.Errorf("the file holds %q, %v", b, err)
			}
		})
	}
}

func TestColorAndWidth(t *testing.T) {
	for _, tc := range []struct {
		name  string
		env   map[string]string
		line  string
		json  bool
		color bool
		width int
	}{
		{"a pipe", nil, "", false, false, 80},
		{"forced", map[string]string{"CLICOLOR_FORCE": "1"}, "", false, true, 80},
		{"forced off", map[string]string{"CLICOLOR_FORCE": "0"}, "", false, false, 80},
		{"NO_COLOR wins", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, "", false, false, 80},
		{"the setting wins", map[string]string{"CLICOLOR_FORCE": "1"}, "set style off", false, false, 80},
		{"never in JSON", map[string]string{"CLICOLOR_FORCE": "1"}, "", true, false, 80},
		{"COLUMNS", map[string]string{"COLUMNS": "132"}, "", false, false, 132},
		{"set width", map[string]string{"COLUMNS": "132"}, "set width 100", false, false, 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := newStage(t, func(c *Config) { c.JSON = tc.json }, tc.line)
			for k, v := range tc.env {
				st.env[k] = v
			}
			st.Run()
			if st.Desk.Out.Color != tc.color || st.Desk.Out.Width != tc.width {
				t.Errorf("color %v, width %d, want %v, %d", st.Desk.Out.Color, st.Desk.Out.Width, tc.color, tc.width)
			}
		})
	}
}
