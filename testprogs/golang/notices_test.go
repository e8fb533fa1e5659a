package golang

import (
	"fmt"
	"strings"
	"testing"
)

// TestNotices attaches to servers and launches one: nothing is said that is so with every Go program, nor that
// the source of the system call is missing in which it waits.
func TestNotices(t *testing.T) {
	for _, flags := range [][]string{{"-trimpath"}, {"-trimpath", "-ldflags=-s -w"}} {
		path := build(t, "idle", "local", flags...)
		p := start(t, path)
		p.waits(t)
		c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
		said := c.ask("info inferiors")
		for _, bad := range []string{"SIGTRAP", "no source"} {
			if strings.Contains(said, bad) {
				t.Errorf("%v: attach said\n%s", flags, said)
			}
		}
		c.want("break main.sum", "breakpoint 1")
		p.in.Close()
		if said := c.want("continue", "main.sum"); strings.Contains(said, "SIGTRAP") || !strings.Contains(said, "no source: ") {
			t.Errorf("%v: the breakpoint said\n%s", flags, said)
		}
		c.ask("delete")
		c.ask("continue")
		c.quit()
		p.cmd.Wait()
	}
}
