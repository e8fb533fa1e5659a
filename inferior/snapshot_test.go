package inferior

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// wordOf reads a word by a reader of memory.
func wordOf(t testing.TB, r interface {
	ReadAt(b []byte, off int64) (int, error)
}, at addr.Run) uint64 {
	t.Helper()
	var b [8]byte
	if _, err := r.ReadAt(b[:], int64(at)); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// childrenOf lists the children of a process, zombies too.
func childrenOf(t testing.TB, pid int) []string {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, task := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(b))...)
	}
	return all
}

// TestSnapshot: the copy stays as it is, the program goes on and sees nothing of it, and
// nothing is left.
func TestSnapshot(t *testing.T) {
	path := build(t, "copied")
	for _, c := range []struct {
		threads  string
		attached bool
	}{{"0", false}, {"6", false}, {"6", true}} {
		t.Run(fmt.Sprintf("threads %s attached %v", c.threads, c.attached), func(t *testing.T) {
			p, out := launch(t, path, c.threads, "8", "6")
			if c.attached {
				if err := p.SetKillOnExit(false); err != nil {
					t.Fatal(err)
				}
			}
			plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
			var taken []*Snapshot
			for round := range uint64(6) {
				if s := resume(t, p); s.Reason != Trapped {
					t.Fatalf("%v %+v", s.Reason, s.Exit)
				}
				for i, s := range taken {
					checkCopy(t, p, s, uint64(i)+1)
				}
				if round < 3 {
					s, err := p.snapshots.Snapshot()
					if err != nil {
						t.Fatal(err)
					}
					taken = append(taken, s)
					checkCopy(t, p, s, round+1)
				}
				if round == 4 {
					for _, s := range taken {
						closeCopy(t, p, s)
					}
					taken = nil
				}
			}
			wantExit(t, p, 7)
			if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "children 0 wrong 0 count 6") {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// checkCopy wants the memory of that round, without hdb's code.
func checkCopy(t *testing.T, p *Process, s *Snapshot, round uint64) {
	t.Helper()
	pages := addr.Run(wordOf(t, s, symbol(t, p, "pages")))
	n := wordOf(t, s, symbol(t, p, "npages"))
	all := make([]byte, n*4096)
	if got, err := s.ReadAt(all, int64(pages)); got != len(all) || err != nil {
		t.Fatalf("%d of %d bytes: %v", got, len(all), err)
	}
	for i := range n {
		if v := binary.LittleEndian.Uint64(all[i*4096:]); v != round {
			t.Fatalf("page %d is of round %d, the copy of %d", i, v, round)
		}
	}
	if v := wordOf(t, s, symbol(t, p, "count")); v != round {
		t.Errorf("count is %d in the copy of round %d", v, round)
	}
	code, live := make([]byte, 64), make([]byte, 64)
	hit := int64(symbol(t, p, "hit"))
	if _, err := s.ReadAt(code, hit); err != nil {
		t.Fatal(err)
	}
	if _, err := p.memory.ReadAt(live, hit); err != nil || string(code) != string(live) {
		t.Errorf("the code is % x in the copy, % x in the process, %v", code, live, err)
	}
	var b [8]byte
	hidden := wordOf(t, s, symbol(t, p, "hidden"))
	if n, err := s.ReadAt(b[:], int64(hidden)); err == nil {
		t.Errorf("%d bytes of memory that children do not have", n)
	}
	if err := s.Lost(); err != nil {
		t.Error(err)
	}
	if fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID())); err != nil || len(fds) != 0 {
		t.Errorf("the copy has files: %v, %v", fds, err)
	}
}

// closeCopy wants nothing left of it.
func closeCopy(t *testing.T, p *Process, s *Snapshot) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.ReadAt(make([]byte, 8), int64(symbol(t, p, "count"))); err == nil {
		t.Error("a closed copy can be read")
	}
	for _, c := range childrenOf(t, p.target.pid) {
		if c == fmt.Sprint(s.PID()) {
			t.Errorf("process %s is left", c)
		}
	}
}

// TestSnapshotWritten: what the program writes to is the copy's alone.
func TestSnapshotWritten(t *testing.T) {
	p, _ := launch(t, build(t, "copied"), "0", "16", "2")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	s, err := p.snapshots.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Written()
	if err != nil {
		t.Fatal(err)
	}
	resume(t, p)
	after, err := s.Written()
	if err != nil || before > 4<<20 || after < before+16<<20 || after > before+20<<20 {
		t.Errorf("written: %d bytes, then %d, of 16 MiB; %v", before, after, err)
	}
	closeCopy(t, p, s)
	wantExit(t, p, 7)
}

// TestSnapshotPages: the pages that the copy has are told, and those of mappings that are not copied.
func TestSnapshotPages(t *testing.T) {
	p, _ := launch(t, build(t, "copied"), "0", "2", "1")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	s, err := p.snapshots.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer closeCopy(t, p, s)
	var own, text addr.Run
	pages := addr.Run(wordOf(t, s, symbol(t, p, "pages")))
	if err := s.Pages(pages, pages+2<<20, func(r PageRun) { own += r.High - r.Low }); err != nil || own != 2<<20 {
		t.Errorf("%d bytes of 2 MiB, %v", own, err)
	}
	var seen []addr.Run
	shared := addr.Run(wordOf(t, s, symbol(t, p, "shared")))
	if err := s.Pages(shared, shared+64<<20, func(r PageRun) { seen = append(seen, r.Low, r.High) }); err != nil ||
		!slices.Equal(seen, []addr.Run{shared, shared + pageSize, shared + 100*pageSize, shared + 101*pageSize}) {
		t.Errorf("of shared memory %v, %v", seen, err)
	}
	hit := symbol(t, p, "hit") &^ (pageSize - 1)
	if err := s.Pages(hit, hit+pageSize, func(r PageRun) { text += r.High - r.Low }); err != nil || text != pageSize {
		t.Errorf("%d bytes of a page of code, %v", text, err)
	}
	hidden := addr.Run(wordOf(t, s, symbol(t, p, "hidden")))
	if err := s.Pages(hidden, hidden+pageSize, func(r PageRun) { t.Errorf("pages that children do not have: %+v", r) }); err != nil {
		t.Error(err)
	}
}

// TestSnapshotRefused: what could harm the program is not tried, and named.
func TestSnapshotRefused(t *testing.T) {
	path := build(t, "copied")
	for how, want := range map[string]string{
		"userfaultfd": "the process has a userfaultfd (descriptor ",
		"seccomp":     "has a seccomp filter",
	} {
		p, _ := launch(t, path, "2", "1", "1", how)
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
		if s := resume(t, p); s.Reason != Trapped {
			t.Fatalf("%s: %v %+v", how, s.Reason, s.Exit)
		}
		if _, err := p.snapshots.Snapshot(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", how, err)
		}
		if left := childrenOf(t, p.target.pid); len(left) != 0 {
			t.Errorf("%s: children %v", how, left)
		}
		wantExit(t, p, 7)
	}
}

// TestSnapshotRunning: a copy is made between two events of a program that goes on. It is large, so that it takes
// some time to end when it is closed.
func TestSnapshotRunning(t *testing.T) {
	path := build(t, "copied")
	cmd, out := background(t, path, "4", "128", "0")
	p := attach(t, cmd.Process.Pid)
	var s *Snapshot
	go p.waker.Wake(func() {
		err := p.StopAll(func() (err error) {
			s, err = p.snapshots.Snapshot()
			return err
		})
		if err != nil {
			t.Error(err)
		}
		// The program runs on by the time this is called.
		go p.waker.Wake(func() {
			if s == nil {
				return
			}
			n, first := wordOf(t, s, symbol(t, p, "npages")), uint64(0)
			pages := addr.Run(wordOf(t, s, symbol(t, p, "pages")))
			// A round was under way: pages are of it up to one, then of the one before.
			count := wordOf(t, s, symbol(t, p, "count"))
			for i := range n {
				v := wordOf(t, s, pages+addr.Run(i*4096))
				if i == 0 {
					first = v
				}
				if v != count && v != count-1 || v > first {
					t.Errorf("page %d is of round %d in a copy of round %d", i, v, count)
				}
				first = v
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_ = p.waker.Interrupt()
		})
	})
	if s := resume(t, p); s.Reason != Interrupted {
		t.Fatalf("%v", s.Reason)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if left := childrenOf(t, cmd.Process.Pid); len(left) != 0 {
		t.Errorf("children %v", left)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Error(err)
	}
	finish(t, cmd, out)
}

// TestSnapshotLost: a copy that somebody kills is an error of reading it, never memory.
func TestSnapshotLost(t *testing.T) {
	p, _ := launch(t, build(t, "copied"), "2", "8", "4")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	s, err := p.snapshots.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	pages := int64(wordOf(t, s, symbol(t, p, "pages")))
	if err := unix.Kill(s.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for s.Lost() == nil {
		time.Sleep(time.Millisecond)
	}
	for _, n := range []int{8, 1 << 20} {
		if got, err := s.ReadAt(make([]byte, n), pages); got != 0 || err == nil {
			t.Errorf("%d bytes, %v", got, err)
		}
	}
	if s := resume(t, p); s.Reason != Trapped { // its end comes while the program runs
		t.Fatalf("%v", s.Reason)
	}
	closeCopy(t, p, s)
	resume(t, p)
	resume(t, p)
	wantExit(t, p, 7)
}

// TestSnapshotAtEnd: whatever ends, the copy does, too.
func TestSnapshotAtEnd(t *testing.T) {
	for how, end := range map[string]func(*Process) error{
		"exit": func(p *Process) error {
			_, err := p.Continue()
			return err
		},
		"kill":   func(p *Process) error { return p.Kill() },
		"detach": func(p *Process) error { return p.Detach() },
		"close":  func(p *Process) error { return p.Close() },
	} {
		p, out := launch(t, build(t, "copied"), "2", "8", "1")
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
		resume(t, p)
		s, err := p.snapshots.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := end(p); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		gone(t, s.PID())
		if how == "detach" || how == "exit" {
			for range 5000 {
				if b, _ := os.ReadFile(out); strings.Contains(string(b), "children 0 wrong 0 count 1") {
					out = ""
					break
				}
				time.Sleep(time.Millisecond)
			}
			if out != "" {
				b, err := os.ReadFile(out)
				t.Errorf("%s: %q, %v", how, b, err)
			}
		}
	}
}

// TestSnapshotKilled: a copy ends with hdb, whenever it is killed, and the program goes on.
func TestSnapshotKilled(t *testing.T) {
	path := build(t, "copied")
	rounds := 50
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		how := []string{"snapshot", "running-snapshot"}[i%2]
		cmd, out := background(t, path, "4", "4", "0")
		hdb, pid := startKilled(t, how, cmd.Process.Pid)
		copies := childrenOf(t, pid)
		if len(copies) != 1 {
			t.Errorf("%s: children %v", how, copies)
		}
		time.Sleep(time.Duration(i%7) * time.Millisecond)
		kill(t, hdb)
		for _, c := range copies {
			awaitZombie(t, c)
		}
		if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
			t.Error(err)
		}
		finish(t, cmd, out)
	}
}

// TestSnapshotKilledMeanwhile: hdb is killed at any moment while it makes copies, one after the other.
func TestSnapshotKilledMeanwhile(t *testing.T) {
	path := build(t, "copied")
	rounds := 50
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		cmd, out := background(t, path, "4", "4", "0")
		hdb, pid := startKilled(t, "snapshots", cmd.Process.Pid)
		time.Sleep(time.Duration(i*700) * time.Microsecond)
		kill(t, hdb)
		for _, c := range childrenOf(t, pid) {
			awaitZombie(t, c)
		}
		if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
			t.Error(err)
		}
		finish(t, cmd, out)
	}
}

func stateOf(t testing.TB, pid string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
}

// awaitZombie waits until a process is no more than that.
func awaitZombie(t testing.TB, pid string) {
	t.Helper()
	for range 5000 {
		if s := stateOf(t, pid); s == "Z" || s == "" {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("process %s is in state %q", pid, stateOf(t, pid))
}
