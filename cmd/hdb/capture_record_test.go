package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/capture/file"
	"hdb/testprogs"
)

func TestBounds(t *testing.T) {
	for _, args := range []string{"--aggregate --ring 1M prog", "--max-size 1M --last 3s prog", "--ring much prog", "--last 0 prog", "--aggregate=yes prog"} {
		if _, err := parseRecordFlags(strings.Fields(args)); err == nil {
			t.Errorf("hdb record %s: no error", args)
		}
	}
}

// The flag cuts stacks, which say so.
func TestMaxDepth(t *testing.T) {
	for _, wrong := range []string{"0", "-1", "many"} {
		if _, err := parseRecordFlags([]string{"--max-depth", wrong, "prog"}); err == nil {
			t.Errorf("--max-depth %s: no error", wrong)
		}
	}
	path := filepath.Join(t.TempDir(), "x.hdb")
	if out, err := exec.Command(testprogs.HDB(t), "record", "-q", "--max-depth", "2", "-o", path, "sh", "-c", "echo done").CombinedOutput(); err != nil {
		t.Fatalf("hdb record: %v\n%s", err, out)
	}
	f, err := file.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cut := 0
	for e := range f.Events(0) {
		switch s := f.Stack(e.Stack); {
		case len(s.PCs) > 2:
			t.Fatalf("#%d has %d frames", e.Seq, len(s.PCs))
		case s.Truncated == "depth limit 2":
			cut++
		}
	}
	if cut == 0 {
		t.Errorf("of %d events no stack is cut", f.Len())
	}
}

// churner allocates in rounds: of each round one block of 1000 bytes stays. In the end it renames a file if it is given two names.
const churner = `
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void *keep(void) { return malloc(1000); }
__attribute__((noinline)) void *drop(int i) { return malloc(16 + i % 512); }
int main(int argc, char **argv) {
	static void *kept[1000], *ring[64];
	int rounds = atoi(argv[1]);
	for (int r = 0; r < rounds; r++) {
		kept[r] = keep();
		for (int i = 0; i < 2000; i++) {
			free(ring[i % 64]);
			ring[i % 64] = drop(i * 7 + r);
		}
		usleep(10000);
	}
	if (argc > 3)
		rename(argv[2], argv[3]);
	puts("done");
	return 0;
}
`

// Each bound does what it says, and the capture is whole and answers.
func TestBoundedRecordings(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "churner")
	if err := os.WriteFile(prog+".c", []byte(churner), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-o", prog, prog+".c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	const rounds, calls = 150, 150*(1+2000) + 150*2000 - 64
	for _, tc := range []struct {
		flags, says, status string
		check               func(*file.File) error
	}{
		{"", "", "kept", func(f *file.File) error {
			if f.Len() < calls {
				return fmt.Errorf("%d events, want %d", f.Len(), calls)
			}
			return nil
		}},
		{"--aggregate", "--aggregate", "--aggregate: totals for each stack", func(f *file.File) error {
			if n := f.Info().Totals.Events; f.Len() != 0 || n < calls || f.Size() > 64<<10 {
				return fmt.Errorf("%d events, %d summed, %d bytes", f.Len(), n, f.Size())
			}
			return nil
		}},
		{"--ring 20K", "kept of", "are left", func(f *file.File) error {
			first, last, _, _ := f.Span()
			if first < calls/10 || last < calls || f.Info().Totals.Events != uint64(f.Len()) {
				return fmt.Errorf("#%d to #%d, %d events", first, last, f.Len())
			}
			return nil
		}},
		{"--last 0.5", "kept of", "are left", func(f *file.File) error {
			_, last, from, to := f.Span()
			if last < calls || to-from > 5*time.Second {
				return fmt.Errorf("to #%d, %v to %v", last, from, to)
			}
			return nil
		}},
		{"--max-size 12K", "has ended", "and has ended", func(f *file.File) error {
			first, last, _, _ := f.Span()
			if first != 1 || last > calls-1000 || last < 1000 {
				return fmt.Errorf("#%d to #%d", first, last)
			}
			return nil
		}},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			t.Parallel() // the program sleeps most of the time
			path := filepath.Join(t.TempDir(), "x.hdb")
			args := append(append([]string{"record", "-o", path}, strings.Fields(tc.flags)...), prog, fmt.Sprint(rounds))
			out, err := exec.Command(testprogs.HDB(t), args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.says) || !strings.Contains(string(out), "done") {
				t.Fatalf("hdb record: %v\n%s", err, out)
			}
			if !strings.Contains(string(out), "`hdb "+shellWord(path)+"` opens the console on it") || strings.Contains(string(out), "(deleted)") {
				t.Errorf("hdb record: want the name of the file\n%s", out)
			}
			checkBounded(t, path, tc.flags, tc.check)
		})
		if !strings.Contains(tc.flags, "--max-size") { // which ends the recording long before the program moves its file
			t.Run(tc.flags+" and the file is moved", func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path, moved := filepath.Join(dir, "x.hdb"), filepath.Join(dir, "moved.hdb")
				args := append(append([]string{"record", "-o", path}, strings.Fields(tc.flags)...), prog, fmt.Sprint(rounds), path, moved)
				out, err := exec.Command(testprogs.HDB(t), args...).CombinedOutput()
				if err != nil || !strings.Contains(string(out), "`hdb "+shellWord(moved)+"` opens the console on it") {
					t.Fatalf("hdb record: %v\n%s", err, out)
				}
				checkBounded(t, moved, tc.flags, tc.check)
			})
		}
		t.Run(tc.flags+" in the console", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.hdb")
			args := []string{"-batch", "-nx", "-q"}
			for _, command := range []string{"record start " + tc.flags, fmt.Sprint("run ", rounds), "record status", "top 9", "save " + path} {
				args = append(args, "-ex", command)
			}
			out, err := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.status) || !strings.Contains(string(out), "done") || !strings.Contains(string(out), "keep") {
				t.Fatalf("%v\n%s", err, out)
			}
			checkBounded(t, path, tc.flags, tc.check)
		})
	}
}

// checkBounded checks a capture that was recorded with flags.
func checkBounded(t *testing.T, path, flags string, check func(*file.File) error) {
	t.Helper()
	f, err := file.OpenWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Damage(); err != nil {
		t.Errorf("%s: %v", flags, err)
	}
	if wrong := f.Verify(); len(wrong) > 0 {
		t.Errorf("%s: %q", flags, wrong)
	}
	if err := check(f); err != nil {
		t.Errorf("%s: %v", flags, err)
	}
	f.Close()
	var answer, errw bytes.Buffer
	if code := run([]string{"-batch", "-nx", "-q", "-ex", "top 9", "-ex", "top 9 by peak", "open", path}, os.Stdin, &answer, &errw); code != 0 || !strings.Contains(answer.String(), "keep") {
		t.Errorf("%s: top: exit %d: %s%s", flags, code, &answer, &errw)
	}
	if flags != "--aggregate" {
		return
	}
	if !strings.Contains(answer.String(), "146.5 KiB") {
		t.Errorf("150 blocks of 1000 bytes are not told:\n%s", &answer)
	}
	for _, ask := range []string{"allocs", "goto 50%", "diff 50%", "assert --max-live-growth 1", "assert --max-live-growth 1G --since 1ms", "history 0x10", "whence 0x10"} {
		var answer, errw bytes.Buffer
		code := run([]string{"-batch", "-nx", "-q", "-ex", ask, "open", path}, os.Stdin, &answer, &errw)
		if msg := errw.String() + answer.String(); code == 0 || !strings.Contains(msg, "per-stack totals only") {
			t.Errorf("%s: exit %d: %s", ask, code, msg)
		}
	}
}
