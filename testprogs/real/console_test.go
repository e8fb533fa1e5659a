package real

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestConsole is the main job on real programs: to reach a large allocation, its
// source and inlined frames, to walk to the next ones, to save, and to open the
// capture in another folder, with the sources out of reach.
func TestConsole(t *testing.T) {
	for _, p := range []Program{SQLite(t), Python(t)} {
		t.Run(p.Name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "session.hdb")
			var lines []string
			if p.Sources[0] != p.Sources[1] {
				lines = append(lines, "set substitute-path "+p.Sources[0]+" "+p.Sources[1])
			}
			lines = append(lines, "break alloc if size >= 1MiB", "run", "bt", "list", "next-alloc 3", "next-alloc if size >= 1MiB", "up", "save "+file, "quit")
			live := converse(t, p.Dir, p.Env, lines, append([]string{"--args", p.Path}, p.Args...)...)
			expect(t, live, []string{
				`breakpoint 1, hit 1: #\d+ \w+\([0-9a-fx, ]*[0-9.]+ MiB\) = 0x`, // of 1 MiB and more
				`(?m)^#\d+ +\w+\(.*\) \[inlined\]`,
				`(?m)^=> +\d+  .*\w`,
				`(?m)^\(hdb\) next-alloc 3\n(breakpoint 1, hit \d+: )?#\d+ `,
				`(?m)^\(hdb\) next-alloc if size >= 1MiB\nbreakpoint 1, hit \d+: #\d+ `,
				`saved \d+ events, `,
			})
			if strings.Contains(live, "no source") || strings.Contains(live, "error:") {
				t.Errorf("something is missing:\n%s", live)
			}

			saved := converse(t, dir, nil, []string{"set substitute-path / /nonexistent/", "bt", "list", "allocs", "top", "quit"}, "open", file)
			expect(t, saved, []string{`selected: stop \d+`, `(?m)^=> +\d+  .*\w`, `(?m)^ *#\d+ .* ms .*\w+\(`})
			if got, want := frames(section(saved, "bt")), frames(section(live, "bt")); got < 10 || want < 10 {
				t.Errorf("%d frames live and %d saved\n%s", want, got, saved)
			}
			if strings.Contains(saved, "error:") {
				t.Errorf("the capture does not stand alone:\n%s", saved)
			}
		})
	}
}

// converse runs hdb with the lines typed into it, and returns the transcript.
func converse(t *testing.T, dir string, env, lines []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testprogs.HDB(t), append([]string{"--echo", "-q", "-nx"}, args...)...)
	cmd.Dir = dir
	if env != nil {
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	}
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func expect(t *testing.T, transcript string, patterns []string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(transcript) {
			t.Errorf("nothing matches %s in\n%s", p, transcript)
		}
	}
}

// section is what the command printed.
func section(transcript, command string) string {
	_, rest, _ := strings.Cut(transcript, "(hdb) "+command+"\n")
	out, _, _ := strings.Cut(rest, "(hdb) ")
	return out
}

// frames counts the lines of a stack.
func frames(section string) int {
	return len(regexp.MustCompile(`(?m)^#\d+ .*$`).FindAllString(section, -1))
}
