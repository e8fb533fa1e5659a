package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/unwind"
)

// The lengths of jmp rel32 and of int3, in bytes.
const (
	jumpSize = 5
	trapSize = 1
)

// longestBody bounds what is searched for branches into the first instructions
// of a function whose size is not known.
const longestBody = 4096

// A siteTable has the allocator functions that are watched, and were. Changes of the list
// take reader.mu.
type siteTable struct {
	p          *Probe
	list       []*site // by index
	byEntry    map[addr.Run]*site
	byDesc     map[addr.Run]*site
	retired    map[addr.Run]*site // by entry: those that are gone
	behind     map[pointed]*site  // those of pointers, also if others have taken their places
	bits       [2]uint8           // next number in sets, for functions that free or not
	ofRuntimes goruntime.Layout   // of the Go runtimes that are followed
	goAlone    bool               // they are one, of a program without C
	passed     passed
	tcb        bool // threads have their FS base at %fs:0, as the ABI of thread-local storage says
}

// addModules compiles the CFI of modules that are not known yet. What cannot be
// compiled is followed by frame pointers, and said.
func (p *Probe) addModules(modules []inferior.Module) error {
	maps, err := p.proc.Maps()
	if err != nil {
		return err
	}
	var list []source
	for _, m := range modules {
		if slices.ContainsFunc(p.tables.mods, func(t tableOf) bool { return t.module.Low == m.Low && t.module.Path == m.Path }) {
			continue
		}
		low, high := executable(maps, m)
		if low >= high {
			continue
		}
		s := source{module: m, low: low, high: high, code: p.codeOf(m, maps), cfi: func() *unwind.Table { return p.cfg.CFI(m) }}
		if f, ok := s.code.(*codeFile); ok {
			defer f.Close() // it was read only
			if p.cfg.Identity != nil {
				s.identity = f.identity(m, p.cfg.Identity(m))
			}
		}
		list = append(list, s)
	}
	p.tables.add(list, func(err error) { p.message("probe: %v", err) })
	return nil
}

// codeOf reads a module's code by run address: from its file, so that the whole
// of it need not be brought into the inferior's memory, or from there.
func (p *Probe) codeOf(m inferior.Module, maps []inferior.Mapping) io.ReaderAt {
	f, err := os.Open(m.Path)
	if err != nil {
		return p.proc // the vDSO, or a file that is gone
	}
	c := &codeFile{File: f}
	for _, x := range maps {
		if x.Perm[2] == 'x' && x.Low >= m.Low && x.Low < m.High {
			c.maps = append(c.maps, x)
		}
	}
	return c
}

// A codeFile is a module's file, read by run address.
type codeFile struct {
	*os.File
	maps []inferior.Mapping
}

// identity identifies the module's files with the parts of them that are mapped as code, "" if it
// is not known.
func (c *codeFile) identity(m inferior.Module, files string) string {
	if files == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(files)
	for _, x := range c.maps {
		fmt.Fprintf(&b, "\n%v-%v %#x", x.Low.File(m.Bias), x.High.File(m.Bias), x.Offset)
	}
	return b.String()
}

// ReadAt reads what is mapped at a run address, up to the end of the mapping.
func (c *codeFile) ReadAt(b []byte, at int64) (int, error) {
	for _, x := range c.maps {
		if a := addr.Run(at); x.Low <= a && a < x.High {
			n := min(len(b), int(x.High-a))
			return c.File.ReadAt(b[:n], int64(a-x.Low)+int64(x.Offset))
		}
	}
	return 0, io.EOF
}

func (p *Probe) message(format string, args ...any) {
	if p.cfg.Message != nil {
		p.cfg.Message(fmt.Sprintf(format, args...))
	}
}

// executable is the range of a module's code.
func executable(maps []inferior.Mapping, m inferior.Module) (low, high addr.Run) {
	for _, x := range maps {
		if x.Perm[2] != 'x' || x.Low < m.Low || x.Low >= m.High {
			continue
		}
		if low == 0 {
			low = x.Low
		}
		high = x.High
	}
	return low, high
}

// addSites prepares the functions that are not known yet: their first
// instructions are moved to an island.
func (st *siteTable) addSites(c *caller, modules []inferior.Module, sites []*breakpoints.Site) error {
	for _, b := range sites {
		if b.Pointer || st.byEntry[b.Addr] != nil {
			continue
		}
		if b.Err != nil {
			return b.Err
		}
		if st.reuse(b) {
			continue
		}
		if b.Function.Group == breakpoints.GroupGo {
			if err := st.addGo(c, b, sites); err != nil && !errors.Is(err, errUnmapped) {
				return err
			}
			continue
		}
		if err := st.addSite(c, b); err != nil && !errors.Is(err, errUnmapped) {
			return err
		}
	}
	return st.p.finders.add(c, modules)
}

// addSite prepares a function that was not there before.
func (st *siteTable) addSite(c *caller, b *breakpoints.Site) error {
	index, ok := st.freeIndex()
	if !ok {
		return fmt.Errorf("%s: more than %d allocator functions", b.Function.Name, maxSites)
	}
	f, err := st.p.islands.move(c, b.In, b.Addr, b.Size)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", b.Function.Symbol, b.Module, err)
	}
	if f.noRoom != nil {
		st.p.message("probe: %s in %s: %v: a trap there replaces the jump, and each call costs tens of microseconds", b.Function.Symbol, b.Module, f.noRoom)
	}
	st.enter(&site{Site: b, patched: *f, index: index, bit: st.nextBit(b.Function)})
	return nil
}

// enter puts a new site into the list.
func (st *siteTable) enter(s *site) {
	st.p.reader.mu.Lock() // other threads may record meanwhile
	defer st.p.reader.mu.Unlock()
	if s.index == len(st.list) {
		st.list = append(st.list, s)
	} else {
		st.replace(s)
	}
	st.byEntry[s.Addr] = s
}

// MaxFunctions is how many functions a record can distinguish.
const MaxFunctions = 1 << (tidShift - siteShift)

const maxSites = MaxFunctions - 1

// nextBit numbers functions for the sets of those that served a call; beyond
// 64 of a kind the numbers begin anew.
func (st *siteTable) nextBit(f breakpoints.Function) uint8 {
	n := &st.bits[0]
	if f.Frees() {
		n = &st.bits[1]
	}
	bit := *n & 63
	*n++
	return bit
}

// aim builds the descriptor, the condition's code and the thunk of a site for
// the present request, and the jump that leads there.
func (st *siteTable) aim(c *caller, s *site) (err error) {
	if s.dead {
		return nil
	}
	if !s.island.hasRoom() { // its moved instructions stay where they are
		if s.island, err = st.p.islands.near(c, s.In); err != nil {
			return err
		}
	}
	if s.ofGo() {
		return st.aimGo(s)
	}
	if s.entrance == 0 {
		if err := st.p.islands.settle(&s.patched); err != nil {
			return fmt.Errorf("%s in %s: %w", s.Function.Symbol, s.Module, err)
		}
	}
	desc, err := s.island.take(siteBytes)
	if err != nil {
		return err
	}
	filterAt, err := st.p.conditions.writeFilter(s)
	if err != nil {
		return err
	}
	guardAt, err := st.p.conditions.writeGuard(s)
	if err != nil {
		return err
	}
	s.desc, s.filter, s.guard = desc, filterAt, guardAt
	st.byDesc[desc] = s
	at := s.island.next()
	w := &writer{at: at}
	if s.swapped {
		w.bytes(swapArguments...)
	}
	var frame [2]addr.Run
	switch quick, ok := st.p.conditions.quickFilter(s); {
	case ok && s.Function.Frees():
		st.quickFree(w, s, desc, quick)
	case ok:
		frame = st.quickAlloc(w, s, desc, quick)
	default:
		st.coreThunk(w, s, desc)
	}
	if w.errs != nil {
		return w.errs
	}
	if _, err := s.island.take(len(w.code)); err != nil {
		return err
	}
	if _, err := st.p.proc.WriteAt(w.code, int64(at)); err != nil {
		return err
	}
	if _, err := st.p.proc.WriteAt(st.descriptor(s, filterAt, frame[0]+quickCall), int64(desc)); err != nil {
		return err
	}
	entry := st.p.tables.rules.ID(frameRow{cfa: 8}.rule())
	s.island.note(at, entry)
	if frame[0] != 0 {
		s.island.note(frame[0], st.p.tables.rules.ID(frameRow{cfa: 16}.rule()))
		s.island.note(frame[1], entry)
	}
	s.island.note(at+addr.Run(len(w.code)), cfi.NoCFIID)
	s.keyLoad, s.request = w.key, st.p.conditions.requests
	if s.entrance != 0 {
		return st.admit(s, at)
	}
	return s.lead(at)
}

// lookForTCB finds out whether the C library has set the thread's FS base, which thunks
// read at %fs:0 from now on.
func (st *siteTable) lookForTCB(t *inferior.Thread) {
	regs, err := t.Regs()
	if err != nil || regs.FsBase == 0 {
		return
	}
	if self, err := addr.ReadWord(st.p.proc, addr.Run(regs.FsBase)); err == nil && self == regs.FsBase {
		st.tcb = true
	}
}

// maxThunk bounds a thunk, in bytes: 4 KiB are the condition's at most.
const maxThunk = 4096 + 512

// longRecords tells functions whose records have two more words.
func longRecords(fn breakpoints.Function) bool {
	return fn.Old.From == breakpoints.Argument || fn.Pool.From == breakpoints.Argument || fn.Heap.From == breakpoints.Argument || fn.Count.From == breakpoints.Argument || fn.Align.From == breakpoints.Argument ||
		fn.Mode.From == breakpoints.Argument
}

// descriptor is the site as the core reads it. tail is where its quick thunk is
// returned to.
func (st *siteTable) descriptor(s *site, filterAt, tail addr.Run) []byte {
	b := make([]byte, siteBytes)
	fn := s.Function
	put := binary.LittleEndian.PutUint64
	put(b[siReloc:], uint64(s.relocated))
	put(b[siModLow:], uint64(s.In.Low))
	put(b[siModLen:], uint64(s.In.High-s.In.Low))
	flags := uint32(fn.Kind)
	long := longRecords(fn) || goAllocates(&fn)
	for _, f := range []struct {
		bit uint32
		on  bool
	}{
		{siteVM, fn.Group == breakpoints.GroupVM},
		{siteUser, fn.Own()},
		{siteSized, fn.Size.From != breakpoints.Nowhere && fn.Size.From != breakpoints.TextLength},
		{siteZero, fn.MayUnmap() || fn.Kind == capture.Protect},
		{siteOwners, fn.ByOwners(s.In.Path)},
		{siteLong, long},
		{siteGo, fn.Group == breakpoints.GroupGo},
		{siteText, fn.Size.From == breakpoints.TextLength},
		{siteWide, fn.Group == breakpoints.GroupUser},
		{siteRestarts, s.Restarts},
		{siteTypes, st.p.conditions.asksTypes(&fn)},
		{siteVerdict, st.p.conditions.request.asksStack(fn)},
	} {
		if f.on {
			flags |= f.bit
		}
	}
	binary.LittleEndian.PutUint32(b[siFlags:], flags)
	b[siBit] = s.bit
	align, old := fn.Align, fn.Old
	switch { // the core takes these along as they are
	case fn.Pool.From != breakpoints.Nowhere:
		align = fn.Pool
	case fn.HeapInOld():
		old = fn.Heap
	case fn.Heap.From != breakpoints.Nowhere:
		align = fn.Heap
	case fn.Mode.From != breakpoints.Nowhere:
		align = fn.Mode
		if fn.Flags.From != breakpoints.Nowhere {
			old = fn.Flags
		}
	}
	for at, o := range map[int]breakpoints.Operand{siSize: fn.Size, siCount: fn.Count, siAlign: align, siOld: old} {
		b[at] = operandNone
		if o.From == breakpoints.Argument {
			b[at] = byte(o.Index)
		}
	}
	word := func(o breakpoints.Operand) byte {
		if o.From == breakpoints.Argument {
			return byte(frArgs/8 + o.Index)
		}
		return 0
	}
	b[siOldWord], b[siAuxWord] = word(old), word(align)
	if b[siAuxWord] == 0 {
		b[siAuxWord] = word(fn.Count)
	}
	if goAllocates(&fn) {
		b[siOldWord], b[siAuxWord] = frArgs/8+1, frArgs/8+2
	}
	switch fn.Ptr.From {
	case breakpoints.Argument:
		b[siPtr] = byte(fn.Ptr.Index)
	case breakpoints.Pointed:
		b[siPtr], b[siPointed] = ptrPointed, byte(fn.Ptr.Index)
	default:
		b[siPtr] = ptrReturned
	}
	if fn.Result == breakpoints.IsZero {
		b[siResult] = 1
	}
	head := uint64(s.index) << siteShift
	if long {
		head |= flagLong
		b[siLonger] = longRecord - recordSize
	}
	stack := uint64(0)
	if st.p.conditions.request.Bare {
		head, stack = head|flagBare, noStack<<stackShift
	}
	put(b[siHead:], head)
	if fn.Size.From == breakpoints.Constant {
		put(b[siConst:], fn.Size.Value)
	}
	put(b[siFilter:], uint64(filterAt))
	put(b[siGuard:], uint64(s.guard))
	put(b[siTail:], uint64(tail))
	if _, short := st.p.conditions.short(s); short {
		put(b[siTail:], uint64(st.p.remote.core)+uint64(st.p.core.marks[markReturnQuick]))
	}
	put(b[siDone:], 1<<s.bit)
	put(b[siQuick:], head|stack|recAlloc)
	if fn.Frees() {
		put(b[siQuick:], head|stack|recFree)
	}
	exempt := s.Exceptions
	switch {
	case s.ofGo():
		exempt = s.sweep
	case fn.Frees():
		exempt = s.Release
	}
	put(b[siExempt:], uint64(exempt.Low))
	put(b[siExemptLen:], uint64(exempt.High-exempt.Low))
	put(b[siBegin:], head&^flagLong|recBegin|flagBare|noStack<<stackShift)
	return b
}
