package inferior

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Policy says what happens when a signal arrives at the inferior.
type Policy struct {
	Stop  bool // return from Continue
	Print bool // tell the Signal hook
	Pass  bool // deliver it
	Hold  bool // if it would suspend the process, stop in place of delivering it
}

// A SignalPolicy is one row of the table of signals.
type SignalPolicy struct {
	Name string // "SIGSEGV", "SIG34"
	Policy
}

// lastSignal is SIGRTMAX of x86-64 Linux.
const lastSignal = 64

type policies [lastSignal + 1]Policy

// defaultPolicies are gdb's, but for SIGTSTP: everything stops, prints and passes
// except the signals of normal operation and those that mean the debugger.
func defaultPolicies() policies {
	var p policies
	for n := range p {
		p[n] = Policy{Stop: true, Print: true, Pass: true}
	}
	for _, s := range []unix.Signal{unix.SIGALRM, unix.SIGURG, unix.SIGIO, unix.SIGVTALRM, unix.SIGPROF,
		unix.SIGCHLD, unix.SIGWINCH, 32, 33, 34} { // 32 to 34: the thread library's own (gdb: SIG32, SIGCANCEL, SIG34)
		p[s] = Policy{Pass: true}
	}
	p[unix.SIGINT].Pass = false
	p[unix.SIGTRAP].Pass = false
	// Ctrl-Z means the debugger, too. A program that it suspends would have the terminal in its hands,
	// and the user could not type continue.
	p[unix.SIGTSTP].Hold = true
	return p
}

// SignalName is the name of signal n: "SIGSEGV"; "SIG35" for a real-time one.
func SignalName(n int) string {
	if s := unix.SignalName(unix.Signal(n)); s != "" {
		return s
	}
	return fmt.Sprintf("SIG%d", n)
}

// SignalNumber is the reverse of SignalName; it takes names without SIG and
// plain numbers too.
func SignalNumber(name string) (int, error) {
	upper := strings.ToUpper(name)
	bare := strings.TrimPrefix(upper, "SIG")
	if n, err := strconv.Atoi(bare); err == nil && n >= 1 && n <= lastSignal {
		return n, nil
	}
	if n := unix.SignalNum("SIG" + bare); n != 0 {
		return int(n), nil
	}
	return 0, fmt.Errorf("unknown signal %q (a name like SIGUSR1 or a number from 1 to %d)", name, lastSignal)
}

// HandleSignal sets the policy of the signal named, as "SIGUSR1", "USR1" or "10". SIGKILL and
// SIGSTOP behave as in the kernel.
func (ps *policies) HandleSignal(name string, policy Policy) error {
	n, err := SignalNumber(name)
	if err != nil {
		return err
	}
	ps[n] = policy
	return nil
}

// Signals is the table of signals by number.
func (ps *policies) Signals() []SignalPolicy { return ps.rows() }

// DefaultSignals is the table that a new Process has.
func DefaultSignals() []SignalPolicy {
	p := defaultPolicies()
	return p.rows()
}

func (p *policies) rows() []SignalPolicy {
	var all []SignalPolicy
	for n := 1; n <= lastSignal; n++ {
		all = append(all, SignalPolicy{SignalName(n), p[n]})
	}
	return all
}

// isFault tells the signal of an instruction that could not complete.
func isFault(info *siginfo) bool {
	switch unix.Signal(info.signo()) {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return info.code() > 0
	}
	return false
}

// isAccessFault tells a signal that an access to memory has raised.
func isAccessFault(info *siginfo) bool {
	n := unix.Signal(info.signo())
	return (n == unix.SIGSEGV || n == unix.SIGBUS) && info.code() > 0
}

// of is what happens to signal n that has arrived at t.
func (ps *policies) of(t *Thread, n int) Policy {
	p := ps[min(max(n, 0), lastSignal)]
	if p.Hold = p.Hold && t.disposition(n) == suspends; p.Hold {
		p.Stop, p.Pass = true, false
	}
	return p
}

// report looks at what is pending on t and not reported yet: a watchpoint, a
// signal. True: it is the next stop.
func (p *Process) report(t *Thread) bool {
	if len(t.changes) > 0 && p.watchpoints.report(t) {
		return true
	}
	if p.systemCalls.report(t) {
		return true
	}
	for len(t.queue) > 0 && !t.queue[0].seen {
		head := &t.queue[0]
		head.seen = true
		sig := explain(p, t, &head.info)
		sig.Policy = p.policies.of(t, sig.Number)
		caught, action := false, Resume
		if p.hooks.CatchSignal != nil {
			caught, action = p.hooks.CatchSignal(t, sig)
		}
		stops := action == StopHere || sig.Policy.Stop && !caught
		if head.suspended = stops; !sig.Policy.Pass {
			t.queue = slices.Delete(t.queue, 0, 1)
		}
		switch {
		case stops:
			p.stop = &Stop{Reason: Signaled, Thread: t, Signal: sig}
			return true
		case sig.Policy.Print && !caught && p.hooks.Signal != nil:
			p.hooks.Signal(t, sig)
		}
	}
	return false
}
