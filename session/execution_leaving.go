package session

import (
	"slices"
	"syscall"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/stepping"
	"hdb/session/stopped"
	"hdb/session/target"
)

// exitGroup is the system call that ends a process (arch/x86/entry/syscalls/syscall_64.tbl).
const exitGroup = 231

// auxEntry is the type of the auxiliary vector's entry that has the program's first instruction (getauxval(3)).
const auxEntry = 9

// Leaving is how a run to the program's exit has ended.
type Leaving uint8

// The ways.
const (
	LeavingAtExit Leaving = iota // before the function or the system call that ends the program
	LeavingDies                  // before a signal that will end it
	LeavingStops                 // something else stopped it
	LeavingGone                  // it has ended unseen
)

// ToExit runs the program, which is started if there is none, until it is about to exit: before what atexit(3) was
// given and destructors run if it calls exit, as it does when main returns. Signals that the program handles or
// ignores reach it without a stop meanwhile, unless the table of signals does not pass them: SIGTRAP always does, and
// SIGINT if interrupts is false.
func (s *Session) ToExit(interrupts bool) (*stopped.Report, Leaving, error) {
	if s.Mode() == target.Core {
		return nil, 0, target.ErrCoreOpen
	}
	fresh := s.target.Proc == nil
	if fresh {
		if err := s.launch(nil); err != nil {
			return nil, 0, err
		}
	} else if err := s.target.Live(); err != nil {
		return nil, 0, err
	}
	return s.Execution.toExit(fresh, interrupts)
}

// toExit is ToExit of a process; fresh: it is at the first instruction of an image.
func (x *Execution) toExit(fresh, interrupts bool) (r *stopped.Report, how Leaving, err error) {
	if t := x.sel.Cur.Thread; !fresh && t != nil {
		if regs, err := t.Regs(); err == nil && slices.Contains(x.target.Leaving(), regs.PC()) {
			r = x.ReportHere("")
			r.Leaving = true
			return r, LeavingAtExit, nil
		}
	}
	l := &leaving{interrupts: interrupts}
	x.demand.leaving = l
	defer func() {
		x.demand.leaving = nil
		if x.target.Proc != nil {
			if _, gone := x.target.Proc.Exited(); !gone {
				if e := x.planes.arm(); err == nil {
					err = e
				}
			}
		}
	}()
	for {
		targets := l.targets(x.target.Leaving())
		l.calls = !fresh && len(targets) == 0
		if fresh {
			targets = l.entry(x)
		}
		if err := x.planes.arm(); err != nil {
			return nil, 0, err
		}
		var stop inferior.Stop
		if !fresh || len(targets) > 0 {
			if _, stop, err = x.RunToTargets(targets); err != nil {
				return nil, 0, err
			}
		}
		numbered := len(x.demand.hits) > 0
		switch at := l.thread; {
		case stop.Reason == inferior.Exited || stop.Reason == inferior.Gone:
			return x.Report(stop, ""), LeavingGone, nil
		case stop.Reason == inferior.Execed && !numbered:
			fresh = true // the libraries of the new image are not there yet
			continue
		case fresh && !numbered && (len(targets) == 0 || at != nil && stop.Thread == at):
			fresh, l.thread = false, nil
			continue
		case at != nil && stop.Reason == inferior.Trapped && (stop.Thread == at || stop.Thread == nil):
			text := "about to exit"
			if l.calls {
				text += ", in system call exit_group"
			}
			x.demand.hits = append(x.demand.hits, hit{thread: at, occurred: text})
			r = x.Report(stop, "")
			r.Leaving = true
			return r, LeavingAtExit, nil
		case stop.Reason == inferior.Signaled && stop.Signal.Policy.Pass && stop.Thread.Dies(stop.Signal.Number):
			return x.Report(stop, ""), LeavingDies, nil
		}
		return x.Report(stop, ""), LeavingStops, nil
	}
}

// leaving is what a run to the program's exit looks for.
type leaving struct {
	calls      bool             // the system call: the program has none of the functions
	thread     *inferior.Thread // the one that is there
	interrupts bool             // SIGINT means the debugger
}

// signal has t stop before a signal that will end the program, which the result tells, and not at one that the
// program handles or ignores.
func (l *leaving) signal(t *inferior.Thread, sig *inferior.Signal) (dies bool) {
	n, p := syscall.Signal(sig.Number), &sig.Policy
	p.Pass = p.Pass || n == syscall.SIGTRAP || n == syscall.SIGINT && !l.interrupts
	dies = p.Pass && t.Dies(sig.Number)
	switch {
	case dies:
		p.Stop = true
	case p.Pass && p.Stop:
		p.Stop, p.Print = false, false
	}
	return dies
}

// targets are stops at addresses.
func (l *leaving) targets(all []addr.Run) (targets []stepping.RunTarget) {
	for _, at := range all {
		targets = append(targets, stepping.RunTarget{At: at, When: func(t *inferior.Thread) bool {
			l.thread = t
			return true
		}})
	}
	return targets
}

// entry is a stop at the program's first instruction, when all libraries are there that it is linked with. There is
// none if the process is there already, as a static program does that was started.
func (l *leaving) entry(x *Execution) []stepping.RunTarget {
	vector, err := x.target.Image.AuxVector()
	if err != nil {
		return nil
	}
	for _, e := range vector {
		if e.Type != auxEntry {
			continue
		}
		for _, t := range x.target.Proc.Threads() {
			if regs, err := t.Regs(); err == nil && regs.PC() == addr.Run(e.Value) {
				return nil
			}
		}
		return l.targets([]addr.Run{addr.Run(e.Value)})
	}
	return nil
}

// leavingCall stops a thread that is about to end the process by the system call, if a run looks for that.
func (o occurrences) leavingCall(t *inferior.Thread, c inferior.SystemCall) inferior.Action {
	l := o.stops.demand.leaving
	if l == nil || !l.calls || !c.Before || c.Number != exitGroup {
		return inferior.Resume
	}
	l.thread = t
	return inferior.StopHere
}
