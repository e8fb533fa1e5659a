package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestRecordUnfollowed claims nothing of the blocks of a program in which no allocator function is known: neither when it was
// recorded, nor of its capture, nor in the console.
func TestRecordUnfollowed(t *testing.T) {
	t.Parallel()
	program, dir := testprogs.Build(t, "unfollowed", "STRIP"), t.TempDir()
	const unknown = "no allocator function was known in the program: what it allocates is not counted"
	console := func(commands ...string) []string {
		args := []string{"-nx", "-batch"}
		for _, c := range commands {
			args = append(args, "-ex", c)
		}
		return args
	}
	events, sums := filepath.Join(dir, "events.hdb"), filepath.Join(dir, "sums.hdb")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"record", "-o", events, program}, []string{": 0 events, 0 stacks, " + unknown, "next: `hdb record --alloc "}},
		{[]string{"record", "--aggregate", "-o", sums, program}, []string{": 0 events, 0 stacks, " + unknown, "next: `hdb record --alloc "}},
		{[]string{"top", events}, []string{"error: no event was recorded: " + unknown}},
		{[]string{"top", sums}, []string{"error: no event was recorded: " + unknown}},
		{[]string{"live", sums}, []string{"error: no event was recorded: " + unknown}},
		{[]string{"summary", sums}, []string{"error: no event was recorded: " + unknown}},
		{append(console("record status"), events), []string{"live: not known\n", "partial: " + unknown}},
		{append(console("record start", "run", "record status", "record stop", "top"), program), []string{
			"live: not known\n", "recording stopped: 0 events kept: " + unknown, "error: no event was recorded: " + unknown}},
		{append(console("record start --aggregate", "catch syscall write", "run", "stats", "tree", "diff start"), program), []string{
			"allocated     not known\n", "no allocation was recorded\n", "error: diff: no event was recorded: " + unknown}},
		{append(console("set probe off", "record start", "run", "top"), program), []string{"error: no event was recorded: " + unknown}},
	} {
		out, _ := exec.Command(testprogs.HDB(t), c.args...).CombinedOutput() // of captures that answer nothing the code is not 0
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("hdb %q: %q is missing:\n%s", c.args, want, out)
			}
		}
		for _, claim := range []string{"no block", "0 blocks", "per-stack totals only"} {
			if strings.Contains(string(out), claim) {
				t.Errorf("hdb %q says %q:\n%s", c.args, claim, out)
			}
		}
	}
}
