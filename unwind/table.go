package unwind

import (
	"fmt"
	"sync"

	"hdb/internal/addr"
)

// A Range is the file addresses [Low, High).
type Range struct {
	Low, High addr.File
	// EntrySize is the sh_entsize of a PLT section, 16 when 0; unused otherwise.
	EntrySize uint64
}

func (r Range) contains(a addr.File) bool { return r.Low <= a && a < r.High }

// Sections are the parts of a module that unwinding reads. All may be empty. The
// byte slices are kept, not copied, and must not change.
type Sections struct {
	Name string // the module's path, for the reasons of truncated stacks

	EhFrame        []byte // .eh_frame, decompressed
	EhFrameAddr    addr.File
	EhFrameHdr     []byte // .eh_frame_hdr, or the segment PT_GNU_EH_FRAME
	EhFrameHdrAddr addr.File
	DebugFrame     []byte // .debug_frame, decompressed; the debug file's if the module has none
	DebugFrameAddr addr.File

	PLT  []Range // .plt, .plt.sec, .plt.got
	Text []Range // executable sections or segments; not needed when unknown

	TextAddr addr.File // base of DW_EH_PE_textrel: start of .text
	GotAddr  addr.File // base of DW_EH_PE_datarel: DT_PLTGOT; in .eh_frame_hdr it is the section itself
	Entry    addr.File // e_entry: the outermost frame of a thread, with or without CFI; 0 when none
}

// A Table is the CFI of one module. It is safe for concurrent use.
type Table struct {
	sec Sections
	mu  sync.RWMutex
}

// NewTable makes a table of the module's sections. Nothing is parsed until the
// first row is asked for. It is an error when a section's addresses wrap around.
func NewTable(s Sections) (*Table, error) {
	for _, sec := range []struct {
		name string
		addr addr.File
		size int
	}{
		{".eh_frame", s.EhFrameAddr, len(s.EhFrame)},
		{".eh_frame_hdr", s.EhFrameHdrAddr, len(s.EhFrameHdr)},
		{".debug_frame", s.DebugFrameAddr, len(s.DebugFrame)},
	} {
		if sec.addr+addr.File(sec.size) < sec.addr {
			return nil, fmt.Errorf("%s: %d bytes at %v wrap around the address space", sec.name, sec.size, sec.addr)
		}
	}
	return &Table{sec: s}, nil
}

// RowAt is the row that holds at the file address a. For a return address ask one
// byte less (addr.Code.Lookup).
func (t *Table) RowAt(a addr.File) (Row, bool) {
	return Row{}, false
}
