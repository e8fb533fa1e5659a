package inferior

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A terminal that hdb and the inferior take turns on. While the inferior runs, it has the
// foreground and its own modes; at every stop hdb takes both back. It is shared only when hdb
// itself is in the foreground of its controlling terminal at launch.
type terminal struct {
	fd     int // /dev/tty; valid with shared
	shared bool
	own    int          // hdb's process group
	group  int          // the inferior's foreground process group, 0 not known yet
	modes  unix.Termios // the inferior's
	ours   unix.Termios // hdb's, while the inferior has the terminal
	lent   bool
	kept   bool // hdb keeps it while the inferior runs
}

// KeepTerminal has the inferior run in the background of the terminal that it shares
// with hdb, from the next run on: hdb reads keys meanwhile. An inferior that reads
// from it is sent SIGTTIN.
func (t *terminal) KeepTerminal(keep bool) { t.kept = keep }

// open finds out whether there is a terminal to share. drops: see Config.DropsTyped.
func (t *terminal) open(drops bool) bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	modes, modesErr := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil || modesErr != nil || group != unix.Getpgrp() {
		unix.Close(fd)
		return false
	}
	t.fd, t.shared, t.own, t.modes = fd, true, group, *modes
	if drops {
		t.modes.Lflag &^= unix.NOFLSH // which is hdb's, for lines typed ahead
	}
	return true
}

func (t *terminal) close() {
	if t.shared {
		t.take()
		unix.Close(t.fd)
		t.shared = false
	}
}

// lend hands the terminal to the inferior. A terminal that has hung up
// refuses; the inferior will notice itself.
func (t *terminal) lend(pid int) {
	if !t.shared || t.lent || t.kept {
		return
	}
	if ours, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil {
		t.ours = *ours
	}
	_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.modes)
	if t.group == 0 || unix.Kill(-t.group, 0) != nil {
		group, err := unix.Getpgid(pid)
		if err != nil {
			return
		}
		t.group = group
	}
	t.foreground(t.group)
	t.lent = true
}

// take brings the terminal back to hdb.
func (t *terminal) take() {
	if !t.shared || !t.lent {
		return
	}
	t.lent = false
	if group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && group != t.own {
		t.group = group // the inferior may be a shell that has moved it
	}
	if modes, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil {
		t.modes = *modes
	}
	t.foreground(t.own)
	withoutTTOU(func() { _ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.ours) })
}

// foreground makes a process group the terminal's foreground.
func (t *terminal) foreground(group int) {
	withoutTTOU(func() { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) })
}

// withoutTTOU calls f with SIGTTOU blocked on this thread: from the
// background it would stop hdb.
func withoutTTOU(f func()) {
	set := uint64(1) << (unix.SIGTTOU - 1)
	var old uint64
	mask := func(how int, set, old *uint64) {
		unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	}
	mask(unix.SIG_BLOCK, &set, &old)
	f()
	mask(unix.SIG_SETMASK, &old, nil)
}
