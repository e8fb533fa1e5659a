package glibc

import (
	"fmt"
	"maps"
	"slices"

	"hdb/internal/addr"
)

const (
	mostTLS  = 64 << 10 // bytes below fs in which a static executable's variables are looked for
	mostList = 1 << 16  // tcache counts are 16 bits
)

// A ThreadCache is the tcache of a thread.
type ThreadCache struct {
	TID  int // 0: not known, and Bins are left out
	Addr addr.Run
	Bins []Bin

	ending bool // the thread is: it frees what is in the lists, without counting
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
	layout layout // by which the score is the best
}

// findThreads finds a library's variables tcache and thread_arena of the threads.
func (h *Heap) findThreads(lib *library) {
	arenaAt := make(map[addr.Run]int, len(h.arenas))
	for i := range h.arenas {
		if a := &h.arenas[i]; &h.libs[a.Library] == lib {
			arenaAt[a.Addr] = i
		}
	}
	lib.caches[0] = len(h.tcaches)
	defer func() { lib.caches[1] = len(h.tcaches) }()
	tcache, arena := h.tlsVariables(tlsOffsets(lib.parts), arenaAt)
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
	if tcache.score > 0 {
		h.mem.layout = tcache.layout
	}
	without := map[int][]int{} // a tcache: threads by arena
	for _, t := range h.src.Threads {
		has := false
		if tcache.score > 0 {
			variable := t.FS + addr.Run(tcache.offset)
			at := h.mem.Pointer(variable)
			if has = h.looksTCache(at, arenaAt); has {
				h.tcaches = append(h.tcaches, ThreadCache{TID: t.TID, Addr: at})
			}
			h.own = append(h.own, variable.To(variable+8))
		}
		if arena.score > 0 {
			if i, ok := arenaAt[h.mem.Pointer(t.FS+addr.Run(arena.offset))]; ok {
				h.arenas[i].Threads = append(h.arenas[i].Threads, t.TID)
				if !has {
					without[i] = append(without[i], t.TID)
				}
			}
		}
	}
	if tcache.score > 0 {
		h.findEnding(lib, without)
	}
}

// findEnding finds tcaches that no variable leads to: of threads that are about to end, and free what is in them, and
// of threads that a child made by fork does not have, whose tcaches it keeps as they were. Threads that end still have
// an arena, which the tcache is from: if it is the arena of one such thread, the tcache is this thread's. A child
// by fork has detached all arenas but its thread's (__malloc_fork_unlock_child).
func (h *Heap) findEnding(lib *library, threads map[int][]int) {
	key := uint64(0)
	found := map[addr.Run]bool{}
	for _, t := range h.tcaches[lib.caches[0]:] {
		found[t.Addr] = true
		_, heads := h.mem.layout.read(h.mem, t.Addr)
		for _, head := range heads {
			if head != 0 && h.isChunk(head) {
				key = h.mem.Word(head + 8)
			}
		}
	}
	random := key != 0 && !found[addr.Run(key)] // as from 2.34 on: nothing else has it
	bound := h.mem.search()
	for _, p := range h.pieces {
		if p.arena < 0 || &h.libs[h.arenas[p.arena].Library] != lib && !p.guessed {
			continue
		}
		a := &h.arenas[p.arena]
		detached := !a.Main && a.Attached == 0
		if len(threads[p.arena]) == 0 && !detached && !random {
			continue
		}
		for i := 0; i < p.chunks.Len() && !bound.reached(); i++ {
			at := p.header(i) + header
			if *p.states.At(i) != Used || !h.mem.layout.chunk(p.size(i)) || found[at] || !h.isEnding(at, key) {
				continue
			}
			t := ThreadCache{Addr: at, ending: true}
			if of := threads[p.arena]; len(of) == 1 {
				t.TID = of[0]
			}
			h.tcaches = append(h.tcaches, t)
		}
	}
}

// isEnding reports whether the user's memory at a is a tcache with chunks in it, whatever it has counted. key is what
// the second words of chunks in other tcaches have, see checkKeys; 0: there are none, and several of its own must agree.
func (h *Heap) isEnding(a addr.Run, key uint64) bool {
	lists, first := 0, uint64(0)
	_, heads := h.mem.layout.read(h.mem, a)
	for k, head := range heads {
		if head == 0 {
			continue
		}
		x, i, ok := h.locate(head)
		if !ok || x.header(i)+header != head {
			return false
		}
		word := h.mem.Word(head + 8)
		if lists == 0 {
			first = word
		}
		least, most := h.mem.layout.sizes(k)
		if n := x.bytes(i); n < least || n > most || word == 0 || word != uint64(a) && (key != 0 && word != key || key == 0 && word != first) {
			return false
		}
		lists++
	}
	return lists > 1 || lists == 1 && (key != 0 || first == uint64(a))
}

// tlsVariables tries offsets, which ascend, and the layouts that the arenas may have.
func (h *Heap) tlsVariables(offsets []int64, arenaAt map[addr.Run]int) (tcache, arena variable) {
	found := h.mem.layout
	for _, l := range layouts {
		if l.stateLayout != found.stateLayout {
			continue
		}
		h.mem.layout = l
		c, a := h.tlsVariablesBy(offsets, arenaAt)
		if c.score > tcache.score {
			tcache = c
		}
		if a.score > arena.score {
			arena = a
		}
	}
	h.mem.layout = found
	return tcache, arena
}

// tlsVariablesBy is tlsVariables with the layout that is set.
func (h *Heap) tlsVariablesBy(offsets []int64, arenaAt map[addr.Run]int) (tcache, arena variable) {
	caches, arenas := make([]int, len(offsets)), make([]int, len(offsets))
	b := h.mem.search()
	for _, t := range h.src.Threads {
		for i, o := range offsets {
			if b.reached() {
				return tcache, arena
			}
			v := h.mem.Pointer(t.FS + addr.Run(o))
			if v == 0 {
				continue
			}
			if _, ok := arenaAt[v]; ok {
				arenas[i]++
			} else if h.looksTCache(v, arenaAt) {
				caches[i]++
			} else if !h.mem.inLibrary(v) { // of a thread without a tcache it leads to a constant
				caches[i], arenas[i] = caches[i]-1, arenas[i]-1
			}
		}
	}
	for i, o := range offsets {
		if caches[i] > tcache.score {
			tcache = variable{o, caches[i], h.mem.layout}
		}
		if arenas[i] > arena.score {
			arena = variable{o, arenas[i], h.mem.layout}
		}
	}
	return tcache, arena
}

// looksTCache reports whether the user's memory at a is a tcache: a chunk of its size in one of the arenas, whose lists
// begin with chunks of the size that they are for.
func (h *Heap) looksTCache(a addr.Run, arenaAt map[addr.Run]int) bool {
	if a%granule != 0 {
		return false
	}
	x, i, ok := h.locate(a)
	if !ok || x.arena < 0 {
		return false
	}
	if _, ok := arenaAt[h.arenas[x.arena].Addr]; !ok && !x.guessed || x.header(i)+header != a || !h.mem.layout.chunk(x.size(i)) || *x.states.At(i) != Used {
		return false
	}
	numbers, heads := h.mem.layout.read(h.mem, a)
	wrong := 0
	for k, first := range heads {
		if first == 0 && h.cached(numbers[k]) > 1 || first != 0 && (first%granule != 0 || !h.isChunk(first)) {
			wrong++
		}
	}
	return wrong <= 2 // something may be damaged
}

// cached is how many chunks a list of a tcache has, by the number that is kept of it. Where that cannot be known it is 0.
func (h *Heap) cached(number uint16) uint64 {
	l, p := &h.mem.layout, &h.params
	switch {
	case !l.slots:
		return uint64(number)
	case p.at == 0 || number > p.tcacheCount:
		return 0
	}
	return uint64(p.tcacheCount - number)
}

// listTCaches follows the lists of the tcaches of a library.
func (h *Heap) listTCaches(tcaches []ThreadCache) {
	for n := range tcaches {
		x, i, _ := h.locate(tcaches[n].Addr)
		*x.states.At(i) = Internal
	}
	keys := map[uint64]int{}
	for n := range tcaches {
		t := &tcaches[n]
		numbers, heads := h.mem.layout.read(h.mem, t.Addr)
		for k, head := range heads {
			b := Bin{Kind: BinTCache, Index: k, Arena: -1, TID: t.TID}
			b.Least, b.Most = h.mem.layout.sizes(k)
			if h.listTCache(t, &b, head, keys) && !t.ending {
				h.checkCount(t, &b, numbers[k])
			}
			if b.Count > 0 && t.TID != 0 {
				t.Bins = append(t.Bins, b)
			}
		}
	}
	h.checkKeys(tcaches, keys)
}

// checkCount compares the number that a tcache keeps of a list with how many chunks it has. A thread that is stopped
// inside malloc has not counted yet, or not linked.
func (h *Heap) checkCount(t *ThreadCache, b *Bin, number uint16) {
	l := &h.mem.layout
	kind, field, want := TCacheCount, "counts", b.Count
	if l.slots {
		if h.params.at == 0 {
			return // how many there may be is not known
		}
		kind, field, want = TCacheSlots, "num_slots", uint64(h.params.tcacheCount)-min(b.Count, uint64(h.params.tcacheCount))
	}
	if n := uint64(number); max(n, want)-min(n, want) > 1 {
		h.report(Damage{Arena: -1, TID: t.TID, Chunk: t.Addr - header, Field: fmt.Sprintf("tcache_perthread_struct.%s[%d]", field, b.Index), Kind: kind, Value: n, Args: [3]uint64{want, b.Count}})
	}
}

// listTCache follows one list, and reports whether it is whole.
func (h *Heap) listTCache(t *ThreadCache, b *Bin, first addr.Run, keys map[uint64]int) bool {
	l := &h.links
	from, field := t.Addr-header, fmt.Sprintf("tcache_perthread_struct.entries[%d]", b.Index)
	for p := first; p != 0; { // the user's memory of the chunk
		d := h.cache(p-header, TCache, b)
		if d == nil && b.Count > mostList {
			d = &Damage{Kind: ListEnd}
		}
		if d != nil {
			d.Arena, d.TID, d.Chunk, d.Field = -1, t.TID, from, field
			d.Value, d.Leads = l.found(h, from+header, p, from != t.Addr-header)
			h.report(*d)
			return false
		}
		keys[h.mem.Word(p+8)]++
		from, field = p-header, "tcache_entry.next"
		p = l.next(h.mem.Word(p), p)
	}
	return true
}

// checkKeys looks for cached chunks whose second word was overwritten: it is the same in all chunks of
// a tcache, up to 2.33 the tcache's address, later a random number of the library.
func (h *Heap) checkKeys(tcaches []ThreadCache, keys map[uint64]int) {
	l := &h.links
	key, n, all := uint64(0), 0, 0
	for k, count := range keys {
		all += count
		if count > n {
			key, n = k, count
		}
	}
	perThread := false
	for _, t := range tcaches {
		perThread = perThread || keys[uint64(t.Addr)] > 0
	}
	if all == n || !perThread && 2*n < all {
		return
	}
	for _, t := range tcaches {
		want := key
		if perThread {
			want = uint64(t.Addr)
		}
		_, heads := h.mem.layout.read(h.mem, t.Addr)
		for _, b := range t.Bins {
			p := heads[b.Index]
			for range b.Count {
				if found := h.mem.Word(p + 8); found != want {
					h.report(Damage{Arena: -1, TID: t.TID, Chunk: p - header, Field: "tcache_entry.key", Kind: TCacheKey, Value: found, Args: [3]uint64{want}})
				}
				p = l.next(h.mem.Word(p), p)
			}
		}
	}
}
