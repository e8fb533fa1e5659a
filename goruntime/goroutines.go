package goruntime

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A Status is what a goroutine does, in the runtime's words (gStatusStrings).
type Status string

// The states that are asked for. Others are idle, copystack, preempted and leaked.
const (
	Running  Status = "running"
	Runnable Status = "runnable"
	Syscall  Status = "syscall"
	Waiting  Status = "waiting"
)

// statuses are those of g.atomicstatus.
var statuses = map[uint32]Status{
	GIdle: "idle", 1: Runnable, GRunning: Running, 3: Syscall, 4: Waiting, 8: "copystack", 9: "preempted", 10: "leaked",
}

// A Goroutine is one that is not dead.
type Goroutine struct {
	At        uint64 // address of its g
	ID        uint64
	Parent    uint64 // the goroutine that made it, 0 unknown: before Go 1.21, and of the first
	Status    Status
	Reason    string // why it waits, in the runtime's words: "chan receive"
	Since     int64  // the end of the collection before the first that found it waiting, on the runtime's clock in nanoseconds (CLOCK_MONOTONIC); 0 none has
	M         uint64 // address of the m that it runs on, 0 without
	Locked    bool   // it runs on one thread alone
	StackLow  uint64
	StackHigh uint64
	PC        uint64 // where it continues, if it does not run,
	SP        uint64 // and its registers there
	BP        uint64
	CallPC    uint64 // where it entered a system call, if it is in one
	CallSP    uint64
	GoPC      uint64 // where the go statement is that made it: the address behind; 0 of the first
	StartPC   uint64 // its function
}

// A Thread is an m: a thread of the program that runs goroutines.
type Thread struct {
	At      uint64
	TID     uint64 // as the kernel numbers it, in the program's PID namespace; 0 before it has begun
	G0      uint64 // the goroutine of its own stack,
	GSignal uint64 // and the one for its signals
	Curg    uint64 // the goroutine that it runs, 0 without
	VDSOSP  uint64 // where it called the vDSO, 0 while it does not
	VDSOPC  uint64
}

// A Runtime is the runtime of a program that has begun, in memory.
type Runtime struct {
	Layout  Layout
	memory  Memory
	allgs   uint64
	allms   uint64
	reasons uint64           // 0 not found
	texts   map[uint8]string // of reasons
}

// Open finds the runtime of that version in a process or a core file.
func Open(p Program, version string) (*Runtime, error) {
	l, err := Of(version)
	if err != nil {
		return nil, err
	}
	r := &Runtime{Layout: l, memory: Memory{ReaderAt: p.Code}, texts: map[uint8]string{}}
	if r.allgs, err = p.Variable(AllGs); err != nil {
		return nil, err
	}
	if r.allms, err = p.Variable(AllMs); err != nil {
		return nil, err
	}
	r.reasons, _ = p.Variable(WaitReasonStrings) // without it waiting goroutines have no reason
	return r, nil
}

// Bounds of what is believed of the program's memory.
const (
	maxGoroutines = 1 << 21
	maxThreads    = 1 << 16
	maxReason     = 100 // bytes of a text
)

// Goroutines lists those that are not dead, by their numbers, and tells how many are left out because
// their descriptors could not be read. given says that the list is no longer wanted; nil never.
func (r *Runtime) Goroutines(given func() error) (list []Goroutine, lost int, err error) {
	array := r.memory.Words(r.allgs, 2, 2) // its array, its length
	if len(array) < 2 {
		return nil, 0, fmt.Errorf("%s: nothing can be read at %#x", AllGs, r.allgs)
	}
	n := array[1]
	if n > maxGoroutines {
		return nil, 0, fmt.Errorf("%s says that there are %d goroutines; at most %d are read", AllGs, n, maxGoroutines)
	}
	at := r.memory.Words(array[0], n, n)
	if uint64(len(at)) < n {
		return nil, 0, fmt.Errorf("%s: %d of %d addresses can be read at %#x", AllGs, len(at), n, array[0])
	}
	slices.Sort(at)
	at = slices.Compact(at)
	list = make([]Goroutine, 0, len(at))
	Memory{r.memory.ReaderAt, given}.Each(at, func(int) int { return r.size() }, func(i int, b []byte) {
		if b == nil {
			lost++
		} else if g, ok := r.parse(at[i], b); ok {
			list = append(list, g)
		}
	})
	if given != nil {
		if err := given(); err != nil {
			return nil, 0, err
		}
	}
	slices.SortFunc(list, func(a, b Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	return list, lost, nil
}

// size is how many bytes of a g are read.
func (r *Runtime) size() int { return r.Layout.StartPC + 8 }

// Goroutine reads the one whose g is at an address.
func (r *Runtime) Goroutine(at uint64) (Goroutine, error) {
	b := make([]byte, r.size())
	if _, err := r.memory.ReadAt(b, int64(at)); err != nil {
		return Goroutine{}, fmt.Errorf("goroutine at %#x: %w", at, err)
	}
	g, ok := r.parse(at, b)
	if !ok {
		return Goroutine{}, errors.New("the goroutine is dead")
	}
	return g, nil
}

// parse is what a g says; ok is false of one that is dead.
func (r *Runtime) parse(at uint64, b []byte) (g Goroutine, ok bool) {
	l := &r.Layout
	status := binary.LittleEndian.Uint32(b[l.Status:]) &^ GScanBit
	if status == GDead || status == GDeadExtra {
		return Goroutine{}, false
	}
	g = Goroutine{
		At: at, ID: word(b, l.GoID), Status: statuses[status], M: word(b, l.GM), Locked: word(b, l.LockedM) != 0,
		StackLow: word(b, 0), StackHigh: word(b, 8), SP: word(b, l.Sched), PC: word(b, l.Sched+8), BP: word(b, l.Sched+l.SchedBP),
		GoPC: word(b, l.GoPC), StartPC: word(b, l.StartPC),
	}
	if g.ID == 0 { // being made, or no goroutine of the user's
		return Goroutine{}, false
	}
	if l.ParentGoID != 0 {
		g.Parent = word(b, l.ParentGoID)
	}
	switch g.Status {
	case "":
		g.Status = Status(fmt.Sprintf("status %d", status))
	case Syscall:
		g.CallSP, g.CallPC = word(b, l.SyscallSP), word(b, l.SyscallSP+8)
		g.Since = int64(word(b, l.WaitSince))
	case Waiting, "leaked":
		g.Reason = r.reason(b[l.WaitReason])
		g.Since = int64(word(b, l.WaitSince))
	}
	return g, true
}

// reason is the text of a wait reason by the program's own table: the numbers differ between
// versions.
func (r *Runtime) reason(n uint8) string {
	if n == 0 || r.reasons == 0 {
		return ""
	}
	if text, ok := r.texts[n]; ok {
		return text
	}
	text := ""
	var header [16]byte
	if _, err := r.memory.ReadAt(header[:], int64(r.reasons)+16*int64(n)); err == nil && word(header[:], 8) <= maxReason {
		b := make([]byte, word(header[:], 8))
		if _, err := r.memory.ReadAt(b, int64(word(header[:], 0))); err == nil && printable(b) {
			text = string(b)
		}
	}
	r.texts[n] = text
	return text
}

// printable tells text that may be shown.
func printable(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' })
}

// Threads lists the threads of the runtime.
func (r *Runtime) Threads() ([]Thread, error) {
	var list []Thread
	var next [8]byte
	if _, err := r.memory.ReadAt(next[:], int64(r.allms)); err != nil {
		return nil, fmt.Errorf("%s: %w", AllMs, err)
	}
	l := &r.Layout
	b := make([]byte, max(l.AllLink, l.VDSOSP+8)+8)
	for at := word(next[:], 0); at != 0; at = word(b, l.AllLink) {
		if len(list) == maxThreads {
			return list, fmt.Errorf("%s: more than %d threads", AllMs, maxThreads)
		}
		if _, err := r.memory.ReadAt(b, int64(at)); err != nil {
			return list, fmt.Errorf("%s: %w", AllMs, err)
		}
		list = append(list, Thread{At: at, TID: word(b, l.ProcID), G0: word(b, 0), GSignal: word(b, l.GSignal), Curg: word(b, l.CurG),
			VDSOSP: word(b, l.VDSOSP), VDSOPC: word(b, l.VDSOSP+8)})
	}
	return list, nil
}
