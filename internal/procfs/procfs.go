// Package procfs reads what the kernel says of processes and threads in /proc (proc(5)).
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Path is where a file or directory of a process is, such as "maps" or "root/tmp". The kernel shows nothing of a
// thread that has ended, and most files of /proc/PID are of the process's first thread: if that has ended before
// the others, as by pthread_exit in main, this is the same file of a thread that still runs.
func Path(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", Living(pid), name) }

// Living is a thread of a process that has not ended, the first one while it runs. /proc/TID, which no listing shows,
// has all files of /proc/PID; /proc/PID/task/TID lacks map_files and coredump_filter.
func Living(pid int) int {
	hasMemory := func(tid int) bool {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", tid))
		return err == nil
	}
	if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); !errors.Is(err, fs.ErrNotExist) {
		return pid // or another user's, whose threads say no more
	}
	threads, _ := Threads(pid)
	if i := slices.IndexFunc(threads, hasMemory); i >= 0 {
		return threads[i]
	}
	return pid
}

// Status is one field of /proc/TID/status (proc(5)), trimmed.
func Status(tid int, name string) (string, bool) {
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

// OwnPID is the number of a process in its own namespace, as it and its parent know it.
func OwnPID(pid int) int {
	all, _ := Status(pid, "NSpid")
	if f := strings.Fields(all); len(f) > 0 {
		if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
			return n
		}
	}
	return pid
}

// Capable reports whether a process has a capability in effect, in its user namespace (capabilities(7)).
func Capable(pid, capability int) bool {
	text, _ := Status(pid, "CapEff")
	set, err := strconv.ParseUint(text, 16, 64)
	return err == nil && set>>capability&1 != 0
}

// Threads lists the threads of a process as the kernel knows them now.
func Threads(pid int) ([]int, error) {
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

// MayLockAll reports whether RLIMIT_MEMLOCK does not limit a process: it has CAP_IPC_LOCK in the initial user
// namespace, where all user IDs are what they are (user_namespaces(7)).
func MayLockAll(pid int) bool {
	const ipcLock = 14 // CAP_IPC_LOCK
	ids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", pid))
	return Capable(pid, ipcLock) && slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"})
}

// Locked reports whether the mapping that begins at an address is locked in memory, as all are that are made under
// mlockall(MCL_FUTURE).
func Locked(pid int, low uint64) bool {
	if locked, _ := Status(Living(pid), "VmLck"); locked == "0 kB" {
		return false // to read smaps takes long in a large process
	}
	smaps, _ := os.ReadFile(Path(pid, "smaps"))
	_, of, _ := bytes.Cut(append([]byte("\n"), smaps...), fmt.Appendf(nil, "\n%08x-", low))
	_, flags, _ := bytes.Cut(of, []byte("\nVmFlags:"))
	flags, _, _ = bytes.Cut(flags, []byte("\n"))
	return slices.Contains(strings.Fields(string(flags)), "lo")
}

// IsThread reports whether tid is a thread of process pid, zombies included.
func IsThread(pid, tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, tid))
	return err == nil
}
