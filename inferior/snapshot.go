package inferior

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// snapshots are the copies of the target's memory.
type snapshots struct {
	p      *Process
	live   []*Snapshot
	ended  []deadCopy // which the target has to wait for
	parent int        // whose they are
	birth  *birth     // the one being made
}

// deadCopy is a copy that has been killed: its pid, and the one that the target knows.
type deadCopy struct{ pid, targetPID int }

// birth is a copy that is being made.
type birth struct {
	by    *Thread
	child int
}

// A Snapshot is the memory of the target at a stop, which stays as it was when the target runs
// on: a child of the target that a system call of one of its threads has made (clone(2)), and
// that never runs a line of the program. The pages are the target's own until it
// writes to them: then the kernel copies them, which takes the target some microseconds a page.
//
// The target cannot tell but by looking for it. The child ends without a signal, and wait(2) without __WALL does not
// know it; hdb has the target wait for it at the next stop after it has ended, which adds it to what getrusage(2)
// and times(2) say of children. It shares no open files with the target once it is made. In /proc it is a process
// of the same name, in the process group. If hdb is killed, so is the copy, and a zombie stays until the target
// ends.
//
// Memory that is shared with other processes, or with files, is not copied: it is read as it is
// then. What the target keeps from its children (MADV_DONTFORK, MADV_WIPEONFORK) is not there.
//
// ReadAt and Lost may be called by any goroutine, Close by the owner.
type Snapshot struct {
	p        *Process
	parent   int
	pid      int
	innerPID int // its pid as the target knows it
	took     time.Duration
	maps     []Mapping // which stay as they are

	mu    sync.RWMutex // taken by readers; Close and lose take it to end them
	mem   int          // /proc/PID/mem, -1 when closed
	pidfd int
	lost  error
	done  chan struct{}
}

// Snapshot makes a copy of the target's memory, which must be stopped. It refuses where
// the call could harm the target or wait for it: under a seccomp filter, and with userfaultfd(2).
func (s *snapshots) Snapshot() (*Snapshot, error) {
	p := s.p
	if err := p.Alive(); err != nil {
		return nil, err
	}
	fail := func(err error) (*Snapshot, error) {
		return nil, fmt.Errorf("copy of the memory of process %d: %w", p.target.pid, err)
	}
	t, err := s.caller()
	if err != nil {
		return fail(err)
	}
	s.reap()
	from := time.Now()
	child, err := s.clone(t)
	if err != nil {
		if child != 0 {
			s.abandon(child)
		}
		return fail(err)
	}
	c := &Snapshot{p: p, parent: p.target.pid, pid: child, innerPID: procfs.OwnPID(child), mem: -1, pidfd: -1, done: make(chan struct{})}
	s.live, s.parent = append(s.live, c), p.target.pid
	if err := c.open(); err != nil {
		return fail(errors.Join(err, c.Close()))
	}
	p.family.liftIn(child) // it is read without the covers of the target's memory
	dropFiles(child)
	// Where memory runs out the kernel shall end the copy, not the target.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", child), []byte("1000"), 0)
	c.took = time.Since(from)
	go c.watch(c.done)
	return c, nil
}

// caller is a thread that can make the copy.
func (s *snapshots) caller() (*Thread, error) {
	p := s.p
	var why error
	for _, t := range p.target.order {
		switch {
		case t.state != stopped || t.vfork:
			continue
		case t.Confined():
			why = fmt.Errorf("thread %d has a seccomp filter, which may end it for clone(2)", t.TID)
			continue
		}
		return t, usesUserfaultfd(p.target.pid)
	}
	if why == nil {
		why = errors.New("no thread is stopped outside the kernel")
	}
	return nil, why
}

// usesUserfaultfd is an error if the process has such a descriptor: clone(2) may wait until it has been read.
func usesUserfaultfd(pid int) error {
	dir := procfs.Path(pid, "fd")
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if to, _ := os.Readlink(dir + "/" + n); to == "anon_inode:[userfaultfd]" {
			return fmt.Errorf("the process has a userfaultfd (descriptor %s), for whose reader clone(2) may wait", n)
		}
	}
	return nil
}

// restarted is the result of a clone(2) that a signal came before (ERESTARTNOINTR of linux/errno.h).
const restarted = unix.Errno(513)

// clone has t make the child. An error may come with a child.
func (s *snapshots) clone(t *Thread) (child int, err error) {
	for range 5 {
		if child, err = s.cloneOnce(t); child != 0 || !errors.Is(err, restarted) {
			break
		}
	}
	return child, err
}

func (s *snapshots) cloneOnce(t *Thread) (int, error) {
	b, err := t.Borrow()
	if err != nil {
		return 0, err
	}
	s.birth = &birth{by: t}
	defer func() { s.birth = nil }()
	// The files are shared only until the child lets go of them: to copy their table would make
	// the stop longer. It shall end without a signal.
	_, err = b.call(unix.SYS_CLONE, appendCall(nil, unix.SYS_CLONE, unix.CLONE_FILES|unix.CLONE_FS, 0), copyCode())
	err = errors.Join(err, b.Return())
	if err == nil && s.birth.child == 0 {
		err = errors.New("the kernel did not report the process that clone(2) made")
	}
	return s.birth.child, err
}

// born takes the child that is a copy, which is before its first instruction. It is killed if hdb is.
func (s *snapshots) born(t *Thread, child int) bool {
	if s.birth == nil || s.birth.by != t || s.birth.child != 0 {
		return false
	}
	s.birth.child = child
	_ = ptrace(unix.PTRACE_SETOPTIONS, child, 0, unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACESYSGOOD) // ESRCH: killed
	return true
}

// dropFiles has the child make its first call, which gives it a table of files of its own, with none in it.
func dropFiles(child int) {
	for range 2 { // into the call, and out of it
		if ptrace(unix.PTRACE_SYSCALL, child, 0, 0) != nil {
			return // killed
		}
		if _, ws, err := waitFor(child); err != nil || ws.Exited() || ws.Signaled() {
			return
		}
	}
}

// abandon kills a child that is of no use.
func (s *snapshots) abandon(child int) {
	own := procfs.OwnPID(child)
	_ = unix.Kill(child, unix.SIGKILL) // it cannot be gone: hdb has not waited for it
	awaitEnd(child)
	s.ended, s.parent = append(s.ended, deadCopy{child, own}), s.p.target.pid
	s.reap()
}

// runs reports whether a thread of the target does.
func (tg *target) runs() bool {
	return tg.exit == nil && slices.ContainsFunc(tg.order, func(t *Thread) bool { return t.state == running })
}

// awaitEnd waits until a tracee that is being killed has ended.
func awaitEnd(pid int) {
	for {
		if _, ws, err := waitFor(pid); err != nil || ws.Exited() || ws.Signaled() {
			return
		}
	}
}

// reap has the target, which is stopped, wait for copies that have ended. What cannot be
// done now is tried at the next stop.
func (s *snapshots) reap() {
	if len(s.ended) == 0 {
		return
	}
	if s.parent != s.p.target.pid || s.p.target.exit != nil {
		s.ended = nil // another process is debugged, or its end has made them init's
		return
	}
	t, err := s.caller()
	if err != nil {
		return
	}
	s.ended = slices.DeleteFunc(s.ended, func(c deadCopy) bool {
		got, err := t.Syscall(unix.SYS_WAIT4, uint64(c.targetPID), 0, unix.WALL|unix.WNOHANG, 0)
		return got == uint64(c.targetPID) || errors.Is(err, unix.ECHILD)
	})
}

// end closes all copies, before the target goes its own way.
func (s *snapshots) end() {
	for _, c := range slices.Clone(s.live) {
		_ = c.Close() // the target continues either way
	}
	for _, c := range s.ended { // closed while the target ran: there is no later stop to wait at
		awaitEnd(c.pid)
	}
	s.reap()
}

// open opens what is read.
func (c *Snapshot) open() (err error) {
	if c.mem, err = unix.Open(fmt.Sprintf("/proc/%d/mem", c.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("its memory: %w", err)
	}
	if c.pidfd, err = unix.PidfdOpen(c.pid, 0); err != nil {
		return fmt.Errorf("pidfd: %w", err)
	}
	c.maps, err = MapsOf(c.pid)
	return err
}

// PID is the copy's process.
func (c *Snapshot) PID() int { return c.pid }

// Took is how long the target was stopped for it.
func (c *Snapshot) Took() time.Duration { return c.took }

// ReadAt reads memory as it was. A copy that was lost is the error of all further reads.
func (c *Snapshot) ReadAt(b []byte, off int64) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.mem < 0 {
		return 0, errors.New("copy of the memory: closed")
	}
	n := 0
	if len(b) >= fastRead {
		if n = readFast(c.pid, b, off); c.dead() {
			n = 0 // the pid may be another process's by now
		}
	}
	for n < len(b) {
		more, err := unix.Pread(c.mem, b[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if more <= 0 {
			if c.dead() {
				return 0, c.lostError()
			}
			if err == nil { // its memory is gone, or there is nothing there
				err = unix.EIO
			}
			return n, fmt.Errorf("read %d bytes at %v of the copy of the memory: %w", len(b), addr.Run(off), err)
		}
		n += more
	}
	return n, nil
}

// dead reports whether the copy has ended.
func (c *Snapshot) dead() bool {
	fds := []unix.PollFd{{Fd: int32(c.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

func (c *Snapshot) lostError() error {
	if err := c.lost; err != nil {
		return err
	}
	return errLost
}

var errLost = errors.New("copy of the memory: it was killed from outside")

// Lost is why what was read may not be all: the copy has ended before it was closed; nil while it
// exists.
func (c *Snapshot) Lost() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.mem >= 0 && c.dead() {
		return c.lostError()
	}
	return nil
}

// Written is how much of the memory is the copy's alone by now, because the target has written
// to it or let go of it; bytes.
func (c *Snapshot) Written() (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.pid))
	if err != nil {
		return 0, err
	}
	var sum uint64
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Private_Dirty:"); ok {
			kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += kib << 10
		}
	}
	return sum, nil
}

const (
	watchEvery = 100 * time.Millisecond
	leastFree  = 256 << 20 // bytes of the machine's memory
)

// watch ends the copy before it takes the last memory of the machine. done is closed when the copy is.
func (c *Snapshot) watch(done <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if free, total, err := freeMemory(); err != nil || free >= max(leastFree, total/64) {
			continue
		}
		c.mu.Lock()
		if c.mem >= 0 {
			c.lost = errors.New("copy of the memory: given up, because the machine has little memory left")
			_ = unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0) // it has ended
		}
		c.mu.Unlock()
		return
	}
}

// freeMemory reads MemAvailable and MemTotal of /proc/meminfo, bytes.
func freeMemory() (free, total uint64, err error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		to := map[string]*uint64{"MemAvailable:": &free, "MemTotal:": &total}[f[0]]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseUint(f[1], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("/proc/meminfo: %w", err)
		}
		*to <<= 10
	}
	return free, total, nil
}

// Close ends the copy. The target waits for it now if it is stopped, else when it next is.
func (c *Snapshot) Close() error {
	c.p.check()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		return nil
	}
	close(c.done)
	c.done = nil
	var err error
	if c.pidfd >= 0 {
		err = unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
		unix.Close(c.pidfd)
	} else {
		err = unix.Kill(c.pid, unix.SIGKILL)
	}
	if c.mem >= 0 {
		unix.Close(c.mem)
	}
	c.mem, c.pidfd = -1, -1
	s := &c.p.snapshots
	s.live = slices.DeleteFunc(s.live, func(o *Snapshot) bool { return o == c })
	if c.parent == c.p.target.pid {
		s.ended = append(s.ended, deadCopy{c.pid, c.innerPID})
	}
	if !c.p.target.runs() { // else it would wait until 4 GiB of page tables are gone
		awaitEnd(c.pid)
		s.reap()
	}
	if err != nil && err != unix.ESRCH {
		return fmt.Errorf("copy of the memory: end process %d: %w", c.pid, err)
	}
	return nil
}

// Maps is the memory map of the copy, ascending.
func (c *Snapshot) Maps() []Mapping { return c.maps }

// Pages is as a process's: it calls yield for pages of [low, high) that hold something. Of mappings
// that are shared, or of files, the copy has page tables only where it has been read, and to read
// where the target has not would take memory: there the target is asked, too.
func (c *Snapshot) Pages(low, high addr.Run, yield func(PageRun)) error {
	i, _ := slices.BinarySearchFunc(c.maps, low, func(m Mapping, a addr.Run) int { return addr.Compare(m.Low, m.High, a) })
	for ; i < len(c.maps) && c.maps[i].Low < high; i++ {
		m := &c.maps[i]
		from, to := max(m.Low, low), min(m.High, high)
		all, err := pagesOf(c.pid, from, to)
		if err != nil {
			return err
		}
		if m.Perm[3] != 'p' || m.Inode != 0 {
			if more, err := pagesOf(c.parent, from, to); err == nil { // else it has ended
				all = mergePages(append(all, more...))
			}
		}
		for _, r := range all {
			yield(r)
		}
	}
	return nil
}

func pagesOf(pid int, low, high addr.Run) (all []PageRun, err error) {
	err = (&target{pid: pid}).Pages(low, high, func(r PageRun) { all = append(all, r) })
	return all, err
}

// mergePages sorts runs of pages, and leaves what others have before out of each.
func mergePages(all []PageRun) []PageRun {
	slices.SortStableFunc(all, func(a, b PageRun) int { return cmp.Compare(a.Low, b.Low) })
	out, end := all[:0], addr.Run(0)
	for _, r := range all {
		if r.Low = max(r.Low, end); r.Low < r.High {
			out, end = append(out, r), r.High
		}
	}
	return out
}
