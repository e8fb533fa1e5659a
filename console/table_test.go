package console

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/console/shell"
)

func TestTableIsConsistent(t *testing.T) {
	seen := map[string]string{}
	groups := map[shell.Group]bool{}
	for _, g := range shell.Chapters() {
		groups[g.Group] = true
	}
	for _, cmd := range commandTable(nil).Commands {
		if !groups[cmd.Group] {
			t.Errorf("%s: no group of the help: %q", cmd.Name, cmd.Group)
		}
		for _, name := range cmd.Names() {
			if other, ok := seen[name]; ok {
				t.Errorf("%s is a name of both %s and %s", name, other, cmd.Name)
			}
			seen[name] = cmd.Name
		}
	}
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		switch {
		case cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || strings.Contains(cmd.Short, "\n"):
			t.Errorf("%s: summary %q", full, cmd.Short)
		case cmd.Run != nil && cmd.Synopsis != "" && !strings.Contains(cmd.Long, "Example"):
			t.Errorf("%s: no example in its help", full)
		case cmd.Run == nil && len(cmd.Sub) == 0:
			t.Errorf("%s does nothing", full)
		}
		names := map[string]bool{}
		for _, s := range cmd.Sub {
			for _, n := range s.Names() {
				if names[n] {
					t.Errorf("%s: two words %q", full, n)
				}
				names[n] = true
			}
		}
	})
}

func TestGDBAbbreviations(t *testing.T) {
	for word, want := range map[string]string{
		"r": "run", "c": "continue", "cont": "continue", "s": "step", "n": "next", "si": "stepi", "ni": "nexti", "fin": "finish", "u": "until",
		"b": "break", "br": "break", "tb": "tbreak", "d": "delete", "dis": "disable", "en": "enable", "cond": "condition", "bt": "bt", "back": "bt",
		"where": "bt", "f": "frame", "l": "list", "i b": "info breakpoints", "i r": "info registers", "i shared": "info sharedlibrary",
		"i line": "info line", "i li": "info line", "i proc": "info proc", "i s": "", "t": "thread", "q": "quit", "h": "help", "na": "next-alloc", "x": "x",
		"adv": "advance", "so": "finish", "bp": "breakpoints", "ls": "list", "exit": "quit", "wat": "watch", "sta": "", "star": "", "start": "start", "k": "kill", "dir": "directory", "show": "show",
		"!ls": "shell", "x/4xg": "x", "info signals": "info signals", "i frame": "info frame", "i f": "info frame", "info fun": "info functions",
	} {
		_, _, name, err := commandTable(nil).Resolve(word)
		if name != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q (%v), want %q", word, name, err, want)
		}
	}
}

// TestVocabulary has hdb know, or give a reason for, every word of gdb's everyday chapters.
func TestVocabulary(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range vocabulary() {
		if seen[v.word] {
			t.Errorf("%s stands twice", v.word)
		}
		seen[v.word] = true
		if v.has == "" {
			t.Errorf("%s: no command, and no reason among the words that are not built", v.word)
		}
	}
}

func TestCommandsDoc(t *testing.T) {
	if *update {
		if err := os.RemoveAll("../docs/commands"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir("../docs/commands", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	manual := Manual()
	for _, p := range manual {
		path := filepath.Join("../docs", p.Path)
		if *update {
			if err := os.WriteFile(path, []byte(p.Text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != p.Text {
			t.Errorf("%s is stale: run `go generate ./console` (%v)", path, err)
		}
	}
	files, err := filepath.Glob("../docs/commands/*")
	if err != nil || len(files) != len(manual)-1 {
		t.Errorf("docs/commands has %d files, want %d (%v)", len(files), len(manual)-1, err)
	}
	want := Markdown()
	commandTable(nil).Each(func(full string, _ *shell.Command) {
		if !strings.Contains(want, "\n## "+full+"\n") {
			t.Errorf("no heading for %s", full)
		}
	})
}

func TestHelp(t *testing.T) {
	out, errs, _ := play(t, "help", "help stops", "help break", "help info line", "h c", "h step", "apropos dlopen", "apropos listsize")
	if errs != "" {
		t.Errorf("errors %q", errs)
	}
	for _, want := range []string{"stops        Stops: where and when to stop", "break, b, br", "  break alloc if size >= 1MiB && thread == 3\n", "info line [LOCATION]", "continue, c, cont, fg", "It needs a process.", "set listsize"} {
		if !strings.Contains(out, want) {
			t.Errorf("help has no %q in\n%s", want, out)
		}
	}
	// Every group is listed, and every command is in its group.
	out, _, _ = play(t, "help all")
	for _, cmd := range commandTable(nil).Commands {
		if !strings.Contains(out, cmd.Title(cmd.Name)) {
			t.Errorf("help all has no %s", cmd.Name)
		}
	}
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll("sub/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("sub/script.hdb", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newStage(t, nil).Console
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"contin", []string{"continue"}},
		{"sta", []string{"stack", "start", "starti", "stats"}},
		{"info sha", []string{"info sharedlibrary"}},
		{"i thr", []string{"i threads"}},
		{"record st", []string{"record start", "record status", "record stop"}},
		{"help all", []string{"help alloc", "help allocations", "help allocs"}},
		{"set histo", []string{"set history save", "set history size"}},
		{"set history s", []string{"set history save", "set history size"}},
		{"set style d", []string{"set style dark"}},
		{"set confirm ", []string{"set confirm off", "set confirm on"}},
		{"source sub/", []string{"source sub/deep/", "source sub/script.hdb"}},
		{"source su", []string{"source sub/"}},
		{"break al", []string{"break alloc"}},
		{"break alloc if si", []string{"break alloc if size"}},
		{"break alloc if size>1k&&thr", []string{"break alloc if size>1k&&thread"}},
		{"handle SIGUSR", []string{"handle SIGUSR1", "handle SIGUSR2"}},
		{"top by c", []string{"top by count"}},
		{"nonsense x", nil},
	} {
		start, words := c.Completions(tc.line)
		var got []string
		for _, w := range words {
			got = append(got, tc.line[:start]+w)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("Tab after %q offers %q, want %q", tc.line, got, tc.want)
		}
	}
	head, words, tail := c.Complete(t.Context(), "  conti if x", 7)
	if head != "  " || tail != " if x" || !slices.Equal(words, []string{"continue "}) {
		t.Errorf("completeAt = %q, %q, %q", head, words, tail)
	}
}

// TestEssential: help begins with 15 commands, each of which is there.
func TestEssential(t *testing.T) {
	table := commandTable(nil)
	if len(table.Essential) != 15 {
		t.Errorf("%d commands", len(table.Essential))
	}
	for _, name := range table.Essential {
		if !slices.ContainsFunc(table.Commands, func(cmd *shell.Command) bool { return cmd.Name == name }) {
			t.Errorf("%s: no such command", name)
		}
	}
	if out, _, _ := play(t, "help"); !strings.Contains(out, "\nrun ") || strings.Index(out, "\nrun ") > strings.Index(out, "\nquit ") || strings.Index(out, "\nquit ") > strings.Index(out, "Groups of commands") {
		t.Errorf("help begins with\n%s", out)
	}
}

func TestUnbuiltWords(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"explore x", "explore: use print and ptype"},
		{"gc", "gc: hdb does not make a program collect"}, // and not gcore
		{"tcache", "tcache: bins lists"},
		{"set disassembly-flavor intel", "set disassembly-flavor: hdb prints AT&T's syntax"},
		{"set print address off", "set print address: hdb has no such setting"},
	} {
		out, errs, code := play(t, tc.line)
		if !strings.HasPrefix(errs, "error: "+tc.want) || strings.Count(errs, "\n") != 1 || out != "" || code != desk.ExitFailed {
			t.Errorf("%s: %q %q, exit code %d, want %q", tc.line, out, errs, code, tc.want)
		}
	}
	if out, errs, _ := play(t, "alias layout = echo mine", "layout", "define explore", "echo defined", "end", "explore"); out != "mine\ndefined\n" || errs != "" {
		t.Errorf("a user's own words: %q %q", out, errs)
	}
}

// TestUnbuiltWordsAreNotBuilt fails when a word of that list became a command.
func TestUnbuiltWordsAreNotBuilt(t *testing.T) {
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		parent := strings.TrimSuffix(full, cmd.Name)
		for _, name := range cmd.Names() {
			if notBuilt(parent+name) != nil {
				t.Errorf("%s%s is a command and in the list of words not built", parent, name)
			}
		}
	})
}

// TestPagedCommands: what may run the program prints at once.
func TestPagedCommands(t *testing.T) {
	paged := map[string]bool{"print": false, "call": false, "printf": false, "display": false, "frame": false, "thread": false, "taas": false, "monitor": false, "next-alloc": false, "run": false,
		"bt": true, "info threads": true, "x": true, "list": true, "help": true, "allocs": true, "whatis": true}
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		if want, ok := paged[full]; ok && onlyPrints(cmd, full) != want {
			t.Errorf("%s: paged is %v, want %v", full, !want, want)
		}
	})
}
