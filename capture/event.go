package capture

import (
	"fmt"
	"time"

	"hdb/internal/addr"
)

// Kind says what an event did to the heap.
type Kind uint8

// The kinds of events. Their numbers are part of the wire format.
const (
	Alloc   Kind = iota // a new block: malloc, calloc, operator new, ...
	Free                // the end of a block: free, operator delete
	Realloc             // a block resized, Old may have moved to Addr
	Map                 // pages mapped: mmap, mremap, brk upwards
	Unmap               // the end of pages: munmap, brk downwards
	Mark                // a moment the user named; its Stack and Addr mean nothing
	Protect             // pages made accessible or not: mprotect; Aux is the protection

	NumKinds
)

var kindNames = [NumKinds]string{"alloc", "free", "realloc", "map", "unmap", "mark", "protect"}

// String is the word the console uses: "alloc", "free", ...
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Resolution is the precision of an Event's and a StopRecord's time. What is
// finer is noise that costs more bytes than the rest of the event.
const Resolution = time.Microsecond

// A StackID names an interned stack of a Source, counted from 1; 0 is no stack.
type StackID uint32

// An Event is one call of an allocator, as the program's code made it: calls
// that the allocator makes to itself are not events.
type Event struct {
	Seq       uint64        // counted from 1; the user's #4711
	Time      time.Duration // since Info.Start, in whole units of Resolution
	Addr      uint64        // the result, or the block freed or unmapped; 0 if Failed
	Size      uint64        // bytes requested (calloc: the product); of a free 0 when unknown
	Old       uint64        // realloc, mremap: the block handed in, or 0
	Aux       uint64        // calloc, reallocarray: the count; the aligned_alloc family: the alignment; HDB_ALLOC, HDB_REALLOC: the pool; of mappings see MapMode
	TID       int32         // the kernel's thread ID
	Stack     StackID       // where, or 0
	Func      uint16        // index into Functions(): "malloc"
	Kind      Kind          // what happened
	Failed    bool          // the allocator returned NULL or MAP_FAILED; Old is still allocated
	Abandoned bool          // the call never returned: an exception or longjmp left it; then Failed too
	Ended     Ended         // the recorded block that it ended
}

// A Stack is a list of code addresses, innermost first.
type Stack struct {
	PCs         []addr.Run // return addresses, but see FirstIsPC and Interrupted
	FirstIsPC   bool       // PCs[0] is the address of the next instruction
	Interrupted []bool     // nil, or true where PCs[i] is what a signal interrupted (a PC, not a return address)
	Guess       []bool     // nil, or true where the unwinder guessed the frame
	Truncated   string     // why outer frames are missing; "" if the stack is whole
}

// Code is the address of frame i, typed for lookups.
func (s Stack) Code(i int) addr.Code {
	if s.IsPC(i) {
		return addr.PC(s.PCs[i])
	}
	return addr.Return(s.PCs[i])
}

// Guessed reports whether the unwinder guessed frame i.
func (s Stack) Guessed(i int) bool { return i < len(s.Guess) && s.Guess[i] }

func (s Stack) IsPC(i int) bool {
	return i == 0 && s.FirstIsPC || i < len(s.Interrupted) && s.Interrupted[i]
}

// MissingStack represents a stack that is not there.
func MissingStack(id StackID) Stack {
	if id == 0 {
		return Stack{Truncated: "no stack was recorded"}
	}
	return Stack{Truncated: fmt.Sprintf("stack %d is not in the capture", id)}
}

// A Module is an ELF file mapped into the inferior during a part of the session.
type Module struct {
	Path      string
	BuildID   string    // hex, "" when the file has none
	Bias      addr.Bias // run address of file address 0
	Low, High addr.Run  // covers [Low, High)
	From, To  uint64    // mapped for the events From <= Seq < To; To 0: to the end
	GoBuildID string    // the Go toolchain's, of a file without BuildID
}

// Holds reports whether pc lay in the module when event seq happened.
func (m Module) Holds(pc addr.Run, seq uint64) bool {
	return m.Covers(pc) && m.From <= seq && (m.To == 0 || seq < m.To)
}

func (m Module) Covers(pc addr.Run) bool { return m.Low <= pc && pc < m.High }

// A Frame is one function of the chain that a code address represents.
type Frame struct {
	Function string   // demangled, as a user writes it
	Linkage  string   // the linker's name, "" if the same
	File     string   // absolute if the debug info says so, "" unknown
	Line     int      // 0 unknown
	Column   int      // 0 unknown
	Inlined  bool     // inlined into the next frame of the chain
	Source   string   // what knew it: "dwarf", "symtab", "dynsym", "pclntab", "none"
	Offset   uint64   // of the address, in bytes from the function's entry point
	Language string   // "c", "c++", "rust", "go", ...; "" unknown
	FuncLow  addr.Run // the function's entry point in the inferior, 0 unknown
}

// A Thread of the inferior.
type Thread struct {
	TID  int32
	Num  int    // the debugger's number, counted from 1 and never reused
	Name string // as last seen
}

// A StopRecord keeps what the console showed when the inferior stopped.
type StopRecord struct {
	Text  string        `json:"text"`            // the report of the stop, as shown
	Seq   uint64        `json:"after"`           // the last event recorded before the stop
	Event uint64        `json:"event,omitempty"` // the event it stopped at, 0 if at none
	TID   int32         `json:"tid,omitempty"`
	Time  time.Duration `json:"time_ns"` // since Info.Start, in whole units of Resolution
	Stack StackID       `json:"-"`
}

// A MarkRecord is a moment that the user named.
type MarkRecord struct {
	Name string        `json:"name"`
	Seq  uint64        `json:"after"`   // the last event recorded before
	Time time.Duration `json:"time_ns"` // since Info.Start, in whole units of Resolution
}

// A SampleRecord is the resident memory of the process at a moment.
type SampleRecord struct {
	Seq  uint64        // the last event recorded before
	Time time.Duration // since Info.Start, in whole units of Resolution
	RSS  uint64        // bytes
}

// A ConsoleLine is a line of the console in which the recording was made.
type ConsoleLine struct {
	Seq   uint64        `json:"after"`   // the last event recorded before, 0 if there was none
	Time  time.Duration `json:"time_ns"` // since Info.Start, in whole units of Resolution
	Typed bool          `json:"typed"`   // by the user, without the prompt; otherwise hdb printed it
	Text  string        `json:"text"`    // without its end
}

// Info describes the session.
type Info struct {
	Version string // of the capture format, "2.2"; set by the package
	Program string // path of the executable
	Args    []string
	PID     int
	Start   time.Time // event times count from here; kept in UTC
	Host    string
	Kernel  string // uname -r
	Arch    string // of the inferior: "x86_64"
	Created string // version of the hdb that recorded
	// Aggregate: the capture holds summaries without events.
	Aggregate bool
	// Partial is why the capture has not all events of the run.
	Partial Reasons
	Totals  Totals // counted by Log and Writer
}

// OpenEnded tells that it is not known how many events are missing at the end.
func (i *Info) OpenEnded() bool {
	return i.Partial.Has(OpenEnd) || i.Partial.Has(Unwritten)
}

// AddPartial adds reasons why events are not there.
func (i *Info) AddPartial(why ...Reason) { i.Partial = i.Partial.With(why...) }

// Totals are counted while recording, so that they are known without reading
// the events, and also when some of the events are lost.
type Totals struct {
	Events uint64        `json:"event_count"`    // recorded, of all kinds
	Allocs uint64        `json:"obtained"`       // Alloc, Realloc and Map that did not fail
	Frees  uint64        `json:"released"`       // Free and Unmap
	Failed uint64        `json:"obtain_failed"`  // those of Allocs' kinds that failed
	Bytes  uint64        `json:"obtained_bytes"` // requested by Allocs, wraps
	Last   time.Duration `json:"duration_ns"`    // time of the last event
	Lost   uint64        `json:"lost_events"`    // calls that are missing, the sum of all losses
}

// Add counts an event, whose time is kept as last.
func (t *Totals) Add(e *Event, last time.Duration) {
	t.Count(e.Kind, e.Failed, 1)
	t.Last = last
	if e.Kind.Obtains() && !e.Failed {
		t.Bytes += e.Size
	}
}

// Count counts n events of a kind, but for their bytes.
func (t *Totals) Count(k Kind, failed bool, n uint64) {
	t.Events += n
	switch {
	case k.Releases():
		t.Frees += n
	case !k.Obtains():
	case failed:
		t.Failed += n
	default:
		t.Allocs += n
	}
}

// An Excerpt is a run of consecutive lines of a source file.
type Excerpt struct {
	First int // line number of Lines[0], counted from 1
	Lines []string
}

// Line is line n of the file that the excerpts were taken from.
func Line(excerpts []Excerpt, n int) (string, bool) {
	for _, x := range excerpts {
		if n >= x.First && n-x.First < len(x.Lines) {
			return x.Lines[n-x.First], true
		}
	}
	return "", false
}
