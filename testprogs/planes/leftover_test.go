package planes

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// mappings are the target's.
func (g *target) mappings(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + g.pid + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// attachAndLeave records nothing much, and detaches.
func (g *target) attachAndLeave(t *testing.T, p plane) {
	t.Helper()
	said, err := hdb(t, job{}, append(p.settings(), "break alloc if size == 1", "record start"), "-p", g.pid)
	if err != nil || !strings.Contains(said, "detached") {
		t.Fatalf("%v\n%s", err, said)
	}
}

// A process that hdb has been attached to has the mappings that it had, and so has
// one when hdb attaches to it after it was killed.
func TestNothingLeft(t *testing.T) {
	cycles := 3
	if !testing.Short() {
		cycles = 50
	}
	g := launch(t, "sanitized", nil, "wait")
	before := g.mappings(t)
	for i := range cycles {
		g.attachAndLeave(t, probe)
		if now := g.mappings(t); now != before {
			t.Fatalf("after %d cycles:\n%swhere there was\n%s", i+1, now, before)
		}
	}
	for range max(1, cycles/10) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.CommandContext(ctx, testprogs.HDB(t), "-batch", "-nx", "-ex", "set probe on", "-ex", "record start", "-ex", "shell kill -KILL $PPID", "-p", g.pid)
		out, _ := cmd.CombinedOutput() // killed
		cancel()
		if now := g.mappings(t); now == before {
			t.Fatalf("the killed hdb has left nothing: this tests nothing\n%s", out)
		}
		// The guard of the killed hdb may still be at work.
		for deadline := time.Now().Add(time.Minute); g.mappings(t) != before; {
			if time.Now().After(deadline) {
				t.Fatalf("after hdb was killed:\n%swhere there was\n%s", g.mappings(t), before)
			}
			g.attachAndLeave(t, probe)
		}
	}
	g.end(t)
}

// checkLeft fails if more is left than what a few attaches leave when threads are inside,
// or seem to be.
func (g *target) checkLeft(t *testing.T) {
	t.Helper()
	maps := g.mappings(t)
	const some = 3 * 4 // two mappings of the memory file each, and two of the ring
	if n := strings.Count(maps, "/memfd:hdb probe"); n > some {
		t.Errorf("%d mappings of memory files:\n%s", n, maps)
	}
}
