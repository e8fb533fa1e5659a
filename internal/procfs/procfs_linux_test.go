package procfs

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	_ "hdb/testprogs"
)

// TestOwn: what /proc says of the test itself, and of a child with memory of its own.
func TestOwn(t *testing.T) {
	pid := os.Getpid()
	if text, ok := Status(pid, "Tgid"); !ok || text != strconv.Itoa(pid) {
		t.Errorf("Tgid is %q, %v", text, ok)
	}
	if OwnPID(pid) != pid {
		t.Errorf("own number %d, want %d", OwnPID(pid), pid)
	}
	if _, ok := Status(pid, "Tg"); ok {
		t.Error("the beginning of a name is taken for a field")
	}
	if all, err := Threads(pid); err != nil || !slices.Contains(all, pid) || !IsThread(pid, all[len(all)-1]) {
		t.Errorf("threads %v, %v", all, err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := cmd.Process.Pid
	if IsThread(pid, child) {
		t.Error("a child is taken for a thread")
	}
	if Capable(child, 21) != Capable(pid, 21) { // CAP_SYS_ADMIN, which it inherits
		t.Error("a child has other capabilities")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, ok := Status(child, "Tgid"); ok {
		t.Error("a process that has ended has a status")
	}
}
