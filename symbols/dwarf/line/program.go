package line

import (
	"fmt"
	"slices"

	"hdb/symbols/dwarf"
)

// Standard and extended opcodes (DWARF 5 sections 6.2.5.2 and 6.2.5.3).
const (
	lnsCopy             = 1
	lnsAdvancePC        = 2
	lnsAdvanceLine      = 3
	lnsSetFile          = 4
	lnsSetColumn        = 5
	lnsNegateStmt       = 6
	lnsSetBasicBlock    = 7
	lnsConstAddPC       = 8
	lnsFixedAdvancePC   = 9
	lnsSetPrologueEnd   = 10
	lnsSetEpilogueBegin = 11
	lnsSetISA           = 12

	lneEndSequence      = 1
	lneSetAddress       = 2
	lneDefineFile       = 3
	lneSetDiscriminator = 4
)

// Content types of directory and file entries (section 6.2.4.1).
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// header is what the opcodes need to know.
type header struct {
	minInst    uint64
	stmt       bool
	lineBase   int8
	lineRange  uint8
	opcodeBase uint8
	lengths    []byte
	addrSize   int
	special    [256]advance // by opcode; those below opcodeBase have none
}

// advance is what a special opcode adds to address and line.
type advance struct {
	addr uint64
	line uint32
}

// ReadFiles is Reader.Read for the file names alone: the table has no rows.
func ReadFiles(unit *dwarf.Unit, off uint64) (*Table, error) {
	return new(Reader).Read(unit, off, nil)
}

// A Reader reads tables, one after the other, each as long as it must be, with the same
// memory for what is in between. Its zero value is ready.
type Reader struct{ rows []Row }

// Read decodes the program at off of .debug_line. unit supplies the compilation
// directory and the strings; keep says whether a sequence that begins at an
// address is real code: linkers leave those of dropped functions at 0 or -1. A
// program that is cut or malformed gives the rows before the damage and an error.
func (r *Reader) Read(unit *dwarf.Unit, off uint64, keep func(uint64) bool) (*Table, error) {
	root, _ := unit.Load()
	t := &Table{compDir: root.CompDir}
	data := unit.Data.Line
	b := dwarf.NewBuf(data, off)
	length, offSize := b.InitialLength()
	if b.Bad() || length > b.Len() {
		return t, fmt.Errorf("line program at %#x: length %d exceeds the %d bytes left", off, length, b.Len())
	}
	end := b.Off() + length
	b = dwarf.NewBuf(data[:end], b.Off())
	h, start, err := t.readHeader(&b, unit, offSize, root.Name)
	if err != nil {
		return t, fmt.Errorf("line program at %#x: %w", off, err)
	}
	t.Size = end - off
	if keep == nil {
		return t, nil
	}
	for op := int(h.opcodeBase); op < len(h.special); op++ {
		adj := uint8(op) - h.opcodeBase
		h.special[op] = advance{uint64(adj/h.lineRange) * h.minInst, uint32(int32(h.lineBase) + int32(adj%h.lineRange))}
	}
	m := machine{t: t, h: &h, b: dwarf.NewBuf(data[:end], start), rows: r.rows[:0], keep: keep}
	m.run()
	r.rows = m.rows
	t.Rows = slices.Clone(m.rows)
	t.sort(m.unsorted)
	if m.b.Bad() {
		return t, fmt.Errorf("line program at %#x is cut", off)
	}
	return t, nil
}

func (t *Table) readHeader(b *dwarf.Buf, unit *dwarf.Unit, offSize int, primary string) (header, uint64, error) {
	h := header{addrSize: 8}
	t.version = int(b.U16())
	if t.version < 2 || t.version > 5 {
		return h, 0, fmt.Errorf("version %d is unknown", t.version)
	}
	if t.version >= 5 {
		h.addrSize = int(b.U8())
		b.U8() // segment selector size
	}
	headerLen := b.Uint(offSize)
	start := b.Off() + headerLen
	if start < b.Off() || headerLen > b.Len() {
		return h, 0, fmt.Errorf("header of %d bytes exceeds the %d left", headerLen, b.Len())
	}
	h.minInst = uint64(b.U8())
	if t.version >= 4 {
		b.U8() // operations per VLIW instruction: x86 has none
	}
	h.stmt = b.U8() != 0
	h.lineBase, h.lineRange, h.opcodeBase = int8(b.U8()), b.U8(), b.U8()
	if h.opcodeBase > 0 {
		h.lengths = b.Bytes(uint64(h.opcodeBase) - 1)
	}
	if b.Bad() || h.lineRange == 0 {
		return h, 0, fmt.Errorf("header is malformed")
	}
	if t.version >= 5 {
		t.readNames5(b, unit, offSize)
	} else {
		t.readNames4(b, primary)
	}
	if b.Bad() {
		return h, 0, fmt.Errorf("file names run past the program's end")
	}
	return h, start, nil
}

// readNames4 reads the directories and files of versions 2 to 4, both counted
// from 1. Index 0 is the compilation directory and the unit's primary file.
func (t *Table) readNames4(b *dwarf.Buf, primary string) {
	t.dirs = append(t.dirs, []byte(t.compDir))
	for {
		dir := b.CString()
		if len(dir) == 0 {
			break
		}
		t.dirs = append(t.dirs, dir)
	}
	t.addFile([]byte(primary), 0)
	for {
		name := b.CString()
		if len(name) == 0 {
			return
		}
		t.defineFile(b, name)
	}
}

func (t *Table) defineFile(b *dwarf.Buf, name []byte) {
	dir := uint32(b.Uleb())
	b.Uleb() // time
	b.Uleb() // size
	if !b.Bad() {
		t.addFile(name, dir)
	}
}

func (t *Table) addFile(name []byte, dir uint32) {
	t.files = append(t.files, fileEntry{})
	f := &t.files[len(t.files)-1]
	f.name, f.dir = name, dir
}

func (t *Table) readNames5(b *dwarf.Buf, unit *dwarf.Unit, offSize int) {
	readEntries(b, unit, offSize, func(name []byte, dir uint32) { t.dirs = append(t.dirs, name) })
	readEntries(b, unit, offSize, t.addFile)
	if len(t.dirs) == 0 {
		return
	}
	first := string(t.dirs[0]) // the compilation directory again
	if t.compDir == "" {
		t.compDir = first
	} else if first != t.compDir {
		t.dirs[0] = []byte(JoinDir(t.compDir, first))
	}
}

// readEntries reads a format description and the entries that follow it.
func readEntries(b *dwarf.Buf, unit *dwarf.Unit, offSize int, add func(name []byte, dir uint32)) {
	type field struct {
		content uint64
		form    dwarf.Form
	}
	var fields []field
	for n := b.U8(); n > 0; n-- {
		fields = append(fields, field{b.Uleb(), dwarf.Form(b.Uleb())})
	}
	count := b.Uleb()
	if len(fields) == 0 || count > b.Len() { // each entry takes a byte at least
		if count > 0 {
			b.Skip(b.Len() + 1)
		}
		return
	}
	for ; count > 0 && !b.Bad(); count-- {
		var name []byte
		var dir uint32
		before := b.Off()
		for _, f := range fields {
			v := unit.ReadForm(b, f.form, offSize)
			switch f.content {
			case lnctPath:
				name = v.Str()
			case lnctDirectoryIndex:
				dir = uint32(v.Uint())
			}
		}
		if b.Off() == before {
			b.Skip(b.Len() + 1)
			return
		}
		add(name, dir)
	}
}

// machine is the state machine of section 6.2.2.
type machine struct {
	t    *Table
	h    *header
	b    dwarf.Buf
	rows []Row
	keep func(uint64) bool

	addr  uint64
	file  uint32
	line  uint32
	col   uint16
	stmt  bool
	flags uint8
	disc  uint32
	first int // of the current sequence in rows

	unsorted bool // addresses descend in some sequence
}

func (m *machine) reset() {
	m.addr, m.file, m.line, m.col, m.stmt, m.flags, m.disc = 0, 1, 1, 0, m.h.stmt, 0, 0
	m.first = len(m.rows)
}

func (m *machine) emit(flags uint8) {
	f := m.flags | flags
	if m.stmt {
		f |= Stmt
	}
	if n := len(m.rows); n > m.first && m.rows[n-1].Addr > m.addr {
		m.unsorted = true
	}
	m.rows = append(m.rows, Row{Addr: m.addr, Line: m.line, File: m.file, Disc: m.disc, Col: m.col, Flag: f})
	m.flags, m.disc = 0, 0
}

func (m *machine) run() {
	m.reset()
	for m.b.Len() > 0 && !m.b.Bad() {
		op := m.b.U8()
		switch {
		case op >= m.h.opcodeBase:
			step := &m.h.special[op]
			m.addr += step.addr
			m.line += step.line
			m.emit(0)
		case op == 0:
			m.extended()
		default:
			m.standard(op)
		}
	}
	m.rows = m.rows[:m.first] // a sequence that was never ended
}

func (m *machine) standard(op uint8) {
	switch op {
	case lnsCopy:
		m.emit(0)
	case lnsAdvancePC:
		m.addr += m.b.Uleb() * m.h.minInst
	case lnsAdvanceLine:
		m.line += uint32(m.b.Sleb())
	case lnsSetFile:
		m.file = uint32(m.b.Uleb())
	case lnsSetColumn:
		m.col = uint16(min(m.b.Uleb(), 0xffff))
	case lnsNegateStmt:
		m.stmt = !m.stmt
	case lnsSetBasicBlock, lnsSetEpilogueBegin:
	case lnsConstAddPC:
		m.addr += uint64((255-m.h.opcodeBase)/m.h.lineRange) * m.h.minInst
	case lnsFixedAdvancePC:
		m.addr += uint64(m.b.U16())
	case lnsSetPrologueEnd:
		m.flags |= PrologueEnd
	case lnsSetISA:
		m.b.Uleb()
	default: // of a later version: the header says how many operands it has
		for n := m.h.lengths[op-1]; n > 0; n-- {
			m.b.Uleb()
		}
	}
}

func (m *machine) extended() {
	n := m.b.Uleb()
	if n == 0 || n > m.b.Len() {
		m.b.Skip(n)
		return
	}
	next := m.b.Off() + n
	switch m.b.U8() {
	case lneEndSequence:
		m.emit(EndSequence)
		m.endSequence()
	case lneSetAddress:
		m.addr = m.b.Uint(int(min(n-1, 8)))
	case lneDefineFile:
		m.t.defineFile(&m.b, m.b.CString())
	case lneSetDiscriminator:
		if m.disc = uint32(m.b.Uleb()); m.disc != 0 {
			m.flags |= Discriminator
		}
	}
	if m.b.Off() < next {
		m.b.Skip(next - m.b.Off())
	}
}

func (m *machine) endSequence() {
	rows := m.rows[m.first:]
	if len(rows) < 2 || !m.keep(rows[0].Addr) {
		m.rows = m.rows[:m.first]
	} else {
		m.t.seqs = append(m.t.seqs, sequence{first: m.first, end: len(m.rows)})
	}
	m.reset()
}
