package console

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/console/desk"
	"hdb/testprogs"
)

// bystander starts a program that hdb is attached to and that must outlive it.
func bystander(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testprogs.Build(t, name))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is in its loop
		t.Fatal(err)
	}
	return cmd
}

// sleeps is how often a thread has gone to sleep by itself: spin once in 1000 allocations.
func sleeps(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:\t")
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// livesOn waits until the program has run for a while longer, allocating.
func livesOn(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	from := sleeps(t, cmd.Process.Pid)
	for end := time.Now().Add(20 * time.Second); sleeps(t, cmd.Process.Pid) < from+200; time.Sleep(10 * time.Millisecond) {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		if pid != 0 || err != nil {
			t.Fatalf("the program did not outlive hdb: %v, status %#x", err, status)
		}
		if time.Now().After(end) {
			t.Fatal("the program does not go on")
		}
	}
}

// ends waits for hdb.
func ends(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("hdb still runs")
	}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		t.Fatalf("hdb died of %v", ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// TestBrokenPipeDetaches has hdb's reader go away after a line or two, as in
// `hdb ... | head -2`, while the process is full of traps.
func TestBrokenPipeDetaches(t *testing.T) {
	many := slices.Repeat([]string{"c", "bt"}, 200) // more than there is time for until the pipe is closed
	for name, commands := range map[string][]string{
		"commands":        append([]string{"break alloc"}, many...),
		"hooks":           {"break alloc", "commands", "bt", "continue", "end", "c"},
		"messages closed": append([]string{"break alloc", "c", "bt", "nonsense"}, many...),
	} {
		t.Run(name, func(t *testing.T) {
			prog := bystander(t, "spin")
			args := []string{"-batch", "-nx"}
			for _, c := range commands {
				args = append(args, "-ex", c)
			}
			cmd := exec.Command(testprogs.HDB(t), append(args, "-p", strconv.Itoa(prog.Process.Pid))...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if name == "messages closed" {
				cmd.Stderr = cmd.Stdout
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReaderSize(out, 16).ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			out.Close()
			if code := ends(t, cmd); code != desk.ExitFailed {
				t.Errorf("exit code %d, want %d", code, desk.ExitFailed)
			}
			livesOn(t, prog)
		})
	}
}

// TestSignalsDetach ends hdb by each of its signals, while the process runs
// with traps in it and at the prompt.
func TestSignalsDetach(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			prog := bystander(t, "spin")
			k := newKeyboard(t, exec.Command(testprogs.HDB(t), "-nx", "-p", strconv.Itoa(prog.Process.Pid)))
			k.expect("(hdb) ")
			k.press("break alloc if size > 1GiB" + keyEnter)
			k.expect("(hdb) ")
			k.press("continue" + keyEnter)
			livesOn(t, prog)
			if err := k.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			k.expect("detached from process")
			ends(t, k.cmd)
			livesOn(t, prog)
		})
		t.Run(sig.String()+" at the prompt", func(t *testing.T) {
			prog := bystander(t, "spin")
			k := newKeyboard(t, exec.Command(testprogs.HDB(t), "-nx", "-p", strconv.Itoa(prog.Process.Pid)))
			k.expect("(hdb) ")
			k.press("next-alloc" + keyEnter)
			k.expect("malloc(")
			k.expect("(hdb) ")
			if err := k.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			k.expect("detached from process")
			ends(t, k.cmd)
			livesOn(t, prog)
		})
	}
}

// TestSignalsEndWhatIsBeside ends hdb while the process runs in the background and a command works beside it.
func TestSignalsEndWhatIsBeside(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		for _, beside := range []string{"shell sleep 1000", "shell true", "export flamegraph -o " + filepath.Join(t.TempDir(), "f.html"), "top"} {
			t.Run(sig.String()+"/"+strings.Fields(beside)[0], func(t *testing.T) {
				prog := bystander(t, "spin")
				k := newKeyboard(t, exec.Command(testprogs.HDB(t), "-nx", "-p", strconv.Itoa(prog.Process.Pid)))
				k.expect("(hdb) ")
				for _, line := range []string{"break alloc if size > 1GiB", "record start", "continue &"} {
					k.press(line + keyEnter)
					k.expect("(hdb) ")
				}
				k.press(beside + keyEnter)
				livesOn(t, prog)
				if err := k.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				k.expect("detached from process")
				ends(t, k.cmd)
				livesOn(t, prog)
			})
		}
	}
}

// TestInferiorsKeepSIGPIPE holds programs that hdb starts to the default
// action: SIG_IGN would be inherited.
func TestInferiorsKeepSIGPIPE(t *testing.T) {
	out, _, _ := hdb(t, nil, "/bin/sh", "shell grep SigIgn /proc/self/status", "set args -c 'grep SigIgn /proc/self/status'", "run")
	n := 0
	for line := range strings.Lines(out) {
		hex, ok := strings.CutPrefix(strings.TrimSpace(line), "SigIgn:\t")
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if mask&(1<<(syscall.SIGPIPE-1)) != 0 {
			t.Errorf("SIGPIPE is ignored: %s", line)
		}
	}
	if n != 2 {
		t.Errorf("%d of 2 programs told their signals:\n%s", n, out)
	}
}
