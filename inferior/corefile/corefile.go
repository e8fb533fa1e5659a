// Package corefile reads and writes core files: what is left of a process that was
// killed, or a picture of one that lives, in the form of core(5) as Linux makes it for
// x86-64 (fs/binfmt_elf.c).
//
// A core is an ELF file of type ET_CORE. Its notes describe the process and its threads, each
// PT_LOAD segment of a mapping. The kernel leaves out what is in files: of code there is often only
// the first page. File.ReadAt fills that in from the files, which NT_FILE names, as long as they
// are the ones that were mapped.
//
// A core is foreign input. All counts and lengths are held against the size of the file
// and against bounds, addresses that overlap or wrap are cut, and nothing is believed
// that would make a read wrong rather than fail.
//
// A File may be used by several goroutines at a time.
package corefile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"hdb/internal/addr"
	"hdb/internal/regular"
)

// ErrFormat is in the chain of errors about files that are no core files.
var ErrFormat = errors.New("not a core file")

// A File is an open core file.
type File struct {
	Process Process
	Threads []Thread // the one that died first
	// AuxVector is what the kernel gave the program when it began, and Auxv the same by type.
	AuxVector []AuxEntry
	Auxv      map[uint64]uint64
	// Missing is how many bytes the file lacks at its end: a core is cut where the disk
	// is full or the limit of ulimit -c is reached.
	Missing uint64
	// Damage is why some of the notes could not be read, nil if all could.
	Damage error
	// Report takes one line about each file whose memory cannot be read. It is set
	// before the first read, and called on the goroutine that reads.
	Report func(line string)

	path     string
	r        io.ReaderAt
	size     uint64
	modified time.Time   // when the core was written
	stat     fs.FileInfo // of the file, nil if it was not opened by its path
	close    func() error
	segments []segment // ascending, not overlapping
	files    []fileRange

	anonymous bool // memory that no file has is in the core

	mu     sync.Mutex
	backed map[string]*backing // by name
}

// An AuxEntry is an entry of the auxiliary vector: an AT_ constant (getauxval(3)) with its value.
type AuxEntry struct{ Type, Value uint64 }

// ParseAuxv reads an auxiliary vector as the kernel gives it, without its end.
func ParseAuxv(b []byte) (all []AuxEntry) {
	for le := binary.LittleEndian; len(b) >= 16 && le.Uint64(b) != 0; b = b[16:] {
		all = append(all, AuxEntry{le.Uint64(b), le.Uint64(b[8:])})
	}
	return all
}

// Keys of the auxiliary vector (getauxval(3)).
const (
	AtBase  = 7 // where the dynamic linker is
	AtEntry = 9 // the program's entry point
)

// A Process is what NT_PRPSINFO and NT_PRSTATUS say of the process.
type Process struct {
	PID     int
	UID     int // real user and group IDs
	GID     int
	Command string // the name of the thread that died, at most 15 bytes
	Args    string // the command line, its arguments parted by blanks; at most 80 bytes
	Signal  int    // that ended the process, 0 none: the core is of one that continued
}

// A Thread is one of the process.
type Thread struct {
	TID     int
	Signal  int    // the current one, 0 none
	Regs    []byte // struct user_regs_struct
	FP      []byte // struct user_fpregs_struct: x87 and SSE; nil without
	Xstate  []byte // the XSAVE area; nil without
	Siginfo []byte // siginfo_t of the signal, nil without
	Blocked uint64 // signals
	Pending uint64
}

// A segment is a mapping, by its PT_LOAD.
type segment struct {
	low, high addr.Run
	off       uint64 // in the core,
	stored    uint64 // bytes there; less than high-low if some were left out
	flags     elf.ProgFlag
}

// A fileRange is a part of a file that was mapped.
type fileRange struct {
	low, high addr.Run
	off       uint64
	name      string
}

// Bounds of what is taken from a core.
const (
	maxSegments = 1 << 20
	maxNotes    = 256 << 20 // bytes
	maxThreads  = 1 << 17
	maxFiles    = 1 << 20
	pageSize    = 4096
)

// Open opens the core file at path.
func Open(path string) (*File, error) {
	file, st, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := Read(file, st.Size())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.path, f.stat, f.modified, f.close = path, st, st.ModTime(), file.Close
	return f, nil
}

// Is reports whether the file at path begins as a core file does.
func Is(path string) bool {
	file, _, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var h [64]byte
	n, _ := file.ReadAt(h[:], 0)
	return n == len(h) && checkHeader(h[:]) == nil
}

// Read reads a core of that many bytes.
func Read(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: uint64(max(size, 0)), Auxv: map[uint64]uint64{}, backed: map[string]*backing{}, modified: time.Now()}
	headers, err := f.programHeaders()
	if err != nil {
		return nil, err
	}
	var notes uint64
	for _, h := range headers {
		if h.Type == elf.PT_NOTE && h.Filesz > 0 {
			if notes += h.Filesz; notes > maxNotes {
				f.damaged(fmt.Errorf("notes of %d bytes: more than %d", notes, maxNotes))
				break
			}
			f.readNotes(h)
		}
	}
	f.addSegments(headers)
	if len(f.Threads) == 0 {
		if f.Damage != nil {
			return nil, fmt.Errorf("%w: no thread: %w", ErrFormat, f.Damage)
		}
		return nil, fmt.Errorf("%w: no thread in its notes", ErrFormat)
	}
	f.Process.Signal = f.Threads[0].Signal
	if f.Process.PID == 0 {
		f.Process.PID = f.Threads[0].TID
	}
	f.anonymous = f.holdsAnonymous()
	return f, nil
}

// Stat is what the file was when it was opened, nil of a core that was not opened by its path.
func (f *File) Stat() fs.FileInfo { return f.stat }

// Path is where the core lies.
func (f *File) Path() string { return f.path }

// Close closes it and the files that memory was read from.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, b := range f.backed {
		if b.file != nil {
			errs = append(errs, b.file.Close())
		}
	}
	f.backed = map[string]*backing{}
	if f.close != nil {
		errs = append(errs, f.close())
		f.close = nil
	}
	return errors.Join(errs...)
}

func (f *File) damaged(err error) {
	if f.Damage == nil {
		f.Damage = err
	}
}

// checkHeader reports whether this package reads the core with this ELF header.
func checkHeader(h []byte) error {
	le := binary.LittleEndian
	switch {
	case string(h[:4]) != elf.ELFMAG:
		return ErrFormat
	case elf.Class(h[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(h[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return fmt.Errorf("%w of x86-64: %v, %v", ErrFormat, elf.Class(h[elf.EI_CLASS]), elf.Data(h[elf.EI_DATA]))
	case elf.Type(le.Uint16(h[16:])) != elf.ET_CORE:
		return fmt.Errorf("%w, but %v", ErrFormat, elf.Type(le.Uint16(h[16:])))
	case elf.Machine(le.Uint16(h[18:])) != elf.EM_X86_64:
		return fmt.Errorf("%w of x86-64, but of %v", ErrFormat, elf.Machine(le.Uint16(h[18:])))
	}
	return nil
}

// programHeaders reads the header and the table of segments.
func (f *File) programHeaders() ([]elf.ProgHeader, error) {
	var h [64]byte
	if _, err := f.r.ReadAt(h[:], 0); err != nil {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, f.size)
	}
	if err := checkHeader(h[:]); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	off, shoff := le.Uint64(h[32:]), le.Uint64(h[40:])
	entry, count := uint64(le.Uint16(h[54:])), uint64(le.Uint16(h[56:]))
	const manySegments = 0xffff // PN_XNUM: the number is sh_info of the first section header
	if count == manySegments {
		var s [64]byte
		if _, err := f.r.ReadAt(s[:], int64(min(shoff, 1<<62))); err != nil {
			return nil, fmt.Errorf("%w: section header at %#x: %w", ErrFormat, shoff, err)
		}
		count = uint64(le.Uint32(s[44:]))
	}
	if entry < 56 || count > maxSegments || off > f.size || count*entry > f.size-off {
		return nil, fmt.Errorf("%w: %d program headers of %d bytes at %#x, in a file of %d", ErrFormat, count, entry, off, f.size)
	}
	table := make([]byte, entry*count)
	if _, err := f.r.ReadAt(table, int64(off)); err != nil {
		return nil, fmt.Errorf("program headers: %w", err)
	}
	headers := make([]elf.ProgHeader, 0, count)
	for ; len(table) > 0; table = table[entry:] {
		headers = append(headers, elf.ProgHeader{Type: elf.ProgType(le.Uint32(table)), Flags: elf.ProgFlag(le.Uint32(table[4:])), Off: le.Uint64(table[8:]),
			Vaddr: le.Uint64(table[16:]), Filesz: le.Uint64(table[32:]), Memsz: le.Uint64(table[40:])})
	}
	return headers, nil
}

// addSegments takes up the mappings. Of two at the same address the first one counts.
func (f *File) addSegments(headers []elf.ProgHeader) {
	for _, h := range headers {
		if h.Type != elf.PT_LOAD || h.Memsz == 0 || h.Vaddr+h.Memsz < h.Vaddr {
			continue
		}
		if end := h.Off + h.Filesz; h.Filesz > 0 && (end < h.Off || end > f.size) {
			f.Missing = max(f.Missing, end-f.size)
		}
		f.segments = append(f.segments, segment{low: addr.Run(h.Vaddr), high: addr.Run(h.Vaddr + h.Memsz),
			off: h.Off, stored: min(h.Filesz, h.Memsz), flags: h.Flags})
	}
	slices.SortStableFunc(f.segments, func(a, b segment) int { return cmp.Compare(a.low, b.low) })
	var end addr.Run
	f.segments = slices.DeleteFunc(f.segments, func(s segment) bool {
		if s.low < end {
			return true
		}
		end = s.high
		return false
	})
}

// holdsAnonymous reports whether the memory of the threads' stacks is in the core: else
// coredump_filter has left out what programs write, private pages of files with it.
func (f *File) holdsAnonymous() bool {
	for _, t := range f.Threads {
		if s := f.segmentAt(addr.Run(t.sp())); s != nil && s.stored > 0 {
			return true
		}
	}
	return false
}

// sp is the stack pointer of a thread.
func (t *Thread) sp() uint64 { return binary.LittleEndian.Uint64(t.Regs[19*8:]) }

func (f *File) segmentAt(a addr.Run) *segment {
	i, ok := slices.BinarySearchFunc(f.segments, a, func(s segment, a addr.Run) int { return addr.Compare(s.low, s.high, a) })
	if !ok {
		return nil
	}
	return &f.segments[i]
}

func (f *File) fileAt(a addr.Run) *fileRange {
	i, ok := slices.BinarySearchFunc(f.files, a, func(s fileRange, a addr.Run) int { return addr.Compare(s.low, s.high, a) })
	if !ok {
		return nil
	}
	return &f.files[i]
}

// ReadAt reads the memory of the process. It is io.ReaderAt over the address space: n
// bytes were read before an error.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = f.readPart(b[n:], addr.Run(off)+addr.Run(n))
		n += k
	}
	return n, err
}

// readPart reads from the beginning of b up to where one source ends.
func (f *File) readPart(b []byte, a addr.Run) (int, error) {
	s := f.segmentAt(a)
	file := f.fileAt(a)
	switch {
	case s == nil && file == nil:
		return 0, fmt.Errorf("read memory at %v: not mapped", a)
	case s == nil:
		b = b[:min(uint64(len(b)), uint64(file.high-a), f.untilSegment(a))]
		return f.readFile(b, a, file)
	case uint64(a-s.low) < s.stored:
		b = b[:min(uint64(len(b)), s.stored-uint64(a-s.low))]
		return f.readStored(b, a, s)
	}
	b = b[:min(uint64(len(b)), uint64(s.high-a))]
	switch {
	case file != nil:
		b = b[:min(uint64(len(b)), uint64(file.high-a))]
		if !f.unchanged(s, file) {
			return 0, fmt.Errorf("read memory at %v: left out of the core, and %s may have been changed in memory", a, file.name)
		}
		return f.readFile(b, a, file)
	case s.stored == 0:
		return 0, fmt.Errorf("read memory at %v: left out of the core", a)
	}
	b = b[:min(uint64(len(b)), f.untilFile(a))]
	clear(b) // gABI, chapter 5: the rest of a segment holds zeros
	return len(b), nil
}

// unchanged reports whether the pages of a segment that are not in the core are the same as in the
// file. The kernel stores private pages that were written with the anonymous ones: if it stores
// none, only code and headers are sure.
func (f *File) unchanged(s *segment, file *fileRange) bool {
	return f.anonymous || s.flags&elf.PF_W == 0 && (s.flags&elf.PF_X != 0 || file.off == 0)
}

func (f *File) readStored(b []byte, a addr.Run, s *segment) (int, error) {
	off := s.off + uint64(a-s.low)
	if off >= f.size || off < s.off {
		return 0, fmt.Errorf("read memory at %v: the core is cut off: %d bytes are missing", a, f.Missing)
	}
	b = b[:min(uint64(len(b)), f.size-off)]
	n, err := f.r.ReadAt(b, int64(off))
	if n == len(b) {
		return n, nil
	}
	return n, fmt.Errorf("read memory at %v: core: %w", a+addr.Run(n), cmp.Or(err, io.ErrUnexpectedEOF))
}

// untilSegment is how far it is to the next segment, and untilFile to the next file.
func (f *File) untilSegment(a addr.Run) uint64 {
	i, _ := slices.BinarySearchFunc(f.segments, a, func(s segment, a addr.Run) int { return cmp.Compare(s.low, a) })
	if i == len(f.segments) {
		return 1 << 62
	}
	return uint64(f.segments[i].low - a)
}

func (f *File) untilFile(a addr.Run) uint64 {
	i, _ := slices.BinarySearchFunc(f.files, a, func(s fileRange, a addr.Run) int { return cmp.Compare(s.low, a) })
	if i == len(f.files) {
		return 1 << 62
	}
	return uint64(f.files[i].low - a)
}
