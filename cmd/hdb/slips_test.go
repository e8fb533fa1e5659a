package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/session/recordings"
	"hdb/testprogs"
)

// TestSlips types command lines as newcomers do: what is not meant so says what to type.
func TestSlips(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n:\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words, want string // want: a part of what is printed
		code        int
	}{
		{"leaks -p " + pid, "error: leaks: a command of the console: hdb -p " + pid + ", and then leaks: see hdb --help", 2},
		{"leaks --pid=" + pid, "hdb -p " + pid + ", and then leaks", 2},
		{"leaks " + pid, "hdb -p " + pid + ", and then leaks", 2},
		{"leaks", "hdb leaks CAPTURE asks a capture, hdb leaks -- PROGRAM runs one and reports when it exits (", 2},
		{"top", "hdb top CAPTURE asks a capture (hdb --args top starts a program of that name)", 2}, // and not /usr/bin/top
		{"flamegraph -o sq.SVG run.hdb", "error: flamegraph: sq.SVG: the output is HTML, not SVG: name it sq.html", 2},
		{"top --help", "rank functions", 0},
		{"top " + script, "error: top: " + script + " is no capture: hdb record -o FILE PROGRAM makes one", 2},
		{"find --help", "search memory for bytes", 0},
		{"version", "hdb ", 0},
		{"version foo", `error: version takes no arguments: "foo": see hdb --help`, 2},
		{"version --json", `error: version takes no arguments: "--json": see hdb --help`, 2},
		{"version --help", "--version ", 0},
		{"help version", "--version ", 0},
		{"leaks -- " + script, "still reachable", 0},
		{"leaks --help", "Example", 0},
		{"leaks -h", "Example", 0},
		{"refs --help", "Example", 0},
		{"-p " + pid + " leaks", "error: -p " + pid + ": unexpected leaks: to run a command use hdb -p " + pid + " -ex leaks: see hdb --help", 2},
		{"-p " + pid + " -batch leaks all", "use hdb -p " + pid + " -ex 'leaks all'", 2},
	} {
		cmd := exec.Command(testprogs.HDB(t), strings.Fields(c.words)...)
		out, _ := cmd.CombinedOutput() // the exit code is looked at
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("hdb %s: exit code %d, want %d and %q in\n%s", c.words, code, c.code, c.want, out)
		}
	}
}

// TestNextCommands: what hdb record names next suits what was recorded.
func TestNextCommands(t *testing.T) {
	for _, c := range []struct {
		st   recordings.RecordStatus
		want string
	}{
		{recordings.RecordStatus{}, "next: `hdb summary a.hdb` sums it up, "},
		{recordings.RecordStatus{LiveBlocks: 1}, "next: `hdb leaks a.hdb` shows what was not freed, "},
		{recordings.RecordStatus{LiveBlocks: 1, Collects: true}, "next: `hdb top a.hdb` shows who allocated what is live, `hdb diff a.hdb 50%` what has grown in the second half, "},
		{recordings.RecordStatus{LiveBlocks: 1, LiveBytes: 1, PeakBytes: 1000, HidesPython: true}, "next: `hdb top a.hdb` shows who held the memory at the peak, "},
	} {
		if got := nextCommands("a.hdb", &c.st, false); got != c.want+"`hdb a.hdb` opens the console on it" {
			t.Errorf("%+v: %s", c.st, got)
		}
	}
}
