package pymalloc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// What PYTHONMALLOC=debug has around a block (_PyMem_DebugRawAlloc of Objects/obmalloc.c):
//
//	p-16  8 bytes  the size that was asked for, most significant byte first
//	p-8   1 byte   'r', 'm' or 'o': the domain that it was asked of
//	p-7   7 bytes  0xFD
//	p     size     the block: 0xCD until it is written to
//	p+size 8 bytes 0xFD
//	      8 bytes  a serial number, if CPython was built with PYMEM_DEBUG_SERIALNO
//
// All of it becomes 0xDD when the block is freed.
const (
	debugHeader = 16
	debugTail   = 8
	debugSerial = 8
	CleanByte   = 0xCD
	DeadByte    = 0xDD
	Forbidden   = 0xFD
)

// DamageKind is what is wrong with a block.
type DamageKind uint8

// The kinds of damage.
const (
	Overrun      DamageKind = iota // bytes behind its end were written
	Underrun                       // bytes before its beginning were written
	LostHeader                     // its size or domain cannot be right
	WrittenFreed                   // bytes were written after it was freed
)

// A Damage is what is wrong with a block, and where: Offset counts from its end for Overrun, else from
// its beginning. Bytes are those from the first that is not what it should be to the last.
type Damage struct {
	Kind   DamageKind
	Offset int
	Bytes  []byte
}

// A DebugBlock is a block with debug hooks.
type DebugBlock struct {
	At    addr.Run // what the program was given
	Size  uint64   // it asked for; not known of a block that was freed
	API   byte     // 'r', 'm' or 'o'
	Freed bool
	// Moving tells that the block is just being allocated or freed.
	Moving bool
	// Written is how many of its bytes, of those that were read, are no longer 0xCD.
	Written, Read int
	Serial        uint64
	HasSerial     bool
	Damages       []Damage
}

// maxContents is how much of a block is read to report whether it was written to.
const maxContents = 4096

// DecodeBlock reads the block that the program was given at an address.
func DecodeBlock(mem python.Memory, at addr.Run, serial bool) (DebugBlock, error) {
	head, err := read(mem, at-debugHeader, debugHeader)
	if err != nil {
		return DebugBlock{}, err
	}
	d := DebugBlock{At: at, HasSerial: serial}
	d.header(head)
	if d.Moving || len(d.Damages) > 0 && d.Damages[0].Kind == LostHeader {
		return d, nil
	}
	contents, err := read(mem, at, int(min(d.Size, maxContents)))
	if err != nil {
		return d, err
	}
	d.contents(contents)
	tail, err := read(mem, at+addr.Run(d.Size), debugTail)
	if err != nil {
		return d, fmt.Errorf("behind the %d bytes that its header tells: %w", d.Size, err)
	}
	d.damaged(Overrun, 0, tail, Forbidden)
	if serial {
		d.Serial, err = word(mem, at+addr.Run(d.Size)+debugTail)
		d.Serial = swap(d.Serial)
	}
	return d, err
}

// maxBlock bounds what a header may say.
const maxBlock = 1 << 47

func (d *DebugBlock) header(b []byte) {
	d.Size, d.API = binary.BigEndian.Uint64(b), b[8]
	dead := func(b byte) bool { return b == DeadByte }
	switch {
	case !slices.ContainsFunc(b[8:], func(b byte) bool { return !dead(b) }):
		d.Moving = true
		return
	case d.API != 'r' && d.API != 'm' && d.API != 'o' || d.Size > maxBlock:
		d.Damages = append(d.Damages, Damage{LostHeader, -debugHeader, slices.Clone(b)})
		return
	}
	d.damaged(Underrun, -7, b[9:16], Forbidden)
}

func (d *DebugBlock) contents(b []byte) {
	d.Read = len(b)
	for _, x := range b {
		if x != CleanByte {
			d.Written++
		}
	}
}

// damaged notes which part of b, which begins at an offset, is not as it should be.
func (d *DebugBlock) damaged(kind DamageKind, offset int, b []byte, should byte) {
	first, last := -1, 0
	for i, x := range b {
		if x != should {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first >= 0 {
		d.Damages = append(d.Damages, Damage{kind, offset + first, slices.Clone(b[first : last+1])})
	}
}

// realloc, when it moves a block, lets go of one whose middle is still as it was (ERASED_SIZE):
// only a number of bytes at both ends are 0xDD then.
const erased = 64

// freed looks for what was written after a block was freed. Its first word links free blocks, and
// how many of its last 15 bytes belonged to it is not known. The middle of a larger one counts if
// most of it is 0xDD: else it was moved by realloc.
func (d *DebugBlock) freed(b []byte) {
	const first = 8
	end := len(b) - (layout.Alignment - 1)
	from, to := debugHeader+erased, len(b)-layout.Alignment-debugTail-erased
	if from < to {
		kept := 0
		for _, x := range b[from:to] {
			if x == DeadByte {
				kept++
			}
		}
		if 2*kept < to-from {
			d.damaged(WrittenFreed, first-debugHeader, b[first:from], DeadByte)
			d.damaged(WrittenFreed, to+layout.Alignment-debugHeader, b[to+layout.Alignment:end], DeadByte)
			return
		}
	}
	d.damaged(WrittenFreed, first-debugHeader, b[first:end], DeadByte)
}

func swap(n uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return binary.BigEndian.Uint64(b[:])
}

// DebugBlocks are the blocks of a heap whose allocator has debug hooks.
type DebugBlocks struct {
	h      *Heap
	Serial bool // they have a serial number
}

// Debug tells how blocks with debug hooks are in the heap: whether they have a serial number is
// seen by the size class that most of them are in.
func (h *Heap) Debug() DebugBlocks {
	with, without := 0, 0
	_ = h.pools(func(p *Pool, used []bool) bool { // what is damaged tells nothing
		for i, u := range used {
			if !u {
				continue
			}
			b := p.bytes[layout.PoolHeader+i*p.Size:]
			n := binary.BigEndian.Uint64(b)
			if n > Threshold || b[9] != Forbidden {
				continue
			}
			fits := func(extra int) bool {
				return (int(n)+extra+layout.Alignment-1)/layout.Alignment*layout.Alignment == p.Size
			}
			if fits(debugHeader + debugTail) {
				without++
			}
			if fits(debugHeader + debugTail + debugSerial) {
				with++
			}
		}
		return with+without < 10000
	})
	return DebugBlocks{h, with > without}
}

func (d DebugBlocks) extra() int {
	if d.Serial {
		return debugHeader + debugTail + debugSerial
	}
	return debugHeader + debugTail
}

// decode reads the i-th block of a pool. last tells that it is the one that was cut last and
// is the last in the list of free ones: it may never have been in use.
func (d DebugBlocks) decode(p *Pool, i int, used, last bool) DebugBlock {
	b := p.bytes[layout.PoolHeader+i*p.Size:][:p.Size]
	x := DebugBlock{At: p.block(i) + debugHeader, Freed: !used, HasSerial: d.Serial}
	if !used {
		if !last && p.Size > layout.Alignment {
			x.freed(b)
		}
		return x
	}
	x.header(b[:debugHeader])
	switch {
	case x.Moving:
		return x
	case x.API == 'r' || x.Size+uint64(d.extra()) > uint64(p.Size):
		if len(x.Damages) == 0 || x.Damages[0].Kind != LostHeader {
			x.Damages = slices.Insert(x.Damages, 0, Damage{LostHeader, -debugHeader, slices.Clone(b[:debugHeader])})
		}
		return x
	case len(x.Damages) > 0 && x.Damages[0].Kind == LostHeader:
		return x
	}
	end := debugHeader + int(x.Size)
	x.contents(b[debugHeader:end])
	x.damaged(Overrun, 0, b[end:][:debugTail], Forbidden)
	if d.Serial {
		x.Serial = binary.BigEndian.Uint64(b[end+debugTail:])
	}
	return x
}

// Damaged calls yield for the damaged blocks of the heap, by address, until it returns false. An
// error says which pools could not be read, or what their lists of free blocks come to.
func (d DebugBlocks) Damaged(yield func(DebugBlock) bool) (checked int, err error) {
	err = d.h.pools(func(p *Pool, used []bool) bool {
		for i, u := range used {
			x := d.decode(p, i, u, i == len(used)-1)
			if checked++; len(x.Damages) > 0 && !yield(x) {
				return false
			}
		}
		return true
	})
	return checked, err
}

// At is the block that an address is in, its header included. It must be in a block that was in
// use.
func (d DebugBlocks) At(w Place) (DebugBlock, error) {
	if w.Pool == nil || w.Block == 0 || !w.Cut {
		return DebugBlock{}, errors.New("no block was ever there")
	}
	i := int(w.Block-w.Pool.At-layout.PoolHeader) / w.Pool.Size
	return d.decode(w.Pool, i, w.InUse, i == w.Pool.Cut-1), nil
}

// pools calls yield for the pools that have blocks in use, with which of those that were ever cut are
// in use.
func (h *Heap) pools(yield func(p *Pool, used []bool) bool) error {
	var errs []error
	for _, a := range h.Arenas {
		more := h.Pools(a, func(p *Pool, err error) bool {
			if err == nil && p.Free() {
				return true
			}
			var used []bool
			if err == nil {
				used, err = p.inUse()
			}
			if err != nil {
				if len(errs) < maxErrors {
					errs = append(errs, err)
				}
				return true
			}
			return yield(p, used)
		})
		if !more {
			break
		}
	}
	return errors.Join(errs...)
}

// HookHeader is how many bytes debug hooks put in front of the program's memory.
const HookHeader = debugHeader

// Hooked reports whether debug hooks have a header at the start of an allocator's block of that size. The program was
// given what follows it.
func Hooked(mem python.Memory, start addr.Run, size uint64) bool {
	head, err := read(mem, start, debugHeader)
	if err != nil {
		return false
	}
	d := DebugBlock{}
	d.header(head)
	return !d.Moving && len(d.Damages) == 0 && d.Size <= size && debugHeader+d.Size+debugTail <= size
}
