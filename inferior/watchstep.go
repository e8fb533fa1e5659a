package inferior

import (
	"bytes"
	"fmt"
	"slices"

	"hdb/inferior/x86"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// Memory that the debug registers do not cover is watched by single steps: as long as there is such a
// watchpoint the threads run one instruction at a time, in turns, and the memory is compared after each.
// Reads, and stores of the value that is there already, are seen as the operands of the instruction that is
// about to run. One thread alone runs the program's code at any time, so a change was made by the thread
// whose instruction has just ended. A thread that is in a system call does not hold the turn, as the call may
// wait for another thread; a value that the call changes is seen when it returns, or at an instruction of
// another thread before that. Children of vfork in the target's memory run free.

// maxStepped bounds the memory that is compared after each instruction, bytes.
const maxStepped = 1 << 20

// WatchStepping is Watch of memory of any size, up to a bound, by single steps. Accesses that leave the value as it is are
// not seen if a system call makes them, or a vector instruction that gathers or scatters elements.
func (ws *watchpoints) WatchStepping(a addr.Run, size int, kind WatchKind) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	if size < 1 || size > maxStepped {
		return nil, fmt.Errorf("watchpoint of %d bytes: at most %d can be compared after each instruction", size, maxStepped)
	}
	return ws.addStepped(&Watch{Addr: a, Size: size, Kind: kind, p: ws.p})
}

// addStepped has a watchpoint watched by single steps.
func (ws *watchpoints) addStepped(w *Watch) (*Watch, error) {
	if err := w.begin(); err != nil {
		return nil, err
	}
	w.Stepping = true
	ws.stepped = append(slices.Clip(ws.stepped), w)
	return w, nil
}

// byOperands reports whether what w is about is seen in the operands of instructions, not in what
// they leave.
func (w *Watch) byOperands() bool { return w.Kind != Write || w.handler != nil }

// foresee notes which watched memory the instruction accesses that t is about to run.
func (ws *watchpoints) foresee(t *Thread) {
	t.foreseen = nil
	if !slices.ContainsFunc(ws.stepped, (*Watch).byOperands) || t.load() != nil {
		return
	}
	var code [16]byte
	n, _ := ws.p.memory.readCode(code[:], int64(t.regs.Rip)) // what is not mapped is no instruction
	t.foreseenAt = t.regs.Rip
	for _, x := range x86.Accesses(code[:n], &t.regs) {
		for _, w := range ws.stepped {
			if w.byOperands() && x.Overlaps(w.Addr, w.Size) && (x.Writes || w.Kind != Write) && !slices.Contains(t.foreseen, w) {
				t.foreseen = append(t.foreseen, w)
			}
		}
	}
}

// accessed takes up what was foreseen, if t has run the instruction: trapped reports whether it has stopped by
// a trap, as at the end of a step.
func (ws *watchpoints) accessed(t *Thread, trapped bool) {
	seen := t.foreseen
	t.foreseen = nil
	if len(seen) == 0 || t.load() != nil || !trapped && t.regs.Rip == t.foreseenAt {
		return
	}
	for _, w := range seen {
		if !w.removed {
			ws.look(t, w)
		}
	}
}

// StepsTaken is how many instructions the threads have run one at a time for watchpoints. Any goroutine may ask.
func (ws *watchpoints) StepsTaken() uint64 { return ws.taken.Load() }

// steps reports whether the threads run one instruction at a time.
func (ws *watchpoints) steps() bool { return len(ws.stepped) > 0 }

// refresh takes up what was written while the program was stopped, which is no change by it. What a
// thread wrote right before it was stopped for another one is: its SIGTRAP comes first.
func (ws *watchpoints) refresh() error {
	if len(ws.all()) == 0 {
		return nil
	}
	for _, t := range slices.Clone(ws.p.target.order) {
		if t.mayHaveTrap() {
			if err := t.drainTrap(); err != nil && t.state == stopped {
				return err
			}
		}
	}
	for _, w := range ws.all() {
		w.value = w.read()
	}
	return nil
}

// compare looks for changes that the instruction or system call of t has made which has just
// ended. While another thread runs its instruction, a change may be that one's.
func (ws *watchpoints) compare(t *Thread) {
	if u := ws.turn; u != nil && u != t && u.state == running && !u.away && u.ours() {
		return
	}
	for _, w := range ws.stepped {
		if w.byOperands() {
			continue
		}
		if n, _ := ws.p.memory.readAt(w.now, int64(w.Addr)); n < w.Size || !bytes.Equal(w.now, w.value) {
			ws.look(t, w)
		}
	}
	if t.pushedFlags {
		ws.unpush(t)
	}
}

// giveTurn lets the next thread run an instruction, and those on the way to it that are about to
// make a system call.
func (p *Process) giveTurn() {
	ws := &p.watchpoints
	if !ws.steps() || ws.turn != nil && ws.turn.state == running && ws.turn.ours() && !ws.turn.away {
		return
	}
	threads := p.target.order
	last := slices.Index(threads, ws.turn)
	for i := range threads {
		t := threads[(last+1+i)%len(threads)]
		if t.state != stopped || p.alone.aside(t) {
			continue
		}
		ws.turn, ws.giving, t.away = t, true, false
		p.release(t)
		ws.giving = false
		if p.stop != nil || p.halted || t.state == running && !t.away {
			return
		}
	}
}

// turnRequest is how t is resumed, if that is for its turn. False: its turn comes.
func (ws *watchpoints) turnRequest(t *Thread) (request int, ok bool) {
	if !ws.giving || ws.turn != t {
		return 0, false
	}
	t.pushedFlags = false
	t.away = t.inKernel
	if !t.away && t.load() == nil { // otherwise it has been killed
		t.dropTrapFlag()
		code := t.codeAt()
		t.away = isSyscall(code) || t.regs.Restarts()
		t.pushedFlags = isPushFlags(code)
	}
	if t.away { // not by a step, in which a child would begin, too
		return unix.PTRACE_SYSCALL, true
	}
	ws.taken.Add(1)
	return unix.PTRACE_SINGLESTEP, true
}

// onTurn reports whether a SIGTRAP of that code reports the end of a turn.
func (ws *watchpoints) onTurn(t *Thread, code int) bool {
	if !ws.steps() || !t.stepped || ws.p.stepping == t {
		return false
	}
	// At the entry of a signal's handler it is SIGTRAP (ptrace_notify in the kernel).
	return code == trapTrace || code == int(unix.SIGTRAP)
}

// endTurns takes the reports of steps that were cut by a stop of all threads, and has none of them
// continue stepping.
func (ws *watchpoints) endTurns() error {
	if !ws.steps() {
		return nil
	}
	for _, t := range slices.Clone(ws.p.target.order) {
		if t.state != stopped || !t.stepped {
			continue
		}
		if t.atStop {
			if err := t.drainTrap(); err != nil && t.state == stopped {
				return err
			}
		}
		if t.state == stopped && t.load() == nil {
			t.dropTrapFlag()
		}
	}
	return nil
}
