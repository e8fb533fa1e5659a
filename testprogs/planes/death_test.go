package planes

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hdb/capture"
)

// progress is the file in which storm_progress says how far it is.
type progress string

func newProgress(t *testing.T) progress {
	t.Helper()
	return progress(filepath.Join(t.TempDir(), "progress"))
}

// word is the n-th number in the file, 0 before it is there.
func (p progress) word(n int) int {
	data, err := os.ReadFile(string(p))
	if err != nil || len(data) < 8*n+8 {
		return 0
	}
	return int(binary.LittleEndian.Uint64(data[8*n:]))
}

func (p progress) calls() int { return p.word(0) }
func (p progress) pid() int   { return p.word(1) }

// TestDeaths records a program to its end, which it does not expect. The capture
// has all that happened before.
func TestDeaths(t *testing.T) {
	for _, p := range planes {
		for _, d := range []struct{ how, ending string }{
			{"kill", "killed by SIGKILL"}, {"segv", "killed by SIGSEGV"}, {"abort", "killed by SIGABRT"}, {"exit", "exited with code 0"},
		} {
			t.Run(fmt.Sprintf("%s/%s", p, d.how), func(t *testing.T) {
				t.Parallel()
				file := newProgress(t)
				r := record(t, p, program(t, "storm_progress", nil, d.how, strconv.Itoa(scale{400, 20000, 20000, 500000}.of(p, testing.Short())), string(file)))
				checkProgress(t, newCalls(r), file.calls(), 0)
				if r.ending() != d.ending {
					t.Errorf("%q, want %q\n%s", r.ending(), d.ending, r.said)
				}
			})
		}
	}
}

// TestKilledFromOutside kills the program wherever it is.
func TestKilledFromOutside(t *testing.T) {
	n := 20
	if testing.Short() {
		n = 3
	}
	for _, p := range planes {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			for range n {
				file := newProgress(t)
				go func() {
					for file.calls() < 100 {
						time.Sleep(time.Millisecond)
					}
					time.Sleep(rand.N(50 * time.Millisecond))
					syscall.Kill(file.pid(), syscall.SIGKILL)
				}()
				r := record(t, p, program(t, "storm_progress", nil, "never", "0", string(file)))
				checkProgress(t, newCalls(r), file.calls(), 1)
			}
		})
	}
}

// TestOutOfMemory has the kernel kill the program for want of memory, in a
// control group of its own.
func TestOutOfMemory(t *testing.T) {
	const limit = 64 << 20
	for _, p := range planes {
		t.Run(string(p), func(t *testing.T) {
			file := newProgress(t)
			r := record(t, p, program(t, "storm_progress", nil, "memory", "200", string(file), memoryGroup(t, limit)))
			if r.ending() != "killed by SIGKILL" {
				t.Fatalf("%q\n%s", r.ending(), r.said)
			}
			large := 0
			for e := range newCalls(r).own() {
				if e.Size == 1<<20 {
					large++
				}
			}
			// The block it died in was handed out, and not counted any more or just so.
			if want := file.calls() - 200; large < want || large > want+1 || large < limit>>21 {
				t.Errorf("%d large blocks, the program counted %d", large, want)
			}
		})
	}
}

// memoryGroup makes a control group of so many bytes; the result is the file
// that processes join it by.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	for _, v := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(v[0], fmt.Sprintf("hdb-test-%d-%d", os.Getpid(), rand.Int32()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, v[1]), []byte(strconv.Itoa(limit)), 0o644) == nil {
			// Without this it would be given swap.
			_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0o644)
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Skip("no control group for memory can be made here (root is needed): death for want of memory is not tested")
	return ""
}

// checkProgress compares the calls of the program with what it does: pairs of
// malloc(100 + i % 100) and free, of which so many had returned; late is how
// many more there may be.
func checkProgress(t *testing.T, c *calls, returned, late int) {
	t.Helper()
	n := 0
	for e := range c.own() {
		if e.Kind == capture.Map || e.Kind == capture.Unmap {
			continue // of the file
		}
		want := capture.Event{Kind: capture.Alloc, Size: uint64(100 + n/2%100)}
		if n%2 == 1 {
			want.Kind = capture.Free
		}
		if e.Kind != want.Kind || e.Size != want.Size || e.Failed {
			t.Errorf("call %d should be %s of %d bytes:\n%s", n+1, want.Kind, want.Size, c.describe(e))
			return
		}
		n++
	}
	if returned == 0 || n < returned || n > returned+late {
		t.Errorf("%s plane: %d calls in the capture, %d had returned", c.plane, n, returned)
	}
}
