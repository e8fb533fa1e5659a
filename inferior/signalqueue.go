package inferior

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A signalQueue is what a thread has of signals that were taken from the kernel and
// not delivered yet.
type signalQueue struct {
	queue  []pendingSignal // in the order in which they came
	placed int             // signal number of the placeholder sent, 0 none
}

// A pendingSignal has been taken from the kernel's queue.
type pendingSignal struct {
	info      siginfo
	seen      bool // its policy has been applied
	suspended bool // it has stopped the process
}

// The value that marks a placeholder: a signal sent to make room for one of
// the queue whose siginfo the kernel does not let us send.
const placeholderValue = 0x68_64_62_70_6c_61_63_65 // "hdbplace"

func isPlaceholder(info *siginfo) bool {
	return info.code() == sigQueue && info.value() == placeholderValue
}

// enqueue takes in the signal of a signal-delivery-stop. seen: no policy is asked.
func (q *signalQueue) enqueue(info *siginfo, seen bool) {
	if q.placed == info.signo() {
		q.placed = 0
	}
	if !isPlaceholder(info) {
		q.queue = append(q.queue, pendingSignal{info: *info, seen: seen})
	}
}

// inject takes the head of the queue for delivery to the thread and returns its
// number. In a signal-delivery-stop the kernel takes any siginfo; in another stop a
// placeholder is sent, to be exchanged when it arrives.
func (q *signalQueue) inject(pid, tid int, deliverable bool) int {
	sig := 0
	if deliverable && len(q.queue) > 0 {
		if sig = q.take(tid); sig == 0 {
			return 0 // killed
		}
	}
	q.announce(pid, tid)
	return sig
}

// take removes the head of the queue for delivery to the thread, which is in a
// signal-delivery-stop, and returns its number; 0 means that the thread has been killed.
func (q *signalQueue) take(tid int) int {
	head := q.queue[0].info
	if setSiginfo(tid, &head) != nil {
		return 0
	}
	q.queue = slices.Delete(q.queue, 0, 1)
	return head.signo()
}

// announce sends the placeholder of the head of the queue.
func (q *signalQueue) announce(pid, tid int) {
	if len(q.queue) > 0 && q.placed == 0 {
		n := q.queue[0].info.signo()
		s := makeSiginfo(n, sigQueue, os.Getpid(), placeholderValue)
		if queueSignal(pid, tid, &s) == nil {
			q.placed = n
		}
	}
}

// sendRest sends the thread what is left of the queue; the placeholder that may be on its way
// represents one of them. The kernel refuses codes of its own, which become plain signals.
func (q *signalQueue) sendRest(pid, tid int) {
	for i := range q.queue {
		info := &q.queue[i].info
		if q.placed == info.signo() {
			q.placed = 0
			continue
		}
		if queueSignal(pid, tid, info) != nil {
			_ = unix.Tgkill(pid, tid, unix.Signal(info.signo())) // ESRCH: gone
		}
	}
	q.queue = nil
}

// PendingSignal is the number of the signal that the thread will get next
// when it resumes, 0 when none is known.
func (q *signalQueue) PendingSignal() int {
	if len(q.queue) == 0 {
		return 0
	}
	return q.queue[0].info.signo()
}

// DueSignal is PendingSignal without a signal whose policy has not been applied yet. told: it
// has stopped the process.
func (q *signalQueue) DueSignal() (n int, told bool) {
	if len(q.queue) == 0 || !q.queue[0].seen {
		return 0, false
	}
	return q.queue[0].info.signo(), q.queue[0].suspended
}

// SetPendingSignal replaces the signal that PendingSignal tells; 0 drops it.
func (q *signalQueue) SetPendingSignal(n int) {
	if len(q.queue) > 0 {
		if q.queue[0].info.signo() == n {
			return
		}
		q.queue = q.queue[1:]
	}
	if n != 0 {
		s := pendingSignal{info: makeSiginfo(n, sigUser, os.Getpid(), 0), seen: true, suspended: true}
		q.queue = append([]pendingSignal{s}, q.queue...)
	}
}

// SignalInfo is the kernel's siginfo_t of the signal that the thread stopped at and that it gets
// when it continues, nil without one.
func (q *signalQueue) SignalInfo() []byte {
	if len(q.queue) == 0 || !q.queue[0].seen {
		return nil
	}
	return slices.Clone(q.queue[0].info[:])
}
