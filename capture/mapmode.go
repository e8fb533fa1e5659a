package capture

import "strings"

// A MapMode is what the Aux of an event of mmap or mprotect says of the pages: the protection,
// PROT_READ and so on, in the low byte, and above it the flags of mmap, MAP_SHARED and so on. mmap
// always has flags: without any it was recorded by a version that did not keep them. The Aux of mremap
// is the old size. sbrk and brk have none.
type MapMode uint64

// Bits of a MapMode, from asm-generic/mman-common.h and linux/mman.h.
const (
	ProtRead  MapMode = 1
	ProtWrite MapMode = 2
	ProtExec  MapMode = 4

	MapShared    MapMode = 1 << 8
	MapPrivate   MapMode = 2 << 8
	MapAnonymous MapMode = 0x20 << 8
	MapHugeTLB   MapMode = 0x40000 << 8

	protMask     MapMode = 0xff
	hugeShiftBit         = 26 + 8 // log2 of the size of huge pages, six bits; 0 is the default
)

// NewMapMode is the mode of a call with these arguments.
func NewMapMode(prot, flags uint64) MapMode {
	return MapMode(prot)&protMask | MapMode(uint32(flags))<<8
}

// Accessible reports whether the pages can be read, written or executed.
func (m MapMode) Accessible() bool { return m&(ProtRead|ProtWrite|ProtExec) != 0 }

// Prot and Flags are the arguments of the call.
func (m MapMode) Prot() uint64  { return uint64(m & protMask) }
func (m MapMode) Flags() uint64 { return uint64(m >> 8) }

// ProtText is the protection in C's words: PROT_READ|PROT_WRITE.
func (m MapMode) ProtText() string {
	var words []string
	for i, w := range []string{"PROT_READ", "PROT_WRITE", "PROT_EXEC"} {
		if m>>i&1 != 0 {
			words = append(words, w)
		}
	}
	if words == nil {
		return "PROT_NONE"
	}
	return strings.Join(words, "|")
}

// WithProt is the mode with the protection of p.
func (m MapMode) WithProt(p MapMode) MapMode { return m&^protMask | p&protMask }

// Page is the size in bytes of the mapping's pages, a power of two.
func (m MapMode) Page() uint64 {
	if m&MapHugeTLB == 0 {
		return 4096
	}
	if shift := m >> hugeShiftBit & 63; shift != 0 {
		return 1 << shift
	}
	return 2 << 20
}

// Maps tells kinds of events that change mappings.
func (k Kind) Maps() bool { return k == Map || k == Unmap || k == Protect }
