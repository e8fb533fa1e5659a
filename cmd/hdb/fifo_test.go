package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/testprogs"
)

// TestFIFOIsNoProgram: opening one would wait for a writer that never comes.
func TestFIFOIsNoProgram(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"symbolize", "-e", fifo, "10"}, {"doctor", fifo}, {"-nx", "-batch", fifo}, {"record", fifo}} {
		cmd := exec.Command(testprogs.HDB(t), args...)
		timer := time.AfterFunc(time.Until(testprogs.Deadline(t)), func() { _ = cmd.Process.Kill() })
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != exitTarget {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		timer.Stop()
	}
}

// TestFIFOIsRefused names a FIFO wherever a file is read: none of them waits.
func TestFIFOIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo, out := filepath.Join(dir, "fifo"), filepath.Join(dir, "out.hdb")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	prog := testprogs.Build(t, "basic")
	batch := func(commands ...string) []string {
		args := []string{"-nx", "-batch"}
		for _, c := range commands {
			args = append(args, "-ex", c)
		}
		return append(args, prog)
	}
	for _, args := range [][]string{
		{"-nx", "-batch", "open", fifo}, {"capture", "info", fifo}, {"capture", "check", fifo}, {"capture", "repair", fifo, "-o", out},
		{"capture", "merge", fifo, fifo, "-o", out}, {"assert", "--no-leaks", fifo}, {"assert", "--no-leaks", "--suppressions", fifo, "--", prog},
		{"export", "--format", "pprof", fifo}, {"flamegraph", fifo}, {"leaks", fifo}, {"-nx", "-batch", "-x", fifo, prog},
		batch("open " + fifo), batch("source " + fifo), batch("file " + fifo), batch("record start", "run", "diff "+fifo),
		batch("record start", "run", "assert --no-leaks --suppressions "+fifo), batch("list " + fifo + ":1"),
		batch("start", "break alloc if like(\""+fifo+"#1\")"),
	} {
		out, waited := limited(t, args...)
		if waited || !strings.Contains(out, "error") && !strings.Contains(out, "never true") {
			t.Errorf("%q: waited %t\n%s", args, waited, out)
		}
	}
	for _, args := range [][]string{
		{"-nx", "-batch", "-x", "/dev/null", "-ex", "echo read\\n"}, {"-nx", "-batch", "-x", "/dev/fd/3"},
	} {
		cmd := exec.Command(testprogs.HDB(t), args...)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("echo read\n"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		cmd.ExtraFiles = []*os.File{r}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "read") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		r.Close()
	}
}

// TestFIFOThatNobodyReadsIsRefused names one wherever a file is written.
func TestFIFOThatNobodyReadsIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo, in := filepath.Join(dir, "fifo"), filepath.Join(dir, "in.hdb")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	writeCapture(t, in, 100)
	prog := testprogs.Build(t, "basic")
	for _, verb := range []string{
		"record -o OUT PROG", "timeline -o OUT IN", "flamegraph -o OUT IN", "table -o OUT IN", "export pprof -o OUT IN", "export ndjson -f -o OUT IN",
		"assert --max-peak 1G --junit OUT IN", "assert --max-peak 1G --sarif OUT IN", "assert --max-peak 1G -o OUT -- PROG",
		"capture trim --from peak -o OUT IN", "capture merge IN IN -o OUT", "capture anonymize -o OUT IN", "capture repair -o OUT IN",
		"-nx -batch -ex save@OUT open IN", "-nx -batch -ex run@>@OUT PROG", "-nx -batch -ex run@2>@OUT PROG",
	} {
		args := strings.Fields(strings.NewReplacer("OUT", fifo, "IN", in, "PROG", prog).Replace(verb))
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "@", " ")
		}
		if out, waited := limited(t, args...); waited || !strings.Contains(out, "a FIFO without a reader") {
			t.Errorf("%q: waited %t\n%s", args, waited, out)
		}
	}
}

// TestInputFromFIFO: the program reads from a FIFO that has a writer, from its first byte on,
// also if the writer has not written yet or is gone by then, and otherwise it does not run.
func TestInputFromFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() string {
		t.Helper()
		out, waited := limited(t, "-nx", "-batch", "-ex", "run < "+fifo, "/bin/cat")
		if waited {
			t.Fatalf("waited\n%s", out)
		}
		return out
	}
	if out := run(); !strings.Contains(out, "a FIFO without a writer: start its writer first") {
		t.Error(out)
	}
	for _, pause := range []string{"", "sleep 0.2; "} {
		writer := exec.Command("sh", "-c", `exec 3>"$1"; `+pause+`echo first line >&3`, "sh", fifo)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		hold, err := os.OpenFile(fifo, os.O_RDONLY, 0) // waits until the writer has come
		if err != nil {
			t.Fatal(err)
		}
		if out := run(); !strings.Contains(out, "first line") {
			t.Errorf("after %q: %s", pause, out)
		}
		hold.Close()
		if err := writer.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// limited is what hdb prints, and whether it waited for ever.
func limited(t *testing.T, args ...string) (out string, waited bool) {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, testprogs.HDB(t), args...)
	cmd.WaitDelay = time.Second  // a program that it runs may have its output
	b, _ := cmd.CombinedOutput() // fails, as it should
	return string(b), ctx.Err() != nil
}
