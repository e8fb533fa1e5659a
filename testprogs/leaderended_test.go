package testprogs

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestLeaderEnded looks at a process whose main thread has ended by pthread_exit: /proc/PID shows nothing of its memory and
// files any more, other threads do. A recording is begun before that or after it.
func TestLeaderEnded(t *testing.T) {
	for name, commands := range map[string][]string{
		"probe":       {"set probe on", "record start", "break plugin_run", "run"},
		"breakpoints": {"set probe off", "record start", "break plugin_run", "run"},
		"late probe":  {"set probe on", "break plugin_run", "run", "record start"},
		"late":        {"set probe off", "break plugin_run", "run", "record start"},
		"unrecorded":  {"break plugin_run", "run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, core := Build(t, "leaderended"), filepath.Join(t.TempDir(), "ended.core")
			args := []string{}
			for _, c := range append(commands, "break here", "continue", "leaks", "refs held", "what &held", "heap", "vmmap -layers",
				"info proc exe", "info proc cwd", "gcore "+core, "leaks --snapshot", "kill") {
				args = append(args, "-ex", c)
			}
			said := hdbSays(t, append(args, program)...)
			for want, times := range map[string]int{
				`breakpoint 1, hit 1 .*\n#0  plugin_run`:                                1, // in a library that was loaded afterwards
				`breakpoint 2, hit 1 .*\n#0  here`:                                      1,
				`definitely lost: 4\.2 KiB \(432[18]\) in 1 block`:                      2,
				`definitely lost$`:                                                      2, // in the sums: nothing else is
				`block of \S+ bytes at .*still reachable\n  global held  leaderended\n`: 1,
				` is held in leaderended\n`:                                             1,
				`malloc of the C library: 2 arenas`:                                     1,
				`\nheap-used +2 `:                                                       1,
				`\nexe = '` + regexp.QuoteMeta(program):                                 1,
				`\ncwd = '/`:                                                            1,
				`core file \S+ 1 thread`:                                                1,
			} {
				if n := len(regexp.MustCompile(`(?m)`+want).FindAllString(said, -1)); n != times {
					t.Errorf("%q: %d times", want, n)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
			said = hdbSays(t, "-ex", "bt", "-ex", "refs held", "core", program, core)
			if !regexp.MustCompile(`#0\* here\(\) (?s:.*)#1  work\(.*(?s:.*)still reachable\n  global held`).MatchString(said) {
				t.Error(said)
			}
		})
	}
}

// TestRecordLeaderEnded records the whole program.
func TestRecordLeaderEnded(t *testing.T) {
	r := newRecording(t, Build(t, "leaderended")).start()
	if code := r.wait(); code != 0 {
		t.Fatalf("code %d: %s", code, r.out.String())
	}
	said := hdbSays(t, "-ex", "allocs", "open", r.file)
	for _, want := range []string{`10\.9 KiB  malloc\(.*  load `, `21\.7 KiB  malloc\(.*  plugin_run `, `4\.2 KiB  malloc\(.*  lose `} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%q is missing:\n%s", want, said)
		}
	}
}
