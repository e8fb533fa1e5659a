package rights

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// OfProcess is the user as whom a process opens files (fsuid, fsgid and groups in proc_pid_status(5)). nil if hdb is not run by root,
// or the process is root's or cannot be looked at.
func OfProcess(pid int) *User {
	if os.Geteuid() != 0 {
		return nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	const filesystem = 3 // the fields are real, effective, saved, filesystem
	var u User
	for line := range bytes.Lines(status) {
		name, rest, _ := strings.Cut(string(line), ":")
		fields := strings.Fields(rest)
		switch {
		case name == "Uid" && len(fields) > filesystem:
			u.UID, err = strconv.Atoi(fields[filesystem])
		case name == "Gid" && len(fields) > filesystem:
			u.GID, err = strconv.Atoi(fields[filesystem])
		case name == "Groups":
			u.Groups = numbers(fields)
		}
		if err != nil {
			return nil // the kernel does not write this
		}
	}
	if u.UID == 0 {
		return nil
	}
	return &u
}

func numbers(fields []string) (all []int) {
	for _, f := range fields {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// Of is the owner of a file, in no other group than the file's: which groups a user is in is only known of processes. nil if hdb is
// not run by root, the file is root's, or st is nil.
func Of(st fs.FileInfo) *User {
	if st == nil {
		return nil
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return OfUser(int(sys.Uid), int(sys.Gid))
}

// do calls f on a thread that has the user's rights to files meanwhile: setfsuid(2) also takes root's
// capabilities over files from it. What f calls must not start goroutines for its work.
func (u *User) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		own, err := current()
		if err == nil {
			err = u.assume()
		}
		if err == nil {
			err = f()
		}
		if own == nil || own.assume() == nil {
			runtime.UnlockOSThread() // else the thread ends with the goroutine, and its rights with it
		}
		done <- err
	}()
	return <-done
}

// deniesGroups reports whether setting groups is denied in hdb's user namespace.
func deniesGroups() bool {
	b, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && strings.TrimSpace(string(b)) == "deny"
}

// current is the user of the thread.
func current() (*User, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return nil, fmt.Errorf("own groups: %w", err)
	}
	return &User{UID: fsID(syscall.SYS_SETFSUID), GID: fsID(syscall.SYS_SETFSGID), Groups: groups}, nil
}

// fsID asks setfsuid or setfsgid for the ID that the thread has: they return it, and -1 changes nothing.
func fsID(call uintptr) int {
	const none = ^uintptr(0)
	id, _, _ := syscall.RawSyscall(call, none, 0, 0)
	return int(id)
}

// assume gives the thread the user's rights. The kernel's calls are made directly: Go's own change all
// threads.
func (u *User) assume() error {
	var first unsafe.Pointer
	groups := make([]uint32, len(u.Groups))
	for i, g := range u.Groups {
		groups[i] = uint32(g)
	}
	if len(groups) > 0 {
		first = unsafe.Pointer(&groups[0])
	}
	// In a user namespace that an ordinary user has made, groups cannot be given up (user_namespaces(7)), and root there has
	// no more rights to files than that user.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 && !deniesGroups() {
		return fmt.Errorf("rights of user %d: setgroups: %w", u.UID, errno)
	}
	for _, c := range []struct {
		name string
		call uintptr
		id   int
	}{{"setfsgid", syscall.SYS_SETFSGID, u.GID}, {"setfsuid", syscall.SYS_SETFSUID, u.UID}} {
		_, _, _ = syscall.RawSyscall(c.call, uintptr(c.id), 0, 0) // the result does not tell failure
		if fsID(c.call) != c.id {
			return fmt.Errorf("rights of user %d: %s: not permitted", u.UID, c.name)
		}
	}
	return nil
}
