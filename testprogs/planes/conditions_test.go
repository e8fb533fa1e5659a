package planes

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/inferior/machine"
	"hdb/testprogs"
)

// TestConditionsSaved: a condition holds for the same events while the program runs, in
// both planes, and in its recording.
func TestConditionsSaved(t *testing.T) {
	j := program(t, "kinds", nil)
	conditions := []struct {
		text string
		want int // of the program's own events; -1: its libraries' are not known
	}{
		{`kind("malloc") && size < 400 && size >= 300`, 3},
		{`kind("malloc")`, -1},
		{`kind("operator new")`, 6},
		{`kind("_Znwm")`, 6},
		{`kind == aligned_alloc`, 1},
		{`kind == memalign`, -1}, // up to glibc 2.37 it is aligned_alloc: either was called
		{`kind == alloc`, -1},
		{`!kind("malloc")`, -1},
		{`func("make_unique")`, 5},
		{`func("std::make_unique")`, 5},
		{`align >= 64`, 2},
		{`align < 64`, 0},
		{`count >= 0`, 2},
	}
	file := filepath.Join(t.TempDir(), "kinds.hdb")
	var script []string
	for _, c := range conditions {
		script = append(script, "echo condition "+c.text+`\n`, "allocs all if ("+c.text+") && !(kind == free || kind == map || kind == unmap)")
	}
	said, err := hdb(t, j, append([]string{"record start", "run > /dev/null", "save " + file}, script...), "--args", j.Path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	saved := map[string]int{}
	for _, part := range strings.Split(said, "condition ")[1:] {
		text, list, _ := strings.Cut(part, "\n")
		saved[text] = len(regexp.MustCompile(`(?m)^ +#\d+ `).FindAllString(list, -1))
	}
	for _, p := range planes {
		var script strings.Builder
		for i, c := range conditions {
			fmt.Fprintf(&script, "break alloc if %s\ncommands %d\nsilent\ncontinue\nend\n", c.text, i+1)
		}
		name := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(name, []byte(script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := hdb(t, j, append(p.settings(), "source "+name, "run > /dev/null", "info breakpoints"), "--args", j.Path)
		if err != nil {
			t.Fatalf("%s plane: %v\n%s", p, err, said)
		}
		hits := regexp.MustCompile(`(?m)^ +(?:not hit|hit (\d+) time)`).FindAllStringSubmatch(said, -1)
		if len(hits) != len(conditions) {
			t.Fatalf("%s plane: %d of %d stops\n%s", p, len(hits), len(conditions), said)
		}
		for i, c := range conditions {
			live := 0
			fmt.Sscan(hits[i][1], &live)
			if live != saved[c.text] || c.want >= 0 && live != c.want {
				t.Errorf("%s plane: %s: %d live, %d saved, want %d", p, c.text, live, saved[c.text], c.want)
			}
		}
	}
}

// TestInnerFunctions: a stop at malloc is hit where the C library's realloc or operator new calls malloc,
// in both planes, whether or not another stop has hdb look at these calls.
func TestInnerFunctions(t *testing.T) {
	j := program(t, "innermalloc", nil)
	for _, p := range planes {
		for _, other := range []string{"", "break realloc if size > 1", "break alloc if size > 1000000000"} {
			script := append(p.settings(), "break malloc if size >= 100 && size < 500", "ignore 1 100")
			if other != "" {
				script = append(script, other, "ignore 2 1000")
			}
			said, err := hdb(t, j, append(script, "run", "info breakpoints"), "--args", j.Path)
			if err != nil {
				t.Fatalf("%s plane: %v\n%s", p, err, said)
			}
			if !strings.Contains(said, "hit 9 times") {
				t.Errorf("%s plane with %q: not hit 9 times:\n%s", p, other, said)
			}
		}
	}
}

// TestFailedNew: an operator new that throws stops the program at the next call of its thread, in both planes at the
// same one, whether events are recorded or not.
func TestFailedNew(t *testing.T) {
	j := program(t, "failednew", nil)
	hits := regexp.MustCompile(`(?m)hit \d+: #\d+ .*(?:did not return|= NULL)|^#[0-9] .*`)
	for _, c := range []struct {
		stop string
		hits int
	}{{"break alloc if size > 1G", 8}, {"break malloc if size > 1G", 8}, {"break operator new", 3}, {`break alloc if size > 1G && func("main")`, 8}} {
		var want []string
		for _, p := range planes {
			for _, first := range []string{"show probe", "record start", "set kill-on-exit off"} {
				script := append(p.settings(), first, c.stop, "run")
				for range c.hits {
					script = append(script, "bt", "continue")
				}
				said, err := hdb(t, j, script, "--args", j.Path)
				got := hits.FindAllString(said, -1)
				if want == nil {
					want = got
				}
				if err != nil || strings.Count(said, ", hit ") != c.hits || !slices.Equal(got, want) {
					t.Errorf("%s plane, %s, %s: %v\n%s\nwant %q", p, first, c.stop, err, said, want)
				}
			}
		}
	}
}

// TestFollowedFromAFree: when following begins while the program is at the entry of a free that was
// reported, what that free calls is its work: no event, and no double free.
func TestFollowedFromAFree(t *testing.T) {
	j := program(t, "freesinside", nil)
	frees := regexp.MustCompile(`(?m)#\d+ (operator delete\S*|free)\(`)
	for _, p := range planes {
		for _, c := range []struct {
			script string
			want   []string
		}{
			{"start;next-free;next-free;next-free", []string{"operator delete[]", "operator delete", "operator delete[]"}},
			{"start;tbreak free;continue;tbreak free;continue", []string{"operator delete[]", "operator delete"}},
			{"break free;run;disable;enable;continue", []string{"operator delete[]", "operator delete"}},
			{"start;next-free;record start;break free;continue", []string{"operator delete[]", "operator delete"}},
			{"start;record start;next-free;record stop;next-free;record start;next-free", []string{"operator delete[]", "operator delete", "operator delete[]"}},
		} {
			said, err := hdb(t, j, append(p.settings(), strings.Split(c.script, ";")...), "--args", j.Path)
			if err != nil {
				t.Fatalf("%s plane: %s: %v\n%s", p, c.script, err, said)
			}
			var got []string
			for _, m := range frees.FindAllStringSubmatch(said, -1) {
				got = append(got, m[1])
			}
			if !slices.Equal(got, c.want) || strings.Contains(said, "double free") {
				t.Errorf("%s plane: %s: %q, want %q\n%s", p, c.script, got, c.want, said)
			}
		}
	}
}

// TestContinuedBesideThreads: a call that another thread is about to make, or that waits to be reported, when the
// program stops is one call, whatever the stop has the probe look out for next.
func TestContinuedBesideThreads(t *testing.T) {
	j := program(t, "threads", nil)
	counts := regexp.MustCompile(`(?m)^ +(?:not hit|hit).*`)
	for _, beside := range []string{"break free if addr == 0x1234", "break alloc if size == 4321"} { // all events come to hdb, and few
		var want []string
		for _, p := range planes {
			for _, then := range [][]string{{"ignore 1 100000"}, {"commands", "silent", "continue", "end"}} {
				script := append(p.settings(), "break malloc if size >= 1000 && size < 1300")
				script = append(script, then...)
				script = append(script, beside, "run", "info breakpoints")
				file := filepath.Join(t.TempDir(), "script")
				if err := os.WriteFile(file, []byte(strings.Join(script, "\n")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				said, err := hdb(t, j, []string{"source " + file}, "--args", j.Path, "4", "1", "300")
				got := counts.FindAllString(said, -1)
				if want == nil {
					want = got
				}
				if err != nil || len(got) != 2 || !strings.Contains(got[0], "hit 1,200 times") || !slices.Equal(got, want) || strings.Contains(said, "double free") {
					t.Errorf("%s plane, %s: %q, want %q: %v\n%s", p, beside, got, want, err, said)
				}
			}
		}
	}
}

// TestAtAFree: a free that a thread is about to run, which was reported at an earlier stop, is one call, and what it
// calls is its work, whatever follows the calls from then on.
func TestAtAFree(t *testing.T) {
	j := program(t, "atfree", nil)
	number := regexp.MustCompile(`: (#\d+) malloc\(2.9 KiB\)`)
	want := ""
	for _, p := range planes {
		for _, then := range []string{"show probe", "set probe off", "set probe auto", "set probe off;set probe auto", "set probe auto;set probe off", "disable;enable", "record start", "set probe off;record start", "set probe auto;record start"} {
			script := append(p.settings(), "break free if size == 2000", "run", "thread 1", "set scheduler-locking on", "tbreak meanwhile", "continue")
			script = append(script, strings.Split(then, ";")...)
			script = append(script, "set scheduler-locking off", "break malloc if size == 3000", "continue", "continue")
			said, err := hdb(t, j, script, "--args", j.Path)
			m := number.FindStringSubmatch(said)
			if m == nil {
				t.Fatalf("%s plane, %s: no malloc: %v\n%s", p, then, err, said)
			}
			if want = cmp.Or(want, m[1]); err != nil || m[1] != want || strings.Contains(said, "double free") {
				t.Errorf("%s plane, %s: %s, want %s: %v\n%s", p, then, m[1], want, err, said)
			}
		}
	}
}

// TestFreedSizes: stops at frees that ask for the size of the block hit as often in both
// planes, those that are set while blocks are live, too.
func TestFreedSizes(t *testing.T) {
	for _, m := range testprogs.Machines(machine.FSGSBase) {
		t.Run(m.Name, func(t *testing.T) {
			j := program(t, "storm_realloc", nil)
			j.Env = append(slices.Clip(j.Env), m.Env...)
			freedSizes(t, j)
		})
	}
}

func freedSizes(t *testing.T, j job) {
	t.Helper()
	conditions := []string{"size == 96", "size > 200", "size >= 48 and size <= 64", "not (size < 500) or addr == 0x10", "size < 20", "not (size >= 20)"}
	count := regexp.MustCompile(`(?m)^ +(?:not hit|hit \d+ time).*`)
	var hits [len(planes)]string
	for i, p := range planes {
		script := append(p.settings(), "tbreak alloc #100", "run > /dev/null")
		for n, c := range conditions {
			script = append(script, "break free if "+c, fmt.Sprintf("ignore %d 1000000", n+2))
		}
		said, err := hdb(t, j, append(script, "continue", "info breakpoints"), "--args", j.Path, "1", "200")
		if err != nil {
			t.Fatalf("%s plane: %v\n%s", p, err, said)
		}
		all := count.FindAllString(said, -1)
		if len(all) != len(conditions) {
			t.Errorf("%s plane: %d of %d stops\n%s", p, len(all), len(conditions), said)
		}
		hits[i] = strings.Join(all, "\n")
	}
	if hits[0] != hits[1] || !strings.Contains(hits[0], "  hit ") {
		t.Errorf("%s plane:\n%s\n%s plane:\n%s", planes[0], hits[0], planes[1], hits[1])
	}
}
