package planes

import (
	"fmt"
	"strings"
	"testing"

	"hdb/capture"
)

// A program may have the time stamp counter disabled, by which the probe tells the time,
// and may then be killed for any system call. It runs as without hdb, and each call is
// one event.
func TestNoTSC(t *testing.T) {
	check := func(t *testing.T, r *recording) {
		t.Helper()
		got := map[string]int{}
		live := map[uint64]bool{}
		for e := range r.Events(0) {
			switch {
			case e.Kind == capture.Alloc && (e.Size == 1001 || e.Size == 1002):
				got[fmt.Sprint(e.Size)]++
				live[e.Addr] = true
			case e.Kind == capture.Free && live[e.Addr]:
				got["free"]++
				delete(live, e.Addr)
			}
		}
		if got["1001"] != 200 || got["1002"] != 200 || got["free"] != 400 {
			t.Errorf("%v\n%s", got, r.said)
		}
	}
	tries := 1
	if !testing.Short() {
		tries = 20
	}
	for _, p := range planes {
		for _, how := range []string{"tsc", "strict"} {
			for _, who := range []string{"main", "thread"} {
				t.Run(fmt.Sprintf("%s/%s/%s", p, how, who), func(t *testing.T) {
					for range tries {
						r := record(t, p, program(t, "notsc", nil, how, who))
						if r.ending() != "exited with code 0" || !strings.Contains(r.out, "wrong 0") {
							t.Fatalf("%q, %q\n%s", r.ending(), r.out, r.said)
						}
						check(t, r)
						g := launch(t, "notsc", nil, how, who, "wait")
						check(t, g.recordRest(t, p))
						g.end(t)
					}
				})
			}
		}
	}
}

// Such a program comes to stops, too.
func TestNoTSCStops(t *testing.T) {
	for _, p := range planes {
		for _, how := range []string{"tsc", "strict"} {
			t.Run(fmt.Sprintf("%s/%s", p, how), func(t *testing.T) {
				j := program(t, "notsc", nil, how, "thread")
				commands := append(p.settings(), "break alloc if size == 1001", "break free if size == 1002", "ignore 1 199", "ignore 2 199", "run", "continue", "continue")
				said, err := hdb(t, j, commands, append([]string{"--args", j.Path}, j.Args...)...)
				for _, want := range []string{"breakpoint 1, hit 200:", "breakpoint 2, hit 200:", "exited with code 0"} {
					if !strings.Contains(said, want) {
						t.Errorf("%v: not %q\n%s", err, want, said)
					}
				}
			})
		}
	}
}

// The memory that hdb and a program share cannot be taken away by the program.
func TestTruncated(t *testing.T) {
	r := record(t, probe, program(t, "truncates", nil))
	if r.ending() != "exited with code 0" || r.out != "found, wrong 0\n" {
		t.Fatalf("%q, %q\n%s", r.ending(), r.out, r.said)
	}
	blocks := 0
	for e := range r.Events(0) {
		if e.Kind == capture.Alloc && e.Size == 1001 {
			blocks++
		}
	}
	if blocks != 1000 {
		t.Errorf("%d blocks of 1000\n%s", blocks, r.said)
	}
}

// Children of which the kernel tells no debugger have no breakpoints in their memory.
func TestUntracedChildren(t *testing.T) {
	for _, flags := range [][]string{nil, {"-static"}, {"CC=musl-gcc"}} {
		for _, p := range planes {
			for _, stop := range []string{"record start", "break hit if thread == 99"} {
				if testing.Short() && (p != plain || flags != nil && stop != "record start") {
					continue
				}
				j := program(t, "untraced", flags)
				said, err := hdb(t, j, append(p.settings(), stop, "run"), "--args", j.Path)
				if err != nil || !strings.Contains(said, "died 0\n") || !strings.Contains(said, "exited with code 0") {
					t.Errorf("%s %v %s: %v\n%s", p, flags, stop, err, said)
				}
			}
		}
	}
}
