package golang

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"hdb/goruntime"
)

// A RootKind says what kind of root it is.
type RootKind uint8

// The kinds.
const (
	OfStack     RootKind = iota // the used part of a goroutine's stack
	OfFinalizer                 // a block that has a finalizer, or the finalizer
	OfCleanup                   // a cleanup of a block
	OfWeak                      // the handle of a weak pointer
	OfQueue                     // a finalizer that is to be run
)

// A Root is where the collector begins, in addition to global variables ([Heap.Global]).
type Root struct {
	Kind      RootKind
	Goroutine uint64 // of OfStack: its number
	Start     uint64 // of OfStack: its used part,
	End       uint64
	Value     uint64 // of the others: what is pointed to
	Of        uint64 // of a special: the block that it belongs to

	seen []uint64 // of OfStack: a bit for each word that the collector takes for a pointer; nil: for all
}

// Sees reports whether the collector takes a word of a stack for a pointer.
func (r *Root) Sees(at uint64) bool {
	if r.seen == nil {
		return true
	}
	i := (at - r.Start) / 8
	return i/64 < uint64(len(r.seen)) && r.seen[i/64]>>(i%64)&1 != 0
}

// Roots are all of them.
func (h *Heap) Roots() []Root { return h.roots }

// A module is a Go program, or a plugin, in the process.
type module struct {
	at     uint64
	limits [8]uint64 // beginnings and ends of noptrdata, data, bss and noptrbss
	types  uint64
	etypes uint64
	data   []byte // masks: a bit for each word that the collector takes for a pointer
	bss    []byte

	looked    bool // for functions
	functions *functions
}

// readModules reads what the runtime knows modules.
func (h *Heap) readModules() {
	l := &h.src.Layout
	seen := map[uint64]bool{}
	for at := h.src.Modules; at != 0 && !seen[at] && len(h.modules) < maxModules; at = h.mem.Word(at + uint64(l.NextModule)) {
		seen[at] = true
		words := h.mem.Words(at+uint64(l.NoPtrData), 8, 8)
		if len(words) < 8 {
			h.torn++
			return
		}
		m := module{at: at, limits: [8]uint64(words), types: h.mem.Word(at + uint64(l.Types)), etypes: h.mem.Word(at + uint64(l.ETypes))}
		m.data = h.mask(at+uint64(l.GCDataMask), m.limits[2], m.limits[3])
		m.bss = h.mask(at+uint64(l.GCBSSMask), m.limits[4], m.limits[5])
		h.modules = append(h.modules, m)
	}
}

// Bounds of the data of a module and of the masks of all modules, in bytes.
const (
	maxSection     = 1 << 36
	maxModuleMasks = 1 << 30
)

// mask reads a bitvector of the words from low to high; nil if it is not there.
func (h *Heap) mask(at, low, high uint64) []byte {
	if high <= low || high-low > maxSection {
		return nil
	}
	v := h.mem.Words(at, 2, 2)
	if len(v) < 2 {
		return nil
	}
	size := (min((high-low)/8, uint64(uint32(v[0]))) + 7) / 8
	if size > maxModuleMasks-h.masks {
		h.torn++
		return nil
	}
	h.masks += size
	b := h.mem.Bytes(v[1], size)
	if b == nil {
		h.torn++
	}
	return b
}

// Sight is what the collector takes a word for.
type Sight uint8

const (
	Elsewhere Sight = iota // not memory of Go
	NoPointer
	Pointer
)

// Global tells what the collector takes a word in the data of a module for.
func (h *Heap) Global(at uint64) Sight {
	for i := range h.modules {
		m := &h.modules[i]
		for k := 0; k < 8; k += 2 {
			if at < m.limits[k] || at >= m.limits[k+1] {
				continue
			}
			mask := m.data
			switch k {
			case 0, 6:
				return NoPointer
			case 4:
				mask = m.bss
			}
			if mask == nil { // not made yet: soon after the start
				return Pointer
			}
			n := (at - m.limits[k]) / 8
			if n/8 < uint64(len(mask)) && mask[n/8]>>(n%8)&1 != 0 {
				return Pointer
			}
			return NoPointer
		}
	}
	return Elsewhere
}

// readRoots collects stacks and what is queued; what spans say was collected with them.
func (h *Heap) readRoots() {
	l := &h.src.Layout
	list := h.mem.Words(h.src.AllGs, 2, 2)
	if len(list) == 2 && h.src.AllGs != 0 {
		all := h.mem.Words(list[0], list[1], maxGs)
		slices.Sort(all)
		all = slices.Compact(all)
		stacks := slices.Clone(h.src.Stacks)
		slices.SortFunc(stacks, func(a, b Stack) int { return cmp.Or(cmp.Compare(a.SP, b.SP), cmp.Compare(b.PC, a.PC)) })
		size := max(l.Status, l.GoID, l.SyscallSP+8, l.Sched+l.SchedContext, l.GM) + 8
		h.mem.Each(all, func(int) int { return size }, func(_ int, b []byte) {
			if b != nil {
				h.stack(b, stacks)
			}
		})
	}
	h.queue()
	slices.SortStableFunc(h.roots, func(a, b Root) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Start, b.Start))
	})
}

// stack adds the used part of a goroutine's stack. threads ascend.
func (h *Heap) stack(g []byte, threads []Stack) {
	l := &h.src.Layout
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(g[at:]) }
	lo, hi := word(0), word(8)
	status := binary.LittleEndian.Uint32(g[l.Status:]) &^ goruntime.GScanBit
	if status == goruntime.GIdle || status == goruntime.GDead || status == goruntime.GDeadExtra ||
		lo == 0 || hi <= lo || hi >= goruntime.MaxAddress || hi-lo > maxStack {
		return
	}
	sp := word(l.Sched)
	innermost, running := Stack{sp, word(l.Sched + 8)}, status == goruntime.GRunning
	called := word(l.SyscallSP)
	if called != 0 {
		sp = min(sp, called)
		innermost, running = Stack{called, word(l.SyscallSP + 8)}, false
	}
	in := func(a uint64) bool { return lo <= a && a < hi }
	if k := sort.Search(len(threads), func(i int) bool { return threads[i].SP >= lo }); k < len(threads) && in(threads[k].SP) {
		sp = threads[k].SP
		if status == goruntime.GRunning || called == 0 { // else the frames of the system call hold nothing
			innermost, running = threads[k], true
		}
	} else if status == goruntime.GRunning && !h.onSystemStack(word(l.GM), threads) {
		sp = 0 // its thread is where nothing says what it uses: on a signal's stack, in the vDSO, in C
	}
	root := Root{Kind: OfStack, Goroutine: word(l.GoID), Start: sp, End: hi}
	switch {
	case !in(sp):
		root.Start = lo
	case innermost.PC != 0 && in(innermost.SP) && innermost.SP >= sp && status != goruntime.GCopyStack:
		root.seen = h.scanStack(sp, hi, innermost, running, g)
	}
	h.roots = append(h.roots, root)
}

// maxStack bounds the stack of a goroutine, in bytes: the runtime's own bound is 1 GB.
const maxStack = 1 << 32

// onSystemStack reports whether a thread is on the system's stack (g0) of an m, by the runtime's way there, which
// leaves in g.sched where it came from. Functions that go there themselves do not, to call the vDSO or a sanitizer.
func (h *Heap) onSystemStack(m uint64, threads []Stack) bool {
	if m == 0 {
		return false
	}
	g0 := h.mem.Words(h.mem.Word(m), 2, 2)
	return len(g0) == 2 && slices.ContainsFunc(threads, func(s Stack) bool {
		if s.SP < g0[0] || s.SP >= g0[1] {
			return false
		}
		f := h.frameAt(s.PC)
		return f != nil && !f.spWrite
	})
}

// maxSpecials bounds the specials of all spans.
const maxSpecials = 1 << 22

// specials adds what a span has in addition to its slots: finalizers, cleanups, handles of weak pointers.
func (h *Heap) specials(s *span, first uint64) {
	b := make([]byte, h.src.Layout.SpecialBody+24)
	met := uint64(0) // one that the list has led to, sooner or later each of a ring
	for at, n := first, 1; at != 0; at, n = binary.LittleEndian.Uint64(b), n+1 {
		if at == met || h.special == maxSpecials || !h.mem.Read(b, at) {
			h.torn++
			return
		}
		if n&(n-1) == 0 {
			met = at
		}
		h.special++
		h.addSpecial(s, b)
	}
}

// addSpecial adds the roots of one.
func (h *Heap) addSpecial(s *span, b []byte) {
	l := &h.src.Layout
	offset := uint64(binary.LittleEndian.Uint16(b[8:]))
	if l.SpecialWide {
		offset = binary.LittleEndian.Uint64(b[8:])
	}
	if offset >= s.bytes {
		h.torn++
		return
	}
	slot := offset / s.elem
	if slot >= uint64(s.nelems) {
		return
	}
	of := s.block(uint32(slot)).Addr
	value := binary.LittleEndian.Uint64(b[l.SpecialBody:])
	switch kind := int(b[l.SpecialKind]); {
	case kind == l.Finalizer:
		// Everything that the block leads to stays, and so does the block until its finalizer has run.
		h.roots = append(h.roots, Root{Kind: OfFinalizer, Value: s.start + offset, Of: of}, Root{Kind: OfFinalizer, Value: value, Of: of})
	case kind == l.WeakHandle && kind != 0:
		h.roots = append(h.roots, Root{Kind: OfWeak, Value: value, Of: of})
	case kind == l.Cleanup && kind != 0:
		for at := l.SpecialBody; at+8 <= len(b); at += 8 { // since 1.26 the function, its argument and what calls it; before, an ID follows
			h.roots = append(h.roots, Root{Kind: OfCleanup, Value: binary.LittleEndian.Uint64(b[at:]), Of: of})
		}
	}
}

// queue adds finalizers that are to be run, with the blocks that they are given.
func (h *Heap) queue() {
	if h.src.Finalizers == 0 {
		return
	}
	seen := map[uint64]bool{}
	for at := h.mem.Word(h.src.Finalizers); at != 0 && !seen[at] && len(seen) < 1<<16; at = h.mem.Word(at + goruntime.FinAllLink) {
		seen[at] = true
		const most = 101 // that a block of 4 KiB has
		n := min(h.mem.Word(at+goruntime.FinCount)&0xffffffff, most)
		words := h.mem.Words(at+goruntime.FinFirst, n*goruntime.FinSize/8, most*goruntime.FinSize/8)
		for i := 0; i+1 < len(words); i += goruntime.FinSize / 8 {
			h.roots = append(h.roots, Root{Kind: OfQueue, Value: words[i]}, Root{Kind: OfQueue, Value: words[i+1], Of: words[i+1]})
		}
	}
}
