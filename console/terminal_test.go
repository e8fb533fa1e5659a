package console

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/shell"
	"hdb/session"
	"hdb/session/target"
	"hdb/testprogs"
)

// TestMain lets the test binary be the console of the terminal tests.
func TestMain(m *testing.M) {
	if os.Getenv("HDB_CONSOLE_TEST_CHILD") != "" {
		os.Exit(terminalChild())
	}
	os.Exit(m.Run())
}

func terminalChild() (code int) {
	drops := line.DropsTyped(os.Stdin)
	in, err := line.NewTerminal()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return desk.ExitUsage
	}
	s := session.New(target.Config{Version: "test", DropsTyped: drops})
	defer func() { // as cmd/hdb does, for a panic; the console has closed it before
		if err := in.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			code = desk.ExitUsage
		}
	}()
	c := New(Config{Session: s, NoInit: true, Options: shell.Options{In: in, Out: os.Stdout, Err: os.Stderr, Version: "test"}})
	if on := os.Getenv("HDB_CONSOLE_TEST_PANIC"); on != "" {
		go panicIn(c.Desk, on)
	}
	if os.Getenv("HDB_CONSOLE_TEST_NOTICES") != "" {
		go chatter(c.Desk)
	}
	return c.Run()
}

// A keyboard is a person at a terminal with a console on it.
type keyboard struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	seen string

	printed chan string
}

func newKeyboard(t *testing.T, cmd *exec.Cmd) *keyboard {
	t.Helper()
	return newSizedKeyboard(t, cmd, pty.Winsize{Rows: 24, Cols: 100})
}

func newSizedKeyboard(t *testing.T, cmd *exec.Cmd, size pty.Winsize) *keyboard {
	t.Helper()
	home := t.TempDir()
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "PAGER=")
	}
	cmd.Env = append(cmd.Env, "HDB_CONSOLE_TEST_CHILD=1", "TERM=xterm", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "NO_COLOR=1", "SHELL=/bin/sh", "PS1=$ ")
	tty, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		t.Fatal(err)
	}
	k := &keyboard{t: t, tty: tty, cmd: cmd, printed: make(chan string, 1024)}
	go k.listen()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tty.Close()
	})
	return k
}

func (k *keyboard) press(keys string) {
	k.t.Helper()
	if _, err := k.tty.WriteString(keys); err != nil {
		k.t.Fatal(err)
	}
}

// listen copies what the terminal prints to a channel: a pty's master has no
// read deadlines.
func (k *keyboard) listen() {
	defer close(k.printed)
	buf := make([]byte, 4096)
	for {
		n, err := k.tty.Read(buf)
		if n > 0 {
			k.printed <- string(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// expect waits until the text has been printed, and forgets what came before, which it returns.
func (k *keyboard) expect(text string) (before string) {
	k.t.Helper()
	timeout := time.After(20 * time.Second)
	for !strings.Contains(k.seen, text) {
		select {
		case s, ok := <-k.printed:
			if !ok {
				k.t.Fatalf("waiting for %q: the terminal was closed; seen %q", text, k.seen)
			}
			k.seen += s
		case <-timeout:
			k.t.Fatalf("waiting for %q; seen %q", text, k.seen)
		}
	}
	before, k.seen, _ = strings.Cut(k.seen, text)
	return before
}

const (
	keyTab   = "\t"
	keyEnter = "\r"
	keyCtrlA = "\x01"
	keyCtrlC = "\x03"
	keyCtrlD = "\x04"
	keyCtrlR = "\x12"
	keyCtrlZ = "\x1a"
	keyUp    = "\x1b[A"
	keyLeft  = "\x1b[D"
)

func TestTerminalEditing(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	k.expect("(hdb) ")
	k.press("ecko one" + strings.Repeat(keyLeft, 5) + "\x7fh" + keyEnter) // the k becomes an h
	k.expect("\none\r\n")
	k.expect("(hdb) ")
	k.press("two" + keyCtrlA + "echo " + keyEnter)
	k.expect("\ntwo\r\n")
	k.expect("(hdb) ")
	k.press(keyUp + keyUp + keyEnter) // history
	k.expect("\none\r\n")
	k.expect("(hdb) ")
	k.press("show listsi" + keyTab + keyEnter) // completion
	k.expect("listsize is 10\r\n")
	k.expect("(hdb) ")
	k.press("echo never" + keyCtrlC) // gives up the line
	k.expect("^C")
	k.expect("(hdb) ")
	k.press("shell stty -a" + keyEnter) // the terminal is as it was found while commands run
	k.expect(" icanon")
	k.expect(" echo ")
	k.expect("(hdb) ")
	k.press("info sh" + keyTab + keyEnter)
	k.expect("error: no process")
	k.expect("(hdb) ")
	k.press(keyCtrlR + "two" + keyEnter)
	k.expect("\ntwo\r\n")
	k.expect("(hdb) ")
	k.press(keyCtrlD)
	k.expect("quit\r\n")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// TestTerminalWithoutSize has a terminal whose size nobody has told: lines are edited as on one
// of 80 columns, and its size stays what it was.
func TestTerminalWithoutSize(t *testing.T) {
	k := newSizedKeyboard(t, exec.Command(os.Args[0]), pty.Winsize{})
	k.expect("(hdb) ")
	k.press("show listsi" + keyTab + keyEnter)
	k.expect("listsize is 10\r\n")
	k.expect("(hdb) ")
	long := strings.Repeat("x", 100)
	k.press("echo " + long + keyEnter)
	k.expect("\n" + long + "\r\n")
	k.expect("(hdb) ")
	k.press(keyUp + keyUp + keyEnter)
	k.expect("listsize is 10\r\n")
	k.expect("(hdb) ")
	k.press("echo not this" + keyCtrlC)
	k.expect("^C")
	k.expect("(hdb) ")
	if size, err := pty.GetsizeFull(k.tty); err != nil || *size != (pty.Winsize{}) {
		t.Errorf("the terminal has the size %+v, %v", size, err)
	}
	k.press(keyCtrlD)
	k.expect("quit\r\n")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// TestTerminalWithoutColumns has terminals on which there is no place to edit a line.
func TestTerminalWithoutColumns(t *testing.T) {
	for _, size := range []pty.Winsize{{Rows: 24, Cols: 1}, {Rows: 24, Cols: 5}, {Rows: 24, Cols: 15}} {
		t.Run(fmt.Sprintf("%dx%d", size.Rows, size.Cols), func(t *testing.T) {
			k := newSizedKeyboard(t, exec.Command(os.Args[0]), size)
			k.expect("(hdb) ")
			k.press("echo" + keyTab + "one" + keyEnter)
			k.expect("\none\r\n")
			k.expect("(hdb) ")
			k.press("echo not this" + keyCtrlC)
			k.expect("^C")
			k.expect("\n(hdb) ") // the signal has come
			k.press(keyCtrlD)
			k.expect("quit\r\n")
			if err := k.cmd.Wait(); err != nil {
				t.Errorf("exit: %v", err)
			}
		})
	}
}

// TestTerminalGetsColumns has a terminal that is told its size only while hdb runs, and
// loses it again in the middle of a line.
func TestTerminalGetsColumns(t *testing.T) {
	k := newSizedKeyboard(t, exec.Command(os.Args[0]), pty.Winsize{})
	resize := func(size pty.Winsize) {
		if err := pty.Setsize(k.tty, &size); err != nil {
			t.Fatal(err)
		}
	}
	k.expect("(hdb) ")
	resize(pty.Winsize{Rows: 24, Cols: 100})
	k.press("echo one" + keyEnter)
	k.expect("\none\r\n")
	k.expect("(hdb) ")
	k.press("show listsi" + keyTab + keyEnter)
	k.expect("listsize is 10\r\n")
	k.expect("(hdb) ")
	k.press(keyUp + keyUp + keyEnter)
	k.expect("\none\r\n")
	k.expect("(hdb) ")
	k.press("echo lost")
	k.expect("lost")
	resize(pty.Winsize{})
	k.expect("(hdb) ")
	time.Sleep(200 * time.Millisecond) // what is typed while the terminal's mode changes may be lost
	k.press("echo two" + keyEnter)
	k.expect("\ntwo\r\n")
	k.expect("(hdb) ")
	k.press("show listsi" + keyTab + keyEnter) // as of 80 columns
	k.expect("listsize is 10\r\n")
	k.expect("(hdb) ")
	k.press(keyCtrlD)
	k.expect("quit\r\n")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

func TestTerminalInterruptsACommand(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	k.expect("(hdb) ")
	k.press("shell echo begun; sleep 60; echo not reached" + keyEnter)
	k.expect("begun\r\n")
	k.press(keyCtrlC)
	k.expect("error: shell: ")
	k.expect("(hdb) ")
	k.press("quit 3" + keyEnter)
	if err := k.cmd.Wait(); k.cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit: %v", err)
	}
}

// TestTerminalTellsOfSteps watches by single steps: hdb says how far it is, once though the command is one of a
// script, and Ctrl-C stops the program.
func TestTerminalTellsOfSteps(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("continue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKeyboard(t, exec.Command(testprogs.HDB(t), "-nx", "-q", testprogs.Build(t, "spin")))
	for _, line := range []string{"set can-use-hw-watchpoints 0", "start", "watch *$rsp 8", "source " + script} {
		k.expect("(hdb) ")
		k.press(line + keyEnter)
	}
	k.expect("watching by single steps: ")
	k.expect(" a second (Ctrl-C stops the program)")
	time.Sleep(time.Second) // a second line would follow at once
	k.press(keyCtrlC)
	if before := k.expect("(hdb) "); strings.Contains(before, "watching by single steps: ") {
		t.Errorf("told twice: %q", before)
	}
	k.press("kill" + keyEnter)
	k.expect("(y or n) ")
	k.press("y" + keyEnter)
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// TestTerminalKeepsLinesTypedAhead of a Ctrl-C, which the terminal drops unless it is told not to.
func TestTerminalKeepsLinesTypedAhead(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	k.expect("(hdb) ")
	k.press("shell echo asl''eep; sleep 100" + keyEnter)
	k.expect("asleep")
	k.press("echo one" + keyEnter + "echo two" + keyEnter)
	k.press(keyCtrlC)
	k.expect("error: shell: ")
	k.expect("(hdb) echo one\r\none\r\n")
	k.expect("(hdb) echo two\r\ntwo\r\n")
	k.press("quit" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	modes, err := unix.IoctlGetTermios(int(k.tty.Fd()), unix.TCGETS)
	if err != nil || modes.Lflag&unix.NOFLSH != 0 {
		t.Errorf("the terminal was left with modes %+v: %v", modes, err)
	}
}

// TestTerminalModesOfPrograms: a program has the user's NOFLSH, set or not, and so has the
// terminal after hdb.
func TestTerminalModesOfPrograms(t *testing.T) {
	for word, want := range map[string]uint32{"-noflsh": 0, "noflsh": unix.NOFLSH} {
		k := newKeyboard(t, exec.Command("/bin/sh", "-c", "stty "+word+"; "+os.Args[0]+"; stty -a; echo over"))
		k.expect("(hdb) ")
		k.press("file stty" + keyEnter)
		k.expect("(hdb) ")
		k.press("run -a" + keyEnter)
		k.expect(" " + word + " ")
		k.expect("exited with code 0")
		k.press("quit" + keyEnter)
		k.expect(" " + word + " ")
		k.expect("over")
		modes, err := unix.IoctlGetTermios(int(k.tty.Fd()), unix.TCGETS)
		if err != nil || modes.Lflag&unix.NOFLSH != want {
			t.Errorf("stty %s: the terminal was left with modes %+v: %v", word, modes, err)
		}
	}
}

func TestTerminalSuspends(t *testing.T) {
	k := newKeyboard(t, exec.Command("/bin/bash", "--norc", "--noprofile", "-i"))
	k.expect("$ ")
	k.press(os.Args[0] + "; echo shell-$?\n")
	k.expect("(hdb) ")
	k.press("echo be" + keyCtrlZ)
	k.expect("Stopped")
	k.expect("$ ")
	k.press("fg\n")
	k.expect("(hdb) ")
	k.expect("echo be") // drawn again
	k.press("fore" + keyEnter)
	k.expect("\nbefore\r\n")
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	k.expect("$ ")
}

func TestTerminalEndsAtHangup(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	k.expect("(hdb) ")
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- k.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("still running after SIGTERM")
	}
}

func TestPagerAsks(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("-- more:")
	k.press("q") // no Enter
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("-- more:")
	k.press(keyEnter)
	k.expect("-- more:")
	k.press("c")
	k.expect("leave hdb")
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("-- more:")
	k.press(keyCtrlC)
	k.expect("(hdb) ")
	k.press("echo edi" + keyLeft + keyLeft + keyLeft + "still-" + keyEnter) // the line editor works as before
	k.expect("\nstill-edi\r\n")
	k.expect("(hdb) ")
	k.press("set pagination off" + keyEnter)
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("leave hdb")
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// What is longer than the terminal goes through $PAGER, what is not is printed.
func TestUsersPager(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PAGER=sed 's/^/paged /'; head -c 1 < /dev/tty > /dev/null")
	k := newKeyboard(t, cmd)
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("paged Running the program")
	k.expect("paged   quit")
	k.press(keyEnter) // at the pager
	k.expect("(hdb) ")
	k.press("show version" + keyEnter)
	k.expect("\nhdb")
	k.expect("(hdb) ")
	k.press("set pagination off" + keyEnter)
	k.expect("(hdb) ")
	k.press("help all" + keyEnter)
	k.expect("\nRunning the program")
	k.expect("leave hdb")
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}
