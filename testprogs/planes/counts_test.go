package planes

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/testprogs"
)

// A count is how many calls of a run there are of each kind, those that failed
// included, and no free of NULL.
type count struct {
	malloc, calloc, realloc, reallocarray, aligned, free uint64
}

// totals are those of a capture, or what they should be.
type totals struct {
	count
	failed  uint64 // of all that allocate
	resized uint64 // blocks that realloc took and gave back, or freed
	zero    uint64 // blocks that realloc freed, because the size was 0
	refused uint64 // blocks that realloc failed to resize to a size below 1 << 63
}

// allocations are the calls that handed out a block.
func (s totals) allocations() uint64 {
	return s.malloc + s.calloc + s.realloc + s.reallocarray + s.aligned - s.failed - s.zero
}

func (c *calls) totals(t *testing.T) totals {
	t.Helper()
	var s totals
	for e := range c.heap() {
		switch name := breakpoints.Names(c.function(e))[0]; name {
		case "operator new", "operator new[]": // calls one of the others, once if it does not fail
			if e.Aux != 0 {
				s.aligned++
			} else {
				s.malloc++
			}
		case "malloc":
			s.malloc++
		case "calloc":
			s.calloc++
		case "realloc":
			s.realloc++
		case "reallocarray":
			s.reallocarray++
		case "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc":
			s.aligned++
		case "free", "operator delete", "operator delete[]":
			s.free++
		default:
			t.Errorf("a call of %s", name)
		}
		switch {
		case e.Failed:
			s.failed++
			if e.Kind == capture.Realloc && e.Old != 0 && e.Size < 1<<63 {
				s.refused++
			}
		case e.Kind == capture.Realloc && e.Old != 0:
			s.resized++
			if e.Addr == 0 {
				s.zero++
			}
		}
	}
	return s
}

// countJobs are programs that make the same calls in each run, and no child.
func countJobs(t *testing.T) map[string]job {
	jobs := map[string]job{}
	for _, s := range []subject{
		{name: "basic"}, {name: "realloc"}, {name: "fail"}, {name: "demo"}, {name: "cxxnew"},
		{name: "threads", args: []string{"4", "2", "50"}}, {name: "storm_realloc", args: []string{"3", "20"}},
	} {
		jobs[s.name] = s.job(t)
	}
	work := realJobs(t)
	for _, name := range []string{"xmllint", "sqlite3"} {
		jobs[name] = work[name]
	}
	if testing.Short() { // the rest are held to the storms' own counts, or make the same kinds of calls
		for _, name := range []string{"basic", "demo", "threads", "storm_realloc", "xmllint"} {
			delete(jobs, name)
		}
	}
	return jobs
}

// TestCounts compares the totals of a recorded run with those of a preloaded
// library, of valgrind and of heaptrack, each of a run of its own.
func TestCounts(t *testing.T) {
	for name, j := range countJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted, grind, track := preloaded(t, j), valgrind(t, j), heaptrack(t, j)
			for _, p := range planes {
				c := newCalls(record(t, p, j))
				got := c.totals(t)
				if got.count != counted {
					t.Errorf("%s plane: %+v, the preloaded library counts %+v", p, got.count, counted)
				}
				if want := got.forValgrind(); grind != want {
					t.Errorf("valgrind counts %+v; by the %s plane's %+v it should be %+v", grind, p, got, want)
				}
				if want := got.forHeaptrack(c); track != want {
					t.Errorf("heaptrack counts %d; by the %s plane's %+v it should be %d", track, p, got, want)
				}
				t.Logf("%s plane: %+v", p, got)
			}
		})
	}
}

// preloaded counts with the library.
func preloaded(t *testing.T, j job) count {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counts")
	j = j.preloading(library(t, "counter"))
	cmd := j.Cmd()
	cmd.Env = append(cmd.Env, "COUNTER="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var n [6]uint64
	if _, err := binary.Decode(data, binary.LittleEndian, &n); err != nil {
		t.Fatal(err)
	}
	return count{n[0], n[1], n[2], n[3], n[4], n[5]}
}

// usage is valgrind's "total heap usage".
type usage struct{ allocs, frees uint64 }

// forValgrind is what valgrind should count: a realloc of a block is an alloc and
// a free, even if it fails for want of memory, and a free alone if the size is 0.
// Other calls that fail it does not count, nor any with a negative size.
func (s totals) forValgrind() usage {
	return usage{s.allocations() + s.refused, s.free + s.resized + s.refused}
}

var heapUsage = regexp.MustCompile(`total heap usage: ([0-9,]+) allocs, ([0-9,]+) frees`)

// valgrind counts without what libc and libstdc++ free for it at the end.
func valgrind(t *testing.T, j job) usage {
	t.Helper()
	cmd := j.Cmd()
	cmd.Path = testprogs.Tool(t, "valgrind")
	cmd.Args = append([]string{"valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", j.Path}, j.Args...)
	out, err := cmd.CombinedOutput()
	m := heapUsage.FindStringSubmatch(string(out))
	if err != nil || m == nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return usage{number(t, m[1]), number(t, m[2])}
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// forHeaptrack is what heaptrack should count as calls to allocation functions:
// those that return a block. Its own library brings libstdc++ into programs that
// have none, and that allocates its reserve for exceptions at the start.
func (s totals) forHeaptrack(c *calls) uint64 {
	n := s.allocations()
	for _, m := range c.modules {
		if strings.HasPrefix(filepath.Base(m.Path), "libstdc++") {
			return n
		}
	}
	return n + 1
}

var allocationCalls = regexp.MustCompile(`calls to allocation functions: ([0-9]+)`)

func heaptrack(t *testing.T, j job) uint64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "track")
	cmd := j.Cmd()
	cmd.Path = testprogs.Tool(t, "heaptrack")
	cmd.Args = append([]string{"heaptrack", "-o", out, j.Path}, j.Args...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, said)
	}
	files, err := filepath.Glob(out + "*")
	if err != nil || len(files) != 1 {
		t.Fatalf("heaptrack wrote %v, %v", files, err)
	}
	text, err := exec.Command(testprogs.Tool(t, "heaptrack_print"), "-f", files[0]).Output()
	m := allocationCalls.FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("heaptrack_print: %v\n%s", err, text)
	}
	return number(t, string(m[1]))
}

// TestNumberPassed has a stop that names the number of an event which is none of
// its calls: hdb asks for it no more when it has passed, and the program is not
// stopped at each call from then on.
func TestNumberPassed(t *testing.T) {
	const calls = 20000
	for _, stop := range []string{"break malloc #%d", "break malloc if nth == %d", "break malloc #%d if nth != 7"} {
		stops := 0
		for _, number := range []int{5000, 5001} { // malloc and free take turns
			j := program(t, "storm_progress", nil, "exit", strconv.Itoa(calls), filepath.Join(t.TempDir(), "progress"))
			args := []string{"-batch", "-nx"}
			for _, c := range append(probe.settings(), fmt.Sprintf(stop, number), "run "+quoted(j.Args), "continue") {
				args = append(args, "-ex", c)
			}
			cmd := exec.Command(testprogs.HDB(t), append(args, "--args", j.Path)...)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "hit 1:") {
				stops++
			} else if !strings.Contains(string(out), "exited with code 0") {
				t.Fatalf("%s: %v\n%s", fmt.Sprintf(stop, number), err, out)
			}
			// The program, which hdb has waited for, is counted: it sleeps at a stop.
			n := cmd.ProcessState.SysUsage().(*syscall.Rusage).Nvcsw
			if t.Logf("%s: %d", fmt.Sprintf(stop, number), n); n > calls/4 {
				t.Errorf("%s: slept %d times in %d calls", fmt.Sprintf(stop, number), n, calls)
			}
		}
		if stops != 1 {
			t.Errorf("%s: %d of two numbers are those of a malloc", stop, stops)
		}
	}
}
