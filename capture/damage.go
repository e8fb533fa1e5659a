package capture

import (
	"fmt"
	"slices"
	"strings"

	"hdb/internal/units"
)

// A LostKind is how a part of a file is lost.
type LostKind uint8

// The kinds of lost parts.
const (
	BadHeader  LostKind = iota // of the file
	NotClosed                  // nothing is known of what was to come
	BadBytes                   // no chunk can be recognized there
	NoChunk                    // Err says why the bytes are no chunk
	BadChunk                   // the chunk Number of kind Chunk has another checksum
	BadHead                    // Err says what is wrong with the head of that chunk
	Misplaced                  // the chunk Number is in place of the chunk Expected
	OutOfOrder                 // a chunk of kind Chunk is behind a later one
	BadRecords                 // Err says what is wrong with the records of a chunk of kind Chunk
	CutHeader                  // the file ends inside the header of a chunk
	CutChunk                   // the file ends inside a chunk of kind Chunk: Have of its Whole bytes are there
)

// A Lost is a part of a file that could not be read. The kind tells which fields mean
// something.
type Lost struct {
	Offset, Length   int64 // in the file
	Kind             LostKind
	Chunk            string // kind of a chunk: "stacks"
	Number, Expected uint32 // of chunks, from 0
	First, Last      uint64 // events of a chunk that was cut off, 0 if unknown
	Have, Whole      int64
	Err              error
}

// String says what was there and why it is lost.
func (l Lost) String() string {
	switch l.Kind {
	case BadHeader:
		return "the file's header is damaged"
	case NotClosed:
		return "not closed (the recorder was killed or is still writing)"
	case BadBytes:
		return fmt.Sprintf("bytes %d to %d are damaged", l.Offset, l.Offset+l.Length-1)
	case NoChunk:
		return fmt.Sprintf("byte %d: %v", l.Offset, l.Err)
	case BadChunk:
		return fmt.Sprintf("chunk %d (%s) at byte %d is damaged", l.Number, l.Chunk, l.Offset)
	case BadHead:
		return fmt.Sprintf("chunk %d (%s) at byte %d: %v", l.Number, l.Chunk, l.Offset, l.Err)
	case Misplaced:
		return fmt.Sprintf("chunk %d is at byte %d instead of chunk %d", l.Number, l.Offset, l.Expected)
	case OutOfOrder:
		return fmt.Sprintf("the %s at byte %d are out of order", l.Chunk, l.Offset)
	case BadRecords:
		return fmt.Sprintf("%s at byte %d: %v", l.Chunk, l.Offset, l.Err)
	case CutHeader:
		return fmt.Sprintf("cut off at byte %d inside the header of a chunk", l.Offset+l.Length)
	}
	what := l.Chunk
	if l.First > 0 {
		what = fmt.Sprintf("events #%d to #%d", l.First, l.Last)
	}
	return fmt.Sprintf("cut off at byte %d inside a chunk (%s): %d of its %d bytes are there", l.Offset+l.Length, what, l.Have, l.Whole)
}

// A DamageError says which part of a capture is lost, and what can be read.
type DamageError struct {
	Path        string
	Size        int64  // of the file
	Lost        []Lost // in the order found, a bounded number
	More        int    // losses that Lost does not list
	Missing     uint64 // events known to be missing
	Open        bool   // the file was not closed, or its end is lost: more may be missing
	Events      int    // that can be read
	First, Last uint64 // their sequence numbers
}

// OnlyCut reports whether nothing but the file's end is lost, and events with it, as when its recorder was killed: all
// that is there is right.
func (e *DamageError) OnlyCut() bool { return e.Open && e.OnlyEnd() }

// OnlyEnd reports whether only the end of the file is missing, which may be behind the last event.
func (e *DamageError) OnlyEnd() bool {
	return e.More == 0 && !slices.ContainsFunc(e.Lost, func(l Lost) bool {
		return l.Kind != NotClosed && l.Kind != CutHeader && l.Kind != CutChunk
	})
}

// Error is one line.
func (e *DamageError) Error() string {
	const shown = 3
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.Path)
	for i, l := range e.Lost {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more losses", len(e.Lost)-shown+e.More)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(l.String())
	}
	if e.Missing > 0 {
		b.WriteString("; ")
		if e.Open {
			b.WriteString("at least ")
		}
		b.WriteString(units.CountVerb(e.Missing, "event", "is", "are") + " missing")
	}
	switch e.Events {
	case 0:
		b.WriteString("; no event can be read")
	case 1:
		fmt.Fprintf(&b, "; 1 event can be read, #%d", e.First)
	default:
		fmt.Fprintf(&b, "; %s can be read, #%d to #%d", units.Count(e.Events, "event"), e.First, e.Last)
	}
	return b.String()
}

// A VersionError says that a capture is of another major version of the format.
type VersionError struct {
	Path         string
	Major, Minor uint16 // of the file
	Reads        string // the version that this hdb reads: "2.2"
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: capture format %d.%d; this hdb reads %s: use the hdb that wrote it", e.Path, e.Major, e.Minor, e.Reads)
}

// A NotCaptureError says that a file is something else.
type NotCaptureError struct {
	Path  string
	Found string // what it seems to be: "an ELF file"
	Hint  string // the next step, or ""
}

func (e *NotCaptureError) Error() string {
	text := fmt.Sprintf("%s: not an hdb capture but %s", e.Path, e.Found)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}
