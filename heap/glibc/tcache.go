package glibc

import (
	"fmt"
	"maps"
	"slices"

	"hdb/internal/addr"
)

// struct tcache_perthread_struct: uint16_t counts[64], then tcache_entry *entries[64].
const (
	tcacheBins    = 64
	tcacheEntries = 2 * tcacheBins
	tcacheSize    = tcacheEntries + 8*tcacheBins
	tcacheChunk   = tcacheSize + 16 // the size of its chunk

	mostTLS  = 64 << 10 // bytes below fs in which a static executable's variables are looked for
	mostList = 1 << 16  // tcache counts are 16 bits
)

// A ThreadCache is the tcache of a thread.
type ThreadCache struct {
	TID  int
	Addr addr.Run
	Bins []Bin
}

// tlsOffsets are the offsets from fs of variables of libc in TLS, which tell where they may be: the
// linker has put them into its data (R_X86_64_TPOFF64). A static executable has none.
func tlsOffsets(parts []section) []int64 {
	found := map[int64]bool{}
	for _, s := range parts {
		for i := range len(s.data) / 8 {
			if v := int64(s.word(i)); v < 0 && v >= -1<<24 && v%8 == 0 {
				found[v] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// A variable is one of libc in TLS, with how many threads have a value in it that it can have.
type variable struct {
	offset int64 // from fs
	score  int
}

// findThreads finds the variables tcache and thread_arena of the threads.
func (h *Heap) findThreads(parts []section) {
	arenaAt := make(map[addr.Run]int, len(h.arenas))
	for i := range h.arenas {
		arenaAt[h.arenas[i].Addr] = i
	}
	tcache, arena := h.tlsVariables(tlsOffsets(parts), arenaAt)
	if tcache.score == 0 {
		var offsets []int64
		for o := int64(-mostTLS); o < 0; o += 8 {
			offsets = append(offsets, o)
		}
		var other variable
		if tcache, other = h.tlsVariables(offsets, arenaAt); other.score > arena.score {
			arena = other
		}
	}
	for _, t := range h.src.Threads {
		if tcache.score > 0 {
			variable := t.FS + addr.Run(tcache.offset)
			if at := h.mem.pointer(variable); h.looksTCache(at) {
				h.tcaches = append(h.tcaches, ThreadCache{TID: t.TID, Addr: at})
			}
			h.own = append(h.own, Range{variable, variable + 8})
		}
		if arena.score > 0 {
			if i, ok := arenaAt[h.mem.pointer(t.FS+addr.Run(arena.offset))]; ok {
				h.arenas[i].Threads = append(h.arenas[i].Threads, t.TID)
			}
		}
	}
}

// tlsVariables tries offsets, which ascend.
func (h *Heap) tlsVariables(offsets []int64, arenaAt map[addr.Run]int) (tcache, arena variable) {
	caches, arenas := make([]int, len(offsets)), make([]int, len(offsets))
	b := h.mem.search()
	for _, t := range h.src.Threads {
		for i, o := range offsets {
			if b.reached() {
				return tcache, arena
			}
			v := h.mem.pointer(t.FS + addr.Run(o))
			if v == 0 {
				continue
			}
			if _, ok := arenaAt[v]; ok {
				arenas[i]++
			} else if h.looksTCache(v) {
				caches[i]++
			} else {
				caches[i], arenas[i] = caches[i]-1, arenas[i]-1
			}
		}
	}
	for i, o := range offsets {
		if caches[i] > tcache.score {
			tcache = variable{o, caches[i]}
		}
		if arenas[i] > arena.score {
			arena = variable{o, arenas[i]}
		}
	}
	return tcache, arena
}

// looksTCache tells whether the user's memory at a is a tcache: a chunk of its size, whose lists
// begin with chunks of the size that they are for.
func (h *Heap) looksTCache(a addr.Run) bool {
	if a%granule != 0 {
		return false
	}
	x, i, ok := h.locate(a)
	if !ok || x.arena < 0 || x.header(i)+header != a || x.size(i) != tcacheChunk || *x.states.At(i) != Used {
		return false
	}
	w := h.mem.words(a, tcacheSize/8)
	wrong := 0
	for k := range tcacheBins {
		count, first := uint16(w[k/4]>>(16*(k%4))), addr.Run(w[tcacheEntries/8+k])
		if first == 0 && count > 1 || first != 0 && (first%granule != 0 || !h.isChunk(first)) {
			wrong++
		}
	}
	return wrong <= 2 // something may be damaged
}

// listTCaches follows the lists of the tcaches.
func (h *Heap) listTCaches() {
	for n := range h.tcaches {
		x, i, _ := h.locate(h.tcaches[n].Addr)
		*x.states.At(i) = Internal
	}
	keys := map[uint64]int{}
	for n := range h.tcaches {
		t := &h.tcaches[n]
		w := h.mem.words(t.Addr, tcacheSize/8)
		for k := range tcacheBins {
			b := Bin{Kind: BinTCache, Index: k, Least: uint64(k+2) * 16, Most: uint64(k+2) * 16, Arena: -1, TID: t.TID}
			whole := h.listTCache(t, &b, addr.Run(w[tcacheEntries/8+k]), keys)
			// A thread that is stopped inside malloc has not counted yet, or not linked.
			if count := uint64(uint16(w[k/4] >> (16 * (k % 4)))); whole && count != b.Count && max(count, b.Count)-min(count, b.Count) > 1 {
				h.report(Damage{Arena: -1, TID: t.TID, Chunk: t.Addr - header, Field: fmt.Sprintf("tcache_perthread_struct.counts[%d]", k), Kind: TCacheCount, Value: count, Args: [3]uint64{b.Count}})
			}
			if b.Count > 0 {
				t.Bins = append(t.Bins, b)
			}
		}
	}
	h.checkKeys(keys)
}

// listTCache follows one list, and tells whether it is whole.
func (h *Heap) listTCache(t *ThreadCache, b *Bin, first addr.Run, keys map[uint64]int) bool {
	l := &h.links
	from, field := t.Addr-header, fmt.Sprintf("tcache_perthread_struct.entries[%d]", b.Index)
	for p := first; p != 0; { // the user's memory of the chunk
		d := h.cache(p-header, TCache, b.Least)
		if d == nil && b.Count == mostList {
			d = &Damage{Kind: ListEnd}
		}
		if d != nil {
			d.Arena, d.TID, d.Chunk, d.Field = -1, t.TID, from, field
			d.Value, d.Leads = l.found(h, from+header, p, from != t.Addr-header)
			h.report(*d)
			return false
		}
		keys[h.mem.word(p+8)]++
		b.Count++
		b.Bytes += b.Least
		from, field = p-header, "tcache_entry.next"
		p = l.next(h.mem.word(p), p)
	}
	return true
}

// checkKeys looks for cached chunks whose second word was overwritten: it is the same in all chunks of
// a tcache, up to 2.33 the tcache's address, later a random number of the process.
func (h *Heap) checkKeys(keys map[uint64]int) {
	l := &h.links
	key, n, all := uint64(0), 0, 0
	for k, count := range keys {
		all += count
		if count > n {
			key, n = k, count
		}
	}
	perThread := false
	for _, t := range h.tcaches {
		perThread = perThread || keys[uint64(t.Addr)] > 0
	}
	if all == n || !perThread && 2*n < all {
		return
	}
	for _, t := range h.tcaches {
		want := key
		if perThread {
			want = uint64(t.Addr)
		}
		w := h.mem.words(t.Addr, tcacheSize/8)
		for _, b := range t.Bins {
			p := addr.Run(w[tcacheEntries/8+b.Index])
			for range b.Count {
				if found := h.mem.word(p + 8); found != want {
					h.report(Damage{Arena: -1, TID: t.TID, Chunk: p - header, Field: "tcache_entry.key", Kind: TCacheKey, Value: found, Args: [3]uint64{want}})
				}
				p = l.next(h.mem.word(p), p)
			}
		}
	}
}
