// Package report turns the totals of a recording into what people and other tools
// read: statistics, tables, trees, and the formats of other programs. It writes what it
// is given and knows neither captures nor symbols. Pages for a browser are package page's.
package report

import (
	"slices"
	"time"

	"hdb/capture"
	"hdb/internal/units"
)

// A Profile is what a recording adds up to at one moment, by stack. Bytes are
// those asked for. Its slices are not changed by reports.
type Profile struct {
	Title   string // the program with its arguments
	Program string // path
	PID     int
	Host    string
	Kernel  string
	Arch    string
	Created string    // the hdb that recorded
	Start   time.Time // of the recording

	Caveats

	Begin    time.Duration // from when on anything is known; 0 of a recording from the start on
	Moment   Moment        // up to which everything is counted
	Events   uint64        // recorded up to there, of all kinds
	Failed   uint64        // allocations that returned NULL
	Mapped   uint64        // bytes of mappings, which are no blocks: in no other number
	Unmapped uint64        // of them
	Sums     bool          // of the heap over time only the peak and the end are known
	Threads  bool          // a stack has a row for each thread
	Golang   bool          // only a Go runtime has allocated
	Over     bool          // Moment is the end of the recording, and nothing more happens
	Peak     Moment        // when most bytes were live, of blocks and of PeakMapped together
	Units    units.Sizes   // how texts have sizes
	Modules  []Module
	Frames   []Frame
	Stacks   []Stack // stacks without any number are left out
	Sizes    []SizeClass
	Calls    []Calls // allocator functions, most calls first

	LiveMapped LiveMapped

	// PeakMapped is what the program had mapped itself at the peak, besides the blocks that Peak has.
	PeakMapped MappedSum
	// MostMapped is how many bytes the program had mapped itself at once, at most, where only Sums are known: there
	// more may have been live together than at Peak. Otherwise it is 0.
	MostMapped uint64
	// MappedStacks are the stacks of calls by which the program mapped memory itself, with how much of it is
	// live and was at the peak, and no other number. Counted has these stacks among the others.
	MappedStacks []Stack

	Timeline []Moment // ascending by time, at most a few thousand; nil where it is not drawn
	Marks    []Mark

	// MappedLine is what the program has mapped itself, ascending by time; none where it is not drawn.
	MappedLine []MappedMoment

	RSS []Sample // ascending by time; may be empty

	// Snapshots are the heap at some moments, ascending, the last of them Moment;
	// at most 64. Nothing recorded is live before the first event. There may be none.
	Snapshots []Snapshot
}

// A Snapshot is how much of each stack was live at a moment.
type Snapshot struct {
	Moment
	Stacks []uint64 // bytes, by index into Profile.Stacks
	Mapped []uint64 // the same of Profile.MappedStacks, not in Live; nil where there are none
}

// A Moment is a point of a recording and the heap there.
type Moment struct {
	Seq          uint64        // of the last event
	Time         time.Duration // since the start
	Live, Blocks uint64        // bytes, number
}

// A MappedMoment is a point of a recording and what the program has mapped there: bytes that can be
// accessed, as far as calls have been recorded.
type MappedMoment struct {
	Seq   uint64 // of the last event
	Time  time.Duration
	Bytes uint64
}

// A Mark is a moment that the user named.
type Mark struct {
	Seq  uint64
	Time time.Duration
	Name string
}

// A Sample is the resident memory of the process, with what hdb has in it, in bytes, at a moment.
type Sample struct {
	Time time.Duration
	RSS  uint64
}

// A Module is a file with code of the program.
type Module struct {
	Path    string
	BuildID string // hex, "" without one
	Low     uint64 // where it was mapped: [Low, High)
	High    uint64
	Bias    uint64    // run address of file address 0
	Code    []Segment // its code in the file, nil if the file was not looked at
}

// A Segment is a part of a file that is mapped as it is there.
type Segment struct {
	Low, High uint64 // where it was mapped: [Low, High)
	Offset    uint64 // in the file
}

// A Frame is a function at a code address; frames are shared between stacks.
type Frame struct {
	Function string // demangled; module and offset, or the address, if Unnamed
	Linkage  string // the linker's name; "" if the same
	File     string // "" unknown
	Line     int    // 0 unknown
	Address  uint64 // run address, of the call if the frame called
	Module   int    // index into Modules, -1 if in none
	Inlined  bool   // into the next frame of the stack
	Known    bool   // named by debug info; otherwise by a symbol table or not at all
	Unnamed  bool   // nothing but where the code lies is known
	Guess    bool   // the unwinder guessed the frame
	Library  bool   // not the user's code: allocators, wrappers, the language's library
}

// A Stack is where allocations were made, and what became of them.
type Stack struct {
	ID        capture.StackID // of the recording
	Frames    []int           // indexes into Profile.Frames, innermost first
	Site      int             // index into Frames: the frame that the blocks belong to, see query.Attribution; frames before it are libraries'
	Outer     int             // how many of the outermost frames only lead to the user's code, see query.Attribution.Outer
	Callers   string          // what these belong to
	Between   [][2]int        // runs of libraries' frames between those of the user's that are shown: indexes into Frames, [from, to)
	Truncated string          // why outer frames are missing, "" if none are
	Thread    string          // the name of the thread that allocated, "" without one or if several threads share the row
	TID       int32           // of it, 0 if several threads share the row
	Mapped    bool            // calls mapped memory there: its bytes are no blocks
	Collected bool            // a Go runtime has made the blocks that are live: told only if ProfileParts asks for it
	Slot      uint64          // bytes of the slots that the blocks have, 0 if not distinguished: rows of a stack differ in it
	Numbers
}

// Folded is what a reader sees of the frames, Frames[inner:outer]: without the libraries' at the inner end and what only
// leads to the user's code at the outer one.
func (s *Stack) Folded() (inner, outer int) {
	inner = min(s.Site, len(s.Frames))
	return inner, max(len(s.Frames)-s.Outer, min(inner+1, len(s.Frames)))
}

// Numbers are what is counted of a stack, or of all stacks of a function.
type Numbers struct {
	Allocs     uint64 // blocks allocated
	Bytes      uint64 // in them
	Live       uint64 // bytes not freed by the moment
	LiveBlocks uint64
	Peak       uint64 // bytes live when most were
	PeakBlocks uint64
	Temporary  uint64 // blocks freed before another one was allocated
}

// Add adds what o counts.
func (n *Numbers) Add(o Numbers) {
	n.Allocs += o.Allocs
	n.Bytes += o.Bytes
	n.Live += o.Live
	n.LiveBlocks += o.LiveBlocks
	n.Peak += o.Peak
	n.PeakBlocks += o.PeakBlocks
	n.Temporary += o.Temporary
}

// Total is the sum of all stacks.
func (p *Profile) Total() Numbers {
	var n Numbers
	for i := range p.Stacks {
		n.Add(p.Stacks[i].Numbers)
	}
	return n
}

// Counted is the profile with MappedStacks among its stacks, for reports of what is live, or was at
// the peak.
func (p *Profile) Counted() *Profile {
	if len(p.MappedStacks) == 0 {
		return p
	}
	all := *p
	all.Stacks, all.MappedStacks = slices.Concat(p.Stacks, p.MappedStacks), nil
	all.Snapshots = slices.Clone(p.Snapshots)
	for i := range all.Snapshots {
		s := &all.Snapshots[i]
		if s.Mapped == nil {
			continue
		}
		s.Stacks, s.Mapped = slices.Concat(s.Stacks, s.Mapped), nil
		for _, n := range p.Snapshots[i].Mapped {
			s.Live += n
		}
	}
	return &all
}

// PeakBytes is how many bytes were live at the peak: in blocks, and mapped by the program.
func (p *Profile) PeakBytes() uint64 { return p.Peak.Live + p.PeakMapped.Bytes }

// A SizeClass counts allocations of at least Low and at most High bytes.
type SizeClass struct {
	Low, High     uint64
	Allocs, Bytes uint64
}

// Calls counts the calls of an allocator function.
type Calls struct {
	Function string
	Count    uint64
}

// A Measure is one of the numbers, by which reports order and draw.
type Measure uint8

// The measures.
const (
	Live Measure = iota
	Peak
	Bytes
	Allocs
	Temporary
	LiveBlocks
	numMeasures
)

// MostFreed reports whether at most half of the bytes that were live at the peak are left. CPython returns its objects when it ends:
// what is left may be what extensions leaked.
func MostFreed(live, peak uint64) bool { return live <= peak/2 && live < peak }

// Usual is the measure that a report has by default: what is live, but of a recording that has ended the peak, if that is more.
func (p *Profile) Usual() Measure {
	if total := p.Counted().Total(); p.Over && total.Live < total.Peak {
		return Peak
	}
	return Live
}

// Most is the function that has most of a measure, "" if none has any.
func (p *Profile) Most(m Measure) string {
	sums := map[string]uint64{}
	best := ""
	all := p.Counted()
	for i := range all.Stacks {
		st := &all.Stacks[i]
		f := all.site(st)
		n := m.Of(st.Numbers)
		if f == nil || n == 0 {
			continue
		}
		sums[f.Function] += n
		if n = sums[f.Function]; n > sums[best] || n == sums[best] && f.Function < best {
			best = f.Function
		}
	}
	return best
}

// Measures are the words for them, in their order.
var Measures = [numMeasures]string{"live", "peak", "bytes", "count", "temporary", "blocks"}

func (m Measure) String() string { return Measures[m] }

// IsBytes tells measures that count bytes from those that count blocks.
func (m Measure) IsBytes() bool { return m == Live || m == Peak || m == Bytes }

// Of is the number that the measure names.
func (m Measure) Of(n Numbers) uint64 {
	switch m {
	case Peak:
		return n.Peak
	case Bytes:
		return n.Bytes
	case Allocs:
		return n.Allocs
	case Temporary:
		return n.Temporary
	case LiveBlocks:
		return n.LiveBlocks
	}
	return n.Live
}
