// Package macro reads the macros of the preprocessor that a unit's source was compiled
// with: .debug_macro of DWARF 5 (section 6.3) and of GNU's extension to DWARF 4, and
// .debug_macinfo of DWARF 2 to 4. Compilers write them with -g3.
package macro

import (
	"bytes"
	"errors"
	"strings"

	"hdb/symbols/dwarf"
)

// Sections are what macros are in. Index finds a string by its number in the unit's table; it may
// be nil.
type Sections struct {
	Macro   []byte // .debug_macro
	Macinfo []byte // .debug_macinfo
	Str     []byte
	AltStr  []byte // of the dwz file
	Index   func(n uint64) []byte
}

// A Kind is the kind of an Entry.
type Kind uint8

// The kinds of entries.
const (
	Define Kind = iota
	Undef
	Start // a file is included
	End   // it has ended
)

// An Entry is a directive of the preprocessor.
type Entry struct {
	Kind Kind
	Line uint64 // of the directive, in the file that includes for Start; 0: built in, or of the command line
	File uint32 // that begins, as the line table numbers them
	Text []byte // "NAME VALUE" or "NAME(A,B) VALUE" that is defined, NAME that is no longer; in its section
}

// Bounds of what is read for one unit. Units of large C++ programs have some ten thousand
// macros; those of a hostile file import one another.
const (
	maxEntries = 1 << 20
	maxDepth   = 32
	maxText    = 32 << 20 // bytes of all texts together, which entries may share in .debug_str
)

var (
	errCut     = errors.New("macros: the section ends early")
	errVersion = errors.New("macros: of a version that hdb does not know")
	errOpcode  = errors.New("macros: an entry that hdb does not know")
	errMany    = errors.New("macros: too many entries")
)

// A reader reads the entries of a unit.
type reader struct {
	s    Sections
	each func(Entry) bool
	left int
	text int // bytes of texts so far
	done bool
}

// Read calls each with the entries from an offset of .debug_macro on, or of
// .debug_macinfo if info is set, in their order, until it returns false. What follows an
// error was not read.
func Read(s Sections, off uint64, info bool, each func(Entry) bool) error {
	r := &reader{s: s, each: each, left: maxEntries}
	if info {
		return r.macinfo(off)
	}
	return r.unit(off, 0)
}

// emit describes an entry. It reports false at the end of what is wanted.
func (r *reader) emit(e Entry) bool {
	r.text += len(e.Text)
	r.done = r.done || !r.each(e)
	return !r.done
}

// Opcodes of .debug_macro (DWARF 5 section 7.23). GNU's of version 4 have the same numbers.
const (
	opDefine     = 0x01
	opUndef      = 0x02
	opStart      = 0x03
	opEnd        = 0x04
	opDefineStrp = 0x05
	opUndefStrp  = 0x06
	opImport     = 0x07
	opDefineSup  = 0x08
	opUndefSup   = 0x09
	opImportSup  = 0x0a
	opDefineStrx = 0x0b
	opUndefStrx  = 0x0c
	opVendor     = 0xff // of .debug_macinfo
)

// A unit's header says how offsets are written, and has the operands of other opcodes.
type header struct {
	wide   bool
	others map[byte][]byte // the forms of their operands
}

func (h header) offset(b *dwarf.Buf) uint64 {
	if h.wide {
		return b.U64()
	}
	return uint64(b.U32())
}

// readHeader reads the header of a unit (section 6.3.1).
func readHeader(b *dwarf.Buf) (header, error) {
	var h header
	const wide, lines, operands = 1, 2, 4
	if v := b.U16(); v != 4 && v != 5 {
		return h, errVersion
	}
	flags := b.U8()
	if h.wide = flags&wide != 0; flags&lines != 0 {
		h.offset(b)
	}
	if flags&operands == 0 {
		return h, nil
	}
	h.others = map[byte][]byte{}
	for n := b.U8(); n > 0 && !b.Bad(); n-- {
		op := b.U8()
		h.others[op] = b.Bytes(b.Uleb())
	}
	return h, nil
}

// unit reads a unit of .debug_macro, and those that it imports.
func (r *reader) unit(off uint64, depth int) error {
	b := dwarf.NewBuf(r.s.Macro, off)
	h, err := readHeader(&b)
	if err != nil {
		return err
	}
	for !r.done {
		if r.left--; r.left < 0 || r.text > maxText || depth > maxDepth {
			return errMany
		}
		op := b.U8()
		if b.Bad() {
			return errCut
		}
		if op == 0 {
			return nil
		}
		if err := r.entry(&b, h, op, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry reads an entry behind its opcode.
func (r *reader) entry(b *dwarf.Buf, h header, op byte, depth int) error {
	e := Entry{Kind: Define}
	switch op {
	case opUndef, opUndefStrp, opUndefSup, opUndefStrx:
		e.Kind = Undef
	}
	switch op {
	case opDefine, opUndef:
		e.Line, e.Text = b.Uleb(), cstring(b)
	case opDefineStrp, opUndefStrp:
		e.Line, e.Text = b.Uleb(), stringAt(r.s.Str, h.offset(b))
	case opDefineSup, opUndefSup:
		e.Line, e.Text = b.Uleb(), stringAt(r.s.AltStr, h.offset(b))
	case opDefineStrx, opUndefStrx:
		e.Line = b.Uleb()
		if n := b.Uleb(); r.s.Index != nil {
			e.Text = r.s.Index(n)
		}
	case opStart:
		e.Kind, e.Line, e.File = Start, b.Uleb(), uint32(min(b.Uleb(), 1<<32-1))
	case opEnd:
		e.Kind = End
	case opImport:
		at := h.offset(b)
		if b.Bad() {
			return errCut
		}
		return r.unit(at, depth+1)
	case opImportSup: // of another file, which is not read
		h.offset(b)
		return nil
	default:
		forms, ok := h.others[op]
		if !ok || !skip(b, h, forms) {
			return errOpcode
		}
		return nil
	}
	if b.Bad() {
		return errCut
	}
	if len(e.Text) > 0 || e.Kind == Start || e.Kind == End {
		r.emit(e)
	}
	return nil
}

// macinfo reads entries of .debug_macinfo (DWARF 4 section 6.3).
func (r *reader) macinfo(off uint64) error {
	b := dwarf.NewBuf(r.s.Macinfo, off)
	for !r.done {
		if r.left--; r.left < 0 {
			return errMany
		}
		op := b.U8()
		if b.Bad() {
			return errCut
		}
		switch op {
		case 0:
			return nil
		case opVendor:
			b.Uleb()
			cstring(&b)
		case opDefine, opUndef, opStart, opEnd:
			if err := r.entry(&b, header{}, op, 0); err != nil {
				return err
			}
		default:
			return errOpcode
		}
	}
	return nil
}

// skip passes the operands of a vendor's opcode by their forms. It reports false for a form
// that none may have.
func skip(b *dwarf.Buf, h header, forms []byte) bool {
	for _, form := range forms {
		switch dwarf.Form(form) {
		case dwarf.FormData1, dwarf.FormFlag:
			b.Skip(1)
		case dwarf.FormData2:
			b.Skip(2)
		case dwarf.FormData4:
			b.Skip(4)
		case dwarf.FormData8:
			b.Skip(8)
		case dwarf.FormData16:
			b.Skip(16)
		case dwarf.FormUdata, dwarf.FormSdata, dwarf.FormStrx:
			b.Uleb()
		case dwarf.FormString:
			cstring(b)
		case dwarf.FormStrp, dwarf.FormLineStrp, dwarf.FormSecOffset, dwarf.FormStrpSup:
			h.offset(b)
		case dwarf.FormBlock:
			b.Skip(b.Uleb())
		case dwarf.FormBlock1:
			b.Skip(uint64(b.U8()))
		case dwarf.FormBlock2:
			b.Skip(uint64(b.U16()))
		case dwarf.FormBlock4:
			b.Skip(uint64(b.U32()))
		default:
			return false
		}
	}
	return !b.Bad()
}

// cstring is the text up to the next NUL.
func cstring(b *dwarf.Buf) []byte {
	left := *b
	all := left.Bytes(left.Len())
	n := bytes.IndexByte(all, 0)
	if n < 0 {
		b.Skip(b.Len() + 1)
		return nil
	}
	b.Skip(uint64(n) + 1)
	return all[:n]
}

// stringAt is the text in a section of texts.
func stringAt(section []byte, off uint64) []byte {
	if off >= uint64(len(section)) {
		return nil
	}
	s := section[off:]
	if n := bytes.IndexByte(s, 0); n >= 0 {
		return s[:n]
	}
	return nil
}

// A Macro is a definition.
type Macro struct {
	Name     string
	Function bool     // it is called: NAME(x)
	Params   []string // the last is "..." or "NAME..." of a variadic one
	Body     string
}

// Parse is the definition that a text of Define is (section 6.3.2.1). It reports false for
// a text that is none.
func Parse(text []byte) (Macro, bool) {
	name := bytes.IndexAny(text, " (")
	if name < 0 {
		return Macro{Name: string(text)}, len(text) > 0
	}
	m := Macro{Name: string(text[:name])}
	rest := text[name:]
	if rest[0] == '(' {
		end := bytes.IndexByte(rest, ')')
		if end < 0 {
			return Macro{}, false
		}
		m.Function = true
		for p := range strings.SplitSeq(string(rest[1:end]), ",") {
			if p = strings.TrimSpace(p); p != "" {
				m.Params = append(m.Params, p)
			}
		}
		rest = rest[end+1:]
	}
	m.Body = strings.TrimSpace(string(rest))
	return m, name > 0
}
