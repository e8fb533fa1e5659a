package regions

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/internal/addr"
)

// A stack is the memory that a thread was made with: its guard, the stack itself, and at the end
// static thread-local storage and struct pthread, in glibc's order.
type stack struct {
	start, end addr.Run // with guard and struct pthread
	guard      uint64   // bytes from start that may not be touched
	pthread    addr.Run // the thread pointer
	known      bool     // struct pthread told the range
}

// threads claims the stacks and the static thread-local storage of the threads that live, and of
// those whose stacks the C library has kept.
func (d *divider) threads() {
	for _, b := range d.src.TLS {
		for _, t := range d.src.Threads {
			if t.TID == b.TID && b.Static && b.Start < t.FS && t.FS-b.Start < maxStatic {
				d.static = max(d.static, uint64(t.FS-b.Start))
			}
		}
	}
	living := map[addr.Run]int{} // thread pointers
	main := false
	for i := range d.src.Threads {
		t := &d.src.Threads[i]
		if other, twice := living[t.FS]; twice && t.FS != 0 {
			d.note("threads %d and %d have the same thread pointer %v", other, t.TID, t.FS)
			continue
		}
		living[t.FS] = t.TID
		main = main || t.TID == d.src.PID
		d.thread(t)
	}
	if m := d.mainStack(); m != nil && !main && len(d.src.Threads) > 0 {
		d.claim(levelStack, claim{start: m.Start, end: m.End, kind: Stack, label: "the main thread has ended"})
	}
	d.ended(living)
}

// maxStatic bounds the static thread-local storage of a thread: programs have some
// kilobytes, the largest some megabytes.
const maxStatic = 64 << 20

func (d *divider) mainStack() *Mapping {
	i := slices.IndexFunc(d.maps, func(m Mapping) bool { return m.Path == "[stack]" })
	if i < 0 {
		return nil
	}
	return &d.maps[i]
}

// thread claims what a living thread has.
func (d *divider) thread(t *Thread) {
	var own stack
	if t.TID == d.src.PID {
		if m := d.mainStack(); m != nil {
			own = stack{start: m.Start, end: m.End}
		}
		d.storage(t, t.FS+addr.Run(d.src.Pthread.Size))
	} else if t.FS != 0 {
		own = d.stackOf(t.FS, t.Stacks)
		d.storage(t, d.storageEnd(own))
	}
	if own.end != 0 {
		d.ownStack(t, own)
	}
	if g := t.SignalStack; g.Start < g.End {
		used := usedFrom(g.Start, g.End, t.Stacks)
		d.claim(levelStack, claim{start: g.Start, end: used, kind: StackUnused, tid: t.TID, label: "alternate signal stack"})
		d.claim(levelStack, claim{start: used, end: g.End, kind: SignalStack, tid: t.TID})
	}
}

// storageEnd is where struct pthread ends in a stack.
func (d *divider) storageEnd(s stack) addr.Run {
	if n := d.src.Pthread.Size; n != 0 && s.pthread+addr.Run(n) <= s.end {
		return s.pthread + addr.Run(n)
	}
	return s.end
}

// storage claims the static thread-local storage of a thread up to end, with struct pthread.
func (d *divider) storage(t *Thread, end addr.Run) {
	if t.FS == 0 || d.mapping(t.FS) == nil {
		if t.FS != 0 {
			d.note("thread pointer %v of thread %d: nothing is mapped there", t.FS, t.TID)
		}
		return
	}
	begin := t.FS
	for _, b := range d.src.TLS {
		if b.TID == t.TID && b.Static && b.Start < begin && t.FS-b.Start < maxStatic {
			begin = b.Start
		}
	}
	d.claim(levelTLS, claim{start: begin, end: end, kind: TLS, tid: t.TID})
}

// ownStack claims the stack that a thread was made with.
func (d *divider) ownStack(t *Thread, s stack) {
	d.guard(s, t.TID)
	low := s.start + addr.Run(s.guard)
	used := usedFrom(low, s.end, t.Stacks)
	c := claim{start: used, end: s.end, kind: Stack, tid: t.TID}
	if used == s.end {
		c.start, c.label = low, "the thread runs on another one: how much of this is used is not known"
	}
	d.claim(levelStack, claim{start: low, end: c.start, kind: StackUnused, tid: t.TID})
	d.claim(levelStack, c)
}

// guard claims the guard of a stack: the part of its range that may not be touched, or
// the mapping without access below it.
func (d *divider) guard(s stack, tid int) {
	start, end := s.start, s.start+addr.Run(s.guard)
	if s.guard == 0 && !s.known {
		if m := d.mapping(s.start - 1); m != nil && mappingKind(m) == Reserved {
			start = m.Start
		}
	}
	d.claim(levelStack, claim{start: start, end: end, kind: StackGuard, tid: tid})
}

// usedFrom is where the used part of [start, end) begins: at the lowest stack pointer in it.
// end: none points there.
func usedFrom(start, end addr.Run, pointers []addr.Run) addr.Run {
	used := end
	for _, sp := range pointers {
		if start <= sp && sp < used {
			used = sp
		}
	}
	if used == end {
		return end
	}
	return max(start, used-min(addr.RedZone, used))
}

// stackOf finds the stack that a thread was made with by its thread pointer: struct pthread is in
// the end of it, and has its range. Where it does not tell, the mapping does.
func (d *divider) stackOf(fs addr.Run, pointers []addr.Run) stack {
	if s, ok := d.readStack(fs); ok {
		return s
	}
	m := d.mapping(fs)
	if m == nil || !m.allows('w') {
		return stack{}
	}
	s := stack{start: m.Start, end: m.End, pthread: fs}
	if n := d.src.Pthread.Size; n != 0 {
		s.end = min(s.end, pageUp(fs+addr.Run(n)))
	}
	inside := slices.ContainsFunc(pointers, func(sp addr.Run) bool { return s.start <= sp && sp < fs })
	if !inside {
		return stack{} // the mapping may be anything
	}
	return s
}

// A pthread is searched for the range of its stack in this many bytes, where its size is
// not told: it has 2304 in glibc 2.31, 2368 in 2.41.
const searchedPthread = 4096

// Bounds of what glibc accepts as a stack: PTHREAD_STACK_MIN, and what a user may ask for.
const (
	minStack = 16 << 10
	maxStack = 1 << 42
)

// readStack reads the range of a stack from the fields of glibc's struct pthread: stackblock,
// stackblock_size and guardsize follow each other (nptl/descr.h). Where they are in it differs
// between versions; only they name a range that ends right behind the struct.
func (d *divider) readStack(pthread addr.Run) (stack, bool) {
	if !d.isPthread(pthread) {
		return stack{}, false
	}
	size := d.src.Pthread.Size
	b := make([]byte, searchedPthread)
	if size != 0 && size < searchedPthread {
		b = b[:size]
	}
	n, _ := d.src.Memory.ReadAt(b, int64(pthread))
	words := n / 8
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	for i := 0; i+2 < words; i++ {
		at, length, guard := addr.Run(word(i)), word(i+1), word(i+2)
		end := at + addr.Run(length)
		if length < minStack || length > maxStack || guard >= length || at >= pthread || end <= pthread || end < at {
			continue
		}
		// 64 is the alignment of struct pthread, more if thread-local variables need more.
		if behind := uint64(end - pthread); behind < size || behind > size+PageSize && size != 0 || behind > 2*searchedPthread {
			continue
		}
		if d.mapping(at) == nil || d.mapping(end-1) == nil {
			continue
		}
		if guard%PageSize != 0 || at%PageSize != 0 {
			guard = 0 // of a stack that the program gave
		}
		return stack{start: at, end: end, guard: guard, pthread: pthread, known: true}, true
	}
	return stack{}, false
}

// isPthread reports whether a struct pthread of glibc is at a: its header points to it twice
// (tcbhead_t.tcb and self, sysdeps/x86_64/nptl/tls.h).
func (d *divider) isPthread(a addr.Run) bool {
	if d.src.Memory == nil || a == 0 || a%16 != 0 || d.mapping(a) == nil {
		return false
	}
	return d.word(a) == uint64(a) && d.word(a+16) == uint64(a)
}

// word reads a word, 0 if it cannot be.
func (d *divider) word(a addr.Run) uint64 {
	v, _ := addr.ReadWord(d.src.Memory, a)
	return v
}

// maxStacks bounds the walk of a list of stacks.
const maxStacks = 1 << 17

// ended claims the stacks of threads that have ended: those that wait for the next thread, and
// those that no thread has joined, whose struct pthread still has the result.
func (d *divider) ended(living map[addr.Run]int) {
	p := d.src.Pthread
	if d.src.Memory == nil {
		return
	}
	seen := map[addr.Run]bool{}
	const unjoined, kept = "of a thread that has ended and was not joined", "of a thread that has ended, kept for the next one"
	for _, list := range []struct {
		head  addr.Run
		label string
		kept  bool
	}{{p.Used, unjoined, false}, {p.User, unjoined, false}, {p.Cache, kept, true}} {
		if list.head == 0 || p.List == 0 {
			continue
		}
		d.walkList(list.head, func(pthread addr.Run) {
			if _, lives := living[pthread]; lives || seen[pthread] {
				return
			}
			seen[pthread] = true
			if s, ok := d.readStack(pthread); ok {
				d.endedStack(s, list.label, list.kept)
			}
		})
	}
	if p.Cache == 0 {
		d.findEnded(living, seen)
	}
}

// walkList calls f with each struct pthread of a list of the C library.
func (d *divider) walkList(head addr.Run, f func(addr.Run)) {
	for at, n := addr.Run(d.word(head)), 0; at != head; at, n = addr.Run(d.word(at)), n+1 {
		pthread := at - addr.Run(d.src.Pthread.List)
		if n == maxStacks || !d.isPthread(pthread) {
			if at != 0 {
				d.note("list of stacks at %v: no thread is at %v", head, at)
			}
			return
		}
		f(pthread)
	}
}

// endedStack claims the stack of a thread that has ended. In one that is kept nothing is of use;
// otherwise struct pthread still has the result of the thread, and values of its keys.
func (d *divider) endedStack(s stack, label string, kept bool) {
	d.guard(s, 0)
	low := s.start + addr.Run(s.guard)
	if p := d.src.Pthread; !kept && p.TID != 0 {
		if tid := uint32(d.word(s.pthread + addr.Run(p.TID))); tid != 0 { // the kernel clears it at the end
			label = fmt.Sprintf("of thread %d, which is not among the living", tid)
		}
	}
	if !kept {
		begin := max(low, s.pthread-min(s.pthread, addr.Run(d.static)))
		d.claim(levelTLS, claim{start: begin, end: d.storageEnd(s), kind: TLS, label: label})
	}
	d.claim(levelStack, claim{start: low, end: s.end, kind: StackEnded, label: label})
}

// maxSearched bounds the mappings whose ends are searched for a struct pthread.
const maxSearched = 1 << 14

// findEnded looks for stacks that the C library has kept where its lists are not known: a struct
// pthread, which points to itself twice, is in the end of their mappings.
func (d *divider) findEnded(living map[addr.Run]int, seen map[addr.Run]bool) {
	searched := 0
	for i := range d.maps {
		m := &d.maps[i]
		if mappingKind(m) != Anonymous || m.End-m.Start < 2*PageSize || m.Known && m.Resident == 0 {
			continue
		}
		if searched++; searched > maxSearched {
			return
		}
		const tail = 2 * PageSize
		b := make([]byte, tail)
		base := m.End - tail
		n := 0
		d.resident(base, m.End, func(from, to addr.Run) { // reading untouched memory makes page tables
			k, _ := d.src.Memory.ReadAt(b[from-base:to-base], int64(from))
			n += k
		})
		for at := 0; at+24 <= len(b) && n > 0; at += 16 {
			p := base + addr.Run(at)
			self := binary.LittleEndian.Uint64(b[at:])
			if self != uint64(p) || binary.LittleEndian.Uint64(b[at+16:]) != uint64(p) || seen[p] {
				continue
			}
			if _, lives := living[p]; lives {
				continue
			}
			if s, ok := d.readStack(p); ok {
				seen[p] = true
				d.endedStack(s, "of a thread that has ended", false)
			}
		}
	}
}

// resident calls f with the parts of [start, end) that can be read without making pages.
func (d *divider) resident(start, end addr.Run, f func(from, to addr.Run)) {
	if d.src.Pages == nil {
		f(start, end)
		return
	}
	d.src.Pages(start, end, func(p PageRun) {
		if from, to := max(p.Start, start), min(p.End, end); from < to {
			f(from, to)
		}
	})
}
