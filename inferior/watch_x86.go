package inferior

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"hdb/inferior/machine"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// debugOffset is where DR0 is in the kernel's struct user (sys/user.h).
const debugOffset = 848

// watchpoints are those in the debug registers, which each thread has of its own, and those by
// single steps.
type watchpoints struct {
	p         *Process
	registers [4]*debugRegister // nil: free
	stepped   []*Watch
	turn      *Thread       // the thread that runs an instruction, or was the last to do so, if any is stepped
	giving    bool          // it is about to be resumed for that
	taken     atomic.Uint64 // steps so far; any goroutine may look
}

// A debugRegister is what one of DR0 to DR3 is for, on every thread. Watches of the same
// memory share it.
type debugRegister struct {
	at     addr.Run
	size   int
	access uint64 // in DR7's encoding
	users  []*Watch
}

// StepCost is what single steps cost, as measured.
const StepCost = "the threads run one instruction at a time, some 20 µs each, thousands of times slower"

// A Watch is memory that is watched for accesses, or an instruction at which threads stop.
type Watch struct {
	Addr     addr.Run
	Size     int // bytes
	Kind     WatchKind
	Stepping bool // by single steps, not by debug registers

	p       *Process
	value   []byte  // as last seen; nil where it could not be read
	now     []byte  // room for what is read
	handler Handler // of Execute, and of BreakOnAccess
	trap    *Trap   // instead of a register, of Execute
	removed bool
	pending map[*Thread]writer // whose trap for a write before the last change was read may still come
}

// A writer is a thread whose debug trap for a write may be pending.
type writer struct {
	at      addr.Run // PC where it was interrupted first since then; 0: not yet
	resumed bool     // from there
}

// A Change is an access to watched memory that stopped the program.
type Change struct {
	Watch    *Watch
	Old, New []byte // the memory before and after; New is nil where it cannot be read any more
	Merged   bool   // nothing has changed since another thread's Change, which may include the write
}

// ErrNoDebugRegister is the error where fewer of the four are free than are needed.
var ErrNoDebugRegister = errors.New("there are not enough debug registers: delete a watchpoint")

// ErrDeadRegisters is the error where the debug registers stop no thread, as on some virtual machines.
var ErrDeadRegisters = errors.New("the debug registers of this machine do not stop threads: see hdb doctor")

// BreakAt has a handler called when a thread is about to execute the instruction at a, as of a
// trap, without one in memory. It takes one of the four debug registers, which all handlers for a
// share. Threads that run do not know it until they stop: see StopAll. Where no register is to be
// had, or a trap is there already, it is a trap in memory: see Watch.InMemory.
func (ws *watchpoints) BreakAt(a addr.Run, h Handler) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	if err := ws.p.traps.lowerFor(a, a+1); err != nil {
		return nil, err
	}
	if pt := ws.p.memory.patchOver(a); pt != nil && pt.at != a {
		return nil, &PatchedError{a, pt}
	}
	w := &Watch{Addr: a, Size: 1, Kind: Execute, p: ws.p, handler: h}
	if ws.p.traps.sites[a] == nil {
		got, err := ws.add(w)
		if !short(err) {
			return got, err
		}
	}
	var err error
	w.trap, err = ws.p.traps.Plant(a, h)
	return w, err
}

// toMemory makes the watches of the instruction at a, which debug registers stop, traps of a site that is planted
// there: with both a thread would come to the two in turn, and never to the instruction.
func (ws *watchpoints) toMemory(s *site) error {
	i := slices.IndexFunc(ws.registers[:], func(r *debugRegister) bool { return r != nil && r.at == s.addr && r.access == Execute.access() })
	if i < 0 {
		return nil
	}
	for _, w := range ws.registers[i].users {
		w.trap = &Trap{site: s, handler: w.handler}
		s.traps = append(slices.Clip(s.traps), w.trap)
	}
	ws.registers[i] = nil
	return ws.setDebug()
}

// InMemory reports whether it is a trap in memory that stops threads, not a debug register.
func (w *Watch) InMemory() bool { return w.trap != nil }

// BreakOnAccess has a handler called when a thread has just accessed size bytes at a, as of a
// trap: for Write it is called also when the value stays the same. The bytes take one debug register, so
// they are 1, 2, 4 or 8 at a multiple of that; where none is to be had, threads run by single steps.
// What is said of threads that run at BreakAt holds here, too.
func (ws *watchpoints) BreakOnAccess(a addr.Run, size int, kind WatchKind, h Handler) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	if kind == Execute || size < 1 || size > widest || len(pieces(a, size)) > 1 {
		return nil, fmt.Errorf("access to %d bytes at %v: more than one debug register watches", size, a)
	}
	w := &Watch{Addr: a, Size: size, Kind: kind, p: ws.p, handler: h}
	got, err := ws.add(w)
	if short(err) {
		return ws.addStepped(w)
	}
	return got, err
}

// short reports whether the error says that registers are not to be had.
func short(err error) bool {
	return errors.Is(err, ErrNoDebugRegister) || errors.Is(err, ErrDeadRegisters)
}

// Watch stops the program when it accesses size bytes at a. It takes as many of the four debug
// registers as cover them; where that number is not to be had, the memory is watched by single
// steps. For Write, a store of the value that is there already does not stop.
func (ws *watchpoints) Watch(a addr.Run, size int, kind WatchKind) (*Watch, error) {
	if err := ws.p.Alive(); err != nil {
		return nil, err
	}
	if size < 1 || size > len(ws.registers)*widest {
		return ws.WatchStepping(a, size, kind)
	}
	w, err := ws.add(&Watch{Addr: a, Size: size, Kind: kind, p: ws.p})
	if short(err) {
		return ws.WatchStepping(a, size, kind)
	}
	return w, err
}

// add gives a watchpoint a register.
func (ws *watchpoints) add(w *Watch) (*Watch, error) {
	if err := w.begin(); err != nil {
		return nil, err
	}
	err := ws.takeAll(w, pieces(w.Addr, w.Size))
	if err != nil && w.Kind == Write { // the bytes around it are not compared
		low, end := w.Addr&^(widest-1), (w.Addr+addr.Run(w.Size)+widest-1)&^(widest-1)
		err = ws.takeAll(w, pieces(low, int(end-low)))
	}
	if err != nil {
		return nil, err
	}
	if err := ws.setDebug(); err != nil {
		ws.drop(w)
		return nil, errors.Join(fmt.Errorf("watchpoint at %v: %w", w.Addr, err), ws.setDebug())
	}
	return w, nil
}

// widest is how much one register watches, bytes.
const widest = 8

// A piece is what one register watches: 1, 2, 4 or 8 bytes at a multiple of that (Intel SDM
// volume 3, 18.2.5).
type piece struct {
	at   addr.Run
	size int
}

// pieces divides memory.
func pieces(a addr.Run, size int) (all []piece) {
	for size > 0 {
		n := widest
		for n > size || a%addr.Run(n) != 0 {
			n /= 2
		}
		all = append(all, piece{a, n})
		a, size = a+addr.Run(n), size-n
	}
	return all
}

// takeAll has registers watch the pieces for w, or none of them.
func (ws *watchpoints) takeAll(w *Watch, all []piece) error {
	for _, pc := range all {
		if err := ws.take(w, pc.at, pc.size); err != nil {
			ws.drop(w)
			return err
		}
	}
	return nil
}

// begin reads the memory for the first time.
func (w *Watch) begin() error {
	w.value, w.now = make([]byte, w.Size), make([]byte, w.Size)
	if _, err := w.p.memory.readAt(w.value, int64(w.Addr)); err != nil {
		return fmt.Errorf("watchpoint: %w", err)
	}
	return nil
}

// read is the memory as it is now, nil where it cannot be read.
func (w *Watch) read() []byte {
	now := make([]byte, w.Size)
	if _, err := w.p.memory.readAt(now, int64(w.Addr)); err != nil {
		return nil
	}
	return now
}

// all are the watchpoints.
func (ws *watchpoints) all() []*Watch {
	all := slices.Clone(ws.stepped)
	for _, r := range ws.registers {
		if r == nil {
			continue
		}
		for _, w := range r.users {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// take has a register watch size bytes at a for w.
func (ws *watchpoints) take(w *Watch, a addr.Run, size int) error {
	if !RegistersStop() {
		return ErrDeadRegisters
	}
	access := w.Kind.access()
	free := -1
	for i, r := range ws.registers {
		switch {
		case r == nil && free < 0:
			free = i
		case r != nil && r.at == a && r.size == size && r.access == access:
			r.users = append(slices.Clip(r.users), w)
			return nil
		}
	}
	if free < 0 {
		return ErrNoDebugRegister
	}
	ws.registers[free] = &debugRegister{at: a, size: size, access: access, users: []*Watch{w}}
	return nil
}

// drop frees the registers that only w uses.
func (ws *watchpoints) drop(w *Watch) {
	for i, r := range ws.registers {
		if r == nil {
			continue
		}
		r.users = slices.DeleteFunc(slices.Clone(r.users), func(x *Watch) bool { return x == w })
		if len(r.users) == 0 {
			ws.registers[i] = nil
		}
	}
}

// Remove takes the watchpoint off all threads; a second call does nothing.
func (w *Watch) Remove() error {
	w.p.check()
	if w.removed {
		return nil
	}
	w.removed = true
	if w.trap != nil {
		return w.trap.Remove()
	}
	ws := &w.p.watchpoints
	ws.stepped = slices.DeleteFunc(slices.Clone(ws.stepped), func(x *Watch) bool { return x == w })
	ws.drop(w)
	for _, t := range w.p.target.order {
		t.changes = slices.DeleteFunc(slices.Clone(t.changes), func(c Change) bool { return c.Watch == w })
	}
	return ws.setDebug()
}

// Registers is how many debug registers the watchpoint takes, those that it shares counted.
func (w *Watch) Registers() (n int) {
	for _, r := range w.p.watchpoints.registers {
		if r != nil && slices.Contains(r.users, w) {
			n++
		}
	}
	return n
}

// RegistersStop reports whether the debug registers of the machine stop threads.
func RegistersStop() bool { return machine.Has(machine.DebugRegisters) }

// FreeRegisters is how many debug registers are free, and stop threads.
func (ws *watchpoints) FreeRegisters() (n int) {
	if !RegistersStop() {
		return 0
	}
	for _, r := range ws.registers {
		if r == nil {
			n++
		}
	}
	return n
}

// inUse reports whether any debug register is.
func (ws *watchpoints) inUse() bool { return ws.registers != [4]*debugRegister{} }

// breaksIn reports whether a debug register stops threads at an instruction in [low, high).
func (ws *watchpoints) breaksIn(low, high addr.Run) bool {
	return slices.ContainsFunc(ws.registers[:], func(r *debugRegister) bool {
		return r != nil && r.access == Execute.access() && low <= r.at && r.at < high
	})
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
		ws.p.disarm(t)
	}
	return nil
}

// syncDebug writes the debug registers of t. A thread starts with all clear.
func (ws *watchpoints) syncDebug(t *Thread) error {
	t.debugOK = true
	if t.guest || !ws.inUse() && !t.debugSet {
		return nil
	}
	t.debugSet = true
	if ws.inUse() {
		ws.p.guard.table.watching()
	}
	// DR7 first: the kernel checks each address against its length there.
	if err := pokeDebug(t.TID, 7, 0); err != nil {
		return err
	}
	var control uint64
	for i, r := range ws.registers {
		if r == nil {
			continue
		}
		if err := pokeDebug(t.TID, i, uint64(r.at)); err != nil {
			return err
		}
		control |= r.control(i)
	}
	return pokeDebug(t.TID, 7, control)
}

// access is the kind in DR7's encoding. x86 cannot leave out stores of the accesses to memory.
func (k WatchKind) access() uint64 {
	switch k {
	case Write:
		return 1
	case Execute:
		return 0
	}
	return 3
}

// control is the share of DR7 of register i: the local enable bit, the access, the length.
func (r *debugRegister) control(i int) uint64 {
	length := map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}[r.size]
	return 1<<(2*i) | r.access<<(16+4*i) | length<<(18+4*i)
}

func pokeDebug(tid, i int, v uint64) error {
	return ptrace(unix.PTRACE_POKEUSR, tid, uintptr(debugOffset+8*i), uintptr(v))
}

// hit looks in DR6 for watchpoints that t has just hit and keeps them for report. False: a
// debug trap that is none of ours.
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
	var hit []*Watch
	for i, r := range ws.registers {
		if r == nil || status&(1<<i) == 0 {
			continue
		}
		for _, w := range r.users {
			if !slices.Contains(hit, w) {
				hit = append(hit, w)
			}
		}
	}
	for _, w := range hit {
		ws.look(t, w)
	}
	return true
}

// look reads the memory of a watchpoint that t has hit, and keeps that for report unless
// nothing has changed there.
func (ws *watchpoints) look(t *Thread, w *Watch) {
	now := w.read()
	c := Change{Watch: w, Old: w.value, New: now}
	changed := !bytes.Equal(now, w.value)
	if w.Kind == Write && w.handler == nil && !changed {
		c.Merged = w.mayHaveWritten(t)
	}
	if w.Kind != Write || w.handler != nil || changed || c.Merged {
		t.changes = append(slices.Clip(t.changes), c)
	}
	if changed {
		ws.others(t, w)
	}
	w.value = now
}

// others notes the threads other than t that may have written what was read.
func (ws *watchpoints) others(t *Thread, w *Watch) {
	w.pending = map[*Thread]writer{}
	for _, other := range ws.p.target.order {
		switch {
		case other == t:
		case other.state == running:
			w.pending[other] = writer{}
		case other.atStop && other.load() == nil:
			w.pending[other] = writer{at: other.regs.PC()}
		}
	}
}

// mayHaveWritten reports whether the write that t has hit may have been before the last change was read: t has not got
// past the place where it was interrupted then.
func (w *Watch) mayHaveWritten(t *Thread) bool {
	b, ok := w.pending[t]
	return ok && (b.at == 0 || t.load() == nil && b.at == t.regs.PC())
}

// resuming notes the PC of an interrupted thread that is resumed. The second time its trap can no longer be pending.
func (ws *watchpoints) resuming(t *Thread) {
	for _, r := range ws.registers {
		if r == nil {
			continue
		}
		for _, w := range r.users {
			b, ok := w.pending[t]
			switch {
			case !ok:
			case b.resumed || !t.atStop || t.load() != nil:
				delete(w.pending, t)
			default:
				w.pending[t] = writer{t.regs.PC(), true}
			}
		}
	}
}

// report calls the handlers of the instructions that t has arrived at and of accesses, and reports
// whether that, or an access of t to watched memory, is a stop.
func (ws *watchpoints) report(t *Thread) bool {
	all := t.changes
	t.changes = nil
	var stop *Stop
	var changes []Change
	for _, c := range all {
		switch {
		case c.Watch.removed: // by a handler before
		case c.Watch.handler == nil:
			changes = append(changes, c)
		case c.Watch.handler(t) == StopHere:
			stop = &Stop{Reason: Trapped, Thread: t}
		}
	}
	if len(changes) > 0 {
		stop = &Stop{Reason: Watched, Thread: t, Changes: changes}
	}
	if stop != nil {
		ws.p.stop = stop
	}
	return stop != nil
}

// isPushFlags reports whether code begins with pushf, which pushes the trap flag of a single step,
// too.
func isPushFlags(code []byte) bool {
	return len(code) >= 2 && (code[0] == 0x9c || code[0] == 0x66 && code[1] == 0x9c)
}

const trapFlag = 1 << 8 // of the flags

// unpush takes the flag of the single step out of the flags that t has just pushed. Popped by
// the program, it would have it step itself.
func (ws *watchpoints) unpush(t *Thread) {
	t.pushedFlags = false
	var b [2]byte
	if t.load() != nil {
		return
	}
	if _, err := ws.p.memory.readAt(b[:], int64(t.regs.SP())); err != nil {
		return // the push has faulted
	}
	b[1] &^= trapFlag >> 8
	_, _ = ws.p.memory.writeAt(b[:], int64(t.regs.SP())) // it has just been written
}

// dropTrapFlag takes that flag out of the registers of t: around popf the kernel takes it for the
// program's own (is_setting_trap_flag in arch/x86/kernel/step.c).
func (t *Thread) dropTrapFlag() {
	if t.regs.Eflags&trapFlag != 0 {
		t.regs.Eflags, t.regsDirty = t.regs.Eflags&^trapFlag, true
	}
}

// forget drops all watchpoints; the image they were in is gone.
func (ws *watchpoints) forget() {
	for _, w := range ws.all() {
		w.removed = true
	}
	ws.registers, ws.stepped, ws.turn = [4]*debugRegister{}, nil, nil
	for _, t := range ws.p.target.order {
		t.changes, t.debugOK = nil, false
	}
}
