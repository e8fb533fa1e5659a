package objects

import (
	"encoding/binary"
	"fmt"

	"hdb/internal/addr"
	"hdb/python"
)

const (
	blockSize = 64 << 10 // what is read at once
	pageSize  = 4 << 10
	maxBlocks = 8 << 10 // 512 MiB are kept
	recent    = 1 << 10 // of these are found at once
)

// A block is memory as it was read.
type block struct {
	number uint64
	bytes  []byte // nil: none of it can be read
	pages  uint16 // a bit for each of its pages that could
}

// A cache is the memory of a stopped process, read in blocks.
type cache struct {
	mem    python.Memory
	blocks map[uint64]*block
	recent [recent]*block
}

func newCache(mem python.Memory) *cache { return &cache{mem: mem, blocks: map[uint64]*block{}} }

// block is the one with a number.
func (c *cache) block(n uint64) *block {
	slot := &c.recent[n%recent]
	if b := *slot; b != nil && b.number == n {
		return b
	}
	b := c.blocks[n]
	if b == nil {
		if len(c.blocks) == maxBlocks {
			clear(c.blocks)
			clear(c.recent[:])
		}
		b = c.load(n)
		c.blocks[n] = b
	}
	*slot = b
	return b
}

func (c *cache) load(n uint64) *block {
	b := &block{number: n}
	at := int64(n * blockSize)
	if at < 0 {
		return b
	}
	bytes := make([]byte, blockSize)
	if got, _ := c.mem.ReadAt(bytes, at); got == blockSize {
		b.bytes, b.pages = bytes, 1<<(blockSize/pageSize)-1
		return b
	}
	for i := range blockSize / pageSize { // at an end of what is mapped
		from := i * pageSize
		if got, _ := c.mem.ReadAt(bytes[from:from+pageSize], at+int64(from)); got == pageSize {
			b.bytes = bytes
			b.pages |= 1 << i
		}
	}
	return b
}

// view is the n bytes at an address, nil if they cannot be read. They are not to be changed.
func (c *cache) view(at addr.Run, n int) []byte {
	off := int(at % blockSize)
	if off+n > blockSize {
		return c.across(at, n)
	}
	b := c.block(uint64(at) / blockSize)
	first, last := off/pageSize, (off+n-1)/pageSize
	mask := uint16(1<<(last+1) - 1<<first)
	if b.pages&mask != mask {
		return nil
	}
	return b.bytes[off : off+n : off+n]
}

// across is a view over several blocks.
func (c *cache) across(at addr.Run, n int) []byte {
	if n > 1<<20 {
		return nil // callers read in smaller parts
	}
	out := make([]byte, 0, n)
	for n > 0 {
		some := min(n, blockSize-int(at%blockSize))
		part := c.view(at, some)
		if part == nil {
			return nil
		}
		out = append(out, part...)
		at, n = at+addr.Run(some), n-some
	}
	return out
}

// ReadAt reads as [python.Memory] does.
func (c *cache) ReadAt(b []byte, at int64) (int, error) {
	v := c.view(addr.Run(at), len(b))
	if v == nil {
		return 0, fmt.Errorf("read %d bytes at %#x: not readable", len(b), at)
	}
	return copy(b, v), nil
}

// word is the 8 bytes at an address, 0 if they cannot be read.
func (c *cache) word(at addr.Run) uint64 {
	if b := c.view(at, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// known is word where what cannot be read is not an error.
func (c *cache) known(at addr.Run) (uint64, error) { return c.word(at), nil }

func (c *cache) pointer(at addr.Run) addr.Run { return addr.Run(c.word(at)) }

// field is the pointer that a struct has at an offset.
func (c *cache) field(at addr.Run, offset int) addr.Run { return c.pointer(at + addr.Run(offset)) }

// text is what a C string begins with, at most limit bytes.
func (c *cache) text(at addr.Run, limit int) string {
	var out []byte
	for len(out) < limit {
		b := c.view(at+addr.Run(len(out)), 1)
		if b == nil || b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out)
}

func wordIn(b []byte, at int) uint64      { return binary.LittleEndian.Uint64(b[at:]) }
func pointerIn(b []byte, at int) addr.Run { return addr.Run(binary.LittleEndian.Uint64(b[at:])) }
func intIn(b []byte, at int) int          { return int(int32(binary.LittleEndian.Uint32(b[at:]))) }
