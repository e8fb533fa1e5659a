package inferior

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// debugOffset is where DR0 lies in the kernel's struct user (sys/user.h).
const debugOffset = 848

// watchpoints are those in the debug registers, which each thread has of its own.
type watchpoints struct {
	p     *Process
	slots [4]*Watch
}

// A Watch is a hardware watchpoint, one debug register on every thread.
type Watch struct {
	Addr addr.Run
	Size int // 1, 2, 4 or 8 bytes
	Kind WatchKind

	p       *Process
	slot    int
	value   []byte  // as last seen
	handler Handler // of Execute
}

// ErrNoDebugRegister is the error where all four are in use.
var ErrNoDebugRegister = errors.New("all 4 hardware watchpoints are in use: delete one")

// BreakAt has a handler called when a thread is about to execute the instruction at a, as
// of a trap, without one in memory. It takes one of the four debug registers.
func (ws *watchpoints) BreakAt(a addr.Run, h Handler) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	if pt := ws.p.memory.patchOver(a); pt != nil && pt.at != a {
		return nil, &PatchedError{a, pt}
	}
	return ws.add(&Watch{Addr: a, Size: 1, Kind: Execute, p: ws.p, handler: h})
}

// Watch stops the program when it accesses size bytes at a. Size must be 1,
// 2, 4 or 8 and divide a (Intel SDM volume 3, 18.2.5). There are four. For
// Write, a store of the value that is there already does not stop.
func (ws *watchpoints) Watch(a addr.Run, size int, kind WatchKind) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	switch size {
	case 1, 2, 4, 8:
	default:
		return nil, fmt.Errorf("watchpoint of %d bytes: the hardware watches 1, 2, 4 or 8", size)
	}
	if uint64(a)%uint64(size) != 0 {
		return nil, fmt.Errorf("watchpoint of %d bytes at %v: the address must be a multiple of %d", size, a, size)
	}
	return ws.add(&Watch{Addr: a, Size: size, Kind: kind, p: ws.p})
}

// add gives a watchpoint a register.
func (ws *watchpoints) add(w *Watch) (*Watch, error) {
	if w.slot = slices.Index(ws.slots[:], nil); w.slot < 0 {
		return nil, ErrNoDebugRegister
	}
	w.value = make([]byte, w.Size)
	if _, err := ws.p.memory.readAt(w.value, int64(w.Addr)); err != nil {
		return nil, fmt.Errorf("watchpoint: %w", err)
	}
	ws.slots[w.slot] = w
	if err := ws.setDebug(); err != nil {
		ws.slots[w.slot] = nil
		return nil, errors.Join(fmt.Errorf("watchpoint at %v: %w", w.Addr, err), ws.setDebug())
	}
	return w, nil
}

// Remove takes the watchpoint off all threads; a second call does nothing.
func (w *Watch) Remove() error {
	w.p.check()
	if w.p.watchpoints.slots[w.slot] != w {
		return nil
	}
	w.p.watchpoints.slots[w.slot] = nil
	for _, t := range w.p.target.order {
		if t.watch == w {
			t.watch = nil
		}
	}
	return w.p.watchpoints.setDebug()
}

// setDebug brings the debug registers of all stopped threads up to date; the
// others follow at their next stop.
func (ws *watchpoints) setDebug() error {
	for _, t := range ws.p.target.order {
		t.debugOK = false
		if t.state != stopped {
			continue
		}
		if err := ws.syncDebug(t); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// syncDebug writes the debug registers of t. A thread starts with all clear.
func (ws *watchpoints) syncDebug(t *Thread) error {
	t.debugOK = true
	if t.guest || ws.slots == [4]*Watch{} && !t.debugSet {
		return nil
	}
	t.debugSet = true
	// DR7 first: the kernel checks each address against its length there.
	if err := pokeDebug(t.TID, 7, 0); err != nil {
		return err
	}
	var control uint64
	for i, w := range ws.slots {
		if w == nil {
			continue
		}
		if err := pokeDebug(t.TID, i, uint64(w.Addr)); err != nil {
			return err
		}
		control |= w.control()
	}
	return pokeDebug(t.TID, 7, control)
}

// control is the share of DR7: the local enable bit, the access, the length.
func (w *Watch) control() uint64 {
	access := uint64(3)
	switch w.Kind {
	case Write:
		access = 1
	case Execute:
		access = 0
	}
	length := map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}[w.Size]
	return 1<<(2*w.slot) | access<<(16+4*w.slot) | length<<(18+4*w.slot)
}

func pokeDebug(tid, i int, v uint64) error {
	return ptrace(unix.PTRACE_POKEUSR, tid, uintptr(debugOffset+8*i), uintptr(v))
}

// hit looks in DR6 for watchpoints that t has just hit and keeps the
// first for report. False: a debug trap that is none of ours.
func (ws *watchpoints) hit(t *Thread) bool {
	if !t.debugSet {
		return false
	}
	var status uint64
	if ptraceData(unix.PTRACE_PEEKUSR, t.TID, debugOffset+8*6, unsafe.Pointer(&status)) != nil {
		return false
	}
	if status&0xf == 0 {
		return false
	}
	_ = pokeDebug(t.TID, 6, 0) // ESRCH: killed
	for i, w := range ws.slots {
		if w == nil || status&(1<<i) == 0 {
			continue
		}
		now := make([]byte, w.Size)
		if _, err := ws.p.memory.readAt(now, int64(w.Addr)); err != nil {
			now = nil
		}
		if t.watch == nil && (w.Kind != Write || !bytes.Equal(now, w.value)) {
			t.watch, t.old, t.new = w, w.value, now
		}
		w.value = now
	}
	return true
}

// forget drops all watchpoints; the image they were in is gone.
func (ws *watchpoints) forget() {
	ws.slots = [4]*Watch{}
	for _, t := range ws.p.target.order {
		t.watch, t.debugOK = nil, false
	}
}
