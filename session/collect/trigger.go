package collect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/goruntime"
	"hdb/inferior"
	"hdb/session/target"
)

// A Go runtime collects garbage by itself when the last collection is more than two minutes ago:
// its monitor (runtime.sysmon) looks at memstats.last_gc_nanotime, which nothing else reads and the
// end of each collection writes. A goTrigger sets that back. Where nothing runs the monitor sleeps for
// up to a minute, and is waked as the runtime wakes it: by sched.sysmonnote, while sched.lock is free.
//
// Nothing of it is left when the collection is done. If the debugger is killed meanwhile, the program
// collects its garbage once.
type goTrigger struct {
	proc                           *inferior.Process
	last, phase, lock, note, sweep uint64 // addresses of the variables of goruntime
	generation                     uint64 // of mheap.sweepgen

	was   uint64 // memstats.last_gc_nanotime
	began uint32 // mheap.sweepgen, when it was
	set   bool
}

// longAgo is when the last collection ended, as goTrigger says: 0 would be never.
const longAgo uint64 = 3 << 62 // the int64 -1<<62

// newGoTrigger finds the variables of a module's runtime.
func (g *Collections) newGoTrigger(m target.GoModule) (*goTrigger, error) {
	l := g.target.Go.Layout.Heap()
	t := &goTrigger{proc: g.target.Proc}
	p := g.target.GoProgram(m.Object, m.Bias)
	heap := uint64(0)
	for _, v := range []struct {
		name string
		to   *uint64
		of   string // the variable that it is a member of, and where
		in   int
	}{
		{goruntime.LastCollection, &t.last, "runtime.memstats", l.LastCollection}, {goruntime.GCPhase, &t.phase, goruntime.GCPhase, 0},
		{goruntime.SchedLock, &t.lock, "runtime.sched", l.SchedLock}, {goruntime.SysmonNote, &t.note, "runtime.sched", l.SysmonNote},
		{goruntime.SweepLock, &t.sweep, "runtime.sweep", 0}, {goruntime.Heap, &heap, goruntime.Heap, 0},
	} {
		at, ok := p.Symbol(v.of)
		if !ok {
			var err error
			if at, err = p.Variable(v.name); err != nil {
				return nil, err
			}
			v.in = 0
		}
		*v.to = at + uint64(v.in)
	}
	t.generation = heap + uint64(l.SweepGen)
	if t.last%8 != 0 || t.note%8 != 0 { // a thread of the program's would see half of what is written
		return nil, errors.New("variables of the Go runtime are not aligned")
	}
	return t, nil
}

// pull has a collection begin soon. All threads are stopped. If one is under way, whose end would
// undo it, nothing is done; so it is asked for again until the collection is done.
func (t *goTrigger) pull() error {
	busy, err := t.busy()
	if err != nil || busy {
		return err
	}
	if !t.set {
		if t.was, err = t.word(t.last); err != nil {
			return err
		}
		if t.began, err = t.half(t.generation); err != nil {
			return err
		}
		if err := t.write(t.last, longAgo); err != nil {
			return err
		}
		t.set = true
	}
	return t.wake()
}

// wake wakes the monitor if it sleeps. Its futex is looked at again when its thread goes on.
func (t *goTrigger) wake() error {
	sleeps, err := t.flag(t.note, goruntime.SysmonWait)
	if err != nil || !sleeps {
		return err
	}
	lock, err := t.word(t.lock)
	if err != nil || lock != 0 { // later
		return err
	}
	note, err := t.word(t.note)
	if err != nil || note != 0 {
		return err
	}
	if _, err := t.proc.WriteAt([]byte{0}, int64(t.note)+goruntime.SysmonWait); err != nil {
		return err
	}
	return t.write(t.note, 1)
}

// busy tells whether a collection is under way. Its last part, with the world stopped, has the phase
// of none.
func (t *goTrigger) busy() (bool, error) {
	phase, err := t.half(t.phase)
	if err != nil || phase != 0 {
		return true, err
	}
	waiting, err := t.flag(t.note, goruntime.GCWaiting)
	return waiting, err
}

// begun tells that a collection has come of it, which may be done.
func (t *goTrigger) begun() bool {
	if t == nil || !t.set {
		return false
	}
	last, err := t.word(t.last)
	phase, err2 := t.half(t.phase)
	return err == nil && err2 == nil && (last != longAgo || phase != 0)
}

// done tells that garbage was collected and swept. The program may run.
func (t *goTrigger) done() bool {
	if t == nil || !t.set {
		return false
	}
	last, err := t.word(t.last) // is written behind what tells that there is to be swept
	if err != nil || last == longAgo {
		return false
	}
	if generation, err := t.half(t.generation); err == nil && generation-t.began > 2 {
		return true // the next collection has swept what this one had left
	}
	parked, err := t.flag(t.sweep, goruntime.SweepParked)
	return err == nil && parked
}

// undo takes it back if no collection has ended. All threads are stopped.
func (t *goTrigger) undo() error {
	if !t.set {
		return nil
	}
	t.set = false
	if last, err := t.word(t.last); err != nil || last != longAgo {
		return err
	}
	return t.write(t.last, t.was)
}

func (t *goTrigger) word(at uint64) (uint64, error) {
	var b [8]byte
	if _, err := t.proc.ReadAt(b[:], int64(at)); err != nil {
		return 0, fmt.Errorf("variables of the Go runtime: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// flag is a byte, of a number of 4 bytes the lowest, some bytes from a variable.
func (t *goTrigger) flag(at uint64, off int64) (bool, error) {
	var b [1]byte
	if _, err := t.proc.ReadAt(b[:], int64(at)+off); err != nil {
		return false, fmt.Errorf("variables of the Go runtime: %w", err)
	}
	return b[0] != 0, nil
}

func (t *goTrigger) half(at uint64) (uint32, error) {
	var b [4]byte
	if _, err := t.proc.ReadAt(b[:], int64(at)); err != nil {
		return 0, fmt.Errorf("variables of the Go runtime: %w", err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

func (t *goTrigger) write(at, v uint64) error {
	_, err := t.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, v), int64(at))
	return err
}
