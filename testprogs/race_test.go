package testprogs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoDataRaceInARecordingOfThreads runs a console built with the race detector on
// a program of many threads: what the console's goroutine changes while the one that
// takes the probe's events runs. In the short form it is the recording that ends by
// its size, several times, with a stop that keeps events coming.
func TestNoDataRaceInARecordingOfThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes of compiling, where the race detector is not used otherwise; test-full has it")
	}
	program := Build(t, "storm_threads")
	full := []string{"record start --max-size 100K", "break exit if live > 1"}
	for range 3 {
		full = append(full, "run 8 100000", "record status", "top", "kill")
	}
	runRaceHDB(t, program, full, "has ended; the program runs on")
	for _, bounds := range []string{"", "--max-size 100K", "--ring 100K", "--last 5ms", "--aggregate"} {
		for _, filter := range []string{"", "size >= 64", `func("work")`, "live > 1000", "thread == 3", `thread_name == "x"`} {
			t.Run(fmt.Sprintf("bounds %q filter %q", bounds, filter), func(t *testing.T) {
				commands := []string{
					"record filter " + filter, "record start " + bounds,
					"alloc break nth == 3000", "alloc break free nth == 20000", "run 8 20000",
					"info breakpoints", "record pause", "continue", "live", "record resume", "next-alloc size > 2000", "stepi 500",
					"record filter size < 300", "next-free 300", "record filter", "mark here", "threads", "continue", "record stop", "top",
					"delete", "alloc break nth == 9000 && live > 1", "record start", "run 8 20000", "record stop", "continue", "record status",
				}
				runRaceHDB(t, program, commands, "exited with code 0")
			})
		}
	}
}

// runRaceHDB runs the commands in a console, and fails when one races or the words are
// not printed.
func runRaceHDB(t *testing.T, program string, commands []string, want string) {
	t.Helper()
	args := []string{"-nx", "-batch", "-ex", "set confirm off"}
	for _, c := range commands {
		args = append(args, "-ex", c)
	}
	ctx, cancel := Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, RaceHDB(t), append(args, program)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GORACE=") }), "HOME="+cmd.Dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Fatal(err)
	case strings.Contains(string(out), "DATA RACE"):
		t.Errorf("%s\n%s", strings.Join(commands, "\n"), out)
	case !strings.Contains(string(out), want):
		t.Errorf("%q is not printed\n%s", want, out)
	}
}
