package capture

import "slices"

// A ReasonKind is why a recording lacks events of its run.
type ReasonKind uint8

// The kinds of reasons. Their numbers are part of the wire format.
const (
	UnknownReason ReasonKind = iota

	// Why a recording has not all events of the run, see Info.Partial.
	BeganLate    // by an attach: times count from there
	StartedLate  // by a command: times count from the run's start
	EndedEarly   // before the program
	EndedFull    // when it was large enough
	Unwritten    // when it could not be written any more: how much was to come is not known
	DroppedOlder // the last events were kept
	Paused       // for a while
	Stopped      // for a while, and started again
	OnlyEvents   // that match a condition: Text, "" unknown
	SomeEvents   // were recorded: Text, as in "3 of 15"; is not kept
	Trimmed      // what is outside of a span was left out
	FreedUnseen  // not every call was followed: blocks that seem to live may not
	GoHeap       // a Go runtime allocates memory of which there are no blocks
	OpenEnd      // the capture was not closed or lost its end: how much is missing there is not known
	Failed       // hdb panicked: Text, "" unknown

	// Why calls are in no event, see Loss; Failed, too.
	RingFull    // no room in the probe's ring
	ManyThreads // of threads that the probe had no place for
	TornRecord  // of a thread that ended within its record
	NotFollowed // by plain breakpoints: Text, "" unknown
	DamagedPart // of a capture that was repaired
	DamagedEnd  // of one whose end is missing: these at least

	// PythonHeap is one of Info.Partial, too: small objects of Python are in arenas of pymalloc, of
	// whose blocks there are no events.
	PythonHeap

	// NoAllocator is one of Info.Partial, too: no function of the program was known as an allocator's when it ran.
	NoAllocator

	// AtStops is SomeEvents of a process that is not recorded: events at which it stopped, and the ends of
	// their blocks. It is not kept.
	AtStops
)

// A Reason is a kind and what it tells besides.
type Reason struct {
	Kind ReasonKind
	Text string // see the kinds; "" for most
}

// Reasons are several, each once.
type Reasons []Reason

// Has reports whether one is of the kind.
func (rs Reasons) Has(kind ReasonKind) bool {
	return slices.ContainsFunc(rs, func(r Reason) bool { return r.Kind == kind })
}

// With are the reasons and those of them that are new.
func (rs Reasons) With(more ...Reason) Reasons {
	rs = slices.Clone(rs)
	for _, r := range more {
		if !slices.Contains(rs, r) {
			rs = append(rs, r)
		}
	}
	return rs
}

// Without are the reasons of other kinds.
func (rs Reasons) Without(kinds ...ReasonKind) Reasons {
	return slices.DeleteFunc(slices.Clone(rs), func(r Reason) bool { return slices.Contains(kinds, r.Kind) })
}
