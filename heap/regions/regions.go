// Package regions divides the address space of a process: every mapped byte has one
// owner, which is code or data of a module, a stack, thread-local storage, an allocator,
// a mapping that the program made, the kernel, or hdb.
//
// It knows no process. A Source tells what the kernel, the modules, the threads and the
// allocators say; where they contradict each other, the order of the kinds of claims
// decides (divide.go) and Space.Notes tells.
package regions

import (
	"slices"

	"hdb/internal/addr"
)

// A Kind says what the bytes of a region are for.
type Kind uint8

const (
	Unknown     Kind = iota // mapped, and nothing tells what for
	Code                    // of a module, executable
	ReadOnly                // of a module: constants, tables, and what is read-only once it is relocated (RELRO)
	Data                    // of a module, writable, with initial bytes in the file
	BSS                     // of a module, writable, zero at first
	TLS                     // static thread-local storage of a thread and its struct pthread
	Stack                   // the used part of a stack: from the red zone below the stack pointer to its end
	StackUnused             // of a stack, below that
	StackGuard              // the pages below a stack that may not be touched
	StackEnded              // of a thread that has ended: the C library keeps it for the next one
	SignalStack             // an alternate signal stack (sigaltstack(2))
	Heap                    // memory that an allocator cuts blocks from
	Runtime                 // memory of a language runtime: arenas of pymalloc, code made at run time
	Anonymous               // a private mapping of the program without a file
	File                    // a mapped file that is no module
	Shared                  // shared memory: anonymous, System V, memfd, /dev/shm
	Reserved                // address space without access (PROT_NONE) that is no guard of a stack
	Kernel                  // vdso, vvar, vsyscall
	Debugger                // what hdb has put into the process
	kinds
)

var kindNames = [kinds]string{"unknown", "code", "rodata", "data", "bss", "tls", "stack", "stack-unused", "guard", "stack-ended",
	"signal-stack", "heap", "runtime", "anonymous", "file", "shared", "reserved", "kernel", "hdb"}

// String is the word for the kind that commands print and take.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// ParseKind is the kind that String has the word for.
func ParseKind(word string) (Kind, bool) {
	i := slices.Index(kindNames[:], word)
	return Kind(max(i, 0)), i >= 0
}

// KindNames are the words for all kinds.
func KindNames() []string { return slices.Clone(kindNames[:]) }

// Usage is how much of some memory takes room, in bytes.
type Usage struct {
	Resident uint64 // in memory: its part of the process's RSS
	Dirty    uint64 // resident and changed since it was read from its file; of anonymous memory, all that was written
	Swap     uint64 // swapped out
}

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Resident + v.Resident, u.Dirty + v.Dirty, u.Swap + v.Swap}
}

// A Region is a range of the address space with one owner.
type Region struct {
	Start, End addr.Run // [Start, End), mapped
	Kind       Kind
	Perm       string // of the mapping, "rw-p"
	Module     string // the name of the module's file as the process knows it, of Code to BSS
	TID        int    // the thread of TLS and the stacks, or that runs on other memory; 0: none that lives
	Path       string // of the mapped file, or the kernel's name in brackets, "" for none
	Offset     uint64 // of Start in the file, bytes
	Relocated  bool   // of ReadOnly: it was writable until it was relocated (RELRO)
	Label      string // what the kind does not say: "main arena", "probe ring", ...

	Usage
	Known bool // Usage was given
	Guess bool // the mapping's Usage is known, how much of it this region has is not
}

// Size is the length in bytes.
func (r *Region) Size() uint64 { return uint64(r.End - r.Start) }

// Contains reports whether a is in the region.
func (r *Region) Contains(a addr.Run) bool { return r.Start <= a && a < r.End }

// Root reports whether a search for reachable blocks begins in the region: the program can reach
// what its pointers point to without going through a block.
func (r *Region) Root() bool {
	switch r.Kind {
	case Runtime, Anonymous, Shared, Unknown: // also what was protected once it was filled
		return true
	case Data, BSS, TLS, Stack, SignalStack:
	case File: // a private one that was written, or a shared one: both may hold pointers
	case ReadOnly: // in static programs the C library keeps pointers to blocks in what it protects then
		return r.Relocated
	default:
		return false
	}
	return len(r.Perm) > 1 && r.Perm[0] == 'r' && r.Perm[1] == 'w'
}

// maxProtected bounds a region without access that is asked for its pages: without PAGEMAP_SCAN the kernel writes 8 bytes for each.
const maxProtected = 1 << 30

// Protected reports whether the program may have filled the region and taken the access away: what it wrote is still there. Most
// such regions have no page.
func (r *Region) Protected() bool {
	return r.Kind == Reserved && r.Module == "" && r.TID == 0 && r.Path == "" && r.Label == "" && r.Size() <= maxProtected
}

// A Space is an address space that was divided.
type Space struct {
	Regions []Region   // ascending, without overlap
	TLS     []TLSBlock // those of the Source, ascending: blocks of libraries are in the allocator's memory
	Notes   []string   // where what the Source told contradicts itself
}

// find is the index of the first region that ends above a.
func (s *Space) find(a addr.Run) int {
	i, _ := slices.BinarySearchFunc(s.Regions, a, func(r Region, a addr.Run) int {
		if r.End <= a {
			return -1
		}
		return 1
	})
	return i
}

// At is the region of an address, nil where nothing is mapped.
func (s *Space) At(a addr.Run) *Region {
	if i := s.find(a); i < len(s.Regions) && s.Regions[i].Contains(a) {
		return &s.Regions[i]
	}
	return nil
}

// Around are the regions that end at or below an address that is not mapped, and that
// begin above it; nil for none.
func (s *Space) Around(a addr.Run) (below, above *Region) {
	i := s.find(a)
	if i > 0 {
		below = &s.Regions[i-1]
	}
	if i < len(s.Regions) {
		above = &s.Regions[i]
	}
	return below, above
}

// TLSAt is the block of thread-local variables that has an address.
func (s *Space) TLSAt(a addr.Run) (TLSBlock, bool) {
	i, _ := slices.BinarySearchFunc(s.TLS, a, func(b TLSBlock, a addr.Run) int { return addr.Compare(b.Start, b.End, a) })
	if i < len(s.TLS) && s.TLS[i].Start <= a && a < s.TLS[i].End {
		return s.TLS[i], true
	}
	return TLSBlock{}, false
}

// Total is the sum of the regions' Usage. Not known is how many bytes of address space
// have none.
func (s *Space) Total() (u Usage, notKnown uint64) {
	for i := range s.Regions {
		r := &s.Regions[i]
		u = u.Plus(r.Usage)
		if !r.Known {
			notKnown += r.Size()
		}
	}
	return u, notKnown
}
