package inferior

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// RunGuard is the main function of the guard process (see Process.Guard), which
// the program calls before it does anything else. args are what follows the
// command: the numbers of three inherited files: a socket, the table, and a pipe. It returns the
// exit code.
func RunGuard(args []string) int {
	var fds [3]int
	for i := range fds {
		n, err := strconv.Atoi(append(args, "", "", "")[i])
		if err != nil || len(args) != len(fds) {
			fmt.Fprintln(os.Stderr, "error: the guard is started by hdb itself")
			return 2
		}
		fds[i] = n
	}
	signal.Ignore()        // it ends when hdb does, not before
	debug.SetGCPercent(-1) // and is never busy
	runtime.LockOSThread() // the priority is the thread's
	// The process's name is its first thread's, which this need not be.
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0)
	// It must run before threads of the inferior do, once. Only root may ask.
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedFIFO, Priority: 1}, 0)
	table, err := mapGuardTable(fds[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	table.head.started.Store(true)
	memory, err := receiveFile(fds[0])
	if err != nil {
		return 0 // hdb has ended before, or needs none
	}
	restore := sync.OnceFunc(func() { table.restoreAll(memory) })
	go func() {
		for b := make([]byte, 1); ; {
			if n, err := unix.Read(fds[2], b); n > 0 || err == unix.EINTR {
				continue
			}
			restore()
			os.Exit(0)
		}
	}()
	table.head.guard.Store(int32(os.Getpid()))
	table.awaitDeath()
	restore()
	return 0
}

const schedFIFO = 1

// receiveFile is the one file that is sent through a socket, see unix(7).
func receiveFile(socket int) (int, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := unix.Recvmsg(socket, b, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, err
		}
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(messages) != 1 {
			return -1, fmt.Errorf("%d control messages: %w", len(messages), errors.Join(err, io.EOF))
		}
		files, err := unix.ParseUnixRights(&messages[0])
		if err != nil || len(files) != 1 {
			return -1, fmt.Errorf("%d files: %w", len(files), errors.Join(err, io.EOF))
		}
		return files[0], nil
	}
}

// awaitDeath waits until the thread that holds the futex has died.
func (g *guardTable) awaitDeath() {
	word := &g.list[0].futex
	for {
		v := atomic.LoadUint32(word)
		if v&futexOwnerDied != 0 {
			return
		}
		const futexWait = 0
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(v), 0, 0, 0) // EINTR, EAGAIN: look again
	}
}

// restoreAll takes out what the table says is in the memory, int3s first: the jumps of patches
// still lead somewhere. Threads may run by then. No thread can be inside a jump, and one write of a
// few bytes was seen whole in 10 million writes under two threads that did nothing but call the
// function. Signals come behind these, and debug registers, for which threads must be stopped,
// last.
func (g *guardTable) restoreAll(mem int) {
	var patched []guardCover
	for i := range g.slots {
		if g.slots[i].addr.Load() == 0 {
			continue
		}
		switch c := g.slots[i].cover(); {
		case c.patched:
			patched = append(patched, c)
		case c.trap:
			exchange(mem, c.at, []byte{int3}, []byte{c.run})
		}
	}
	slices.SortFunc(patched, func(a, b guardCover) int { return cmp.Compare(a.at, b.at) })
	for len(patched) > 0 {
		n := 1
		for n < len(patched) && !patched[n].first && patched[n].at == patched[n-1].at+1 {
			n++
		}
		unpatchDead(mem, patched[:n])
		patched = patched[n:]
	}
	for _, s := range g.head.signals[:min(int(g.head.nsignal.Load()), len(g.head.signals))] {
		_ = unix.Tgkill(int(g.head.pid), int(s.tid), unix.Signal(s.number)) // it has ended
	}
	if g.head.watches.Load() != 0 {
		clearWatches(int(g.head.pid))
	}
}

// unpatchDead writes the original bytes of a patch where each byte is as the patch or hdb, killed
// while it wrote it, has left it: of a patch at an int3 the other bytes change while the int3 is in
// place, and so they do here, where threads may come to it.
func unpatchDead(mem int, covers []guardCover) {
	at, now, orig := covers[0].at, make([]byte, len(covers)), make([]byte, len(covers))
	if n, err := unix.Pread(mem, now, int64(at)); n != len(now) || err != nil {
		return
	}
	for i, c := range covers {
		if orig[i] = c.orig; now[i] != c.run && now[i] != c.orig && (now[i] != int3 || !c.trap) {
			return // the program has written there
		}
	}
	if now[0] == int3 && covers[0].trap {
		if _, err := unix.Pwrite(mem, orig[1:], int64(at)+1); err != nil {
			return
		}
		orig = orig[:1]
	}
	_, _ = unix.Pwrite(mem, orig, int64(at)) // fails when the process ends meanwhile
}

// exchange writes new where old is.
func exchange(mem int, at addr.Run, old, new []byte) {
	now := make([]byte, len(old))
	if n, err := unix.Pread(mem, now, int64(at)); n == len(now) && err == nil && bytes.Equal(now, old) {
		_, _ = unix.Pwrite(mem, new, int64(at)) // fails when the process ends meanwhile
	}
}
