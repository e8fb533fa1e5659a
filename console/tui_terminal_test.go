package console

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/console/desk"
	"hdb/testprogs"
)

// glass is a terminal that is looked at: tmux with a shell in it.
type glass struct {
	t      *testing.T
	tmux   string
	socket string
	dir    string // where the shell is
}

func newGlass(t *testing.T, rows, cols int, env ...string) *glass {
	t.Helper()
	dir, err := os.MkdirTemp("", "glass") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	g := &glass{t: t, tmux: testprogs.Tool(t, "tmux"), socket: filepath.Join(dir, "s"), dir: t.TempDir()}
	t.Cleanup(func() {
		g.ask("kill-server")
		for homeOfSome(dir) && time.Now().Before(testprogs.Deadline(t)) { // they write their history
			time.Sleep(time.Millisecond)
		}
		os.RemoveAll(dir)
	})
	// A shell that keeps no history and has a short prompt.
	shell := append([]string{"env", "-u", "TMUX", "-u", "NO_COLOR", "-u", "PAGER", "HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PS1=$ ", "TERM=screen", "HISTFILE=/dev/null"}, env...)
	shell = append(shell, "bash", "--norc", "--noprofile")
	g.tell(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "-c", g.dir}, shell...)...)
	g.see("$")
	return g
}

// homeOfSome reports whether a process has the folder as its HOME.
func homeOfSome(dir string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	return slices.ContainsFunc(all, func(path string) bool {
		env, _ := os.ReadFile(path)
		return bytes.Contains(env, []byte("HOME="+dir+"\x00"))
	})
}

func (g *glass) ask(args ...string) (string, error) {
	cmd := exec.Command(g.tmux, append([]string{"-S", g.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "SHELL=/bin/sh")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (g *glass) tell(args ...string) string {
	g.t.Helper()
	out, err := g.ask(args...)
	if err != nil {
		g.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return out
}

// say types a line.
func (g *glass) say(line string) {
	g.t.Helper()
	g.write(line)
	g.press("Enter")
}

func (g *glass) write(text string) { g.t.Helper(); g.tell("send-keys", "-l", text) }

func (g *glass) press(keys ...string) {
	g.t.Helper()
	g.tell(append([]string{"send-keys"}, keys...)...)
}

func (g *glass) resize(rows, cols int) {
	g.t.Helper()
	g.tell("resize-window", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows))
}

// rows is what can be seen, without blanks at the ends.
func (g *glass) rows() []string {
	g.t.Helper()
	rows := strings.Split(strings.TrimSuffix(g.tell("capture-pane", "-p"), "\n"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// see waits until all texts can be seen.
func (g *glass) see(texts ...string) []string {
	g.t.Helper()
	return g.until(fmt.Sprintf("%q", texts), func(rows []string) bool {
		screen := strings.Join(rows, "\n")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// patience is how long a test waits for a screen before it has failed: machines may be
// loaded.
const patience = time.Minute

// shell has hdb run a command of the shell, and waits until hdb reads lines again: of
// what is typed before, the change of the terminal's mode loses a part.
func (g *glass) shell(command string) {
	g.t.Helper()
	done := filepath.Join(g.dir, "done")
	g.say("shell " + command + "; touch done")
	tty := strings.TrimSpace(g.tell("display-message", "-p", "#{pane_tty}"))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(done); err != nil {
			continue
		}
		if modes, err := exec.Command("stty", "-a", "-F", tty).CombinedOutput(); err != nil {
			g.t.Fatalf("stty: %v\n%s", err, modes)
		} else if strings.Contains(string(modes), "-icanon") {
			if err := os.Remove(done); err != nil {
				g.t.Fatal(err)
			}
			return
		}
	}
	g.t.Fatalf("%s has not ended", command)
}

// until waits for a screen, and for it to stay.
func (g *glass) until(what string, good func(rows []string) bool) []string {
	g.t.Helper()
	var rows []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		before := strings.Join(rows, "\n")
		if rows = g.rows(); good(rows) && strings.Join(rows, "\n") == before {
			return rows
		}
	}
	g.t.Fatalf("waiting for %s; the screen is\n%s", what, strings.Join(rows, "\n"))
	return nil
}

// prompt waits for hdb's prompt in the last line that is not empty, below what it
// was last asked.
func (g *glass) prompt(after string) []string {
	g.t.Helper()
	return g.until("a prompt after "+after, func(rows []string) bool {
		text := strings.TrimRight(strings.Join(rows, "\n"), "\n")
		i := strings.LastIndex(text, "(hdb) "+after)
		return i >= 0 && strings.HasSuffix(text, "\n(hdb)") && i < len(text)-len("(hdb)")
	})
}

// hdb says a line to hdb and waits for the next prompt.
func (g *glass) hdb(line string) []string {
	g.t.Helper()
	g.say(line)
	return g.prompt(line)
}

// start runs hdb on a program in the split screen.
func (g *glass) start(args ...string) {
	g.t.Helper()
	g.say(testprogs.HDB(g.t) + " -nx -q " + strings.Join(args, " "))
	g.see("(hdb)")
	g.hdb("tui enable")
}

// bar is the row between source and console, and its index.
func bar(t *testing.T, rows []string) (string, int) {
	t.Helper()
	i := barRow(rows)
	if i < 0 {
		t.Fatalf("no bar:\n%s", strings.Join(rows, "\n"))
	}
	return rows[i], i
}

// barRow is the row of the bar, -1 without one.
func barRow(rows []string) int {
	return slices.IndexFunc(rows, func(row string) bool {
		return strings.Contains(row, "  line ") || strings.Contains(row, "  lines ") || strings.Contains(row, "no program")
	})
}

// seeSplit is see on the split screen, which a full-screen view gives way to only behind its last line.
func (g *glass) seeSplit(texts ...string) []string {
	g.t.Helper()
	return g.until(fmt.Sprintf("%q on the split screen", texts), func(rows []string) bool {
		screen := strings.Join(rows, "\n")
		return barRow(rows) >= 0 && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// arrow is the row with the current line.
func arrow(rows []string) string {
	for _, row := range rows {
		if len(row) > 3 && (row[:3] == "=> " || row[2] == '>') {
			return row
		}
	}
	return ""
}

func TestTUIFollows(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 30, 100)
	g.start(testprogs.Build(t, "stepping"))
	rows := g.hdb("start")
	if got, at := bar(t, rows); at != 19 || !strings.Contains(got, "stepping.c  main  line 28 of 37  #0  thread 1 ") {
		t.Errorf("bar in row %d: %q", at, got)
	}
	if got := arrow(rows); !strings.HasPrefix(got, "=>  28          int (*through)(int) = middle;") {
		t.Errorf("current line %q", got)
	}
	if said := strings.Join(rows[20:], "\n"); strings.Contains(said, "int sum") || !strings.Contains(said, "#0  main") {
		t.Errorf("the console shows\n%s", said)
	}
	g.hdb("break leaf")
	rows = g.hdb("continue")
	if got := arrow(rows); !strings.HasPrefix(got, "B+>  8  ") {
		t.Errorf("at a breakpoint %q", got)
	}
	rows = g.hdb("up")
	if got, _ := bar(t, rows); !strings.Contains(got, "  main  line 31 of 37  #1  thread 1") || !strings.HasPrefix(arrow(rows), "=>  31 ") {
		t.Errorf("after up %q, %q", got, arrow(rows))
	}
	rows = g.hdb("down")
	if got, _ := bar(t, rows); !strings.Contains(got, "  leaf  line 8 of 37  #0") {
		t.Errorf("after down %q", got)
	}
	g.hdb("disable 1")
	rows = g.hdb("list 30,37")
	if got, _ := bar(t, rows); !strings.Contains(got, "  lines 30-37 of 37") || !strings.Contains(strings.Join(rows[:19], "\n"), "    37  }") {
		t.Errorf("after list %q:\n%s", got, strings.Join(rows, "\n"))
	}
	if strings.Contains(strings.Join(rows[20:], "\n"), "factorial") {
		t.Errorf("list printed:\n%s", strings.Join(rows[20:], "\n"))
	}
	rows = g.hdb("pipe list 1,3 | head -2")
	if !strings.Contains(strings.Join(rows[20:], "\n"), "     1  // Places") {
		t.Errorf("a pipe has nothing:\n%s", strings.Join(rows[20:], "\n"))
	}
	rows = g.hdb("search factorial.5")
	if got, _ := bar(t, rows); !strings.Contains(got, "  line 33 of 37") {
		t.Errorf("after search %q", got)
	}
	rows = g.hdb("frame")
	if got := arrow(rows); !strings.HasPrefix(got, "B->  8  ") {
		t.Errorf("at a disabled breakpoint %q", got)
	}
	rows = g.hdb("continue")
	if got, _ := bar(t, rows); !strings.Contains(got, "line 28 of 37") || arrow(rows) != "" {
		t.Errorf("after the end %q, %q", got, arrow(rows))
	}
}

// sourceRows is how many rows the source has on a terminal of so many.
func sourceRows(rows int) int { return rows - 1 - max(4, rows/3) }

func TestTUIResizes(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 30, 100)
	g.start(testprogs.Build(t, "stepping"))
	g.hdb("start")
	g.write("echo par")
	g.see("(hdb) echo par")
	for _, size := range [][2]int{{20, 60}, {50, 140}, {9, 30}, {24, 80}} {
		g.resize(size[0], size[1])
		source := sourceRows(size[0])
		rows := g.until(fmt.Sprintf("%d by %d", size[0], size[1]), func(rows []string) bool {
			return len(rows) == size[0] && strings.Contains(rows[source], ".c  ") && strings.HasPrefix(rows[source-1], "    ") &&
				strings.Contains(strings.Join(rows[source+1:], "\n"), "(hdb) echo par")
		})
		if got := arrow(rows[:source]); !strings.HasPrefix(got, "=>  28 ") {
			t.Errorf("%v: current line %q", size, got)
		}
	}
	g.write("tial")
	g.press("Enter")
	g.see("\npartial\n(hdb)")
	g.resize(6, 80)                          // no room for both
	for end := time.Now().Add(patience); ; { // tmux takes its time to tell
		rows := g.hdb("shell stty size")
		if strings.Contains(strings.Join(rows, "\n"), "\n6 80\n(hdb)") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal is not small:\n%s", strings.Join(rows, "\n"))
		}
	}
	g.say("next") // as without a split screen
	g.until("the source in the console", func(rows []string) bool {
		return strings.HasPrefix(arrow(rows), "=>  29 ") && strings.HasSuffix(strings.TrimRight(strings.Join(rows, "\n"), "\n"), "\n(hdb)")
	})
	g.resize(30, 100)
	g.until("the source above it", func(rows []string) bool {
		return len(rows) == 30 && strings.Contains(rows[19], "  main  line 29 ") && strings.HasPrefix(arrow(rows[:19]), "=>  29 ")
	})
	g.say("shell sleep 1") // and while a command runs
	g.resize(24, 70)
	g.until("the split screen of the new size", func(rows []string) bool {
		source := sourceRows(24)
		return len(rows) == 24 && strings.Contains(rows[source], "  main  line 29 ") && strings.HasSuffix(strings.TrimRight(strings.Join(rows, "\n"), "\n"), "\n(hdb)")
	})
}

func TestTUIRestores(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 24, 80)
	g.say("echo 'be''fore'")
	g.see("\nbefore\n$")
	g.start(testprogs.Build(t, "stepping"))
	if rows := g.hdb("start"); strings.Contains(strings.Join(rows, "\n"), "before") {
		t.Errorf("the screen is not split:\n%s", strings.Join(rows, "\n"))
	}
	g.say("tui disable")
	g.see("\nbefore\n", "(hdb) tui enable\n(hdb)")
	rows := g.hdb("next") // shows the source itself again
	if !strings.HasPrefix(arrow(rows), "=>  29 ") {
		t.Errorf("after disable:\n%s", strings.Join(rows, "\n"))
	}
	g.say("shell for i in $(seq 40); do echo line $i; done") // nothing is left of the margins
	g.until("all rows in use", func(rows []string) bool { return rows[0] == "line 18" && rows[22] == "line 40" })
	g.press("C-x", "a")
	g.until("a split screen", func(rows []string) bool { return strings.Contains(rows[15], "stepping.c  ") })
	g.write("echo kep")
	g.see("(hdb) echo kep")
	g.press("C-x", "C-a")
	g.until("a whole screen", func(rows []string) bool { return !strings.Contains(rows[15], "stepping.c  ") })
	g.see("(hdb) echo kep")
	g.press("C-x", "a")
	g.until("a split screen", func(rows []string) bool {
		return strings.Contains(rows[15], "stepping.c  ") && strings.Contains(strings.Join(rows[16:], "\n"), "(hdb) echo kep")
	})
	g.write("t")
	g.press("Enter")
	g.see("\nkept\n(hdb)")
	g.say("quit")
	g.see("Kill process")
	g.say("y")
	g.until("the shell", func(rows []string) bool {
		text := strings.Join(rows, "\n")
		return strings.HasSuffix(strings.TrimRight(text, "\n"), "\n$") && !strings.Contains(text, "Kill")
	})
	g.say("stty -a")
	g.see(" icanon", " echo ")
}

func TestTUIScrolls(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 24, 60)
	g.start(testprogs.Build(t, "stepping"))
	first := func(line string) {
		t.Helper()
		g.until("line "+line+" at the top", func(rows []string) bool { return strings.HasPrefix(strings.TrimSpace(rows[0]), line+"  ") })
	}
	first("21")
	g.press("PageUp")
	first("7")
	g.press("PageUp", "PageUp")
	first("1")
	g.hdb("echo stays")
	first("1")
	g.press("PageDown")
	first("15")
	g.press("PageDown", "PageDown")
	first("23") // the last line is in the last row
	g.hdb("focus src")
	g.press("Up", "Up")
	first("21")
	g.see("[keys: source]")
	g.press("Down", "Right")
	first("22")
	g.until("shifted", func(rows []string) bool { return strings.HasPrefix(rows[0], "    22          return 1;") })
	g.press("Left")
	g.press("C-x", "o")
	g.until("the console has the keys", func(rows []string) bool { return !strings.Contains(rows[15], "[keys") })
	g.press("Up", "Up", "Enter") // history
	g.see("\nstays\n(hdb) focus src\n(hdb) echo stays\nstays\n(hdb)")
	first("22")
	if rows := g.hdb("focus sideways"); !strings.Contains(strings.Join(rows, "\n"), `error: focus: "sideways": src or cmd expected`) {
		t.Errorf("focus:\n%s", strings.Join(rows, "\n"))
	}
	g.hdb("focus cmd")
	g.hdb("start")
	g.see("=>  28 ")
}

func TestTUIRepaints(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 24, 80)
	g.start(testprogs.Build(t, "stepping"))
	whole := func(rows []string) bool {
		return strings.Contains(rows[15], "stepping.c  line 28") && strings.Contains(rows[7], "int (*through)")
	}
	g.until("a split screen", whole)
	for _, wipe := range []string{`\033[2J\033[H`, `\033[r\033[H\033[41mover all\033[K`, `\033[?1049l`, `\033[?6h\033[?7l`} {
		g.shell(`printf '` + wipe + `'`)
		g.say("refresh")
		g.until("the source after "+wipe, whole)
		rows := g.hdb("echo again")
		if !whole(rows) || !strings.Contains(strings.Join(rows[16:], "\n"), "again\n(hdb)") {
			t.Errorf("after %s:\n%s", wipe, strings.Join(rows, "\n"))
		}
	}
	g.say(`shell printf '\033[2J\033[3;7H'`)
	g.until("a prompt that finds back by itself", func(rows []string) bool { return whole(rows) && strings.HasSuffix(rows[23], "(hdb)") })
	if rows := g.hdb("echo below"); !whole(rows) || rows[23] != "(hdb)" || rows[22] != "below" {
		t.Errorf("after the cursor was moved:\n%s", strings.Join(rows, "\n"))
	}
	g.write("echo edi")
	g.see("(hdb) echo edi")
	g.press("C-l")
	g.until("a prompt in the console", func(rows []string) bool {
		return whole(rows) && strings.Contains(strings.Join(rows[16:], "\n"), "(hdb) echo edi")
	})
	g.write("ted")
	g.press("Enter")
	g.see("\nedited\n(hdb)")
	g.say("help all")
	rows := g.see("-- more:")
	if !whole(rows) || !strings.HasPrefix(rows[23], "-- more:") {
		t.Errorf("the pager:\n%s", strings.Join(rows, "\n"))
	}
	g.resize(30, 80)
	g.until("the pager's question", func(rows []string) bool {
		return len(rows) == 30 && strings.Contains(strings.Join(rows[sourceRows(30)+1:], "\n"), "-- more:")
	})
	g.press("q")
	g.see("\n(hdb)")
}

func TestTUISuspends(t *testing.T) {
	t.Parallel()
	g := newGlass(t, 24, 80)
	g.start(testprogs.Build(t, "stepping"))
	g.write("echo be")
	g.see("(hdb) echo be")
	g.press("C-z")
	g.until("the shell", func(rows []string) bool {
		text := strings.Join(rows, "\n")
		return strings.Contains(text, "Stopped") && !strings.Contains(text, "int main") && strings.HasSuffix(strings.TrimRight(text, "\n"), "\n$")
	})
	g.say("echo sh''ell; stty -a")
	g.see("\nshell\n", " icanon")
	g.say("fg")
	g.see("    27  {", "(hdb) echo be")
	g.write("fore")
	g.press("Enter")
	g.see("\nbefore\n(hdb)")
	g.say("shell echo run''s; sleep 60")
	g.see("\nruns\n")
	g.press("C-z")
	g.until("the shell again", func(rows []string) bool {
		text := strings.Join(rows, "\n")
		return strings.Contains(text, "Stopped") && !strings.Contains(text, "int main")
	})
	g.say("fg")
	g.see("    27  {")
	g.press("C-c")
	g.see("error: shell: signal", "\n(hdb)")
	g.hdb("echo alive")
	g.say("tui disable")
	g.see("Stopped", "\n(hdb)")
	g.say("echo on the whole screen")
	g.see("\non the whole screen\n(hdb)")
	g.press("C-z")
	g.until("the shell", func(rows []string) bool { return strings.Count(strings.Join(rows, "\n"), "Stopped") > 1 })
	g.say("fg")
	g.see("(hdb)")
}

// However hdb ends, the shell has its terminal back.
func TestTUIEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"killed": "kill -9", "terminated": "kill", "hung up": "kill -HUP"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, 24, 80)
			g.say("echo 'be''fore'")
			g.see("\nbefore\n$")
			g.start(testprogs.Build(t, "stepping"))
			g.say("shell " + end + " $PPID")
			g.see("\nbefore\n")
			restored(g)
		})
	}
	for _, on := range []string{"console", "another"} {
		t.Run("panics on "+on, func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, 70, 100, "HDB_CONSOLE_TEST_CHILD=1", "HDB_CONSOLE_TEST_PANIC="+on)
			g.say("echo 'be''fore'")
			g.see("\nbefore\n$")
			g.say(os.Args[0])
			g.see("(hdb)")
			g.say("tui")
			g.see("\nbefore\n", "goroutine ", "panic: on ")
			if on == "console" {
				restored(g) // of another the shell may take over the modes
			}
		})
	}
}

// panicIn panics when the screen is split and a line is read.
func panicIn(c *desk.Desk, goroutine string) {
	for !c.Split.On() {
		time.Sleep(time.Millisecond)
	}
	reads := make(chan struct{})
	c.Post(func() { close(reads) })
	<-reads
	if goroutine == "console" {
		c.Post(func() { panic("on the console's goroutine") })
		return
	}
	panic("on another goroutine")
}

// restored tells that a shell has its whole terminal.
func restored(g *glass) {
	g.t.Helper()
	g.press("Enter")
	g.until("a shell", func(rows []string) bool {
		return strings.HasSuffix(strings.TrimRight(strings.Join(rows, "\n"), "\n"), "\n$")
	})
	g.say("clear; stty -a")
	g.see(" icanon", " echo ")
	g.say("clear; for i in $(seq 99); do echo line $i; done")
	g.until("all rows in use", func(rows []string) bool {
		last := len(rows) - 2
		return rows[last] == "line 99" && rows[0] == fmt.Sprintf("line %d", 99-last)
	})
}
