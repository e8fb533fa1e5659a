package capture

import (
	"fmt"
	"strings"
)

// A LostKind is how a part of a file is lost.
type LostKind uint8

// The kinds of lost parts.
const (
	BadHeader  LostKind = iota // of the file
	NotClosed                  // nothing is known of what was to come
	BadBytes                   // no chunk can be told there
	NoChunk                    // Err says why the bytes are no chunk
	BadChunk                   // the chunk Number of kind Chunk has another checksum
	BadHead                    // Err says what is wrong with the head of that chunk
	Misplaced                  // the chunk Number stands in place of the chunk Expected
	OutOfOrder                 // a chunk of kind Chunk stands behind a later one
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
		return fmt.Sprintf("chunk %d stands at byte %d instead of chunk %d", l.Number, l.Offset, l.Expected)
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

// A DamageError says what of a capture is lost, and what can be read.
type DamageError struct {
	Path        string
	Size        int64  // of the file
	Lost        []Lost // in the order found, at most maxLost
	More        int    // losses that Lost does not list
	Missing     uint64 // events known to be missing
	Open        bool   // the file was not closed, or its end is lost: more may be missing
	Events      int    // that can be read
	First, Last uint64 // their sequence numbers
}

// maxLost bounds the list: a hostile file could be nothing but damage.
const maxLost = 1000

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
		fmt.Fprintf(&b, "%s missing", counted(e.Missing, "event is", "events are"))
	}
	switch e.Events {
	case 0:
		b.WriteString("; no event can be read")
	case 1:
		fmt.Fprintf(&b, "; 1 event can be read, #%d", e.First)
	default:
		fmt.Fprintf(&b, "; %d events can be read, #%d to #%d", e.Events, e.First, e.Last)
	}
	return b.String()
}

func counted(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// A VersionError says that a capture is of another major version of the format.
type VersionError struct {
	Path         string
	Major, Minor uint16 // of the file
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: capture format %d.%d; this hdb reads %d.%d: use the hdb that wrote it", e.Path, e.Major, e.Minor, major, minor)
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

// foreign are the beginnings of files that a user may take for a capture.
var foreign = []struct{ magic, found, hint string }{
	{"\x7fELF", "an ELF file", "hdb PROG starts a program"},
	{"memray", "a capture of memray", "hdb opens its own captures only"},
	{"PERFILE2", "a perf.data file", "hdb opens its own captures only"},
	{"\x28\xb5\x2f\xfd", "a file compressed by zstd", "unpack it first: zstd -d"},
	{"\x1f\x8b", "a file compressed by gzip", "unpack it first: gunzip"},
	{"\xfd7zXZ\x00", "a file compressed by xz", "unpack it first: unxz"},
	{"PK\x03\x04", "a zip archive", "unpack it first: unzip"},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"#!", "a script", ""},
}

// Is tells that the file path begins as a capture does.
func Is(path string) bool {
	f, _, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(magic))
	_, err = f.ReadAt(start, 0)
	return err == nil && string(start) == magic
}

// notCapture is the error for a file that begins with start.
func notCapture(path string, start []byte) error {
	err := &NotCaptureError{Path: path, Found: "something else"}
	if len(start) == 0 {
		err.Found = "an empty file"
		return err
	}
	if strings.HasPrefix(magic, string(start)) || strings.HasPrefix(string(start), magic) {
		err.Found = "the first bytes of one: nothing was recorded"
		return err
	}
	for _, f := range foreign {
		if strings.HasPrefix(string(start), f.magic) {
			err.Found, err.Hint = f.found, f.hint
			return err
		}
	}
	if isText(start) {
		err.Found = "a text"
	}
	return err
}

func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
