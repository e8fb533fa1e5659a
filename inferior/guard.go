package inferior

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A guard is a small process that takes our code out of the inferior when hdb
// is killed and cannot. It needs no ptrace, but for debug registers: it holds the target's /proc/PID/mem,
// opened by hdb and sent to it, and the table of what to restore.
//
// It learns of hdb's death in two ways. The tracing thread holds a robust futex
// (set_robust_list(2)), which the kernel gives up early in the thread's exit, before it lets go of
// the tracees; and hdb alone holds the write end of a pipe, which ends however hdb ends. The futex
// is the first of a list as long as the kernel walks, whose other members no thread waits for:
// walking it takes the dying thread some hundred microseconds, in which the tracees are still
// stopped and the guard does its work.
//
// Threads that hit an int3 after hdb has been killed and before the guard has restored it wait in a
// handler of SIGTRAP (see trapHandler), and so do those whose trap hdb was just handling. Where
// there is no such handler, the program dies. At a stop no thread runs, so there only a machine too
// busy to run the guard in time can do harm, and even then threads do not be at int3s (see secure).
type guard struct {
	p *Process

	command      []string // nil: not wanted
	on           bool
	fullReported bool // that its table is full
	ahead        *guardProcess
	table        *guardTable
	pipe         int          // write end
	former       robustList   // the thread's, before
	gone         *atomic.Bool // it could not be started, or has ended; one for each
	late         bool         // it was waited for without effect
}

// A robustList is what set_robust_list(2) takes.
type robustList struct{ head, size uintptr }

// Guard has a child process put the original bytes back where traps and patches are, if hdb is
// killed while the target outlives it: while it is one that was attached to or SetKillOnExit(false)
// holds. command is the argument vector of a program that passes what follows it to RunGuard; its
// path is command[0]. The process is started behind the caller's back; Hooks.Message tells when it
// cannot be. It ends with the session.
func (g *guard) Guard(command []string) error {
	if err := g.p.Alive(); err != nil {
		return err
	}
	g.command = command
	return g.update()
}

// update starts or ends the guard as the target needs it now.
func (g *guard) update() error {
	want := g.command != nil && g.p.target.survives() && !g.p.closed
	switch {
	case want && !g.on:
		return g.start()
	case !want && g.on:
		g.end()
	}
	return nil
}

// renew is update for a target with a new address space.
func (g *guard) renew() {
	g.end()
	g.p.handler = trapHandler{p: g.p}
	if err := g.update(); err != nil {
		g.p.message("%v", err)
	}
}

func (g *guard) start() error {
	if err := g.startAhead(g.command); err != nil {
		return err
	}
	a := g.ahead
	g.ahead = nil
	a.table.head.pid = int32(g.p.target.pid)
	if g.p.watchpoints.inUse() {
		a.table.watching()
	}
	g.on, g.table, g.pipe = true, a.table, a.pipe
	g.gone, g.late = a.gone, false
	g.hold(g.p.owner)
	g.p.memory.setTable(a.table)
	err := unix.Sendmsg(a.socket, []byte{0}, unix.UnixRights(g.p.memory.fd), nil, 0)
	unix.Close(a.socket)
	if err != nil && err != unix.EPIPE { // it could not be started: run says why
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}

// A guardProcess is a guard that has been started, and waits for the memory.
type guardProcess struct {
	table  *guardTable
	pipe   int // write end
	socket int // through which it gets the memory
	gone   *atomic.Bool
}

// startAhead starts the process, which takes some milliseconds to be there, and needs the
// target only then.
func (g *guard) startAhead(command []string) error {
	if g.ahead != nil {
		return nil
	}
	var open []int
	failed := func(what string, err error) error {
		for _, fd := range open {
			unix.Close(fd)
		}
		return fmt.Errorf("guard: %s%w", what, err)
	}
	fd, err := unix.MemfdCreate("hdb-guard", unix.MFD_CLOEXEC)
	if err != nil {
		return failed("memory: ", err)
	}
	open = append(open, fd)
	if err := unix.Ftruncate(fd, int64(guardSize)); err != nil {
		return failed("memory: ", err)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return failed("", err)
	}
	open = append(open, pipe[:]...)
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed("", err)
	}
	open = append(open, sockets[:]...)
	table, err := mapGuardTable(fd)
	if err != nil {
		return failed("", err)
	}
	g.ahead = &guardProcess{table: table, pipe: pipe[1], socket: sockets[1], gone: new(atomic.Bool)}
	go g.run(command, []int{sockets[0], fd, pipe[0]}, g.ahead.gone)
	return nil
}

// awaitAhead waits until the process that was started ahead runs, for a second at most.
func (g *guard) awaitAhead() {
	if a := g.ahead; a != nil {
		within(time.Second, func() bool { return a.gone.Load() || a.table.head.started.Load() })
	}
}

// drop ends a process that was started ahead and is not needed.
func (g *guard) drop() {
	if a := g.ahead; a != nil {
		g.ahead = nil
		unix.Close(a.socket)
		unix.Close(a.pipe)
		_ = unix.Munmap(a.table.mem) // nothing refers to it
	}
}

// hold has the calling thread own the futexes.
func (g *guard) hold(tid int) {
	list, head := g.table.list, &g.table.head.robust
	for i := range list {
		list[i].futex = uint32(tid) | futexWaiters
		list[i].next = uintptr(unsafe.Pointer(head))
		if i+1 < len(list) {
			list[i].next = uintptr(unsafe.Pointer(&list[i+1]))
		}
	}
	head.next, head.offset = uintptr(unsafe.Pointer(&list[0])), unsafe.Offsetof(list[0].futex)
	// Errors leave the pipe to tell the guard.
	g.former = robustList{size: unsafe.Sizeof(*head)}
	_, _, _ = unix.RawSyscall(unix.SYS_GET_ROBUST_LIST, 0, uintptr(unsafe.Pointer(&g.former.head)), uintptr(unsafe.Pointer(&g.former.size)))
	_, _, _ = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(head)), unsafe.Sizeof(*head), 0)
}

// run starts the process and waits for its end. It has a session of its
// own: no key typed and no hangup reaches it. Its name is not hdb's, so that
// who kills all hdbs by name leaves it alive.
func (g *guard) run(command []string, files []int, gone *atomic.Bool) {
	defer gone.Store(true)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	pid := 0
	if err == nil {
		attr := &syscall.ProcAttr{Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true}}
		attr.Files = []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}
		argv := append([]string{"guard"}, command[1:]...)
		pid, err = syscall.ForkExec(command[0], append(argv, "3", "4", "5"), attr)
		null.Close()
	}
	for _, fd := range files {
		unix.Close(fd)
	}
	if err != nil {
		g.p.waker.Wake(func() { g.p.message("guard: %v: if hdb is killed, traps stay in the process", err) })
		return
	}
	for {
		if _, ws, err := waitFor(pid); err != nil || ws.Exited() || ws.Signaled() {
			return
		}
	}
}

// await waits until the guard that was started is there, once and for a second:
// what is put into the inferior before stays there if hdb is killed.
func (g *guard) await() {
	if !g.on || g.late {
		return
	}
	if !within(time.Second, func() bool { return g.gone.Load() || g.table.head.guard.Load() != 0 }) {
		g.late = true
		g.p.message("guard: not there after a second: if hdb is killed, traps may stay in the process")
	}
}

// within waits until something holds, but not longer.
func within(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); !holds(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// tellTooMany says once that the table has no room for all code that was replaced.
func (g *guard) tellTooMany() {
	if g.on && g.table.tooMany && !g.fullReported {
		g.fullReported = true
		g.p.message("guard: more than %d bytes of code replaced: if hdb is killed, some traps stay in the process", guardSlots)
	}
}

// end tells the guard that there is nothing to do any more.
func (g *guard) end() {
	g.drop()
	if !g.on {
		return
	}
	g.p.memory.setTable(nil)
	_, _, _ = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, g.former.head, g.former.size, 0) // it was the thread's
	g.table.clear()
	unix.Close(g.pipe)
	_ = unix.Munmap(g.table.mem) // nothing refers to it
	g.on, g.table = false, nil
}

// setTable has the memory keep a table, which it fills, or none.
func (m *memory) setTable(table *guardTable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.table = table
	for i := range m.covers {
		m.covers[i].slot = table.take()
		table.set(&m.covers[i])
	}
}
