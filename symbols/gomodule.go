package symbols

import (
	delf "debug/elf"
	"encoding/binary"
	"slices"
	"sort"

	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// Magic numbers of .gopclntab (internal/abi, PCLnTabMagic).
const (
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

// goModule is what runtime.firstmoduledata says of where things lie (struct
// moduledata in Go's src/runtime/symtab.go, Go 1.18 to 1.27).
type goModule struct {
	text          uint64 // runtime.text, where the first function begins: entries count from there
	funcs         uint64 // go:func.*, from where offsets of function data count
	types, etypes uint64 // where descriptors of types are, and from where offsets of their names count
}

// Indexes of words in moduledata.
const (
	modHeader    = 0
	modFuncNames = 1
	modText      = 22
	modEText     = 23
	modTypes     = 37 // two less before Go 1.20, which has no counters of coverage
	modWords     = 44
)

// findGoModule finds moduledata: Go 1.26 has a section for it, before it lies among
// the data, and begins with the address of the table.
func findGoModule(f *elf.File, table uint64, data []byte) (goModule, bool) {
	if len(data) < pclnHeader {
		return goModule{}, false
	}
	types := uint64(modTypes)
	switch binary.LittleEndian.Uint32(data) {
	case goMagic118:
		types -= 2
	case goMagic120:
	default:
		return goModule{}, false
	}
	names := table + binary.LittleEndian.Uint64(data[32:])
	moved := relative(f)
	word := func(at uint64) uint64 {
		if v, ok := moved[at]; ok {
			return v
		}
		var b [8]byte
		f.ReadAddr(b[:], addr.File(at))
		return binary.LittleEndian.Uint64(b[:])
	}
	read := func(at uint64) (goModule, bool) {
		m := goModule{text: word(at + 8*modText), types: word(at + 8*types), etypes: word(at + 8*types + 8)}
		m.funcs = word(at + 8*types + 24)
		if m.etypes < m.types { // since Go 1.27 it is the length of the descriptors, and two words come behind the end
			m.etypes, m.funcs = word(at+8*types+16), word(at+8*types+48)
		}
		end := word(at + 8*modEText)
		return m, word(at+8*modHeader) == table && word(at+8*modFuncNames) == names && m.text < end && m.funcs != 0
	}
	if i := f.SectionIndex(".go.module"); i >= 0 {
		return read(uint64(f.Sections[i].Addr))
	}
	for at, v := range moved {
		if v == table {
			if m, ok := read(at); ok {
				return m, true
			}
		}
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		if !s.Alloc() || s.Flags&delf.SHF_WRITE == 0 || s.Type != delf.SHT_PROGBITS {
			continue
		}
		b, err := f.Contents(i)
		if err != nil {
			continue
		}
		for off := 0; off+8*modWords <= len(b); off += 8 {
			if binary.LittleEndian.Uint64(b[off:]) != table {
				continue
			}
			if m, ok := read(uint64(s.Addr) + uint64(off)); ok {
				return m, true
			}
		}
	}
	return goModule{}, false
}

// relative maps the words that the loader adds its base to, to what they are without.
func relative(f *elf.File) map[uint64]uint64 {
	const relaSize = 24 // Elf64_Rela
	moved := map[uint64]uint64{}
	for i := range f.Sections {
		if f.Sections[i].Type != delf.SHT_RELA || !f.Sections[i].Alloc() {
			continue
		}
		b, err := f.Contents(i)
		if err != nil {
			continue
		}
		for ; len(b) >= relaSize; b = b[relaSize:] {
			if uint32(binary.LittleEndian.Uint64(b[8:])) == uint32(delf.R_X86_64_RELATIVE) {
				moved[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[16:])
			}
		}
	}
	return moved
}

// goImage is what *elf.File gives of a program's memory.
type goImage interface {
	ReadAddr(b []byte, a addr.File) bool
}

// goCopies finds inlined functions as the runtime does for its tracebacks (Go's
// src/runtime/symtabinl.go): a table of each function says which node of its tree of
// calls an address belongs to.
type goCopies struct {
	image  goImage // nil when there are none
	module goModule
	names  []byte // NUL-terminated
	units  []byte // of each unit, where the names of its files are
	files  []byte // these names, NUL-terminated
	tables []byte // of values by address
	funcs  []byte // functab, and the functions that it leads to
	count  uint64
	goForm
}

// A goForm is how a version of Go lays out functions and their trees of calls, offsets and
// sizes in bytes.
type goForm struct {
	header         uint64 // of runtime._func, before its offsets, the last byte of which is their number
	flag           int    // in it
	call           uint64 // size of runtime.inlinedCall,
	name, position int    // and in it
}

// The forms of Go 1.18 and 1.19, and of those since.
var (
	goForm118 = goForm{header: 40, flag: 37, call: 20, name: 12, position: 16}
	goForm120 = goForm{header: 44, flag: 41, call: 16, name: 4, position: 8}
)

const (
	pclnHeader   = 72         // bytes, of Go 1.18 and later
	goTreeIndex  = 2          // PCDATA_InlTreeIndex
	goTree       = 3          // FUNCDATA_InlTree
	maxGoCall    = 20         // bytes of runtime.inlinedCall
	noFuncData   = ^uint32(0) // offset of a table that there is not
	maxGoRuns    = 1 << 16    // of one function
	maxGoCopies  = 64         // in one another
	maxGoNameLen = 1 << 16
)

func newGoCopies(image goImage, data []byte, m goModule) goCopies {
	part := func(at int) []byte {
		off := binary.LittleEndian.Uint64(data[at:])
		return data[min(off, uint64(len(data))):]
	}
	c := goCopies{image: image, module: m, names: part(pclnFuncNames), units: part(40), files: part(pclnFiles), tables: part(56), funcs: part(64), count: binary.LittleEndian.Uint64(data[8:]), goForm: goForm120}
	if binary.LittleEndian.Uint32(data) == goMagic118 {
		c.goForm = goForm118
	}
	if data[6] != 1 || data[7] != 8 || c.count >= uint64(len(c.funcs)/8) { // not of a 64-bit x86
		return goCopies{}
	}
	return c
}

// goCopy is an inlined function at an address.
type goCopy struct {
	name  string
	entry uint64 // the lowest address of the copy
	call  uint64 // an instruction that has the place of the call
}

// goRun is a range of addresses with one value of a table.
type goRun struct {
	low, high uint64
	value     int32
}

// at is the inlined functions at pc of the function that begins at entry, innermost
// first.
func (c *goCopies) at(entry, pc uint64) []goCopy {
	table, tree, ok := c.inlining(entry)
	if !ok {
		return nil
	}
	runs := c.runs(entry, table)
	node := func(pc uint64) int32 {
		i := sort.Search(len(runs), func(i int) bool { return runs[i].high > pc })
		if i == len(runs) || pc < runs[i].low {
			return -1
		}
		return runs[i].value
	}
	type call struct {
		goCopy
		parent int32
		ok     bool
	}
	calls := map[int32]call{}
	get := func(i int32) call {
		if known, ok := calls[i]; ok {
			return known
		}
		var room [maxGoCall]byte
		var r call
		if b, ok := c.inlinedCall(room[:], tree, i); ok {
			r.name = cString(c.names, binary.LittleEndian.Uint32(b[c.goForm.name:]))
			r.call = entry + uint64(int64(int32(binary.LittleEndian.Uint32(b[c.position:]))))
			r.parent, r.ok = node(r.call), r.name != ""
		}
		calls[i] = r
		return r
	}
	var list []goCopy
	var chain []int32
	for i := node(pc); i >= 0 && len(list) < maxGoCopies; {
		r := get(i)
		if !r.ok {
			break
		}
		list, chain = append(list, r.goCopy), append(chain, i)
		i = r.parent
	}
	markEntries(list, chain, runs, func(i int32) (int32, bool) { r := get(i); return r.parent, r.ok })
	return list
}

// inlining is where the table of the nodes that the addresses of a function belong to is, and its tree
// of calls among the data of functions. ok is false where nothing was inlined.
func (c *goCopies) inlining(entry uint64) (table, tree uint32, ok bool) {
	fn, ok := c.function(entry)
	if !ok {
		return 0, 0, false
	}
	nodes, offsets := uint64(binary.LittleEndian.Uint32(fn[28:])), uint64(fn[c.header-1])
	if nodes <= goTreeIndex || offsets <= goTree || nodes > uint64(len(fn)) || c.header+4*(nodes+goTree+1) > uint64(len(fn)) {
		return 0, 0, false
	}
	table = binary.LittleEndian.Uint32(fn[c.header+4*goTreeIndex:])
	tree = binary.LittleEndian.Uint32(fn[c.header+4*(nodes+goTree):])
	return table, tree, table != 0 && tree != noFuncData
}

// inlinedCall reads the runtime.inlinedCall of a node into b.
func (c *goCopies) inlinedCall(b []byte, tree uint32, node int32) ([]byte, bool) {
	b = b[:c.call]
	return b, node >= 0 && c.image.ReadAddr(b, addr.File(c.module.funcs+uint64(tree)+c.call*uint64(node)))
}

// markEntries finds where the copies, which have the numbers of chain, begin: with the
// first range that a copy, or one inside of it, has.
func markEntries(list []goCopy, chain []int32, runs []goRun, parent func(int32) (int32, bool)) {
	left, work := len(chain), 0
	for _, run := range runs {
		if left == 0 || work > maxGoRuns {
			break
		}
		i, ok := run.value, true
		for depth := 0; ok && i >= 0 && depth < maxGoCopies; depth++ {
			work++
			if k := slices.Index(chain, i); k >= 0 && list[k].entry == 0 {
				list[k].entry = run.low
				left--
			}
			i, ok = parent(i)
		}
	}
}

// function is the runtime._func that begins at entry, and what follows.
func (c *goCopies) function(entry uint64) ([]byte, bool) {
	if c.image == nil || entry < c.module.text {
		return nil, false
	}
	off := entry - c.module.text
	i := sort.Search(int(c.count), func(i int) bool { return uint64(binary.LittleEndian.Uint32(c.funcs[8*i:])) >= off })
	if i == int(c.count) || uint64(binary.LittleEndian.Uint32(c.funcs[8*i:])) != off {
		return nil, false
	}
	at := uint64(binary.LittleEndian.Uint32(c.funcs[8*i+4:]))
	if at+c.header > uint64(len(c.funcs)) {
		return nil, false
	}
	return c.funcs[at:], true
}

// runs decodes a table of values: pairs of what the value and the address grow by, as
// varints, the former zigzag. It ends with a value that does not change.
func (c *goCopies) runs(entry uint64, table uint32) []goRun {
	if uint64(table) >= uint64(len(c.tables)) {
		return nil
	}
	b := c.tables[table:]
	next := func() (uint32, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return uint32(v), true
	}
	var list []goRun
	value, pc := int32(-1), entry
	for len(list) < maxGoRuns {
		delta, ok := next()
		if !ok || delta == 0 && len(list) > 0 {
			break
		}
		value += int32(-(delta & 1) ^ (delta >> 1))
		step, ok := next()
		if !ok {
			break
		}
		list = append(list, goRun{pc, pc + uint64(step), value})
		pc += uint64(step)
	}
	return list
}

// cString is the string at an offset of a table, "" without.
func cString(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	b := table[off:]
	b = b[:min(len(b), maxGoNameLen)]
	if i := slices.Index(b, 0); i >= 0 {
		return string(b[:i])
	}
	return ""
}
