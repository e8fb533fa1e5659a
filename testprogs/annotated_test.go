package testprogs

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestAnnotatedForks has children run code that hdb has changed in their parent, and die of nothing.
func TestAnnotatedForks(t *testing.T) {
	prog := Build(t, "annotatedloop")
	file := filepath.Join(t.TempDir(), "forks.hdb")
	out, err := exec.Command(HDB(t), "record", "-q", "-o", file, prog, "fork").Output()
	if err != nil || string(out) != "all lived\n" {
		t.Fatalf("%v %q", err, out)
	}
	marks, err := exec.Command(HDB(t), "-nx", "-batch", "--json", "-ex", "mark", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(marks, []byte(`"name":"before`)); n != 100 {
		t.Errorf("%d marks of the parent, want 100", n)
	}
	if n := bytes.Count(marks, []byte(`"name":"child`)); n != 0 {
		t.Errorf("%d marks of children", n)
	}
}

// TestAnnotatedLeft lets go of a program that tells hdb of itself all the time, or kills hdb: it
// goes on.
func TestAnnotatedLeft(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), Build(t, "annotatedloop"))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	alive := bufio.NewScanner(pipe)
	lives := func(when string) {
		t.Helper()
		for range 20 {
			if !alive.Scan() {
				t.Fatalf("it died %s: %v", when, cmd.Wait())
			}
		}
	}
	lives("before")
	for range Rounds(1, 10) {
		file := filepath.Join(t.TempDir(), "left.hdb")
		hdb := exec.Command(HDB(t), "record", "-q", "-o", file, "-p", strconv.Itoa(cmd.Process.Pid))
		if err := hdb.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(500 * time.Millisecond)) // anything may be under way then
		lives("while it was recorded")
		_ = hdb.Process.Kill()
		_ = hdb.Wait() // it was killed
		lives("when hdb was killed")
		file = filepath.Join(t.TempDir(), "detached.hdb")
		if out, err := exec.Command(HDB(t), "record", "-q", "--duration", "200ms", "-o", file, "-p", strconv.Itoa(cmd.Process.Pid)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lives("when hdb had detached")
	}
}
