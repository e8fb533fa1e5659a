package unwind

import (
	"fmt"
	"sync"

	"hdb/internal/addr"
)

// A Range is the file addresses [Low, High).
type Range struct {
	Low, High addr.File
	// EntrySize is the sh_entsize of a PLT section, in bytes. The walker knows entries
	// by their instructions and does without.
	EntrySize uint64
}

// Contains reports whether a is in the range.
func (r Range) Contains(a addr.File) bool { return r.Low <= a && a < r.High }

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

	// Switches are rows of code that calls on another stack: they hold in place of those of
	// the CFI, which knows one stack only. They do not overlap.
	Switches []Row

	PLT  []Range // .plt, .plt.sec, .plt.got
	Text []Range // all executable sections, or the executable segments; empty when unknown

	TextAddr addr.File // base of DW_EH_PE_textrel: start of .text
	GotAddr  addr.File // base of DW_EH_PE_datarel: DT_PLTGOT; in .eh_frame_hdr it is the section itself
	Entry    addr.File // e_entry: the outermost frame of a thread, with or without CFI; 0 when none
}

// A Table is the CFI of one module. It is safe for concurrent use.
type Table struct {
	sec Sections

	mu sync.RWMutex // guards what follows
	// eh and debug are nil until a row is looked for there.
	eh, debug *index
	// rows holds what was asked for, by address; nil: there is no row. shared holds the
	// same rows by their own Low, so that the many calls of one function share a row. At
	// its Low another may hold: FDEs of a damaged file overlap.
	rows, shared map[addr.File]*Row
}

// maxRows bounds the cache; 0.7 KiB each. When it is full it starts anew.
const maxRows = 8192

// NewTable makes a table of the module's sections. They are parsed when the first row is
// looked up. A section that wraps around the address space is an error.
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
	return &Table{sec: s, rows: map[addr.File]*Row{}, shared: map[addr.File]*Row{}}, nil
}

// RowAt is the row for the file address a. For a return address, pass the address of the
// byte before it (addr.Code.Lookup). .debug_frame is used where .eh_frame has no row.
func (t *Table) RowAt(a addr.File) (Row, bool) {
	if row := t.row(a); row != nil {
		return *row, true
	}
	return Row{}, false
}

// row is RowAt without the copy; nil when there is none.
func (t *Table) row(a addr.File) *Row {
	t.mu.RLock()
	row, ok := t.rows[a]
	t.mu.RUnlock()
	if ok {
		return row
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	row = t.find(a)
	if len(t.rows)+1 > maxRows {
		clear(t.rows)
		clear(t.shared)
	}
	if row != nil {
		if same := t.shared[row.Low]; same != nil && same.Function == row.Function && same.High == row.High {
			row = same
		}
		t.shared[row.Low] = row
	}
	t.rows[a] = row
	return row
}

// find runs the program of the FDE that covers a, unless it is where the stack changes.
func (t *Table) find(a addr.File) *Row {
	for i := range t.sec.Switches {
		if s := &t.sec.Switches[i]; s.Low <= a && a < s.High {
			return s
		}
	}
	for _, open := range [2]func() *index{t.ehIndex, t.debugIndex} {
		x := open()
		f, ok := x.find(uint64(a))
		if !ok {
			continue
		}
		row, err := f.rowAt(uint64(a), x.section.bases)
		if err == nil {
			return &row
		}
		x.note(fmt.Errorf("%s: function at %#x: %w", x.section.name, f.low, err))
	}
	return nil
}

// FunctionAt is the code of the FDE that covers the file address a: a function, or a part of
// one, as its cold part.
func (t *Table) FunctionAt(a addr.File) (Range, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, open := range [2]func() *index{t.ehIndex, t.debugIndex} {
		if f, ok := open().find(uint64(a)); ok {
			return Range{Low: addr.File(f.low), High: addr.File(f.high)}, true
		}
	}
	return Range{}, false
}

func (t *Table) bases() bases {
	return bases{text: uint64(t.sec.TextAddr), data: uint64(t.sec.GotAddr)}
}

// ehIndex indexes .eh_frame, once.
func (t *Table) ehIndex() *index {
	if t.eh == nil {
		s := &section{name: ".eh_frame", data: t.sec.EhFrame, addr: uint64(t.sec.EhFrameAddr), isEh: true, bases: t.bases()}
		t.eh = newIndex(s, t.sec.EhFrameHdr, uint64(t.sec.EhFrameHdrAddr))
	}
	return t.eh
}

// debugIndex indexes .debug_frame, once .eh_frame had nothing.
func (t *Table) debugIndex() *index {
	if t.debug == nil {
		s := &section{name: ".debug_frame", data: t.sec.DebugFrame, addr: uint64(t.sec.DebugFrameAddr), bases: t.bases()}
		t.debug = newIndex(s, nil, 0)
	}
	return t.debug
}

// Damage is the first error in the sections so far, nil if there was none. Other rows are
// not affected.
func (t *Table) Damage() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.eh != nil && t.eh.err != nil {
		return t.eh.err
	}
	if t.debug != nil {
		return t.debug.err
	}
	return nil
}

// isText reports whether a can be code. A module's mappings hold data too.
func (t *Table) isText(a addr.File) bool {
	for _, r := range t.sec.Text {
		if r.Contains(a) {
			return true
		}
	}
	return len(t.sec.Text) == 0
}

// inPLT reports whether a is in a procedure linkage table.
func (t *Table) inPLT(a addr.File) bool {
	for _, r := range t.sec.PLT {
		if r.Contains(a) {
			return true
		}
	}
	return false
}

// entryCode is the maximal length of the code at an ELF file's entry point before it calls
// into C. That code has no caller.
const entryCode = 64

// atEntry reports whether a is in the code at the entry point.
func (t *Table) atEntry(a addr.File) bool { return t.EntryCode().Contains(a) }
