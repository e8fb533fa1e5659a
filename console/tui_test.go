package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/testprogs"
)

// Without a terminal there is one clear line, and the exit code of bad use.
func TestTUINeedsATerminal(t *testing.T) {
	const want = ": a split screen needs a terminal that can move its cursor, without -batch and --json\n"
	for _, line := range []string{"tui", "tui enable", "focus src", "refresh"} {
		word, _ := shell.SplitWord(line)
		out, errs, code := play(t, line)
		if out != "" || errs != "error: "+word+want || code != desk.ExitUsage {
			t.Errorf("%s: printed %q and %q, exit code %d", line, out, errs, code)
		}
	}
	if out, errs, code := play(t, "tui disable"); out != "" || errs != "" || code != desk.ExitOK {
		t.Errorf("disable: printed %q and %q, exit code %d", out, errs, code)
	}
	for line, want := range map[string]string{
		"tui frobnicate": "error: tui: \"frobnicate\": enable or disable expected\n",
		"layout asm":     "error: layout: hdb has one layout, the source above the console: tui enable\n",
	} {
		if _, errs, code := play(t, line); errs != want || code != desk.ExitFailed {
			t.Errorf("%s: printed %q, exit code %d", line, errs, code)
		}
	}
	st := newStage(t, nil)
	if _, words := st.Completions("focus "); !reflect.DeepEqual(words, []string{"cmd", "src"}) {
		t.Errorf("focus is completed by %q", words)
	}
	if _, words := st.Completions("tui "); !reflect.DeepEqual(words, []string{"disable", "enable"}) {
		t.Errorf("tui is completed by %q", words)
	}
}

// words are those of a screen, however its lines are broken.
func words(rows []string) string {
	return strings.Join(strings.Fields(strings.Join(rows, " ")), " ")
}

func TestTUITinyTerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{5, 80}, {7, 40}, {24, 20}} {
		g := newGlass(t, size[0], size[1], "HDB_CONSOLE_TEST_CHILD=1")
		g.say("clear; " + os.Args[0])
		g.see("(hdb)")
		g.say("tui")
		g.until("a refusal", func(rows []string) bool {
			text := words(rows)
			return strings.Contains(text, "error: tui: the terminal is too small for a split screen: ") && strings.HasSuffix(text, " are needed (hdb)")
		})
		g.say("shell clear")
		g.until("an empty screen", func(rows []string) bool { return rows[0] == "(hdb)" })
		g.write("ec")
		g.see("(hdb) ec")
		g.press("C-x", "a")
		g.until("the line again", func(rows []string) bool { return strings.HasSuffix(strings.Join(rows, ""), "(hdb) ec") })
		g.write("ho on")
		g.press("Enter")
		g.until("the line that goes on", func(rows []string) bool {
			text := words(rows)
			return strings.HasPrefix(text, "error: tui: the terminal is too small") && strings.HasSuffix(text, "(hdb) echo on on (hdb)")
		})
	}
}

// A capture is shown with the lines that it kept, where the source is not.
func TestTUIOnACapture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile("../testprogs/testdata/sizes.c")
	if err != nil {
		t.Fatal(err)
	}
	source, prog, saved := filepath.Join(dir, "sizes.c"), filepath.Join(dir, "sizes"), filepath.Join(dir, "s.hdb")
	long := strings.Repeat("// not kept\n", 60)
	if err := os.WriteFile(source, []byte(long+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-o", prog, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, errs, code := hdb(t, nil, prog, "break alloc if size >= 1MiB", "run", "save "+saved); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	g := newGlass(t, 30, 90)
	g.start("open", saved)
	rows := g.hdb("frame")
	if got, _ := bar(t, rows); !strings.Contains(got, "sizes.c  main  line 111") || !strings.Contains(got, "  #0  stop 1, ") {
		t.Errorf("bar %q", got)
	}
	if !strings.HasPrefix(arrow(rows), "=> 111 ") || !strings.Contains(arrow(rows), "free(memset(malloc(n), 1, n))") {
		t.Errorf("current line %q:\n%s", arrow(rows), strings.Join(rows, "\n"))
	}
	rows = g.hdb("list 1,3")
	if !strings.Contains(strings.Join(rows, "\n"), "error: ") {
		t.Errorf("lines that were not kept:\n%s", strings.Join(rows, "\n"))
	}
	g.hdb("set backtrace past-main on")
	g.hdb("up")
	g.see("no source: ")
}

func TestTUIHighlights(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 30, 90)
	g.say(testprogs.HDB(t) + " -nx -q -ex tui -ex start " + testprogs.Build(t, "stepping"))
	g.see("=>  28 ", "#0  main", "\n(hdb)")
	painted := g.tell("capture-pane", "-p", "-e")
	for _, want := range []string{"\x1b[34mreturn\x1b", "\x1b[7m=>  28  "} {
		if !strings.Contains(painted, want) {
			t.Errorf("%q is not on the screen:\n%q", want, painted)
		}
	}
}
