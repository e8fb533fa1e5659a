package inferior

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A target that is to outlive hdb gets a handler of SIGTRAP (sigtrap_amd64.s), which does not run
// as long as hdb lives: hdb takes each SIGTRAP. When it has been killed, threads still come to
// int3s until the guard has put the code back, and the kernel delivers the SIGTRAPs that hdb had
// not taken. The handler waits for the guard, and has the thread continue at the instruction. Of a
// SIGTRAP that is none of ours it has the program die, as without a handler.
//
// A program with a handler of its own keeps that, but for one that a hook knows, as of Go's runtime: it
// receives those that are none of ours. One whose thread blocks SIGTRAP loses ours when that thread comes
// to an int3: the kernel then resets the action.

// Offsets of siginfo_t and ucontext_t on x86-64.
const (
	siginfoCode  = 8
	siginfoValue = 24
	contextPC    = 168
)

const (
	// trapBack is the code of a SIGTRAP that hdb has taken. Its value is the address
	// of the int3.
	trapBack = -0x686462
	// handlerEnd is the number behind the handler's code.
	handlerEnd = 0x5afe5afe
)

// sigtrapHandlerAddr is where the handler is in hdb's own text.
func sigtrapHandlerAddr() unsafe.Pointer

// sigtrapCode is what is put into the target: how a handler returns, and at
// handlerAt the handler.
func sigtrapCode() []byte {
	code := appendNops(appendCall(nil, unix.SYS_RT_SIGRETURN), handlerAt)
	text := unsafe.Slice((*byte)(sigtrapHandlerAddr()), 4096)
	end := bytes.Index(text, binary.LittleEndian.AppendUint32(nil, handlerEnd))
	return append(code, text[:end]...)
}

const handlerAt = 16

// handlerSize is what it takes: a page of code, and one for struct sigaction.
const (
	handlerPage = 4096
	handlerSize = 2 * handlerPage
	// handlerFormer is where in the second page the action is that was there before: its handler
	// receives those that are none of ours.
	handlerFormer = 64
)

// A trapHandler is that handler in the target.
type trapHandler struct {
	p *Process

	on    bool // the handler is there
	tried bool
	at    addr.Run
	// former is the program's own action, empty without.
	former sigaction
}

// owns reports whether a mapping holds the handler and nothing else.
func (h *trapHandler) owns(m Mapping) bool {
	return h.on && h.at <= m.Low && m.High <= h.at+handlerSize
}

// TrapHandler reports whether a mapping holds the handler of SIGTRAP that hdb has put into the
// target, and nothing else.
func (p *Process) TrapHandler(m Mapping) bool { return p.handler.owns(m) }

// resuming has the handler there before threads run that could hit an int3 or a watchpoint, or step. All
// threads are stopped.
func (h *trapHandler) resuming() {
	if len(h.p.traps.sites) > 0 || h.p.watchpoints.steps() || h.p.watchpoints.inUse() {
		h.catch()
	}
}

// planting has the handler there before the first int3 is in the memory: hdb may be killed
// at the next instruction, and a guard that is late would find threads that have come to it.
// In a handler or hook, with threads that run, the last Continue has done what can be done.
func (h *trapHandler) planting() {
	if !slices.ContainsFunc(h.p.target.order, func(t *Thread) bool { return t.state == running }) {
		h.catch()
	}
}

// catch installs the handler once, if it is wanted and a thread can do it.
func (h *trapHandler) catch() {
	if h.tried || !h.p.target.survives() || !h.p.guard.on {
		return
	}
	for _, t := range h.p.target.order {
		if t.state == stopped && !t.group && !t.inKernel && !t.vfork && !t.Confined() {
			h.tried = true
			err := h.borrowed(t, h.install)
			if h.on = err == nil; !h.on {
				h.p.message("handler of SIGTRAP in process %d: %v: if hdb is killed at a stop, the process may die of it", h.p.target.pid, err)
			}
			return
		}
	}
}

// errOwnTrapHandler is the error of a program that handles SIGTRAP itself.
var errOwnTrapHandler = errors.New("the program has its own")

// mayCall reports whether the program's own handler may be called by ours.
func (h *trapHandler) mayCall(a sigaction) bool {
	const ignore = 1
	return a.handler > ignore && h.p.hooks.KnownTrapHandler != nil && h.p.hooks.KnownTrapHandler(addr.Run(a.handler))
}

// borrowed calls f with the thread borrowed.
func (h *trapHandler) borrowed(t *Thread, f func(*Borrowed) error) error {
	b, err := t.Borrow()
	if err != nil {
		return err
	}
	err = f(b)
	if e := b.Return(); err == nil {
		err = e
	}
	return err
}

// install makes the handler the target's, in memory that the last attach left if there is some:
// threads could have been inside.
func (h *trapHandler) install(b *Borrowed) error {
	at, made, err := h.left(), false, error(nil)
	if at == 0 {
		if at, err = b.Syscall(unix.SYS_MMAP, 0, handlerSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0); err != nil {
			return err
		}
		made = true
	}
	h.at = addr.Run(at)
	now, err := h.action(b)
	switch {
	case err != nil:
	case now.handler != 0 && h.installedAt(now.handler-handlerAt):
		h.at = addr.Run(now.handler) - handlerAt // of an hdb that was killed
		if h.former, err = h.readAction(handlerFormer); err == nil && h.at == addr.Run(at) {
			return nil
		}
	case now.handler != 0 && !h.mayCall(now):
		err = errOwnTrapHandler
	default:
		if made {
			err = h.write(b, at)
		}
		if h.former = now; err == nil {
			err = h.writeAction(handlerFormer, now)
		}
		if err != nil {
			break
		}
		const siginfo, onStack, hasRestorer = 4, 0x8000000, 0x4000000
		if err = h.setAction(b, sigaction{handler: at + handlerAt, flags: siginfo | onStack | hasRestorer | saRestart, restorer: at, mask: now.mask}); err == nil {
			return nil
		}
	}
	if made {
		_, _ = b.Syscall(unix.SYS_MUNMAP, at, handlerSize) // else it is used another time
	}
	return err
}

// write puts the code into new memory.
func (h *trapHandler) write(b *Borrowed, at uint64) error {
	if _, err := h.p.memory.writeAt(sigtrapCode(), int64(at)); err != nil {
		return err
	}
	_, err := b.Syscall(unix.SYS_MPROTECT, at, handlerPage, unix.PROT_READ|unix.PROT_EXEC)
	return err
}

// left is memory with the code that an earlier attach left, 0 without.
func (h *trapHandler) left() uint64 {
	maps, err := h.p.target.Maps()
	if err != nil {
		return 0
	}
	for i, m := range maps[:max(len(maps)-1, 0)] {
		next := maps[i+1]
		if m.Perm == "r-xp" && m.Path == "" && m.High-m.Low == handlerPage && next.Perm == "rw-p" && next.Path == "" && next.Low == m.High && h.installedAt(uint64(m.Low)) {
			return uint64(m.Low)
		}
	}
	return 0
}

// installedAt reports whether the code is at an address.
func (h *trapHandler) installedAt(at uint64) bool {
	code := sigtrapCode()
	there := make([]byte, len(code))
	_, err := h.p.memory.readAt(there, int64(at))
	return err == nil && bytes.Equal(there, code)
}

// drop restores the former action, if it is still the handler of ours, and gives its memory back.
func (h *trapHandler) drop() {
	if !h.on {
		return
	}
	h.on = false
	inside := h.p.family.MayReach(func(a addr.Run) bool { return a >= h.at && a < h.at+handlerSize })
	for _, t := range h.p.target.order {
		if t.state == stopped && !t.group && !t.inKernel && !t.vfork && !t.Confined() {
			_ = h.borrowed(t, func(b *Borrowed) error {
				now, err := h.action(b)
				if err != nil || now.handler != uint64(h.at)+handlerAt {
					return err
				}
				if err := h.setAction(b, h.former); err != nil || inside {
					return err
				}
				_, err = b.Syscall(unix.SYS_MUNMAP, uint64(h.at), handlerSize)
				return err
			}) // the handler does what the default does, a little later
			return
		}
	}
}

// action is the target's action for SIGTRAP.
func (h *trapHandler) action(b *Borrowed) (a sigaction, err error) {
	if _, err = b.Syscall(unix.SYS_RT_SIGACTION, uint64(unix.SIGTRAP), 0, uint64(h.at)+handlerPage, 8); err != nil {
		return a, err
	}
	return h.readAction(0)
}

func (h *trapHandler) setAction(b *Borrowed, a sigaction) error {
	if err := h.writeAction(0, a); err != nil {
		return err
	}
	_, err := b.Syscall(unix.SYS_RT_SIGACTION, uint64(unix.SIGTRAP), uint64(h.at)+handlerPage, 0, 8)
	return err
}

// readAction and writeAction access the second page.
func (h *trapHandler) readAction(offset int64) (a sigaction, err error) {
	_, err = h.p.memory.readAt((*[unsafe.Sizeof(a)]byte)(unsafe.Pointer(&a))[:], int64(h.at)+handlerPage+offset)
	return a, err
}

func (h *trapHandler) writeAction(offset int64, a sigaction) error {
	_, err := h.p.memory.writeAt((*[unsafe.Sizeof(a)]byte)(unsafe.Pointer(&a))[:], int64(h.at)+handlerPage+offset)
	return err
}

// wait takes the next event of any tracee. With a handler in place, a thread that has hit an
// int3 is set back to it before its stop is taken: from then on its signal is lost if
// hdb is killed.
func (h *trapHandler) wait(options int) (int, unix.WaitStatus, error) {
	if !h.on {
		return waitAny(options)
	}
	for {
		tid, status, err := peekAny(options)
		if tid == 0 || err != nil {
			return 0, 0, err
		}
		if status == int(unix.SIGTRAP) {
			h.setBack(tid)
		}
		if n, ws, err := wait4(tid, unix.WNOHANG|unix.WNOTHREAD); n != 0 || err != nil {
			return n, ws, err
		}
	}
}

// setBack has a thread that has just executed an int3 of ours are before it.
func (h *trapHandler) setBack(tid int) {
	t := h.p.family.find(tid)
	var info siginfo
	var regs Registers
	if t == nil || !t.ours() || getSiginfo(tid, &info) != nil || info.code() != sigKernel || getRegs(tid, &regs) != nil {
		return
	}
	s := h.p.traps.sites[regs.PC()-1]
	if s == nil || len(s.code) > 0 && s.code[0] == int3 {
		return
	}
	info = makeSiginfo(int(unix.SIGTRAP), trapBack, 0, uint64(s.addr))
	if setSiginfo(tid, &info) == nil { // else it has been killed
		regs.Rip = uint64(s.addr)
		_ = setRegs(tid, &regs)
	}
}
