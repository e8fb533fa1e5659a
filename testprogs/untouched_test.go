package testprogs

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMemoryUntouched asks all that is asked of a heap of a program that is stopped and was not
// followed before: no byte of its memory is another one afterwards, and no mapping is new.
func TestMemoryUntouched(t *testing.T) {
	cmd := exec.Command(Tool(t, "perl"), "-e", `my %h = map { $_ => [1 .. 5] } 1 .. 20_000; $| = 1; print "ready\n"; sleep 1000`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }() // it ends by that
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStopped(t, cmd.Process.Pid)
	before := memorySums(t, cmd.Process.Pid)
	hdb := exec.Command(HDB(t), "-q", "-nx", "-p", fmt.Sprint(cmd.Process.Pid))
	hdb.Stdin = strings.NewReader("leaks\nleaks --reachable\nheap\narenas\nbins\nfragmentation\nvmmap -layers\nlive 3\ninfo registers rsp\nwhat $rsp\nfind -live 1\ndetach\n")
	said, err := hdb.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "still reachable") {
		t.Fatalf("%v: %s", err, said)
	}
	waitStopped(t, cmd.Process.Pid)
	after := memorySums(t, cmd.Process.Pid)
	if len(before) < 10 || !maps.Equal(before, after) {
		for m, sum := range after {
			if before[m] != sum {
				t.Errorf("%s is another one, or new", m)
			}
		}
		t.Errorf("%d mappings before, %d after", len(before), len(after))
	}
}

// waitStopped waits until a process stands still.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "T ") {
			return
		}
		time.Sleep(10 * time.Millisecond) // nothing tells when it stands
	}
	t.Fatal("the process does not stand still")
}

// memorySums are sums over all memory that a process may read, by mapping.
func memorySums(t *testing.T, pid int) map[string][sha256.Size]byte {
	t.Helper()
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	sums := map[string][sha256.Size]byte{}
	for line := range strings.Lines(string(list)) {
		var low, high uint64
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &low, &high, &perm); err != nil {
			t.Fatal(err)
		}
		if perm[0] != 'r' || strings.Contains(line, "[vvar") || strings.Contains(line, "[vsyscall") {
			continue // the kernel's clock
		}
		b := make([]byte, high-low)
		if _, err := mem.ReadAt(b, int64(low)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sums[strings.TrimSpace(line)] = sha256.Sum256(b)
	}
	return sums
}
