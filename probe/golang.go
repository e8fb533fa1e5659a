package probe

import (
	"bytes"
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/probe/reloc"
)

// How a Go runtime is followed.
//
// Goroutines have stacks that move and are searched for pointers, so the core must not be on them
// while Go's code runs: it comes only when runtime.mallocgc returns. The jump lies over the
// function's last instructions; the thunk executes them, except the return, and then everything
// that was asked is at hand: the result in rax, size and type where the caller has room for the
// registers of its call (Go's ABIInternal, "spill space"), the goroutine in r14. Functions for
// single sizes, and from Go 1.27 on all of them, need not have put them there: a second jump,
// behind their check for stack space, does.
//
// The sweeper reports what dies: a jump at the entry of runtime.(*sweepLocked).sweep remembers
// which slots of the span were in use, and one at the entry of runtime.newMarkBits, which it calls
// when it knows which still are, writes a record of those freed (runtime/mgcsweep.go).
//
// Threads that a signal preempts here are not in Go's code: no stack is moved or searched
// until they have left.

// The functions that the catalogue does not have, and the least version that is hooked at entries.
const (
	goSweepMark = "runtime.newMarkBits"
	goUnspilled = 27
)

// A goHook is code of a Go runtime with a jump over it.
type goHook struct {
	patched
	mark uint32 // of the core's part that its thunk leads to, 0 if it only puts the arguments in place
}

// ofGo tells functions of a Go runtime.
func (s *site) ofGo() bool { return s.Function.Group == breakpoints.GroupGo }

// addGo prepares a function of a Go runtime. There may be several: a plugin has the code of its
// host's once more, and each library (c-shared) has a runtime of its own. The state page has
// room for one layout, so they have to be of one version.
func (st *siteTable) addGo(c *caller, b *breakpoints.Site, all []*breakpoints.Site) error {
	layout, err := goruntime.Of(st.p.cfg.GoVersion(b.In))
	if err != nil {
		return err
	}
	other := slices.IndexFunc(st.list, func(o *site) bool { return o.ofGo() && !o.dead && o.In.Low != b.In.Low })
	switch {
	case other < 0:
		st.ofRuntimes, st.goAlone = layout, goAlone(st.p.proc, b.In)
	case st.ofRuntimes != layout:
		return fmt.Errorf("%s and %s have Go runtimes of two versions (1.%d and 1.%d): hdb can follow only one version", st.list[other].Module, b.Module, st.ofRuntimes.Minor, layout.Minor)
	}
	index, ok := st.freeIndex()
	if !ok {
		return fmt.Errorf("%s: more than %d allocator functions", b.Function.Name, maxSites)
	}
	s := &site{Site: b, index: index, bit: st.nextBit(b.Function), patched: patched{module: b.In, entry: b.Addr}}
	if s.island, err = st.p.islands.near(c, b.In); err != nil {
		return fmt.Errorf("%s in %s: %w", b.Function.Symbol, b.Module, err)
	}
	if b.Function.Frees() {
		err = st.hookSweep(c, s, other < 0)
	} else {
		err = st.hookReturns(c, s, layout, all)
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w", b.Function.Symbol, b.Module, err)
	}
	st.enter(s)
	return nil
}

// hookReturns finds where a function that allocates returns.
func (st *siteTable) hookReturns(c *caller, s *site, layout goruntime.Layout, all []*breakpoints.Site) error {
	begin := s.Addr - addr.Run(s.Before)
	size, err := goCodeSize(s.Size, s.Before)
	if err != nil {
		return err
	}
	code := make([]byte, size)
	if n, _ := st.p.proc.ReadAt(code, int64(s.Addr)); n < len(code) {
		return errUnmapped
	}
	var entries []addr.Run
	for _, o := range all {
		if o.Function.Group == breakpoints.GroupGo && o.In.Low == s.In.Low {
			entries = append(entries, o.Addr-addr.Run(o.Before))
		}
	}
	entries = slices.DeleteFunc(entries, func(a addr.Run) bool { return a == begin })
	returns, err := goReturns(code, s.Addr, entries)
	if err != nil {
		return err
	}
	for _, r := range returns {
		h, err := st.hookReturn(s, r)
		if err != nil {
			return err
		}
		s.hooks = append(s.hooks, h)
	}
	if layout.Minor < goUnspilled && !s.Function.Specialized() {
		return nil
	}
	return st.hookEntry(c, s, s.Addr, size, 0)
}

// hookEntry moves the instructions at an address, of a function that has size bytes from there on.
func (st *siteTable) hookEntry(c *caller, s *site, at addr.Run, size uint64, mark uint32) error {
	f, err := st.p.islands.move(c, s.In, at, size)
	if err == nil && f.noRoom != nil {
		err = f.noRoom
	}
	if err != nil {
		return err
	}
	s.hooks = append(s.hooks, &goHook{patched: *f, mark: mark})
	return nil
}

// maxGoCode bounds the functions of a Go runtime, in bytes: mallocgc of Go 1.18 has 2 KiB.
const maxGoCode = 64 << 10

// goCodeSize is what a function of that size has behind its check for stack space. What the program
// says of its size may be anything.
func goCodeSize(size uint64, check int) (uint64, error) {
	if size <= uint64(check) || size > maxGoCode {
		return 0, fmt.Errorf("a size of %d bytes is not that of a function of a Go runtime", size)
	}
	return size - uint64(check), nil
}

// hookReturn copies a function's last instructions to the island.
func (st *siteTable) hookReturn(s *site, r goReturn) (*goHook, error) {
	to, err := s.island.take(reloc.MaxCode)
	if err != nil {
		return nil, err
	}
	if _, err := st.p.proc.WriteAt(r.first, int64(to)); err != nil {
		return nil, err
	}
	m := &moved{relocated: to, moves: map[addr.Run]addr.Run{}, first: bytes.Clone(r.first)}
	for _, a := range r.each {
		if a != r.at {
			m.moves[a] = to + (a - r.at)
		}
		s.island.note(to+(a-r.at), st.p.tables.rule(a))
	}
	s.island.note(to+addr.Run(len(r.first)), cfi.NoCFIID)
	h := &goHook{patched: patched{module: s.In, entry: r.at, size: uint64(len(r.first)), island: s.island, whole: m, moved: *m}, mark: markGoReturn}
	return h, nil
}

// hookSweep moves the first instructions of the function that sweeps a span, and of the one that it
// calls when it is done. The core is given the first runtime's layout.
func (st *siteTable) hookSweep(c *caller, s *site, first bool) error {
	exit, done := addr.Run(0), breakpoints.Symbol{}
	for _, sym := range st.p.cfg.Functions(s.In, goSweepMark, goruntime.GoExit, goruntime.GoExitABI0) {
		if sym.Name == goSweepMark {
			done = sym
		} else {
			exit = sym.Addr
		}
	}
	if exit == 0 || done.Addr == 0 {
		return fmt.Errorf("%s and %s are not there", goSweepMark, goruntime.GoExit)
	}
	size, err := goCodeSize(s.Size, s.Before)
	if err != nil {
		return err
	}
	check := breakpoints.GoCheck(st.p.proc, done.Addr)
	rest, err := goCodeSize(done.Size, check)
	if err != nil {
		return fmt.Errorf("%s: %w", goSweepMark, err)
	}
	if err := st.hookEntry(c, s, s.Addr, size, markGoSweep); err != nil {
		return err
	}
	if err := st.hookEntry(c, s, done.Addr+addr.Run(check), rest, markGoMark); err != nil {
		return err
	}
	s.sweep = breakpoints.Extent{Low: s.Addr, High: s.Addr + addr.Run(size)}
	if !first {
		return nil
	}
	return st.tellLayout(st.ofRuntimes, exit)
}

// tellLayout has the core know the runtime's structures, of the first runtime where there are
// several (see addGo): goroutines of others do not end in the exit, and their stacks lack the go
// statement.
func (st *siteTable) tellLayout(l goruntime.Layout, exit addr.Run) error {
	mask := ^uint64(0)
	if l.Narrow {
		mask = 1<<16 - 1
	}
	for at, v := range map[int]uint64{
		stGoExit: uint64(exit) + 1, // goexit begins with a nop: behind it is where goroutines return to
		stGoM:    uint64(l.GM), stGoID: uint64(l.GoID), stGoPC: uint64(l.GoPC), stGoCurG: uint64(l.CurG),
		stGoStart: uint64(l.StartAddr), stGoFree: uint64(l.FreeIndex), stGoElems: uint64(l.NElems), stGoNumMask: mask,
		stGoBits: uint64(l.AllocBits), stGoSize: uint64(l.ElemSize), stGoClass: uint64(l.SpanClass), stGoArena: uint64(l.ArenaChunk),
	} {
		if err := st.p.poke(at, v); err != nil {
			return err
		}
	}
	st.p.reader.mu.Lock() // other threads may record meanwhile
	defer st.p.reader.mu.Unlock()
	st.p.reader.golang.header = l.MallocHeader
	return nil
}

// aimGo is aim for a function of a Go runtime.
func (st *siteTable) aimGo(s *site) error {
	desc, err := s.island.take(siteBytes)
	if err != nil {
		return err
	}
	s.desc, s.filter = desc, 0
	if s.Function.Kind == capture.Alloc {
		if s.filter, err = st.p.conditions.writeFilter(s); err != nil {
			return err
		}
	}
	st.byDesc[desc] = s
	if _, err := st.p.proc.WriteAt(st.descriptor(s, s.filter, 0), int64(desc)); err != nil {
		return err
	}
	for _, h := range s.hooks {
		if err := st.p.islands.settle(&h.patched); err != nil {
			return err
		}
		at := s.island.next()
		w := &writer{at: at}
		st.goThunk(w, s, h)
		if w.errs != nil {
			return w.errs
		}
		if _, err := s.island.take(len(w.code)); err != nil {
			return err
		}
		if _, err := st.p.proc.WriteAt(w.code, int64(at)); err != nil {
			return err
		}
		if err := h.lead(at); err != nil {
			return err
		}
	}
	s.request = st.p.conditions.requests
	return nil
}

// goThunk is the thunk of a hook.
func (st *siteTable) goThunk(w *writer, s *site, h *goHook) {
	row := func(cfa int32) { s.island.note(w.here(), st.p.tables.rules.ID(frameRow{cfa: cfa}.rule())) }
	core := st.p.remote.core + addr.Run(st.p.core.marks[h.mark])
	switch h.mark {
	case 0:
		row(8)
		w.bytes(0x48, 0x89, 0x44, 0x24, 8)  // mov %rax,8(%rsp)
		w.bytes(0x48, 0x89, 0x5c, 0x24, 16) // mov %rbx,16(%rsp)
		w.jmp(h.relocated)
	case markGoReturn:
		for a := range h.all() {
			s.island.note(w.here()+(a-h.entry), st.p.tables.rule(a))
		}
		w.bytes(h.whole.first[:len(h.whole.first)-1]...) // but the return
		row(8)
		st.goReturnThunk(w, s)
	default:
		row(8)
		w.bytes(0x48, 0x8d, 0x64, 0x24, 0x100-gwSize) // lea -gwSize(%rsp),%rsp
		row(8 + gwSize)
		w.bytes(0x48, 0x89, 0x44, 0x24, gwAX) // mov %rax,gwAX(%rsp)
		w.bytes(0x48, 0xb8)                   // mov $relocated,%rax
		w.imm64(uint64(h.relocated))
		w.bytes(0x48, 0x89, 0x44, 0x24, gwTo) // mov %rax,gwTo(%rsp)
		st.goSlot(w)
		w.movR11(uint64(s.desc))
		w.far(core)
	}
	s.island.note(w.here(), cfi.NoCFIID)
}

// goReturnThunk is what follows the function's last instructions in the place of the return.
// While nothing is recorded it decides the condition itself: only calls for which that may hold
// go to the core.
func (st *siteTable) goReturnThunk(w *writer, s *site) {
	w.bytes(0x48, 0x89, 0xc2) // mov %rax,%rdx
	st.goSlot(w)
	if filter, ok := st.p.conditions.goFilter(s); ok {
		w.r10Field(cmpReg, rax, slKey)
		slow := append([]branch{w.jcc(ccNE)}, filter(w)...)
		w.bytes(0x48, 0x83, 0x7c, 0x24, 8, 1) // cmpq $1,8(%rsp): what has no bytes is not an event
		w.bytes(0x49, 0x83, 0x9a)             // sbbq $-1,slEvents(%r10)
		w.imm32(slEvents)
		w.bytes(0xff)
		w.bytes(0x48, 0x89, 0xd0, 0xc3) // mov %rdx,%rax; ret
		w.land(slow...)
	}
	w.movR11(uint64(s.desc))
	w.far(st.p.remote.core + addr.Run(st.p.core.marks[markGoReturn]))
}

// goSlot is slot where r14 has the goroutine. In a program without C the FS base is in the thread's m:
// reading it there costs less than reading the register, and works on every processor. A program with C has
// it at %fs:0 on all threads that run Go's code.
func (st *siteTable) goSlot(w *writer) {
	if !st.goAlone {
		st.slot(w)
		return
	}
	w.bytes(0x49, 0x8b, 0x86) // mov GM(%r14),%rax
	w.imm32(uint32(st.ofRuntimes.GM))
	w.bytes(0x48, 0x05) // add $TLS+8,%rax
	w.imm32(uint32(st.ofRuntimes.TLS + 8))
	st.slotOf(w)
}

// all yields the instructions that are moved, in their order.
func (h *goHook) all() func(yield func(addr.Run) bool) {
	list := []addr.Run{h.entry}
	for a := range h.whole.moves {
		list = append(list, a)
	}
	slices.Sort(list)
	return slices.Values(list)
}

// patches are all that is patched for the function.
func (s *site) patches() []*patched {
	if !s.ofGo() {
		return []*patched{&s.patched}
	}
	var all []*patched
	for _, h := range s.hooks {
		all = append(all, &h.patched)
	}
	return all
}
