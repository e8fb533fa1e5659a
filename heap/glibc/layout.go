package glibc

import "hdb/internal/addr"

// A layout is where the structs of some releases of glibc have their fields. The sources are malloc/malloc.c and malloc/arena.c.
type layout struct {
	releases string
	stateLayout
	tcacheLayout
	// mmappedTail are bytes of the mapping of a chunk of its own that its size leaves out, usable except the last 8.
	mmappedTail uint64
	// tunables are tcache_bins, tcache_max_bytes and tcache_count behind sbrk_base, as they are by default.
	tunables [3]uint64
}

// A stateLayout has the offsets of struct malloc_state.
type stateLayout struct {
	fastbins  int // how many lists there are at stateFastbins
	top       addr.Run
	bins      addr.Run // two words behind top, so that the head of a bin is as if it were a chunk
	next      addr.Run
	attached  addr.Run
	system    addr.Run
	maxSystem addr.Run
	size      addr.Run
	thpMode   int // words of struct malloc_par's field thp_mode
}

// A tcacheLayout is the layout of struct tcache_perthread_struct: an uint16_t for each list, then their heads.
type tcacheLayout struct {
	lists   int  // of which the first tcacheBins are of one size each
	slots   bool // the numbers are those of chunks that a list has room for, not of those in it
	entries int  // offset of the heads
}

const (
	tcacheBins = 64 // lists of chunks of one size
	// A list behind those has chunks of 2^(k-tcacheLarge) bytes up to twice as many.
	tcacheLarge = 54
)

var (
	stateWithFastbins = stateLayout{fastbins: 10, top: 0x60, bins: 0x70, next: 0x870, attached: 0x880, system: 0x888, maxSystem: 0x890, size: 0x898}
	stateWithout      = stateLayout{top: 0x08, bins: 0x18, next: 0x818, attached: 0x828, system: 0x830, maxSystem: 0x838, size: 0x840, thpMode: 1}

	tcacheCounts = tcacheLayout{lists: 64, entries: 2 * 64}
	tcacheSlots  = tcacheLayout{lists: 76, slots: true, entries: 2 * 76}
)

// layouts are those of all releases. Which one a program has is found by what memory holds: by the list of arenas, then by tcaches.
var layouts = [...]layout{
	{"2.27 to 2.41", stateWithFastbins, tcacheCounts, 0, [3]uint64{64, 1032, 7}},
	{"2.42", stateWithFastbins, tcacheSlots, 0, [3]uint64{64, 1041, 16}},
	{"2.43", stateWithout, tcacheSlots, 16, [3]uint64{64, 1041, 16}},
}

// bytes is the size of the struct.
func (l *tcacheLayout) bytes() int { return l.entries + 8*l.lists }

// chunk reports whether a chunk of a size may hold the struct. malloc gives 16 bytes more where they would be left over.
func (l *tcacheLayout) chunk(size uint64) bool {
	want := ChunkSize(uint64(l.bytes()))
	return size == want || size == want+granule
}

// read splits the words of a tcache into the numbers and the heads of its lists.
func (l *tcacheLayout) read(m *memory, at addr.Run) (numbers []uint16, heads []addr.Run) {
	w := m.words(at, l.bytes()/8)
	for k := range l.lists {
		numbers = append(numbers, uint16(w[k/4]>>(16*(k%4))))
	}
	for _, head := range w[l.entries/8:] {
		heads = append(heads, addr.Run(head))
	}
	return numbers, heads
}

// sizes are those of the chunks of a list, headers included.
func (l *tcacheLayout) sizes(list int) (least, most uint64) {
	if list < tcacheBins {
		return uint64(list+2) * granule, uint64(list+2) * granule
	}
	least = 1 << (list - tcacheLarge)
	return max(least, (tcacheBins+1)*granule), 2*least - granule
}
