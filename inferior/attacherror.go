package inferior

import (
	"errors"
	"fmt"
	"hdb/internal/procfs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An AttachError says why a process cannot be attached to and what to do.
type AttachError struct {
	PID   int
	Cause string
	Hint  string // the next step, may be ""
}

func (e *AttachError) Error() string {
	s := fmt.Sprintf("attach to process %d: %s", e.PID, e.Cause)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// CheckAttach reports whether Attach would be refused, and why, as an *AttachError, without
// touching the process.
func CheckAttach(pid int) error {
	if pid <= 0 {
		return &AttachError{pid, "not a process ID", ""}
	}
	awaitGuard(pid)
	if cause, hint := impossible(pid); cause != "" {
		return &AttachError{pid, cause, hint}
	}
	// Opening the memory asks the kernel for the very permission that
	// ptrace needs (PTRACE_MODE_ATTACH, ptrace(2)) and does nothing else.
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return nil
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return &AttachError{pid, "no such process", ""}
	}
	cause, hint := refusal(pid)
	return &AttachError{pid, cause, hint}
}

// guardName is what the guard of an hdb calls itself.
const guardName = "guard"

// guardLeaves is how long the guard of an hdb that was killed may take to clear what that left.
const guardLeaves = 2 * time.Second

// awaitGuard waits as long as a guard traces a thread of the process, which it does for some milliseconds
// after its hdb was killed.
func awaitGuard(pid int) {
	guarded := func() bool {
		threads, _ := procfs.Threads(pid)
		return slices.ContainsFunc(threads, func(tid int) bool {
			tracer, _ := procfs.Status(tid, "TracerPid")
			by, err := strconv.Atoi(tracer)
			if err != nil || by == 0 {
				return false
			}
			name, _ := procfs.Status(by, "Name")
			return name == guardName
		})
	}
	for end := time.Now().Add(guardLeaves); time.Now().Before(end) && guarded(); {
		time.Sleep(guardPoll)
	}
}

// impossible are the reasons that no permission helps against.
func impossible(pid int) (cause, hint string) {
	tgid, ok := procfs.Status(pid, "Tgid")
	if !ok {
		return "no such process", "it has ended, or lives in another pid namespace"
	}
	if tgid == strconv.Itoa(os.Getpid()) {
		return "that is hdb itself", ""
	}
	process, _ := strconv.Atoi(tgid)
	state, _ := procfs.Status(process, "State")
	threads, _ := procfs.Threads(process)
	if strings.HasPrefix(state, "Z") {
		if len(threads) > 1 {
			return fmt.Sprintf("the first thread of process %d has ended: ptrace(2) cannot take it any more, and only it would report the end of the process; threads that still run: %d", process, len(threads)-1),
				"launch the program with hdb, or attach before that thread ends"
		}
		parent, _ := procfs.Status(process, "PPid")
		return "it is a zombie: it has ended and waits for its parent " + describe(parent) + " to collect it", ""
	}
	if process != pid {
		return "it is a thread, not a process", "attach to its process " + tgid
	}
	if k, _ := procfs.Status(pid, "Kthread"); k == "1" || kernelThread(pid) {
		return "it is a kernel thread", ""
	}
	for _, tid := range threads {
		if tracer, _ := procfs.Status(tid, "TracerPid"); tracer != "" && tracer != "0" {
			return "it is already traced by process " + describe(tracer), "end that debugger or tracer first"
		}
	}
	return "", ""
}

// kernelThread tells a kernel thread where /proc/PID/status does not: kthreadd
// (2) is its parent or itself.
func kernelThread(pid int) bool {
	parent, _ := procfs.Status(pid, "PPid")
	if parent != "2" && pid != 2 {
		return false
	}
	name, err := os.ReadFile("/proc/2/comm")
	return err == nil && strings.TrimSpace(string(name)) == "kthreadd"
}

// describe is "123 (gdb)".
func describe(pid string) string {
	comm, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return pid
	}
	return fmt.Sprintf("%s (%s)", pid, strings.TrimSpace(string(comm)))
}

// refusal finds the reason of a refused permission, ptrace(2) "Ptrace access
// mode checking".
func refusal(pid int) (cause, hint string) {
	uids, _ := procfs.Status(pid, "Uid")
	if f := strings.Fields(uids); len(f) > 0 && os.Geteuid() != 0 {
		for _, uid := range f {
			if uid != strconv.Itoa(os.Getuid()) {
				return fmt.Sprintf("it belongs to user %s, hdb runs as user %d", uid, os.Getuid()), "try sudo"
			}
		}
	}
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		switch strings.TrimSpace(string(scope)) {
		case "1":
			return "kernel.yama.ptrace_scope=1 permits only descendants of hdb",
				"launch the program from hdb, try sudo, or sysctl kernel.yama.ptrace_scope=0"
		case "2":
			return "kernel.yama.ptrace_scope=2 permits only root", "try sudo"
		case "3":
			return "kernel.yama.ptrace_scope=3 forbids it to all until the next boot", "launch under a kernel without it"
		}
	}
	for _, ns := range []string{"user", "pid"} {
		own, _ := os.Readlink("/proc/self/ns/" + ns)
		other, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
		if err == nil && own != other {
			return "it runs in a container (another " + ns + " namespace)", "run hdb as root outside, or inside the container with CAP_SYS_PTRACE"
		}
	}
	if os.Geteuid() == 0 {
		if procfs.Capable(os.Getpid(), unix.CAP_SYS_PTRACE) {
			return "the kernel does not permit it, although root has CAP_SYS_PTRACE here", "a security module does not, or the process has more capabilities"
		}
		return "root lacks the capability CAP_SYS_PTRACE here", "in a container: --cap-add=SYS_PTRACE"
	}
	return "it may not be inspected (it changed its user or group, has capabilities, or cleared PR_SET_DUMPABLE)", "try sudo"
}
