package inferior

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// statusField is one field of /proc/TID/status (proc(5)), trimmed.
func statusField(tid int, name string) (string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// MayLockAll reports whether RLIMIT_MEMLOCK does not limit the process: it has CAP_IPC_LOCK in the initial user
// namespace, where all user IDs are what they are (capabilities(7), user_namespaces(7)).
func (p *Process) MayLockAll() bool {
	text, _ := statusField(p.PID(), "CapEff")
	set, err := strconv.ParseUint(text, 16, 64)
	ids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", p.PID()))
	return err == nil && set>>unix.CAP_IPC_LOCK&1 != 0 && slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"})
}

// isThreadOf reports whether tid is a thread of process pid, zombies included.
func isThreadOf(pid, tid int) bool {
	return unix.Access(fmt.Sprintf("/proc/%d/task/%d", pid, tid), unix.F_OK) == nil
}

// threadIDs lists the threads of a process as the kernel knows them now.
func threadIDs(pid int) ([]int, error) {
	d, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// sharesMemory reports whether two processes have one address space, by kcmp(2), or where the
// kernel lacks it, by the guess given.
func sharesMemory(a, b int, guess bool) bool {
	const kcmpVM = 1
	r, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	if e != 0 {
		return guess
	}
	return r == 0
}
