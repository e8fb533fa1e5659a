package graph

import "sort"

// A Block is a piece of memory that the program has from its allocator.
type Block struct {
	Addr uint64
	Size uint64 // bytes the program asked for, or may use; may be 0
}

// end is where a block ends.
func (b Block) end() uint64 { return b.Addr + b.Size }

// last is the last address of a block; of an empty one, its start.
func (b Block) last() uint64 { return b.Addr + max(b.Size, 1) - 1 }

// Blocks is a list of blocks, ascending by address, which do not overlap. One takes 12 bytes.
type Blocks struct {
	addr  []uint64
	size  []uint32          // tooLarge of those in large
	large map[uint32]uint64 // sizes by index
}

const tooLarge = 1<<32 - 1

// MakeBlocks is an empty list with room for n blocks.
func MakeBlocks(room int) *Blocks {
	return &Blocks{addr: make([]uint64, 0, room), size: make([]uint32, 0, room)}
}

// BlocksOf is a list of blocks.
func BlocksOf(all []Block) *Blocks {
	b := MakeBlocks(len(all))
	for _, x := range all {
		b.Append(x)
	}
	return b
}

// Append adds a block at the end.
func (b *Blocks) Append(x Block) {
	if x.Size >= tooLarge {
		if b.large == nil {
			b.large = map[uint32]uint64{}
		}
		b.large[uint32(len(b.size))] = x.Size
	}
	b.addr, b.size = append(b.addr, x.Addr), append(b.size, uint32(min(x.Size, tooLarge)))
}

// DropLast removes the last block.
func (b *Blocks) DropLast() {
	n := len(b.addr) - 1
	if b.size[n] == tooLarge {
		delete(b.large, uint32(n))
	}
	b.addr, b.size = b.addr[:n], b.size[:n]
}

// Len is how many there are.
func (b *Blocks) Len() int { return len(b.addr) }

// At is block i.
func (b *Blocks) At(i int) Block {
	size := uint64(b.size[i])
	if size == tooLarge {
		size = b.large[uint32(i)]
	}
	return Block{b.addr[i], size}
}

// Find is the block that an address is in, which for one of size 0 is its start.
func (b *Blocks) Find(address uint64) (block int, ok bool) {
	i := sort.Search(len(b.addr), func(i int) bool { return b.addr[i] > address }) - 1
	return i, i >= 0 && address <= b.At(i).last()
}

// bytes is the sum of their sizes.
func (b *Blocks) bytes() (n uint64) {
	for i := range b.addr {
		n += b.At(i).Size
	}
	return n
}
