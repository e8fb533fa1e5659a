package inferior

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TestTerminal plays hdb on a terminal of its own: a copy of this test that
// launches a program sharing it.
func TestTerminal(t *testing.T) {
	if path := os.Getenv("HDB_TEST_TERMINAL"); path != "" {
		onTerminal(t, path)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestTerminal$", "-test.v")
	cmd.Env = append(os.Environ(), "HDB_TEST_TERMINAL="+build(t, "tty"))
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, _ = io.Copy(&out, f) // ends with EIO when the terminal is closed
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, &out)
	}
	for _, want := range []string{"foreground 1 echo 1", "foreground 1 echo 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func onTerminal(t *testing.T, path string) {
	p, err := Launch(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ours := func(when string) {
		group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		if err != nil || group != unix.Getpgrp() {
			t.Errorf("%s: the foreground is %d, hdb is %d, %v", when, group, unix.Getpgrp(), err)
		}
		if m, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil || m.Lflag&unix.ECHO == 0 {
			t.Errorf("%s: echo is off, %v", when, err)
		}
	}
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	ours("before")
	for range 2 {
		if s := resume(t, p); s.Reason != Trapped {
			t.Fatalf("%v %+v", s.Reason, s.Signal)
		}
		ours("at the trap")
	}
	wantExit(t, p, 7)
	ours("after")
}

// TestOwnTerminal gives the program another terminal, in a session of its own.
func TestOwnTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	p, err := Launch(Config{Path: build(t, "tty"), TTY: slave.Name()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := master.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	if sid, err := unix.Getsid(p.target.PID()); err != nil || sid != p.target.PID() {
		t.Errorf("session %d, %v", sid, err)
	}
	wantExit(t, p, 7)
	slave.Close()
	var out bytes.Buffer
	_, _ = io.Copy(&out, master) // ends with EIO
	if !strings.Contains(out.String(), "foreground 1 echo 1") {
		t.Errorf("it said %q", &out)
	}
}
