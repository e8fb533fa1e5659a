package regions

import (
	"io"

	"hdb/internal/addr"
)

// PageSize is the size of a page in bytes.
const PageSize = 4096

// A Source is what is known of an address space. All but Mappings may be missing.
type Source struct {
	Mappings []Mapping
	Modules  []Module
	Threads  []Thread
	TLS      []TLSBlock
	Arenas   []Range // memory of allocators; Label says which arena
	Owned    []Range // memory of an allocator that is not walked, of which there may be more
	Internal []Range // what allocators keep for themselves elsewhere: main_arena in libc's data
	Runtimes []Range // memory of language runtimes
	Own      []Range // what hdb has put there

	PID     int         // the thread ID of the main thread
	Memory  io.ReaderAt // of the process, for struct pthread
	Pthread Pthread     // what the C library says of it
	Pages   Pages       // nil: not known
}

// A Mapping is a line of /proc/PID/maps with the numbers of smaps, proc(5).
type Mapping struct {
	Start, End addr.Run
	Perm       string // "rw-p"
	Offset     uint64 // into the file, bytes
	Inode      uint64 // 0 for anonymous memory
	Path       string // the kernel's name in brackets, "" for none
	Usage
	Known bool // Usage was given
}

// A Module is an ELF file that is mapped.
type Module struct {
	Name      string // as the process knows it
	Low, High addr.Run
	Segments  []Segment // PT_LOAD, ascending; none: the permissions of the mappings decide
}

// A Segment is where a PT_LOAD of a module lies.
type Segment struct {
	Start, End addr.Run
	FileEnd    addr.Run // where its bytes of the file end, and BSS begins
	Write      bool
}

// A Thread is a living thread.
type Thread struct {
	TID int
	// Stacks are the stack pointers of the thread: the one in its register first, then those
	// of what signals interrupted on another stack. None: not known.
	Stacks      []addr.Run
	FS          addr.Run // the thread pointer, 0 not set or not known
	SignalStack Range    // sigaltstack(2); empty: none, or not known
}

// A TLSBlock is the copy that a thread has of a module's thread-local variables.
type TLSBlock struct {
	TID        int
	Module     string
	Start, End addr.Run
	Static     bool // it is below the thread pointer; otherwise it is a block of the allocator
}

// A Range is memory that a claimant says is theirs.
type Range struct {
	Start, End addr.Run
	Label      string
}

// Pthread is what glibc exports of its struct pthread for libthread_db (_thread_db_*), and
// where its lists of stacks are. Zero is not known.
type Pthread struct {
	Size  uint64   // sizeof(struct pthread)
	List  uint64   // where in it the list node is
	TID   uint64   // where in it the thread ID is
	Used  addr.Run // the head of the list of stacks that the library made, of living and unjoined threads
	User  addr.Run // of the list of stacks that the program gave
	Cache addr.Run // of the list of stacks that wait for the next thread
}

// Pages calls yield for runs of pages that have bytes of [start, end) and are in memory or swapped
// out, ascending.
type Pages func(start, end addr.Run, yield func(PageRun)) error

// A PageRun is a run of pages in the same state. The kernel's page of zeros, which reads of
// untouched memory map, is not resident: no RSS counts it.
type PageRun struct {
	Start, End addr.Run
	Resident   bool // otherwise swapped out
	Changed    bool // anonymous: not, or no longer, the page of a file
}
