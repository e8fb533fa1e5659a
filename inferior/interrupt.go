package inferior

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakeSignal makes the owner's wait4 return with EINTR. No program uses it: it is the last
// real-time signal but one, and Go's runtime drops it.
const wakeSignal = 63

// A waker makes the owner look up from its wait.
type waker struct {
	tid     int
	request atomic.Bool              // Interrupt has been called and not been answered
	waiting atomic.Bool              // the owner is about to wait or waits
	called  atomic.Bool              // calls is not empty
	hurried atomic.Pointer[awaiting] // the last wait for threads to stop that took long

	mu    sync.Mutex
	calls []func() // of Wake, not run yet
}

func (w *waker) init(tid int) { w.tid = tid }

// asked reports whether Interrupt has been called and not been answered.
func (w *waker) asked() bool { return w.request.Load() }

// sigaction is the kernel's struct sigaction (not libc's) on x86-64.
type sigaction struct {
	handler, flags, restorer, mask uint64
}

// changeAction sets and clears flags of a signal's action, keeping its handler.
func changeAction(sig int, set, clear uint64) error {
	var a sigaction
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), 8, 0, 0); e != 0 {
		return e
	}
	a.flags = a.flags&^clear | set
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, 8, 0, 0); e != 0 {
		return e
	}
	return nil
}

const (
	saNoCldStop = 1
	saRestart   = 0x10000000
)

// Interrupt makes the Continue or StepInstruction that runs, or else the next
// one, return with Interrupted. Any goroutine may call it; it does not wait.
func (w *waker) Interrupt() error {
	w.request.Store(true)
	go w.ring()
	return nil
}

// hurry has the owner look at what it waits for.
func (w *waker) hurry(a *awaiting) {
	w.hurried.Store(a)
	w.ring()
}

// late reports whether threads take long to stop and the owner has not looked at it.
func (w *waker) late() bool {
	a := w.hurried.Load()
	return a != nil && !a.over.Load() && !a.reported.Load()
}

// ring signals the owner's thread until it has looked. Once would not do: the
// signal may come just before the wait begins. An owner that does not wait
// looks before it does. Go installs its handlers with SA_RESTART, which would
// hide the signal from wait4.
func (w *waker) ring() {
	pid := os.Getpid()
	for pause := 200 * time.Microsecond; (w.request.Load() || w.called.Load() || w.late()) && w.waiting.Load(); pause = min(2*pause, 50*time.Millisecond) {
		if changeAction(wakeSignal, 0, saRestart) != nil || unix.Tgkill(pid, w.tid, wakeSignal) != nil {
			return
		}
		time.Sleep(pause)
	}
}

// Wake has f run once on the owner goroutine, in the order of the calls. Any
// goroutine may call it; it does not wait. During Continue f runs as soon as
// the owner has no event at hand and nothing is being stopped or stepped; no
// thread is stopped for it. Otherwise it runs at the beginning of the next
// Continue. f may do what a handler may, StopAll and Interrupt among it. After
// the end of the process it is not run.
func (w *waker) Wake(f func()) {
	w.mu.Lock()
	w.calls = append(w.calls, f)
	first := len(w.calls) == 1
	w.called.Store(true)
	w.mu.Unlock()
	// An owner that does not wait looks before it does; a second ring would
	// not be heard better than the first.
	if first && w.waiting.Load() {
		go w.ring()
	}
}

// run runs the calls that have come in.
func (w *waker) run() {
	w.mu.Lock()
	calls := w.calls
	w.calls = nil
	w.called.Store(false)
	w.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// interrupted answers Interrupt, unless a stop is already under way: then the
// next run does.
func (p *Process) interrupted() {
	switch {
	case p.stepping != nil && !p.noBreak && p.stop == nil:
		p.waker.request.Store(false)
		p.stop = &Stop{Reason: Interrupted, Thread: p.stepping}
		p.stepping.interrupted = ptrace(unix.PTRACE_INTERRUPT, p.stepping.TID, 0, 0) == nil
	case p.stopping || p.stop != nil:
	default:
		p.waker.request.Store(false)
		t := p.alone.thread
		if t == nil || t.state != stopped && t.state != running {
			t = p.target.representative()
		}
		p.stop = &Stop{Reason: Interrupted, Thread: t}
	}
}
