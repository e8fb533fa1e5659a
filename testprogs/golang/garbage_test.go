package golang

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// marked is how many blocks leaks says that the collector would keep, and would free.
func marked(t *testing.T, args, commands []string) (all []heldBlocks) {
	t.Helper()
	for _, raw := range answersOf(t, strings.Join(commands, "\n")+"\n", args...) {
		var h heldBlocks
		if err := json.Unmarshal(raw, &h); err != nil || h.Reachable == 0 {
			t.Fatalf("%v: %s", err, raw)
		}
		all = append(all, h)
	}
	return all
}

type heldBlocks struct {
	Reachable int `json:"collected_reachable_blocks"`
	Garbage   int `json:"collected_garbage_blocks"`
}

// TestGarbage compares the blocks that leaks says are reachable, in the process and in a core file of it, with what a
// collection leaves: that has a few more of its own.
func TestGarbage(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for _, flags := range append(forms(toolchain), []string{"-gcflags=-N -l"}) {
				program := build(t, "frames", toolchain, flags...)
				p := start(t, program)
				p.waits(t)
				core := filepath.Join(t.TempDir(), "core")
				got := marked(t, []string{"-p", fmt.Sprint(p.cmd.Process.Pid)}, []string{"leaks 1", "gcore " + core})
				got = append(got, marked(t, []string{"core", program, core}, []string{"leaks 1"})...)
				p.end(t)
				want, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(p.said.String(), "waits\n")))
				if err != nil {
					t.Fatalf("the program said %s", &p.said)
				}
				for _, h := range got {
					if h.Reachable < want-30 || h.Reachable > want+10 || h.Garbage < 3*(128+1000) {
						t.Errorf("%v: %+v, the collection has left %d", flags, h, want)
					}
				}
			}
		})
	}
}

// TestGarbageAtStops has a program stand in the allocator while it makes a list: what there is of that is reachable, and
// the list that was made before is garbage.
func TestGarbageAtStops(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			p := start(t, build(t, "garbage", toolchain))
			got := marked(t, []string{"-p", fmt.Sprint(p.cmd.Process.Pid)}, []string{"break main.mark", "continue", "delete", "break alloc if type(\"main.node\")", "continue", "leaks 1", "continue 5000", "leaks 1"})
			p.end(t)
			if len(got) != 2 {
				t.Fatalf("%+v", got)
			}
			for i, want := range []int{1000, 6000} {
				if more := got[i].Reachable - want; more < 50 || more > 400 || got[i].Garbage < 10_000 {
					t.Errorf("%+v, want %d reachable of what the program has made", got[i], want)
				}
			}
		})
	}
}
