package golang

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestWithoutProgram has a core file whose program is gone, or is another one, and processes whose program was
// deleted or replaced: the answers name the file, or are those of the program that runs.
func TestWithoutProgram(t *testing.T) {
	path := build(t, "idle", "local")
	core := filepath.Join(t.TempDir(), "core")
	p := start(t, path)
	p.waits(t)
	c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
	c.want("gcore "+core, "core file ")
	c.quit()
	elsewhere := path + ".elsewhere"
	if err := os.Rename(path, elsewhere); err != nil {
		t.Fatal(err)
	}
	other := build(t, "garbage", "local")
	running := func() {
		c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
		c.want("goroutines", "main.main", "1 goroutine")
		c.want("leaks", "blocks live", "reachable", "garbage")
		c.quit()
	}
	asked := func(why string) {
		c := open(t, "core", core)
		for _, line := range []string{"goroutines", "goroutine 1 bt", "leaks", "refs 0xc000012000", "why 0xc000012000", "heap"} {
			c.want(line, "error: ", "but not every file was read: ", path, why, "hdb core FILE CORE")
		}
		c.quit()
	}
	running()
	asked("no such file or directory")
	if err := os.Link(other, path); err != nil {
		t.Fatal(err)
	}
	running()
	asked("not used")
	c = open(t, "core", elsewhere, core)
	c.want("goroutines", "main.main", "1 goroutine")
	c.want("leaks", "blocks live", "garbage")
	c.quit()
	if err := os.Remove(elsewhere); err != nil {
		t.Fatal(err)
	}
	running()
	p.end(t)
}
