package testprogs

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"hdb/internal/procfs"
)

// newUnattended prepares hdb with words that run the program of signalled.c to its end.
func newUnattended(t *testing.T, words []string, action string, sig syscall.Signal, rounds int) *recording {
	t.Helper()
	words = append([]string{"--return-child-result"}, words...)
	words = append(words, Build(t, "signalled"), action, strconv.Itoa(int(sig)), strconv.Itoa(rounds))
	r := &recording{t: t, cmd: exec.Command(HDB(t), words...), done: make(chan error, 1)}
	r.cmd.Dir = t.TempDir()
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return r
}

var (
	leaksWords  = []string{"leaks", "--"}
	recordWords = []string{"record", "-f", "-o", "r.hdb"}
	assertWords = []string{"assert", "--max-peak", "1G", "--"}
)

// TestSignalsReachTheProgram has a program raise signals twice that it handles, ignores, or dies of.
func TestSignalsReachTheProgram(t *testing.T) {
	t.Parallel()
	for _, n := range []syscall.Signal{syscall.SIGINT, syscall.SIGTRAP, syscall.SIGSEGV, syscall.SIGUSR1, syscall.SIGALRM, syscall.SIGTERM,
		syscall.SIGTSTP, syscall.SIGURG, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGIO, 34, 64} {
		commands := [][]string{leaksWords}
		if n == syscall.SIGTSTP || n == syscall.SIGTRAP || n == syscall.SIGINT {
			commands = append(commands, recordWords, assertWords)
		}
		for _, words := range commands {
			for action, got := range map[string]int{"handle": 2, "ignore": 0} {
				r := newUnattended(t, words, action, n, 0).start()
				r.wantExit(got)
				r.wantSaid(fmt.Sprintf("got %d", got))
				if words[0] == "leaks" {
					r.wantSaid("about to exit", "(4321) in 1 block")
				}
			}
		}
		if n == syscall.SIGTSTP || n == syscall.SIGURG {
			continue
		}
		r := newUnattended(t, leaksWords, "default", n, 0).start()
		r.wantExit(128 + int(n))
		r.wantSaid("the signal ends the program", "(4321) in 1 block", "killed by")
	}
}

// TestFatalSignalStopsInSpiteOf has settings and catchpoints that would let the signal pass.
func TestFatalSignalStopsInSpiteOf(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"handle SIGUSR1 nostop noprint", "catch signal SIGUSR1 if 0", "set probe off"} {
		words := []string{"-nx", "-batch", "-ex", line, "-ex", "record start", "-ex", "leaks --exit", "-ex", "continue", "--args"}
		r := newUnattended(t, words, "default", syscall.SIGUSR1, 0).start()
		r.wantExit(128 + int(syscall.SIGUSR1))
		r.wantSaid("the signal ends the program", "(4321) in 1 block", "killed by SIGUSR1")
	}
}

// TestSignalsPassThroughLeaks signals the program, hdb, and the process group of both, while leaks waits for the
// program's exit.
func TestSignalsPassThroughLeaks(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, to := range []string{"program", "hdb", "both"} {
			for action, exit := range map[string]int{"handle": 1, "default": 128 + int(sig)} {
				t.Run(fmt.Sprintf("%v to %s, %s", sig, to, action), func(t *testing.T) {
					t.Parallel()
					r := newUnattended(t, leaksWords, action, sig, 300).start()
					pid := map[string]int{"program": r.programPID(), "hdb": r.cmd.Process.Pid, "both": -r.cmd.Process.Pid}[to]
					if err := syscall.Kill(pid, sig); err != nil {
						t.Fatal(err)
					}
					r.wantExit(exit)
					r.wantSaid("(4321) in 1 block")
				})
			}
		}
	}
}

// TestSecondSIGTERMEndsLeaks is of a program that ignores it.
func TestSecondSIGTERMEndsLeaks(t *testing.T) {
	t.Parallel()
	r := newUnattended(t, leaksWords, "ignore", syscall.SIGTERM, 300).start()
	pid := r.programPID()
	for range 2 {
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // hdb says nothing of the first, and two at once may arrive as one
	}
	r.wantExit(1)
	waitGone(t, pid)
}

// TestSignalsToHDBSpareAnAttachedProgram has hdb wait for its exit.
func TestSignalsToHDBSpareAnAttachedProgram(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		program := newUnattended(t, nil, "default", sig, 300)
		program.cmd.Args = program.cmd.Args[2:]
		program.cmd.Path = program.cmd.Args[0]
		pid := program.start().programPID()
		r := newUnattended(t, []string{"-nx", "-batch", "-p", strconv.Itoa(pid), "-ex", "echo attached", "-ex", "leaks --exit"}, "", 0, 0)
		r.cmd.Args = r.cmd.Args[:len(r.cmd.Args)-4]
		r.start().until("attached")
		waitRuns(t, pid)
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		r.wantExit(1)
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("%v: %v\n%s", sig, err, r.out.String())
		}
	}
}

// onJobControl starts an interactive shell on a terminal, which the test types to.
func onJobControl(t *testing.T) (r *recording, send func(string)) {
	t.Helper()
	r = &recording{t: t, cmd: exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i"), done: make(chan error, 1)}
	r.cmd.Dir = t.TempDir()
	r.cmd.Env = append(r.cmd.Environ(), "PS1=PROMPT> ", "HISTFILE=")
	tty, err := pty.StartWithSize(r.cmd, &pty.Winsize{Rows: 24, Cols: 150})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tty.Close() // its jobs get SIGHUP
		_ = r.cmd.Process.Kill()
	})
	go func() {
		_, _ = io.Copy(&r.out, tty)
		r.done <- r.cmd.Wait()
	}()
	return r, func(text string) {
		if _, err := io.WriteString(tty, text); err != nil {
			t.Fatal(err)
		}
	}
}

// times waits until a text was printed so often.
func (r *recording) times(text string, n int) {
	r.t.Helper()
	for end := Deadline(r.t); strings.Count(r.out.String(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%q is not printed %d times:\n%s", text, n, r.out.String())
		}
	}
}

// waitRuns waits until a process that hdb has started or attached to is not stopped.
func waitRuns(t *testing.T, pid int) {
	t.Helper()
	for end := Deadline(t); ; time.Sleep(5 * time.Millisecond) {
		state, ok := procfs.Status(pid, "State")
		if ok && !strings.ContainsAny(state[:1], "tT") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d does not run: %q", pid, state)
		}
	}
}

// TestCtrlZ suspends programs and hdb by the terminal's key, twice.
func TestCtrlZ(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{leaksWords, recordWords, assertWords} {
		for _, action := range []string{"redraw", "default"} {
			t.Run(words[0]+" "+action, func(t *testing.T) {
				t.Parallel()
				job := newUnattended(t, words, action, syscall.SIGTSTP, 30).cmd.Args
				r, send := onJobControl(t)
				send(strings.Join(job, " ") + "\n")
				pid := r.programPID()
				for i := 1; i <= 2; i++ {
					waitRuns(t, pid)
					send("\x1a")
					r.times("Stopped", i)
					if action == "redraw" {
						r.times("terminal restored", i)
					}
					send("fg\n")
					if action == "redraw" {
						r.times("redrawn", i)
					}
				}
				r.until("got 0")
				send("echo ended with $?\n")
				r.until("ended with 0")
				send("exit\n")
				r.wait()
			})
		}
	}
}

// TestCtrlC ends a server in leaks, and interrupts it in the console.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	for action, said := range map[string]string{"handle": "exited with code 1", "default": "killed by SIGINT"} {
		job := newUnattended(t, leaksWords, action, syscall.SIGINT, 300).cmd.Args
		r, send := onJobControl(t)
		send(strings.Join(job, " ") + "\n")
		waitRuns(t, r.programPID())
		send("\x03")
		r.until(said)
		r.wantSaid("(4321) in 1 block")
		send("exit\n")
		r.wait()
	}
	r, send := onJobControl(t)
	send(HDB(t) + " -nx --args " + Build(t, "signalled") + " handle 2 300\n")
	r.until("(hdb) ")
	send("leaks --exit\n")
	waitRuns(t, r.programPID())
	send("\x03")
	r.until("stopped before it exited")
	send("signal SIGINT\n")
	r.until("got 1")
	send("quit\n")
	r.until("PROMPT> ")
	send("exit\n")
	r.wait()
}

// TestConsoleStopsAtSIGTSTP has a program stop at each SIGTSTP, and get those that do not suspend it.
func TestConsoleStopsAtSIGTSTP(t *testing.T) {
	t.Parallel()
	for action, said := range map[string]string{"handle": "got 2", "ignore": "got 0", "default": "got 0"} {
		words := []string{"-nx", "-batch", "-ex", "run", "-ex", "continue", "-ex", "continue", "--args"}
		r := newUnattended(t, words, action, syscall.SIGTSTP, 0).start()
		r.wantExit(map[string]int{"handle": 2}[action])
		r.wantSaid(said)
		if n := strings.Count(r.out.String(), "SIGTSTP sent by the process itself"); n != 2 {
			t.Errorf("%s: %d stops\n%s", action, n, r.out.String())
		}
	}
}
