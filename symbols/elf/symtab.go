package elf

import (
	"bytes"
	"cmp"
	delf "debug/elf"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"hdb/internal/addr"
)

// SymType is the type of a symbol.
type SymType uint8

// The types of symbols. IFunc is STT_GNU_IFUNC: the address is the address of a resolver that
// returns the function.
const (
	TypeOther SymType = iota
	TypeNone          // STT_NOTYPE: labels of assembly code
	TypeFunc
	TypeIFunc
	TypeObject
	TypeTLS // the address is an offset in the module's TLS block
)

// Sym is an entry of a symbol table.
type Sym struct {
	Name    string
	Version string // "GLIBC_2.2.5"; "" without
	Hidden  bool   // not the default version: name@VERSION, not name@@VERSION
	Addr    addr.File
	Size    uint64
	Type    SymType
	IFunc   bool
	Defined bool
	Local   bool // STB_LOCAL
	Weak    bool
	Dynamic bool // from .dynsym
	Section int  // st_shndx; 0 undefined, 0xfff1 absolute
}

// IsCode reports whether s is a defined function, resolver or code label.
func (s Sym) IsCode() bool {
	return s.Defined && (s.Type == TypeFunc || s.Type == TypeIFunc || s.Type == TypeNone)
}

const symSize = 24 // Elf64_Sym

// A Table is a symbol table. Its entries are decoded when asked for; the indexes
// by name and by address are built on first use.
type Table struct {
	file    *File
	dynamic bool
	syms    []byte // whole Elf64_Sym entries
	strs    []byte
	versym  []byte
	vers    []version // by version index

	nameOnce sync.Once
	heads    []uint32 // hash bucket -> entry, 0 none
	next     []uint32 // entry -> next of its bucket
	seed     maphash.Seed

	addrOnce sync.Once
	byAddr   []uint32 // entries with memory, by address
	maxEnd   []uint64 // the highest end of byAddr[:i+1]
}

type version struct {
	name   string
	hidden bool
}

// Symtab is the file's .symtab, nil when stripped.
func (f *File) Symtab() (*Table, error) { return f.table(0, delf.SHT_SYMTAB) }

// Dynsym is the file's .dynsym, nil in a static file.
func (f *File) Dynsym() (*Table, error) { return f.table(1, delf.SHT_DYNSYM) }

func (f *File) table(slot int, typ delf.SectionType) (*Table, error) {
	f.symOnce[slot].Do(func() { f.symCache[slot], f.symErr[slot] = f.readTable(typ) })
	return f.symCache[slot], f.symErr[slot]
}

func (f *File) readTable(typ delf.SectionType) (*Table, error) {
	i := slices.IndexFunc(f.Sections, func(s Section) bool { return s.Type == typ })
	if i < 0 {
		return nil, nil
	}
	syms, err := f.Contents(i)
	if err != nil {
		return nil, err
	}
	link := int(f.Sections[i].Link)
	if link <= 0 || link >= len(f.Sections) {
		return nil, fmt.Errorf("%s: section %s links to section %d of %d for its strings", f.Path, f.Sections[i].Name, link, len(f.Sections))
	}
	strs, err := f.Contents(link)
	if err != nil {
		return nil, err
	}
	t := &Table{file: f, dynamic: typ == delf.SHT_DYNSYM, syms: syms[:len(syms)/symSize*symSize], strs: strs}
	if t.dynamic {
		t.readVersions()
	}
	return t, nil
}

// Len is the number of entries, the null entry included.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.syms) / symSize
}

func (t *Table) raw(i int) []byte { return t.syms[i*symSize:][:symSize] }

func (t *Table) nameOffset(i int) uint64 { return uint64(binary.LittleEndian.Uint32(t.raw(i))) }

func (t *Table) addr(i int) uint64 { return binary.LittleEndian.Uint64(t.raw(i)[8:]) }

func (t *Table) size(i int) uint64 { return binary.LittleEndian.Uint64(t.raw(i)[16:]) }

// Place is the value and size of entry i and the index of its section, st_shndx. Other
// than Sym it copies no name.
func (t *Table) Place(i int) (value addr.File, size uint64, section int) {
	return addr.File(t.addr(i)), t.size(i), int(binary.LittleEndian.Uint16(t.raw(i)[6:]))
}

// IsFunc reports whether entry i is a function (STT_FUNC).
func (t *Table) IsFunc(i int) bool { return symType(t.raw(i)[4]&15) == TypeFunc }

// maxName bounds a name in bytes: a longer one is none. At and Sym copy names, and all
// entries of a hostile table have one as long as the file.
const maxName = 1 << 20

// NameBytes is the name of entry i inside the string table.
func (t *Table) NameBytes(i int) []byte {
	off := t.nameOffset(i)
	if off >= uint64(len(t.strs)) {
		return nil
	}
	b := t.strs[off:min(off+maxName, uint64(len(t.strs)))]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		return b[:end]
	}
	return nil
}

// Sym decodes entry i.
func (t *Table) Sym(i int) Sym {
	b := t.raw(i)
	s := Sym{
		Name:    string(t.NameBytes(i)),
		Addr:    addr.File(t.addr(i)),
		Size:    t.size(i),
		Section: int(binary.LittleEndian.Uint16(b[6:])),
		Local:   b[4]>>4 == byte(delf.STB_LOCAL),
		Weak:    b[4]>>4 == byte(delf.STB_WEAK),
		Type:    symType(b[4] & 15),
		Dynamic: t.dynamic,
	}
	s.Defined = s.Section != int(delf.SHN_UNDEF)
	s.IFunc = s.Type == TypeIFunc
	if v := t.version(i); v.name != "" {
		s.Version, s.Hidden = v.name, v.hidden
	} else if name, ver, ok := strings.Cut(s.Name, "@"); ok && name != "" {
		s.Name, s.Version = name, strings.TrimPrefix(ver, "@") // .symtab spells versions in the name
		s.Hidden = !strings.HasPrefix(ver, "@")
	}
	return s
}

func symType(t byte) SymType {
	switch delf.SymType(t) {
	case delf.STT_NOTYPE:
		return TypeNone
	case delf.STT_FUNC:
		return TypeFunc
	case delf.STT_GNU_IFUNC:
		return TypeIFunc
	case delf.STT_OBJECT, delf.STT_COMMON:
		return TypeObject
	case delf.STT_TLS:
		return TypeTLS
	}
	return TypeOther
}

// baseName is a name without the version that .symtab may append.
func baseName(b []byte) []byte {
	if i := bytes.IndexByte(b, '@'); i > 0 {
		return b[:i]
	}
	return b
}

func (t *Table) indexNames() {
	n := t.Len()
	t.seed = maphash.MakeSeed()
	t.heads = make([]uint32, n/2+1)
	t.next = make([]uint32, n)
	for i := n - 1; i > 0; i-- { // backwards: chains come out in table order
		name := baseName(t.NameBytes(i))
		if len(name) == 0 {
			continue
		}
		h := maphash.Bytes(t.seed, name) % uint64(len(t.heads))
		t.next[i], t.heads[h] = t.heads[h], uint32(i)
	}
}

// Named lists the entries of that name without version, in table order.
func (t *Table) Named(name string) []Sym {
	if t.Len() == 0 || name == "" {
		return nil
	}
	t.nameOnce.Do(t.indexNames)
	var found []Sym
	h := maphash.String(t.seed, name) % uint64(len(t.heads))
	for i := t.heads[h]; i != 0; i = t.next[i] {
		if string(baseName(t.NameBytes(int(i)))) == name {
			found = append(found, t.Sym(int(i)))
		}
	}
	return found
}

// hasMemory reports whether entry i names bytes of the image.
func (t *Table) hasMemory(i int) bool {
	b := t.raw(i)
	shndx := delf.SectionIndex(binary.LittleEndian.Uint16(b[6:]))
	if shndx == delf.SHN_UNDEF || shndx == delf.SHN_ABS && t.size(i) == 0 {
		return false
	}
	switch symType(b[4] & 15) {
	case TypeFunc, TypeIFunc, TypeObject:
		return true
	case TypeNone:
		name := t.NameBytes(i)
		return len(name) > 0 && name[0] != '$' && name[0] != '.'
	}
	return false
}

func (t *Table) indexAddrs() {
	type entry struct {
		addr uint64
		i    uint32
	}
	entries := make([]entry, 0, t.Len())
	for i := 1; i < t.Len(); i++ {
		if t.hasMemory(i) {
			entries = append(entries, entry{t.addr(i), uint32(i)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.addr != b.addr { // cmp.Or would compare both
			return cmp.Compare(a.addr, b.addr)
		}
		return cmp.Compare(a.i, b.i)
	})
	list, maxEnd := make([]uint32, len(entries)), make([]uint64, len(entries))
	var end uint64
	for k, e := range entries {
		list[k] = e.i
		end = max(end, e.addr+t.size(int(e.i)))
		maxEnd[k] = end
	}
	t.byAddr, t.maxEnd = list, maxEnd // together: a fault on the way leaves neither
}

// maxBack bounds how far At looks back for a symbol that encloses an address.
const maxBack = 256

// At is the symbol whose bytes contain a, with its distance from the start. Among
// several the one that starts last wins, then the name a user would choose. A
// symbol without size (assembly) reaches up to the next one in its section.
func (t *Table) At(a addr.File) (Sym, bool) {
	if t.Len() == 0 {
		return Sym{}, false
	}
	t.addrOnce.Do(t.indexAddrs)
	k, _ := slices.BinarySearchFunc(t.byAddr, uint64(a), func(i uint32, a uint64) int {
		if t.addr(int(i)) <= a {
			return -1
		}
		return 1
	})
	var best Sym
	found, first := false, true
	for steps := 0; k > 0 && steps < maxBack; steps++ {
		k--
		start := t.addr(int(t.byAddr[k]))
		if found && uint64(best.Addr) != start {
			break
		}
		if !first && t.maxEnd[k] <= uint64(a) {
			break
		}
		i := int(t.byAddr[k])
		size := t.size(i)
		if size == 0 && first && t.sameSection(i, a) || uint64(a)-start < size {
			if s := t.Sym(i); !found || Better(s, best) {
				best, found = s, true
			}
		}
		if k > 0 && t.addr(int(t.byAddr[k-1])) != start {
			first = false
		}
	}
	return best, found
}

// ThreadLocalAt is the symbol of a thread-local variable whose bytes contain an offset in the
// module's block. It looks through the table.
func (t *Table) ThreadLocalAt(offset uint64) (best Sym, found bool) {
	for i := 1; i < t.Len(); i++ {
		if symType(t.raw(i)[4]&15) != TypeTLS || offset < t.addr(i) || offset-t.addr(i) >= t.size(i) {
			continue
		}
		if s := t.Sym(i); s.Defined && (!found || Better(s, best)) {
			best, found = s, true
		}
	}
	return best, found
}

// sameSection reports whether a is in the section of entry i.
func (t *Table) sameSection(i int, a addr.File) bool {
	shndx := int(binary.LittleEndian.Uint16(t.raw(i)[6:]))
	if shndx >= len(t.file.Sections) {
		return false
	}
	s := &t.file.Sections[shndx]
	return a >= s.Addr && uint64(a-s.Addr) < s.Size
}

// Better reports whether a user would rather call an address a than b.
func Better(a, b Sym) bool {
	rank := func(s Sym) [6]int {
		r := [6]int{}
		if s.Type == TypeNone {
			r[0] = 1
		}
		if s.Local {
			r[1] = 1
		}
		r[2] = len(s.Name) - len(strings.TrimLeft(s.Name, "_"))
		if strings.HasPrefix(s.Name, "_Z") || strings.HasPrefix(s.Name, "_R") {
			r[2] = 0 // mangled, not private
		}
		if s.Size == 0 {
			r[3] = 1
		}
		if s.Hidden {
			r[4] = 1
		}
		r[5] = len(s.Name)
		return r
	}
	x, y := rank(a), rank(b)
	return slices.Compare(x[:], y[:]) < 0
}
