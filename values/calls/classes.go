package calls

import (
	"slices"

	"hdb/unwind"
	"hdb/unwind/dwop"
)

// A Class says in which kind of register an eightbyte of a value is passed (System V ABI
// for AMD64, section 3.2.3).
type Class uint8

// The classes of the ABI.
const (
	NoClass Class = iota // padding
	Integer
	SSE
	SSEUp
	X87
	X87Up
	Memory
)

// Numbers of registers in DWARF (System V ABI for AMD64, figure 3.36).
const (
	regXMM0 = 17
	regST0  = 33
)

// maxSize is the size in bytes of the largest value that is passed in registers, a vector.
const maxSize = 64

// A Layout is a type as the ABI sees it.
type Layout interface {
	// Size is the size of a value in bytes.
	Size() int64
	// Place puts the class of each scalar of a value. It reports false if the value is
	// passed in memory.
	Place(w Words) (bool, error)
}

// Words are the classes of a value's eightbytes.
type Words []Class

// Classify is the classes of a value of a type, nil if it is passed in memory.
func Classify(l Layout) (Words, error) {
	size := l.Size()
	if size > maxSize {
		return nil, nil
	}
	w := make(Words, (size+7)/8)
	if ok, err := l.Place(w); !ok || err != nil {
		return nil, err
	}
	return w.merged(), nil
}

// Put merges the classes of scalars into the eightbytes at an offset and behind it. It
// reports false if the value has no such bytes.
func (w Words) Put(off int64, classes ...Class) bool {
	for i, with := range classes {
		at := off/8 + int64(i)
		if off < 0 || at >= int64(len(w)) {
			return false // of a hostile file: the member is not inside of its struct
		}
		w[at] = merge(w[at], with)
	}
	return true
}

// merge is the class of an eightbyte that scalars of two classes share.
func merge(a, b Class) Class {
	switch {
	case a == b || b == NoClass:
		return a
	case a == NoClass:
		return b
	case a == Memory || b == Memory:
		return Memory
	case a == Integer || b == Integer:
		return Integer
	case a == X87 || a == X87Up || b == X87 || b == X87Up:
		return Memory
	}
	return SSE
}

// merged applies the rules about the whole value. It returns nil for a value in memory.
func (w Words) merged() Words {
	for i, cl := range w {
		switch {
		case cl == Memory:
			return nil
		case cl == X87Up && (i == 0 || w[i-1] != X87):
			return nil
		case cl == X87 && (i+1 == len(w) || w[i+1] != X87Up):
			return nil
		case cl == SSEUp && (i == 0 || w[i-1] != SSE && w[i-1] != SSEUp):
			w[i] = SSE
		}
		if i >= 2 && (w[0] != SSE || slices.ContainsFunc(w[1:], func(cl Class) bool { return cl != SSEUp })) {
			return nil
		}
	}
	return w
}

// Returned assigns the registers in which a value of these classes is returned (section
// 3.2.3, "Returning of Values").
func (w Words) Returned() []dwop.Location {
	general := []unwind.Reg{unwind.RAX, unwind.RDX}
	vector := uint64(regXMM0)
	out := []dwop.Location{}
	for i := 0; i < len(w); i++ {
		p := dwop.Location{Kind: dwop.InRegister, Bits: 64}
		switch w[i] {
		case Integer:
			p.Reg, general = uint64(general[0]), general[1:]
		case SSE:
			for p.Reg = vector; i+1 < len(w) && w[i+1] == SSEUp; i++ {
				p.Bits += 64
			}
			vector++
		case X87:
			p.Reg, p.Bits = regST0, 128
			i++ // class X87UP
		default: // padding, and classes without members
			p = dwop.Location{Kind: dwop.Inline, Data: make([]byte, 8), Bits: 64}
		}
		out = append(out, p)
	}
	return out
}
