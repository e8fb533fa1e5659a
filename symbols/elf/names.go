package elf

import "encoding/binary"

// Names are what to look for in a whole table at once: its index of names, which takes
// longer to make than to look at every entry, is not needed for that.
type Names struct {
	all    map[string]bool
	mask   uint32         // of the bytes that are looked at first, at most 3
	begins [1 << 6]uint64 // bits: hashes of how the names begin
}

// NewNames are these names, none of them empty.
func NewNames(names []string) *Names {
	n := &Names{all: make(map[string]bool, len(names))}
	prefix := 3
	for _, name := range names {
		n.all[name] = true
		prefix = min(prefix, len(name))
	}
	n.mask = 1<<(8*prefix) - 1
	for _, name := range names {
		var b [4]byte
		copy(b[:], name)
		h := n.hash(b[:])
		n.begins[h>>6] |= 1 << (h & 63)
	}
	return n
}

// hash is one of how the name of at least 4 bytes begins, 12 bits.
func (n *Names) hash(b []byte) uint32 {
	return (binary.LittleEndian.Uint32(b) & n.mask) * 0x9e3779b1 >> 20
}

// Among lists the entries with these names without version, in table order.
func (t *Table) Among(names *Names) []Sym {
	var found []Sym
	for i := 1; i < t.Len(); i++ {
		if off := t.nameOffset(i); off+4 <= uint64(len(t.strs)) {
			if h := names.hash(t.strs[off:]); names.begins[h>>6]&(1<<(h&63)) == 0 {
				continue
			}
		}
		if names.all[string(baseName(t.NameBytes(i)))] {
			found = append(found, t.Sym(i))
		}
	}
	return found
}
