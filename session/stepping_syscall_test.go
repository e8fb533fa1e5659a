package session

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"hdb/inferior"
	"hdb/session/target"
	"hdb/testprogs"
)

// A thread that is stepped into a system call waits there for another one, which
// has to run for that.
func TestStepInstructionsThroughABlockingCall(t *testing.T) {
	s := open(t, "contended")
	out := output(t, s, "")
	if _, err := s.Stops.Break("contended.c:29", true); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	must(t)(s.Stepping.StepInstruction(2000))
	if r := must(t)(s.Execution.Continue(1)); r.Reason != inferior.Exited {
		t.Errorf("stopped: %s", r.Headline())
	}
	if got := out(); got != "n 10050" {
		t.Errorf("the program printed %q", got)
	}
}

// An interrupted step leaves nothing behind that could hurt the program once it
// is let go: not of a step that session makes, nor of the engine's.
func TestDetachAfterAnInterruptedStep(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, step := range map[string]func(*Session) (inferior.StopReason, error){
		"next": func(s *Session) (inferior.StopReason, error) {
			r, err := s.Stepping.Next(1)
			if err != nil {
				return 0, err
			}
			return r.Reason, nil
		},
		"engine": func(s *Session) (inferior.StopReason, error) {
			stop, err := s.target.Proc.StepInstruction(s.Selection.Cur.Thread)
			return stop.Reason, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			finish := startWorker(t)
			s := New(target.Config{})
			defer s.Close()
			must(t)(s.Attach(finish.pid))
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(100 * time.Millisecond) // the step waits in read by then, or the interrupt waits for it
				if err := s.Interrupt(); err != nil {
					t.Error(err)
				}
			}()
			reason, err := step(s)
			for err == nil && reason == inferior.Stepped { // not in its call yet
				reason, err = step(s)
			}
			if err != nil || reason != inferior.Interrupted {
				t.Errorf("the step ended %v: %v", reason, err)
			}
			<-done
			if _, err := s.Detach(); err != nil {
				t.Fatal(err)
			}
			if got := finish.wait(); got != "right some wrong 0" {
				t.Errorf("the program ended with %q", got)
			}
		})
	}
}

// worker is a program that works until its standard input is closed.
type worker struct {
	pid  int
	wait func() string // ends it and returns its last line, or how it died
}

func startWorker(t *testing.T) worker {
	t.Helper()
	cmd := exec.Command(testprogs.Build(t, "worker"), "3")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("the worker says nothing: %v", err)
	}
	return worker{cmd.Process.Pid, func() string {
		in.Close()
		rest, err := io.ReadAll(lines)
		if err != nil {
			return err.Error()
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Sprintf("%s%v", rest, err)
		}
		return strings.TrimSpace(string(rest))
	}}
}
