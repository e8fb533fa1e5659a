package probe

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"hdb/internal/procfs"
)

// The memory file: what hdb and the inferior share, in this order. The
// inferior may write the first part and the ring, and read the second.
const (
	fileHeader   = 0
	fileStacks   = fileHeader + headerSize
	fileCaches   = fileStacks + 8<<stackBits
	fileMemos    = fileCaches + numCaches*cacheSize
	fileVerdicts = fileMemos + numMemos*memoSize
	fileSlots    = fileVerdicts + 1<<stackBits
	fileMarks    = fileSlots + numSlots*slotSize
	filePairs    = fileMarks + marksSize
	fileSeen     = filePairs + 8<<pairBits
	fileCodes    = fileSeen + 8<<seenBits
	fileFrees    = fileCodes + 8<<codeBits
	fileRules    = fileFrees + 4<<freeBits // from here on read-only
	fileTypes    = fileRules + 8<<16
	fileMods     = fileTypes + goTypeEntry<<goTypeBits
	fileTables   = fileMods + numMods*modsSize
	fileRing     = fileTables + tablesSize
	fileSize     = fileRing + largeRing

	cacheSize = 8 << cacheBits
	memoSize  = memoEntry << memoBits
	// Threads may still walk with what was true before a library was unloaded:
	// what they keep goes to a cache that is not used again soon.
	numCaches  = 4
	numMemos   = 2
	numMods    = 4
	maxModules = 1024
	modsSize   = maxModules * modSize
	tablesSize = 64 << 20
	// Room for 130,000 events: a hundredth of a second of the fastest programs.
	// More of it would have to be faulted in, and would not stay in caches.
	ringSize = 4 << 20
	// A Go runtime's threads do not wait for room: this is that for 1.4 million events, as
	// many as it makes while hdb is without a processor for a tenth of a second.
	largeRing = 64 << 20
)

// shared is the memory file, mapped in hdb.
type shared struct {
	memfd *os.File
	file  []byte // all but the ring
	ring  []byte // twice in a row
	size  uint64 // of the ring, bytes: ringSize or largeRing
}

// memfdFlags are those of memfd_create for the memory file.
const memfdFlags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING

// mapShared maps the memory file that the inferior has open as fd, with a ring of size bytes.
func mapShared(pid, fd int, size uint64) (*shared, error) {
	f, err := os.OpenFile(procfs.Path(pid, fmt.Sprintf("fd/%d", fd)), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("the probe's memory: %w", err)
	}
	s := &shared{memfd: f, size: size}
	if err := setSize(f); err != nil {
		s.close()
		return nil, err
	}
	const rw = unix.PROT_READ | unix.PROT_WRITE
	if s.file, err = unix.Mmap(int(f.Fd()), 0, fileRing, rw, unix.MAP_SHARED); err != nil {
		s.close()
		return nil, fmt.Errorf("map the probe's memory: %w", err)
	}
	// The two halves of the reservation become the ring, and the ring again.
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(2*size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	for half := uint64(0); err == nil && half < 2; half++ {
		_, err = unix.MmapPtr(int(f.Fd()), fileRing, unsafe.Add(base, half*size), uintptr(size), rw, unix.MAP_SHARED|unix.MAP_FIXED)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("map the probe's ring: %w", err)
	}
	s.ring = unsafe.Slice((*byte)(base), 2*size)
	return s, nil
}

// setSize gives a new memory file its size, for good: the inferior has it mapped, and can
// open it, and one that became shorter would end it and hdb, too, by SIGBUS.
func setSize(f *os.File) error {
	if st, err := f.Stat(); err != nil || st.Size() != 0 {
		return err
	}
	if err := f.Truncate(fileSize); err != nil {
		return fmt.Errorf("the probe's memory: %w", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("seal the probe's memory: %w", err)
	}
	return nil
}

func (s *shared) close() {
	if s.file != nil {
		_ = unix.Munmap(s.file) // it was mapped by Mmap and once
	}
	if s.ring != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(&s.ring[0]), uintptr(2*s.size))
	}
	s.memfd.Close()
	s.file, s.ring = nil, nil
}

// empty makes whole pages of the file zeros, by returning them to the kernel: what is not touched
// again has no pages, in hdb and in the inferior.
func (s *shared) empty(from, size int) {
	part := s.file[from : from+size]
	if unix.Madvise(part, unix.MADV_REMOVE) != nil {
		clear(part)
	}
}

// giveBack leaves as little memory as can be to a process that continues: the ring, and what the
// core only remembers. A walk that is still in progress needs the rest, and takes the zeros for
// nothing remembered.
func (s *shared) giveBack() {
	s.empty(fileStacks, fileVerdicts-fileStacks)
	s.empty(fileMarks, fileRules-fileMarks)
	_ = unix.Madvise(s.ring[:s.size], unix.MADV_REMOVE) // else it stays as it is
}

// slot is the i-th slot.
func (s *shared) slot(i int) []byte {
	return s.file[fileSlots+i*slotSize : fileSlots+(i+1)*slotSize]
}

// slots yields all that a thread may have, by index, and what else is in the same pages: to read a
// page that was never written makes it.
func (s *shared) slots() iter.Seq2[int, []byte] {
	const end = fileSlots + numSlots*slotSize
	return func(yield func(int, []byte) bool) {
		for at := int64(fileSlots); at < end; {
			from, err := s.memfd.Seek(at, unix.SEEK_DATA)
			if errors.Is(err, unix.ENXIO) || errors.Is(err, os.ErrClosed) {
				return
			}
			if err == nil {
				at, err = s.memfd.Seek(from, unix.SEEK_HOLE)
			}
			if err != nil {
				from, at = at, end
			}
			for i := max(from-fileSlots, 0) / slotSize; i < (min(at, end)-fileSlots)/slotSize; i++ {
				if !yield(int(i), s.slot(int(i))) {
					return
				}
			}
		}
	}
}

// word and half are counters and futexes of the header.
func (s *shared) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&s.file[fileHeader+at]))
}

func (s *shared) half(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&s.file[fileHeader+at]))
}

// record is the word of the ring at a position.
func (s *shared) record(position uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&s.ring[position&(s.size-1)]))
}

// A record is one of the ring, except those of stacks and padding: of a short one the last words
// are the next one's.
type record [longRecord / 8]uint64

// at is the record at a position of the ring, of which the first word reports whether it is
// complete. It is never beyond the second half of what is mapped.
func (s *shared) at(position uint64) *record {
	return (*record)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.ring)), position&(s.size-1)))
}

// head is the first word of the record.
func (r *record) head() uint64 { return atomic.LoadUint64(&r[0]) }

// words are n words of the ring behind a position. They may only be read once
// the record is complete.
func (s *shared) words(position uint64, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&s.ring[position&(s.size-1)])), n)
}

// futexWait sleeps while the word has the value, at most for the time. That it
// woke early or was not asleep at all makes no difference to the callers.
func futexWait(word *atomic.Uint32, value uint32, nanos int64) {
	ts := unix.NsecToTimespec(nanos)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), 0, uintptr(value), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// futexNap is futexWait without telling Go's scheduler. Whoever sleeps often and
// not long has its monitor run all the time otherwise, which looks for sleepers to
// take their processor (P) from every 20 us: a twentieth of what a recording costs.
// The goroutine keeps its P, so there should be others. What the runtime wants of it
// it says by a signal, which ends the nap.
func futexNap(word *atomic.Uint32, value uint32, nanos int64) {
	if runtime.GOMAXPROCS(0) < napFrom {
		futexWait(word, value, nanos)
		return
	}
	ts := unix.NsecToTimespec(nanos)
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), 0, uintptr(value), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// napFrom is how many Ps there have to be: one for the owner of the process, one for the writer of
// the recording, and one for the sleeper.
const napFrom = 3

func futexWake(word *atomic.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), 1, 1<<30, 0, 0, 0)
}
