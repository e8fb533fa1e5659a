package planes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// A target is a program that runs and to which hdb attaches.
type target struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	pid string

	mu    sync.Mutex
	lines []string // that it printed after "ready"
	done  chan struct{}
}

// launch starts the program and waits until it says "ready PID".
func launch(t *testing.T, name string, flags []string, args ...string) *target {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	t.Cleanup(cancel)
	g := &target{cmd: exec.CommandContext(ctx, testprogs.Build(t, name, flags...), args...), done: make(chan struct{})}
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.pid = strconv.Itoa(g.cmd.Process.Pid)
	r := bufio.NewReader(out)
	if first, err := r.ReadString('\n'); first != "ready "+g.pid+"\n" {
		t.Fatalf("%v: %q, %v", g.cmd, first, err)
	}
	go func() {
		defer close(g.done)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			g.mu.Lock()
			g.lines = append(g.lines, strings.TrimSpace(line))
			g.mu.Unlock()
		}
	}()
	return g
}

// said are the lines from number n on.
func (g *target) said(n int) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lines[n:])
}

// end has the program finish, and expects that all it did was right.
func (g *target) end(t *testing.T) {
	t.Helper()
	g.in.Close()
	<-g.done
	if err := g.cmd.Wait(); err != nil || !slices.ContainsFunc(g.said(0), func(l string) bool { return strings.HasSuffix(l, "wrong 0") }) {
		lines := g.said(0)
		t.Errorf("%v: %v, last words %q", g.cmd, err, lines[max(0, len(lines)-3):])
	}
}

// paces waits until the program has printed n paces from now on.
func (g *target) paces(t *testing.T, n int) []int {
	t.Helper()
	from := len(g.said(0))
	for deadline := testprogs.Deadline(t); ; time.Sleep(10 * time.Millisecond) {
		var all []int
		for _, l := range g.said(from) {
			if text, ok := strings.CutPrefix(l, "pace "); ok {
				v, _ := strconv.Atoi(text)
				all = append(all, v)
			}
		}
		select {
		case <-g.done:
			t.Fatalf("%v has ended: %v", g.cmd, g.cmd.Wait())
		default:
		}
		if len(all) >= n {
			return all[:n]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v printed %v in a minute", g.cmd, all)
		}
	}
}

// recordAttached attaches, records some events and saves them, and detaches.
func recordAttached(t *testing.T, p plane, pid string, events int) *recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "attached.hdb")
	commands := append(p.settings(), "record start", fmt.Sprintf("next-alloc %d", events), "record status", "save "+path)
	said, err := hdb(t, job{}, commands, "-p", pid)
	if err != nil {
		t.Fatalf("%s plane: %v\n%s", p, err, said)
	}
	f, err := file.Open(path)
	if err != nil {
		t.Fatalf("%s plane: %v\n%s", p, err, said)
	}
	t.Cleanup(func() { f.Close() })
	return &recording{File: f, plane: p, said: said}
}

// TestAttachOften attaches while threads are inside malloc and free, again and
// again. The program must not notice.
func TestAttachOften(t *testing.T) {
	n, events := 500, 2000
	if testing.Short() {
		n, events = 1, 200
	}
	for _, p := range planes {
		for _, flags := range [][]string{nil, {"-static"}, {"CC=musl-gcc"}} {
			t.Run(fmt.Sprintf("%s/%s", p, strings.Join(flags, " ")), func(t *testing.T) {
				g := launch(t, "storm_pace", flags, "3")
				for i := range n {
					if flags != nil && i >= max(n/5, 1) {
						break
					}
					c := newCalls(recordAttached(t, p, g.pid, 1+rand.IntN(events)))
					if wrong := c.twice(); wrong != nil || c.Len() == 0 {
						t.Fatalf("attach %d: %d events, %v", i+1, c.Len(), wrong)
					}
				}
				g.checkLeft(t)
				g.end(t)
			})
		}
	}
}

// twice is an error if a block was handed out while it lived.
func (c *calls) twice() error {
	live := map[uint64]capture.Event{}
	for e := range c.heap() {
		switch {
		case e.Failed:
		case e.Kind == capture.Free:
			delete(live, e.Addr)
		default:
			delete(live, e.Old)
			if other, ok := live[e.Addr]; ok {
				return fmt.Errorf("handed out twice, first as #%d:\n%s", other.Seq, c.describe(e))
			}
			live[e.Addr] = e
		}
	}
	return nil
}

// TestAttachConfined attaches to programs that let nobody in: one that is killed
// by what an agent would do, one that is not dumpable, one of another user.
func TestAttachConfined(t *testing.T) {
	for _, p := range planes {
		for _, c := range []struct{ name, how string }{{"storm_seccomp", "wait"}, {"storm_private", "dumpable"}, {"storm_private", "user"}} {
			t.Run(fmt.Sprintf("%s/%s %s", p, c.name, c.how), func(t *testing.T) {
				t.Parallel()
				args := []string{c.how, "1000"}
				if c.name == "storm_private" {
					args = append(args, "wait")
				}
				g := launch(t, c.name, nil, args...)
				stop := make(chan struct{})
				var typing sync.WaitGroup
				typing.Go(func() { // each byte is a round of calls
					for {
						select {
						case <-stop:
							return
						case <-time.After(10 * time.Millisecond):
							if _, err := g.in.Write([]byte("x")); err != nil {
								return
							}
						}
					}
				})
				confined := p
				if p == probe && c.name == "storm_seccomp" {
					confined = either
				}
				r := recordAttached(t, confined, g.pid, 100)
				if r.Len() < 100 {
					t.Errorf("%d events\n%s", r.Len(), r.said)
				}
				close(stop)
				typing.Wait()
				g.end(t)
			})
		}
	}
}

// TestHdbKilled kills hdb while it records a program to which it is attached. The
// program goes on, right, and at full speed within a second.
func TestHdbKilled(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 3
	}
	g := launch(t, "storm_pace", nil, "2")
	before := slices.Max(g.paces(t, 5))
	for i := range n {
		killRecorder(t, probe, g.pid)
		g.recovers(t, i, before)
	}
	g.end(t)
}

// recovers waits a second at most for the program to be as fast, after a kill, as before the first. What
// the caches hold may be another program's at first.
func (g *target) recovers(t *testing.T, kill, before int) {
	t.Helper()
	after := 0
	for range 10 {
		if after = max(after, g.paces(t, 1)[0]); after >= before/2 {
			return
		}
	}
	t.Fatalf("kill %d: %d pairs in 100 ms of CPU time, at best, in the second after; %d before the first", kill+1, after, before)
}

// TestHdbKilledAtStops kills hdb while threads of a program to which it is attached come
// to stops all the time: stops that are ignored, or that go on by their commands. The program goes on, right.
func TestHdbKilledAtStops(t *testing.T) {
	n, threads := 200, "30"
	if testing.Short() {
		n, threads = 1, "4"
	}
	for _, p := range planes {
		for _, c := range []struct{ name, stop, then string }{
			{"passed", "alloc if size >= 900", "ignore 1 1000000000"},
			{"commands", "alloc if size >= 900", "commands\nsilent\ncontinue\nend"},
			{"free", "free", "ignore 1 1000000000"},
			{"function", "pair", "ignore 1 1000000000"},
			{"screened", "pair if n == 4000000000", "ignore 1 1000000000"},
			{"screened and passed", "pair if n > 50", "ignore 1 1000000000"},
		} {
			t.Run(fmt.Sprintf("%s/%s", p, c.name), func(t *testing.T) {
				script := filepath.Join(t.TempDir(), "script")
				lines := append(p.settings(), "break "+c.stop, c.then, "echo stops\\n", "continue", "")
				if err := os.WriteFile(script, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
				g := launch(t, "storm_pace", nil, threads)
				for range n {
					killAtStops(t, script, g.pid)
					g.paces(t, 1)
				}
				g.end(t)
			})
		}
	}
}

// TestHdbKilledWatching kills hdb while debug registers stop a program to which it is attached all the time.
// They are cleared: the program goes on at full speed.
func TestHdbKilledWatching(t *testing.T) {
	n, threads := 30, "8"
	if testing.Short() {
		n, threads = 2, "2"
	}
	script := filepath.Join(t.TempDir(), "script")
	lines := append(plain.settings(), "hbreak pair", "ignore 1 1000000000", "echo stops\\n", "continue", "")
	if err := os.WriteFile(script, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	g := launch(t, "storm_pace", nil, threads)
	before := slices.Max(g.paces(t, 5))
	for i := range n {
		killAtStops(t, script, g.pid)
		g.recovers(t, i, before)
	}
	g.end(t)
}

// killAtStops has hdb attach and run a script, and kills it soon after it has said
// "stops".
func killAtStops(t *testing.T, script, pid string) {
	t.Helper()
	cmd := exec.Command(testprogs.HDB(t), "-batch", "-nx", "-x", script, "-p", pid)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	r := bufio.NewReader(io.TeeReader(out, &said))
	for line := ""; line != "stops\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, said.String())
		}
	}
	time.Sleep(rand.N(100 * time.Millisecond))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(r)
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.Exited() {
		t.Fatalf("hdb ended before it was killed: %v\n%s%s", err, said.String(), rest)
	}
}

// TestHdbKilledAnywhere kills hdb before each of the system calls by which it
// changes a program that it has attached to, until it has let it go. The program
// goes on, right, and with the descriptors that it had.
func TestHdbKilledAnywhere(t *testing.T) {
	killedAnywhere(t, append(probe.settings(), "record start", "break alloc if size == 1", "detach"))
}

// TestHdbKilledAroundScreens does so while conditions are put into the process, and taken out.
func TestHdbKilledAroundScreens(t *testing.T) {
	killedAnywhere(t, []string{"tbreak pair if n > 10", "continue", "tbreak pair if n > 20", "continue", "detach"})
}

// killedAnywhere has hdb do what the commands say.
func killedAnywhere(t *testing.T, commands []string) {
	t.Helper()
	for _, call := range []string{"ptrace", "pwrite64", "wait4"} {
		for _, flags := range [][]string{nil, {"-static"}} {
			if testing.Short() && (call == "pwrite64") != (flags != nil) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", call, strings.Join(flags, " ")), func(t *testing.T) {
				g := launch(t, "storm_pace", flags, "2")
				before := g.descriptors(t)
				step := 1
				if testing.Short() {
					if step = 61; call == "pwrite64" { // which are the most
						step = 131
					}
				}
				n := 1 + rand.IntN(step)
				for killBefore(t, commands, call, n, g.pid) {
					g.paces(t, 1)
					if now := g.descriptors(t); now != before {
						t.Fatalf("killed before the %dth %s: %d descriptors, %d before", n, call, now, before)
					}
					n += step
				}
				if n < 20 {
					t.Errorf("%d system calls %s: hdb did not do its work", n, call)
				}
				g.end(t)
			})
		}
	}
}

// descriptors is how many the program has open.
func (g *target) descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/" + g.pid + "/fd")
	if err != nil {
		t.Fatalf("%v: %v", g.cmd, err)
	}
	return len(files)
}

// killBefore has hdb attach and do what the commands say, which let the program go, and kills it before the n-th call of that name in a thread of it.
// False: there are fewer.
func killBefore(t *testing.T, commands []string, call string, n int, pid string) bool {
	t.Helper()
	line := []string{"-f", "-qqq", "-o", "/dev/null", "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n),
		testprogs.HDB(t), "-batch", "-nx"}
	for _, c := range commands {
		line = append(line, "-ex", c)
	}
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", append(line, "-p", pid)...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	status := (*exec.ExitError)(nil)
	if !errors.As(err, &status) || status.Exited() || ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return true
}

// killRecorder attaches, records, and kills hdb at some time from before it has
// attached until it has recorded a little.
func killRecorder(t *testing.T, p plane, pid string) {
	t.Helper()
	args := []string{"-batch", "-nx"}
	for _, c := range append(p.settings(), "record start", "continue") {
		args = append(args, "-ex", c)
	}
	cmd := exec.Command(testprogs.HDB(t), append(args, "-p", pid)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(rand.N(400 * time.Millisecond))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.Exited() {
		t.Fatalf("hdb ended before it was killed: %v\n%s", err, out.String())
	}
}
