package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/regular"
)

// checkedSize is the largest file that Open checks as a whole, in some hundredths of a
// second. Of a larger one with an index, a chunk is checked when it is used.
const checkedSize = 64 << 20

// recordBudget bounds the memory for what is kept of all chunks of records, by
// an estimate of recordCost bytes for a byte of the file, unpacked.
const (
	recordBudget = 1 << 30
	recordCost   = 16
)

// A File is a saved capture. What is large, events and stacks, is read when it
// is asked for and a few decoded chunks are kept; the rest is in memory.
type File struct {
	path   string
	stat   fs.FileInfo // nil if it was not opened by its path
	close  func() error
	chunks chunkFile

	// Not changed after Open.
	recordTables
	refs        []chunkRef // all chunks
	events      []chunkRef // ascending and disjoint
	len         int
	sums        []chunkRef // of a capture without events: likewise
	stacks      []chunkRef
	numStacks   int
	open        bool // it is not known how many events are missing at the end
	checkpoints []chunkRef
	symbols     []chunkRef
	sources     []chunkRef
	types       []chunkRef

	reader     eventReader
	stackCache cache[[]capture.Stack]

	embedded sync.Once // fills in the next three
	frames   map[symbolKey][]capture.Frame
	goTypes  map[typeKey]capture.GoType
	excerpts map[string][]capture.Excerpt

	mu     sync.Mutex // guards damage and budget; the last lock to be taken
	damage *capture.DamageError
	budget int
	failed map[int64]bool // offsets of chunks in damage
}

var _ capture.Source = (*File)(nil)

// Open opens a capture. A damaged one opens with what can be read, see Damage.
// Errors: *NotCaptureError, *VersionError, and those of the file system.
func Open(path string) (*File, error) { return open(path, checkedSize) }

// OpenWhole opens a capture as Open does, and reads all of it at once whatever its
// size: what it then says of damage is not only what the index says.
func OpenWhole(path string) (*File, error) { return open(path, math.MaxInt64) }

// OpenByIndex opens a capture as Open does, but reads no chunk of events that the index
// lists, whatever the size of the file. Chunks that were dropped, see Bound, are no damage.
func OpenByIndex(path string) (*File, error) { return open(path, 0) }

// open opens a capture, and checks all of it up to the size checked.
func open(path string, checked int64) (*File, error) {
	r, st, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(path, r, st.Size(), checked)
	if err != nil {
		r.Close()
		return nil, err
	}
	f.stat, f.close = st, r.Close
	return f, nil
}

// openRegular opens a file and tells what it is.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	r, st, err := regular.Open(path)
	switch {
	case errors.Is(err, regular.ErrDirectory):
		return nil, nil, &capture.NotCaptureError{Path: path, Found: "a directory"}
	case errors.Is(err, regular.ErrNotRegular):
		return nil, nil, &capture.NotCaptureError{Path: path, Found: "no regular file"}
	case err != nil:
		return nil, nil, err
	}
	return r, st, nil
}

// NewFile opens a capture of size bytes that r reads, as Open does. Its name is
// for messages.
func NewFile(name string, r io.ReaderAt, size int64) (*File, error) {
	return newFile(name, r, size, checkedSize)
}

// newFile is NewFile that checks all of a file up to the size checked.
func newFile(name string, r io.ReaderAt, size, checked int64) (*File, error) {
	f := emptyFile(name, r, size)
	headerLost, err := f.checkHeader()
	if err != nil {
		return nil, err
	}
	s := f.chunkList(checked)
	if headerLost {
		s.lose(capture.Lost{Kind: capture.BadHeader}, headerSize)
	}
	// Where the end itself is lost, that was said.
	atEnd := func(l capture.Lost) bool { return l.Offset+l.Length == size }
	if !s.closed && !slices.ContainsFunc(s.lost, atEnd) {
		s.lose(capture.Lost{Offset: size, Kind: capture.NotClosed}, size)
	}
	f.load(s)
	return f, nil
}

func emptyFile(name string, r io.ReaderAt, size int64) *File {
	return &File{
		path: name, close: func() error { return nil },
		chunks: chunkFile{r: r, size: size},
		budget: recordBudget, failed: map[int64]bool{},
	}
}

// chunkList is the list of chunks: from the index, or by reading everything if
// there is none or the file is not larger than checked.
func (f *File) chunkList(checked int64) scan {
	if f.chunks.size > checked {
		if refs, err := f.chunks.readIndex(); err == nil {
			return scan{refs: refs, closed: true, index: f.chunks.size}
		}
	}
	defer func() { f.chunks.buf = nil }()
	return f.chunks.scan()
}

// checkHeader checks what the file begins with. A damaged header is not an error if a chunk follows
// it.
func (f *File) checkHeader() (lost bool, err error) {
	b := make([]byte, min(f.chunks.size, headerSize))
	if _, err := readFull(f.chunks.r, b, 0); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	if len(b) < headerSize {
		return false, notCapture(f.path, b)
	}
	if checksum(b[:12]) != binary.LittleEndian.Uint32(b[12:]) || string(b[:8]) != magic {
		if _, err := f.chunks.header(headerSize); err != nil {
			return false, notCapture(f.path, b)
		}
		return true, nil
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != major {
		return false, &capture.VersionError{Path: f.path, Major: v, Minor: binary.LittleEndian.Uint16(b[10:]), Reads: version}
	}
	f.info.Version = fmt.Sprintf("%d.%d", binary.LittleEndian.Uint16(b[8:]), binary.LittleEndian.Uint16(b[10:]))
	return false, nil
}

// maxLostStacks bounds the IDs that are missing between two chunks of stacks, so
// that Stacks is in proportion to the file's size.
const maxLostStacks = 1 << 18

// load reads the small chunks and sorts the large ones.
func (f *File) load(s scan) {
	version := f.info.Version
	f.refs = s.refs
	for _, ref := range s.refs {
		switch ref.kind {
		case chunkEvents:
			if n := len(f.events); n > 0 && ref.first <= f.events[n-1].last {
				s.lose(capture.Lost{Offset: ref.offset, Kind: capture.OutOfOrder, Chunk: "events"}, ref.offset)
				continue
			}
			f.events = append(f.events, ref)
			f.len += ref.count
		case chunkSums:
			if n := len(f.sums); n > 0 && ref.first <= f.sums[n-1].last {
				s.lose(capture.Lost{Offset: ref.offset, Kind: capture.OutOfOrder, Chunk: "sums"}, ref.offset)
				continue
			}
			f.sums = append(f.sums, ref)
		case chunkStacks:
			if ref.first <= uint64(f.numStacks) || ref.first > uint64(f.numStacks)+maxLostStacks {
				s.lose(capture.Lost{Offset: ref.offset, Kind: capture.OutOfOrder, Chunk: "stacks"}, ref.offset)
				continue
			}
			f.stacks = append(f.stacks, ref)
			f.numStacks = int(ref.first) - 1 + ref.count
		case chunkCheckpoint:
			f.checkpoints = append(f.checkpoints, ref)
		case chunkSymbols:
			f.symbols = append(f.symbols, ref)
		case chunkSources:
			f.sources = append(f.sources, ref)
		case chunkTypes:
			f.types = append(f.types, ref)
		case chunkInfo, chunkFunctions, chunkThreads, chunkModules, chunkStops, chunkLosses, chunkMarks, chunkSamples, chunkConsole, chunkExecs:
			if err := f.records(ref, func(r *recordReader) { f.record(ref.kind, r) }); err != nil {
				s.lose(capture.Lost{Offset: ref.offset, Kind: capture.BadRecords, Chunk: ref.kind.String(), Err: err}, ref.offset)
			}
		}
	}
	slices.Sort(f.execs)
	f.info.Version = version
	f.loadTotals(s.refs)
	if f.open = len(s.lost) > 0 && !s.ended(); f.open {
		f.info.AddPartial(capture.Reason{Kind: capture.OpenEnd})
	}
	if len(s.lost) > 0 {
		f.damage = f.damageOf(s)
	}
}

// loadTotals takes the totals from the last chunk that has any: of info, or of
// events where the recorder had no time to write info.
func (f *File) loadTotals(refs []chunkRef) {
	for _, ref := range slices.Backward(refs) {
		if ref.kind == chunkInfo {
			return
		}
		if ref.kind != chunkEvents && ref.kind != chunkSums {
			continue
		}
		payload, err := f.chunks.chunk(ref)
		if err != nil {
			continue // said when the events are read
		}
		if t, ok := totalsOf(payload); ok {
			f.info.Totals = t
			return
		}
	}
}

// totalsOf are the totals in the payload of a chunk of events.
func totalsOf(payload []byte) (t capture.Totals, ok bool) {
	var head eventHead
	for len(payload) > 0 {
		s, rest, err := nextSection(payload)
		if err != nil || s.encoding != stored {
			return t, false
		}
		switch s.id {
		case secHead:
			if head, err = parseHead(s.data, maxSummed); err != nil {
				return t, false
			}
		case secTotals:
			t, err = parseTotals(s.data, head)
			return t, err == nil
		}
		payload = rest
	}
	return t, false
}

// records calls each for the records of a chunk. It stops where they become
// invalid.
func (f *File) records(ref chunkRef, each func(*recordReader)) error {
	s, err := f.chunks.sections(ref)
	if err != nil {
		return err
	}
	if !f.spend(recordCost * (len(s[secStrings]) + len(s[secRecords]))) {
		return fmt.Errorf("more than %d MiB would be needed", recordBudget>>20)
	}
	r, err := newRecordReader(s)
	if err != nil {
		return err
	}
	for r.next() {
		each(r)
	}
	return r.err()
}

func (f *File) spend(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.budget {
		return false
	}
	f.budget -= n
	return true
}

// damageOf sums up a scan.
func (f *File) damageOf(s scan) *capture.DamageError {
	d := &capture.DamageError{Path: f.path, Size: f.chunks.size, Lost: s.lost, More: s.more, Open: f.open}
	if f.open {
		d.Missing = max(s.cut, f.missing(s.lost))
	}
	if n := f.info.Totals.Events; n > uint64(f.len) && !f.info.Aggregate {
		d.Missing = max(d.Missing, n-uint64(f.len))
	}
	f.summarize(d)
	return d
}

// summarize fills in what can be read.
func (f *File) summarize(d *capture.DamageError) {
	d.Events, d.First, d.Last = f.len, 0, 0
	if n := len(f.events); n > 0 {
		d.First, d.Last = f.events[0].first, f.events[n-1].last
	}
}

// file is f, for what else a Source of a file is.
func (f *File) file() *File { return f }

// summed are the chunks that have summaries.
func (f *File) summed() []chunkRef {
	if len(f.events) == 0 {
		return f.sums
	}
	return f.events
}

// missing counts the sequence numbers between chunks of events that have a loss
// between them.
func (f *File) missing(lost []capture.Lost) (n uint64) {
	last, offset := uint64(0), int64(0)
	for _, ref := range f.events {
		if slices.ContainsFunc(lost, func(l capture.Lost) bool { return offset <= l.Offset && l.Offset < ref.offset }) {
			n += ref.first - last - 1
		}
		last, offset = ref.last, ref.offset
	}
	return n
}

// fail notes that a chunk which looked whole could not be read.
func (f *File) fail(ref chunkRef, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed[ref.offset] {
		return
	}
	f.failed[ref.offset] = true
	var d capture.DamageError
	if f.damage != nil {
		d = *f.damage // the old one may be in a caller's hands
	} else {
		d = capture.DamageError{Path: f.path, Size: f.chunks.size}
		f.summarize(&d)
	}
	if ref.kind == chunkEvents {
		d.Events -= ref.count
		d.Missing += uint64(ref.count)
	}
	d.Lost = append(slices.Clip(d.Lost), capture.Lost{Offset: ref.offset, Kind: capture.BadRecords, Chunk: ref.kind.String(), Err: err})
	f.damage = &d
}

// Close releases the file. What was returned stays valid.
func (f *File) Close() error { return f.close() }

// Last is the number of the last event, 0 if there is none.
func (f *File) Last() uint64 {
	if n := len(f.events); n > 0 {
		return f.events[n-1].last
	}
	return 0
}

// HasSummaries reports whether the file has summaries of any events.
func (f *File) HasSummaries() bool { return len(f.summed()) > 0 }

// EndMissing reports whether the file was not closed or lost its end: it is not known how many
// events are missing there.
func (f *File) EndMissing() bool { return f.open }

// Stat is what the file was when it was opened, nil of one that was not opened by its path.
func (f *File) Stat() fs.FileInfo { return f.stat }

// Path is the name that the file was opened by.
func (f *File) Path() string { return f.path }

// Span are the numbers and times of the first and last event, 0 if there are none.
func (f *File) Span() (first, last uint64, from, to time.Duration) {
	if len(f.events) == 0 {
		return 0, 0, 0, 0
	}
	a, b := &f.events[0], &f.events[len(f.events)-1]
	return a.first, b.last, time.Duration(a.start) * capture.Resolution, time.Duration(b.end) * capture.Resolution
}

// Len is the number of events in the file.
func (f *File) Len() int { return f.len }

// Events yields the events from #from on.
func (f *File) Events(from uint64) iter.Seq[capture.Event] {
	return func(yield func(capture.Event) bool) {
		first := sort.Search(len(f.events), func(i int) bool { return f.events[i].last >= from })
		load := func(i int) ([]byte, error) { return f.chunks.chunk(f.events[i]) }
		fail := func(i int, err error) { f.fail(f.events[i], err) }
		f.reader.each(first, len(f.events), from, load, fail, yield)
	}
}

// Event finds the event #seq.
func (f *File) Event(seq uint64) (capture.Event, bool) {
	for e := range f.Events(seq) {
		return e, e.Seq == seq
	}
	return capture.Event{}, false
}

// keptStacks are decoded chunks of stacks that are kept, 1 MiB or so each.
const keptStacks = 16

// Stack is the stack with that ID. One that is not there says so in Truncated.
func (f *File) Stack(id capture.StackID) capture.Stack {
	i := sort.Search(len(f.stacks), func(i int) bool { return f.stacks[i].first > uint64(id) }) - 1
	if i < 0 || uint64(id) >= f.stacks[i].first+uint64(f.stacks[i].count) {
		return capture.MissingStack(id)
	}
	stacks, err := f.stackCache.get(i, keptStacks, func() ([]capture.Stack, error) {
		s, err := f.chunks.sections(f.stacks[i])
		if err != nil {
			return nil, err
		}
		return decodeStacks(s)
	})
	if err != nil {
		f.fail(f.stacks[i], err)
		return capture.MissingStack(id)
	}
	return stacks[uint64(id)-f.stacks[i].first]
}

// Stacks is the highest ID of a stack.
func (f *File) Stacks() int { return f.numStacks }

// Symbol is the kept function chain of a code address.
func (f *File) Symbol(pc addr.Run, isReturn bool, seq uint64) ([]capture.Frame, bool) {
	f.embedded.Do(f.loadEmbedded)
	frames, ok := f.frames[symbolKey{pc, moduleAt(f.modules, pc, seq), isReturn}]
	return frames, ok
}

// SourceLines are the kept lines of a source file.
func (f *File) SourceLines(file string) []capture.Excerpt {
	f.embedded.Do(f.loadEmbedded)
	return slices.Clip(f.excerpts[file])
}

// SourceFiles names the files of which lines are kept, sorted.
func (f *File) SourceFiles() []string {
	f.embedded.Do(f.loadEmbedded)
	names := make([]string, 0, len(f.excerpts))
	for name := range f.excerpts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Damage is nil, or a *DamageError with what is known to be lost. Of a file
// larger than 64 MiB more may be found while it is read; Check finds all.
func (f *File) Damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage == nil {
		return nil
	}
	return f.damage
}

// Check decodes everything and returns Damage.
func (f *File) Check() error {
	for range f.Events(0) {
	}
	for _, ref := range f.stacks {
		f.Stack(capture.StackID(ref.first))
	}
	f.embedded.Do(f.loadEmbedded)
	return f.Damage()
}
