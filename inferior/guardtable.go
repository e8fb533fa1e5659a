package inferior

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// guardTable is what hdb and the guard share: a memfd that says which bytes of
// the inferior are not its own. hdb changes it with plain stores, always before
// it puts code into the inferior and after it has taken it out, so that it is
// right whenever hdb is killed.
//
//	0       guardHeader
//	4096    robust list of hdb's tracing thread
//	36864   slots of the covers
type guardTable struct {
	mem     []byte
	head    *guardHeader
	list    []robustEntry
	slots   []guardSlot
	free    []int // freed slots
	used    int   // slots ever taken
	tooMany bool  // there was no slot for something
}

// guardHeader is the first page.
type guardHeader struct {
	robust  robustHead
	pid     int32
	guard   atomic.Int32 // the guard's, from when it waits
	started atomic.Bool  // it needs but the memory
	watches atomic.Int32 // 1: debug registers of threads were set
	nsignal atomic.Int32
	signals [32]guardSignal
}

// A guardSignal has been taken from the kernel for a thread that is stopped.
type guardSignal struct{ tid, number int32 }

// A guardSlot is one cover. addr 0: not in use.
type guardSlot struct {
	addr atomic.Uint64
	word atomic.Uint64 // bits 0-7 orig, 8-15 run, then the flags
}

// Flags of a guardSlot's word.
const (
	guardTrap    = 1 << 16 // an int3 is there
	guardPatched = 1 << 17 // a byte of a patch
	guardFirst   = 1 << 18 // its first
)

const (
	guardListAt  = 4096
	guardList    = 2048 // ROBUST_LIST_LIMIT of linux/futex.h: the kernel walks no further
	guardSlotsAt = guardListAt + guardList*int(unsafe.Sizeof(robustEntry{}))
	guardSlots   = 8192
	guardSize    = guardSlotsAt + guardSlots*int(unsafe.Sizeof(guardSlot{}))
)

// robustHead is struct robust_list_head of linux/futex.h, for set_robust_list(2).
type robustHead struct {
	next    uintptr // the first entry
	offset  uintptr // from an entry to its futex
	pending uintptr
}

// robustEntry is struct robust_list with its futex.
type robustEntry struct {
	next  uintptr // the next entry, or the head
	futex uint32  // TID of the owner, and FUTEX_WAITERS
	_     uint32
}

// futexWaiters and futexOwnerDied are bits of a robust futex, linux/futex.h.
const (
	futexWaiters   = 0x80000000
	futexOwnerDied = 0x40000000
)

// mapGuardTable maps the table of a memfd.
func mapGuardTable(fd int) (*guardTable, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != int64(guardSize) {
		return nil, fmt.Errorf("guard's table: size %d, want %d: %w", st.Size, guardSize, err)
	}
	mem, err := unix.Mmap(fd, 0, guardSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("guard's table: %w", err)
	}
	return &guardTable{
		mem:   mem,
		head:  (*guardHeader)(unsafe.Pointer(&mem[0])),
		list:  unsafe.Slice((*robustEntry)(unsafe.Pointer(&mem[guardListAt])), guardList),
		slots: unsafe.Slice((*guardSlot)(unsafe.Pointer(&mem[guardSlotsAt])), guardSlots),
	}, nil
}

// watching notes that debug registers are about to be set. It stays: a thread that runs keeps its own
// until it stops.
func (g *guardTable) watching() {
	if g != nil {
		g.head.watches.Store(1)
	}
}

// take is a slot for a cover, -1 when there is no table or no room in it.
func (g *guardTable) take() int {
	if g == nil {
		return -1
	}
	if n := len(g.free); n > 0 {
		slot := g.free[n-1]
		g.free = g.free[:n-1]
		return slot
	}
	if g.used == len(g.slots) {
		g.tooMany = true
		return -1
	}
	g.used++
	return g.used - 1
}

// drop gives a slot back.
func (g *guardTable) drop(slot int) {
	if g == nil || slot < 0 {
		return
	}
	g.slots[slot].addr.Store(0)
	g.free = append(g.free, slot)
}

// set brings the slot of a cover up to date.
func (g *guardTable) set(c *cover) {
	if g == nil || c.slot < 0 {
		return
	}
	word := uint64(c.orig) | uint64(c.run)<<8
	if c.trap {
		word |= guardTrap
	}
	if c.patch != nil {
		word |= guardPatched
		if c.patch.at == c.at {
			word |= guardFirst
		}
	}
	s := &g.slots[c.slot]
	s.word.Store(word)
	if s.addr.Load() != uint64(c.at) {
		s.addr.Store(uint64(c.at))
	}
}

// clear empties the table.
func (g *guardTable) clear() {
	if g == nil {
		return
	}
	for i := range g.slots[:g.used] {
		g.slots[i].addr.Store(0)
	}
	g.free, g.used = nil, 0
	g.head.nsignal.Store(0)
	g.head.watches.Store(0)
}

// keepSignals notes the signals that the stopped threads have still to get. The
// one whose placeholder is on its way needs no note.
func (g *guardTable) keepSignals(threads []*Thread) {
	if g == nil {
		return
	}
	n := 0
	for _, t := range threads {
		placed := t.placed
		for i := range t.queue {
			number := t.queue[i].info.signo()
			if number == placed {
				placed = 0
			} else if n < len(g.head.signals) {
				g.head.signals[n] = guardSignal{int32(t.TID), int32(number)}
				n++
			}
		}
	}
	g.head.nsignal.Store(int32(n))
}

// forgetSignals is for when they are delivered again.
func (g *guardTable) forgetSignals() {
	if g != nil {
		g.head.nsignal.Store(0)
	}
}

// A guardCover is a slot as the guard reads it.
type guardCover struct {
	at             addr.Run
	orig, run      byte
	trap           bool
	patched, first bool
}

// cover is the reverse of set.
func (s *guardSlot) cover() guardCover {
	word := s.word.Load()
	return guardCover{
		at: addr.Run(s.addr.Load()), orig: byte(word), run: byte(word >> 8),
		trap: word&guardTrap != 0, patched: word&guardPatched != 0, first: word&guardFirst != 0,
	}
}
