package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// work is a command line, and what it is given. Nothing of the user's
// environment gets in.
type work struct {
	argv []string
	env  []string // added to the environment that all get
	dir  string
	mute bool // standard output goes to /dev/null, as costs less than a pipe
}

// cost is what one run took. CPU is user and system time of the command and
// of all that it started, to the last of them.
type cost struct {
	cpu, wall time.Duration
	start     int64 // ns since boot, just before the command was started
	out       string
}

// overtimeError says that a run was ended because it took too long.
type overtimeError struct{ limit time.Duration }

func (e *overtimeError) Error() string { return fmt.Sprintf("ended after %v", e.limit) }

// adopt makes this process the parent of what its children leave behind, so
// that run can wait for all of them and their CPU time is counted.
func adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// run runs the command to its end. Only one may run at a time: the CPU time
// is that of all children that ended in between.
func (w work) run(home string, limit time.Duration) (cost, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.argv[0], w.argv[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + home, "TERM=dumb", "LC_ALL=C.UTF-8", "TZ=UTC", "SHELL=/bin/sh"}, w.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if w.mute {
		cmd.Stdout = nil
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second

	before, err := childrenCPU()
	if err != nil {
		return cost{}, err
	}
	var c cost
	if c.start, err = sinceBoot(); err != nil {
		return cost{}, err
	}
	began := time.Now()
	err = cmd.Run()
	c.wall = time.Since(began)
	if ctx.Err() != nil {
		err = &overtimeError{limit}
	}
	if err := reap(); err != nil {
		return cost{}, fmt.Errorf("%s: %w", strings.Join(w.argv, " "), err)
	}
	after, cpuErr := childrenCPU()
	c.cpu, c.out = after-before, out.String()
	if err := errors.Join(err, cpuErr); err != nil {
		return c, fmt.Errorf("%s: %w\n%s", strings.Join(w.argv, " "), err, tail(c.out))
	}
	return c, nil
}

// reap waits for the processes that a command left behind.
func reap() error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case pid > 0:
		case time.Now().After(deadline):
			return errors.New("it left a process behind that does not end")
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

func childrenCPU() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// selfCPU is what this process has used.
func selfCPU() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// sinceBoot is the clock that the test programs print.
func sinceBoot() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano(), err
}

// tail is the end of an output that may be long.
func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "... " + s[len(s)-most:]
	}
	return s
}

// printed finds the number after the word key in what a program printed.
func printed(out, key string) (float64, error) {
	_, rest, ok := strings.Cut(out, key+" ")
	if ok {
		var v float64
		if _, err := fmt.Sscan(rest, &v); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("the program did not print its %s:\n%s", key, tail(out))
}

// size is that of a file in bytes.
func size(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
