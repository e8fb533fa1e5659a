package macho

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// Symbol is a name of an address.
type Symbol struct {
	Name     string // without the underscore that the compiler puts before names of C
	Addr     uint64
	End      uint64 // of the next symbol, function start or section's end
	Section  int    // in Sections, -1 none
	External bool
	Weak     bool
	Exported bool // from the export trie
}

// Bits of n_type, and of n_desc.
const (
	nStab    = 0xe0
	nType    = 0x0e
	nExt     = 0x01
	nSect    = 0x0e
	nWeakDef = 0x80
)

const nlistSize = 16 // nlist_64

// entry is a decoded nlist_64.
type entry struct {
	strx  uint32
	typ   uint8
	sect  uint8
	desc  uint16
	value uint64
}

func readEntry(b []byte) entry {
	le := binary.LittleEndian
	return entry{le.Uint32(b), b[4], b[5], le.Uint16(b[6:]), le.Uint64(b[8:])}
}

// entries are the symbol table's, as many as are in the file.
func (f *File) entries() []byte {
	b := f.bytes(uint64(f.symtab.off), uint64(f.symtab.count)*nlistSize)
	return b[:len(b)/nlistSize*nlistSize]
}

// maxName bounds a name in bytes.
const maxName = 1 << 16

// names reads a string table. Entries of a hostile file share long strings: all names
// together may be some times as long as the table.
type names struct {
	strs []byte
	left int
}

func (f *File) names() names {
	strs := f.bytes(uint64(f.symtab.strOff), uint64(f.symtab.strSize))
	return names{strs, 8*len(strs) + 1<<20}
}

func (n *names) at(strx uint32) []byte {
	if uint64(strx) >= uint64(len(n.strs)) || n.left <= 0 {
		return nil
	}
	s := n.strs[strx:min(uint64(strx)+maxName, uint64(len(n.strs)))]
	end := bytes.IndexByte(s, 0)
	if end < 0 {
		n.left -= len(s)
		return nil
	}
	n.left -= end
	return s[:end]
}

// Symbols lists the defined symbols, those of the export trie that the symbol table
// lacks, and function starts without a name, by address.
func (f *File) Symbols() []Symbol {
	f.symsOnce.Do(func() { f.syms = f.readSymbols() })
	return f.syms
}

func (f *File) readSymbols() []Symbol {
	var list []Symbol
	at := map[uint64]bool{}
	names := f.names()
	for b := f.entries(); len(b) > 0; b = b[nlistSize:] {
		e := readEntry(b)
		if e.typ&nStab != 0 || e.typ&nType != nSect {
			continue
		}
		name := names.at(e.strx)
		if len(name) == 0 || name[0] == 'L' || name[0] == 'l' { // assembler's labels; names of sources begin with _
			continue
		}
		s := Symbol{Name: plainName(string(name)), Addr: e.value, Section: int(e.sect) - 1, External: e.typ&nExt != 0, Weak: e.desc&nWeakDef != 0}
		if s.Section < 0 || s.Section >= len(f.Sections) {
			continue
		}
		list = append(list, s)
		at[s.Addr] = true
	}
	for _, s := range f.exports() {
		if !at[s.Addr] && s.Section >= 0 {
			list = append(list, s)
			at[s.Addr] = true
		}
	}
	for _, a := range f.FunctionStarts() {
		if n := f.sectionAt(a); !at[a] && n >= 0 {
			list = append(list, Symbol{Addr: a, Section: n})
		}
	}
	slices.SortStableFunc(list, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := len(list) - 1; i >= 0; i-- {
		s := &list[i]
		section := &f.Sections[s.Section]
		s.End = section.Addr + section.Size
		if i+1 < len(list) {
			next := &list[i+1]
			switch {
			case next.Addr == s.Addr:
				s.End = next.End
			case next.Addr < s.End:
				s.End = next.Addr
			}
		}
	}
	return list
}

// plainName is a name of C, or a mangled one of C++.
func plainName(s string) string { return strings.TrimPrefix(s, "_") }

// sectionAt is the index of the section with a, -1 without. There are few
// (maxSections).
func (f *File) sectionAt(a uint64) int {
	return slices.IndexFunc(f.Sections, func(s Section) bool { return s.Contains(a) })
}

// SymbolAt is the symbol that contains a: of several at one address the exported one,
// then the one with the fewest underscores before it. Code that only LC_FUNCTION_STARTS
// knows has none.
func (f *File) SymbolAt(a uint64) (Symbol, bool) {
	list := f.Symbols()
	i, _ := slices.BinarySearchFunc(list, a, func(s Symbol, a uint64) int {
		if s.Addr <= a {
			return -1
		}
		return 1
	})
	var best Symbol
	found := false
	const aliases = 64 // at one address
	for n := 0; i > 0 && n < aliases; n++ {
		i--
		s := list[i]
		if found && s.Addr != best.Addr {
			break
		}
		if a >= s.End {
			break
		}
		if !found || better(s, best) {
			best, found = s, true
		}
	}
	return best, found && best.Name != ""
}

func better(a, b Symbol) bool {
	rank := func(s Symbol) [4]int {
		var r [4]int
		if s.Name == "" {
			r[0] = 1
		}
		if !s.External {
			r[1] = 1
		}
		r[2] = len(s.Name) - len(strings.TrimLeft(s.Name, "_"))
		if strings.HasPrefix(s.Name, "_Z") {
			r[2] = 0
		}
		r[3] = len(s.Name)
		return r
	}
	x, y := rank(a), rank(b)
	return slices.Compare(x[:], y[:]) < 0
}

// textAddr is where the header is in memory: addresses of the trie and of function starts count
// from it.
func (f *File) textAddr() uint64 {
	for _, s := range f.Segments {
		if s.Name == "__TEXT" {
			return s.Addr
		}
	}
	return 0
}

// FunctionStarts lists the addresses of LC_FUNCTION_STARTS: distances as ULEB128, the
// first from the header.
func (f *File) FunctionStarts() []uint64 {
	b := f.bytes(uint64(f.starts.off), uint64(f.starts.size))
	var list []uint64
	for a := f.textAddr(); len(b) > 0; {
		d, n := binary.Uvarint(b)
		if n <= 0 || d == 0 {
			break
		}
		a += d
		list = append(list, a)
		b = b[n:]
	}
	return list
}

// maxExports bounds the bytes of names in the trie: nodes of a hostile one share their ends.
const maxExports = 64 << 20

// exports reads the export trie: at each node the length of what is said of the name
// so far (flags and address), how many branches there are, and for each the characters
// that it adds and where its node is. A node is visited once.
func (f *File) exports() []Symbol {
	trie := f.bytes(uint64(f.trie.off), uint64(f.trie.size))
	type node struct {
		off  uint64
		name string
	}
	var list []Symbol
	visited := map[uint64]bool{}
	size := 0
	for open := []node{{}}; len(open) > 0 && size < maxExports; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n.off >= uint64(len(trie)) || visited[n.off] || len(n.name) > maxName {
			continue
		}
		visited[n.off] = true
		size += len(n.name)
		b := trie[n.off:]
		terminal, k := binary.Uvarint(b)
		if k <= 0 || terminal >= uint64(len(b)-k) {
			continue
		}
		if s, ok := f.export(b[k:][:terminal], n.name); ok {
			list = append(list, s)
		}
		b = b[uint64(k)+terminal:]
		count := int(b[0])
		b = b[1:]
		for ; count > 0; count-- {
			end := bytes.IndexByte(b, 0)
			if end < 0 {
				break
			}
			off, k := binary.Uvarint(b[end+1:])
			if k <= 0 {
				break
			}
			size += end
			open = append(open, node{off, n.name + string(b[:min(end, maxName)])})
			b = b[end+1+k:]
		}
	}
	return list
}

// export is what a node says of a name: re-exports, resolvers' stubs and absolute
// symbols are not addresses of this file's code.
func (f *File) export(b []byte, name string) (Symbol, bool) {
	flags, k := binary.Uvarint(b)
	if k <= 0 || name == "" || flags&0x8 != 0 || flags&0x3 == 2 {
		return Symbol{}, false
	}
	off, k := binary.Uvarint(b[k:])
	if k <= 0 {
		return Symbol{}, false
	}
	a := f.textAddr() + off
	return Symbol{Name: plainName(name), Addr: a, Section: f.sectionAt(a), External: true, Weak: flags&0x4 != 0, Exported: true}, true
}
