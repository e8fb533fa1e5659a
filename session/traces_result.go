package session

import (
	"cmp"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/when"
	"hdb/names"
	"hdb/values"
)

// Bounds of what is read of a result and of the blocks that it leads to.
const (
	untypedBytes   = 64       // of a result of unknown type: a string has 32, a container up to 56
	maxResultBytes = 64 << 10 // of one whose type is known
	maxOwnedBytes  = 4 << 20  // of the blocks, in all
	maxOwnedBlocks = 20000    // that are read
)

// A returnForm is how a function returns what it returns.
type returnForm struct {
	pointer bool   // RAX may be the address of a block
	memory  uint64 // bytes at RAX, in the caller's memory, that are the result; 0 none
	second  bool   // RDX may be the address of a block, too
}

// returnFormOf is how a function returns what it returns, of a call that had first as its first argument. Without debug
// information a function that returns its first argument is taken for one that returns an object in
// the caller's memory, whose address that is (System V ABI 3.2.3, class MEMORY).
func (s *Traces) returnFormOf(f names.Frame, first uint64, regs inferior.Registers) returnForm {
	r := returnForm{pointer: true}
	if first != 0 && first == regs.Result() {
		r.memory = untypedBytes
	}
	_ = s.values.Guarded(func(*values.Frame) error {
		vf := s.values.FrameAt([]names.Frame{f}, 0)
		t, err := s.values.World.ReturnType(vf)
		if err != nil {
			return err
		}
		in, err := s.values.World.ReturnsInMemory(vf)
		if err != nil && t.Strip().Kind != values.Void {
			return err
		}
		size := uint64(max(t.Strip().Size(), 0))
		r = returnForm{}
		switch {
		case t.Strip().Kind == values.Void:
		case in:
			r.pointer, r.memory = true, min(size, maxResultBytes)
		default:
			r.pointer, r.second = size >= 8, size > 8
		}
		return nil
	})
	return r
}

// returnedBlocks tells the blocks that the caller has by a result: the one at RAX, and all that an object in the
// caller's memory leads to. RAX of a function that returns nothing, or less than an address, means nothing.
func (s *Traces) returnedBlocks(r returnForm, kept []when.Kept, regs inferior.Registers) func(when.Kept) bool {
	owned := map[uint64]bool{}
	if r.memory > 0 && len(kept) > 0 {
		words, _ := s.target.Words(addr.Run(regs.Result()), int(r.memory)) // what could be read
		owned = s.ledTo(words, kept)
	}
	return func(k when.Kept) bool {
		return r.pointer && k.Addr == regs.Result() || r.second && k.Addr == regs.Rdx || owned[k.Addr]
	}
}

// ledTo are the blocks that words point into, and those that these lead to, by their addresses.
func (s *Traces) ledTo(words []uint64, kept []when.Kept) map[uint64]bool {
	kept = slices.SortedFunc(slices.Values(kept), func(a, b when.Kept) int { return cmp.Compare(a.Addr, b.Addr) })
	owned := map[uint64]bool{}
	var todo []when.Kept
	add := func(words []uint64) {
		for _, w := range words {
			i, exact := slices.BinarySearchFunc(kept, w, func(k when.Kept, w uint64) int { return cmp.Compare(k.Addr, w) })
			if !exact {
				i--
			}
			if i < 0 || !exact && w-kept[i].Addr >= kept[i].Size || owned[kept[i].Addr] {
				continue
			}
			owned[kept[i].Addr] = true
			todo = append(todo, kept[i])
		}
	}
	add(words)
	for read := uint64(0); len(todo) > 0 && len(owned) <= maxOwnedBlocks && read < maxOwnedBytes; {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		size := min(k.Size, maxOwnedBytes-read)
		read += size
		inside, _ := s.target.Words(addr.Run(k.Addr), int(size)) // what could be read
		add(inside)
	}
	return owned
}
