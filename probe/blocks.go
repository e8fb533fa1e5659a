package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/modkind"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// The states of blocks. While events are recorded and wrong frees are looked for, each 16 bytes of
// the address space have a byte that describes the block which begins there: it is set when an
// allocator has returned the block, and exchanged before the block is freed. What was there before
// decides: a block that is freed again, one that no allocator has returned, or one of another
// family. Of two threads that free one block at once, one finds it freed. Such a call is offered to
// hdb, which knows more; all others continue.
//
// The bytes are those of a sparse memory file of 128 GiB, of which a page of 4 KiB is used for
// each 64 KiB of heap. It repeats every 2 TiB; five bits of each byte tell which of 32 it is
// of.
const (
	blocksBits = 37 // log2 of the bytes
	blocksSize = 1 << blocksBits
	blockShift = 4 // log2 of the bytes that a byte represents
	tagShift   = 3 // of a byte's upper bits, those of the address that the index has not got

	// The states, in the lower bits; 0 is not known.
	stateFreed = 1
	stateLive  = 2 // a block of malloc's family, or of any other but these:
	stateNew   = 3 // operator new,
	stateArray = 4 // operator new[]
	stateAny   = 5 // one that was made before, by whichever function, or by one of several at one address

	blocksName  = "hdb blocks"
	blocksPlace = 0x553000000000 // the address to try first: behind eight places, see placesLow
	blocksElse  = 0x540000000000 // and others from here to 0x550000000000: only a ThreadSanitizer that begins would mind
)

// A Suspicion is why a call is offered that gives a block back.
type Suspicion uint8

// The suspicions.
const (
	FreedBlock   Suspicion = iota + 1 // it was freed before
	UnknownBlock                      // no allocator has returned it since blocks are followed, nor was it there before
	OtherFamily                       // it was made by a function of another family
)

// blockTable is where the states are, nil nowhere.
type blockTable struct {
	at    addr.Run
	bytes []byte // the same in hdb

	on      bool // they are kept up to date
	refused bool // there can be none
}

// keepsBlocks tells functions whose blocks have states.
func keepsBlocks(fn breakpoints.Function) bool {
	switch fn.Group {
	case breakpoints.GroupC, breakpoints.GroupCXX, breakpoints.GroupUser, breakpoints.GroupPython:
		return !fn.Whole
	}
	return false
}

// judgesBlocks tells functions that are suspected if they return what is not a block.
func judgesBlocks(fn breakpoints.Function) bool {
	return (fn.Group == breakpoints.GroupC || fn.Group == breakpoints.GroupCXX) && !fn.Whole
}

// blockState is the state of a block of the function's family, stateAny if it is the code of functions of several.
func blockState(fn breakpoints.Function) byte {
	names := breakpoints.Names(fn.Name)
	state := nameState(fn.Group, names[0])
	for _, name := range names[1:] {
		if other, ok := breakpoints.Named(name); ok && nameState(other.Group, name) != state {
			return stateAny
		}
	}
	return state
}

func nameState(group, name string) byte {
	switch {
	case group != breakpoints.GroupCXX:
		return stateLive
	case strings.HasSuffix(name, "[]"):
		return stateArray
	}
	return stateNew
}

// blockByte leaves the place of the state of the block in rax in rdi, and in eax the state with
// the tag of the block; r11 is lost.
func (r *Request) blockByte(w *writer, state byte) {
	w.bytes(0x49, 0x89, 0xc3)                                 // mov %rax,%r11
	w.bytes(0x49, 0xc1, 0xe3, 64-blocksBits-blockShift)       // shl: the bits of the index,
	w.bytes(0x49, 0xc1, 0xeb, 64-blocksBits)                  // shr
	w.bytes(0x48, 0xc1, 0xe8, blocksBits+blockShift-tagShift) // shr %rax: and those of the tag
	w.bytes(0x24, 0xff&^(1<<tagShift-1))                      // and $,%al
	w.bytes(0x0c, state)                                      // or $state,%al
	w.bytes(0x48, 0xbf)                                       // mov $blocks,%rdi
	w.imm64(uint64(r.blocks))                                 //
	w.bytes(0x4c, 0x01, 0xdf)                                 // add %r11,%rdi
}

// frameWord loads a word of the core's frame into rax. The code is called from there.
func frameWord(w *writer, at int) {
	w.bytes(0x48, 0x8b, 0x84, 0x24) // mov at+8(%rsp),%rax
	w.imm32(uint32(at + 8))
}

// makeBlock appends code that notes the block which a call has returned. Of a realloc that has
// returned nothing it notes the old one again.
func (r *Request) makeBlock(w *writer, fn breakpoints.Function) {
	set := func(state byte) branch {
		w.bytes(0xa8, 1<<blockShift-1) // test $15,%al
		odd := w.jcc(ccNE)
		r.blockByte(w, state)
		w.bytes(0x88, 0x07) // mov %al,(%rdi)
		return odd
	}
	frameWord(w, frAddr)
	w.bytes(0x48, 0x85, 0xc0) // test %rax,%rax
	none := w.jcc(ccE)
	done := []branch{set(blockState(fn))}
	if fn.Kind != capture.Realloc || fn.Old.From != breakpoints.Argument || fn.Result == breakpoints.NullIsFreed {
		w.land(append(done, none)...)
		return
	}
	w.bytes(0xe9) // jmp
	w.imm32(0)
	done = append(done, branch(len(w.code)))
	w.land(none)
	frameWord(w, frSize)
	w.bytes(0x48, 0x85, 0xc0) // test: a size of 0 frees
	done = append(done, w.jcc(ccE))
	frameWord(w, frArgs+8*fn.Old.Index)
	w.bytes(0x48, 0x85, 0xc0)
	done = append(done, w.jcc(ccE), set(blockState(fn)))
	w.land(done...)
}

// giveBlock appends code that exchanges the state of the block in rax, which a call returns, and
// the jumps of one that is suspected. It leaves the Suspicion in frRes.
func (r *Request) giveBlock(w *writer, s *site) (suspected []branch) {
	fn := s.Function
	suspect := func(v Suspicion) {
		w.bytes(0x48, 0xc7, 0x84, 0x24) // movq $v,frRes+8(%rsp)
		w.imm32(frRes + 8)
		w.imm32(uint32(v))
		w.bytes(0xe9) // jmp
		w.imm32(0)
		suspected = append(suspected, branch(len(w.code)))
	}
	var done []branch
	w.bytes(0xa8, 1<<blockShift-1) // test $15,%al
	odd := w.jcc(ccNE)
	r.blockByte(w, stateFreed)
	w.bytes(0x41, 0x89, 0xc3) // mov %eax,%r11d
	w.bytes(0x86, 0x07)       // xchg %al,(%rdi)
	if !judgesBlocks(fn) {
		w.land(odd)
		return nil
	}
	w.bytes(0x41, 0x30, 0xc3)                            // xor %al,%r11b
	w.bytes(0x41, 0x80, 0xfb, stateFreed^blockState(fn)) // cmp $,%r11b
	done = append(done, w.jcc(ccE))
	w.bytes(0x45, 0x84, 0xdb) // test %r11b,%r11b
	known := w.jcc(ccNE)
	suspect(FreedBlock)
	w.land(known)
	w.bytes(0x41, 0x80, 0xfb, stateFreed^stateAny) // cmp
	done = append(done, w.jcc(ccE))
	w.bytes(0x41, 0x80, 0xfb, 1<<tagShift) // cmp: is it of another 2 TiB?
	foreign := w.jcc(ccAE)
	w.bytes(0x41, 0x80, 0xfb, stateFreed) // cmp: was it 0?
	unknown := w.jcc(ccE)
	if r.Unsuspected[OtherFamily] || blockState(fn) == stateAny {
		w.bytes(0xe9)
		w.imm32(0)
		done = append(done, branch(len(w.code)))
	} else {
		suspect(OtherFamily)
	}
	w.land(odd)
	if !s.inLibc() { // its blocks may be of 8 bytes
		w.bytes(0xa8, 7) // test $7,%al
		done = append(done, w.jcc(ccE))
	}
	w.land(foreign, unknown)
	if !r.Unsuspected[UnknownBlock] {
		suspect(UnknownBlock)
	}
	w.land(done...)
	return suspected
}

// freeBlock appends the same for the block of a call that frees.
func (r *Request) freeBlock(w *writer, s *site) (suspected []branch) {
	frameWord(w, frAddr)
	return r.giveBlock(w, s)
}

// inLibc tells functions of the C library, all of whose blocks are aligned to 16 bytes.
func (s *site) inLibc() bool {
	return modkind.IsCLibrary(s.In.Name)
}

// guardCode is the code that looks at the old block of a realloc before it runs, nil if
// there is none.
func (cs *conditions) guardCode(s *site, at addr.Run) []byte {
	fn := s.Function
	if cs.request.blocks == 0 || !keepsBlocks(fn) || fn.Kind != capture.Realloc || fn.Old.From != breakpoints.Argument {
		return nil
	}
	w := &writer{at: at}
	frameWord(w, frArgs+8*fn.Old.Index)
	w.bytes(0x48, 0x85, 0xc0) // test %rax,%rax
	none := w.jcc(ccE)
	suspected := cs.request.giveBlock(w, s)
	w.land(none)
	w.bytes(0x31, 0xc0, 0xc3) // xor %eax,%eax; ret
	w.land(suspected...)
	w.bytes(0xb8, askedWrong, 0, 0, 0, 0xc3) // mov $askedWrong,%eax; ret
	return w.code
}

// writeGuard writes that code for the core to call, 0 if there is none.
func (cs *conditions) writeGuard(s *site) (addr.Run, error) {
	at := s.island.next()
	code := cs.guardCode(s, at)
	if code == nil {
		return 0, nil
	}
	if _, err := s.island.take(len(code)); err != nil {
		return 0, err
	}
	_, err := cs.p.proc.WriteAt(code, int64(at))
	s.island.note(at, cs.p.tables.rules.ID(frameRow{cfa: frameSize + 16}.rule()))
	return at, err
}

// openBlocks makes the table of the states, if there is none.
func (p *Probe) openBlocks(t *inferior.Thread) (err error) {
	if p.blocks.bytes != nil {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur < blocksSize {
		return fmt.Errorf("hdb may not write files of more than %d MiB (RLIMIT_FSIZE, ulimit -f)", limit.Cur>>20)
	}
	if procfs.Locked(p.proc.PID(), uint64(p.remote.state)) {
		return fmt.Errorf("the process locks what it maps (mlockall), and the table for that is %d GiB", blocksSize>>30)
	}
	maps, err := p.proc.Maps()
	if err != nil {
		return err
	}
	at, err := blocksGap(maps)
	if err != nil {
		return err
	}
	name := p.remote.core + maxCore - addr.Run(len(blocksName)+1)
	if _, err := p.proc.WriteAt([]byte(blocksName+"\x00"), int64(name)); err != nil {
		return err
	}
	c := &caller{t: t}
	if c.borrowed, err = c.t.Borrow(); err != nil {
		return err
	}
	if err = p.blocks.mapTable(p.proc, c, at, name); err != nil {
		c.back()
	}
	return errors.Join(err, c.borrowed.Return())
}

// blocksGap is a place for the table.
func blocksGap(maps []inferior.Mapping) (addr.Run, error) {
	for _, at := range []addr.Run{blocksPlace, blocksElse, blocksElse + blocksSize, blocksElse + 2*blocksSize} {
		if !slices.ContainsFunc(maps, func(m inferior.Mapping) bool { return m.Low < at+blocksSize && at < m.High }) {
			return at, nil
		}
	}
	return 0, noPlace(maps, blocksElse, blocksPlace+blocksSize)
}

// mapTable maps the table here and there. The name of its file is in the inferior.
func (b *blockTable) mapTable(p *inferior.Process, c *caller, at, name addr.Run) error {
	const rw = unix.PROT_READ | unix.PROT_WRITE
	fd, err := c.borrowed.Open(unix.SYS_MEMFD_CREATE, uint64(name), memfdFlags)
	if err != nil {
		return fmt.Errorf("memfd_create in the process: %w", err)
	}
	own, err := mapBlocks(p.PID(), int(fd))
	if err == nil {
		at, err = c.mmap("the states of blocks", uint64(at), blocksSize, rw, unix.MAP_SHARED|unix.MAP_NORESERVE, fd, 0)
	}
	if err == nil { // the kernel would write all of it into a core file
		_, err = c.call("MADV_DONTDUMP", unix.SYS_MADVISE, uint64(at), blocksSize, unix.MADV_DONTDUMP)
	}
	if err == nil { // a child may call mlockall
		_, err = c.call("MADV_DONTFORK", unix.SYS_MADVISE, uint64(at), blocksSize, unix.MADV_DONTFORK)
	}
	if err = errors.Join(err, c.borrowed.Close()); err != nil {
		if own != nil {
			_ = unix.MunmapPtr(unsafe.Pointer(&own[0]), blocksSize)
		}
		return err
	}
	b.at, b.bytes = at, own
	return nil
}

// mapBlocks gives the file that the inferior has open as fd its size, and maps it in hdb.
func mapBlocks(pid, fd int) ([]byte, error) {
	file, err := os.OpenFile(procfs.Path(pid, fmt.Sprintf("fd/%d", fd)), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("the states of blocks: %w", err)
	}
	defer file.Close()
	if err := file.Truncate(blocksSize); err != nil {
		return nil, fmt.Errorf("the states of blocks: %w", err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("seal the states of blocks: %w", err)
	}
	own, err := unix.MmapPtr(int(file.Fd()), 0, nil, blocksSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map the states of blocks: %w", err)
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(own), blocksSize), unix.MADV_DONTDUMP) // of hdb's own core files
	return unsafe.Slice((*byte)(own), blocksSize), nil
}

// wantBlocks makes the table that the request asks for, or does without.
func (p *Probe) wantBlocks(t *inferior.Thread, r *Request) {
	if r.WrongFrees = r.WrongFrees && r.Record && !p.blocks.refused; !r.WrongFrees {
		return
	}
	if err := p.openBlocks(t); err != nil {
		p.message("wrong frees are seen when they were recorded, not before they run: %v", err)
		p.blocks.refused, r.WrongFrees = true, false
		return
	}
	r.blocks = p.blocks.at
}

// setBlocks notes the blocks that are live when the table comes into use, and empties it when
// it goes out of use: of what is freed then it would not know. All threads are stopped.
func (cs *conditions) setBlocks() {
	b := &cs.p.blocks
	on := cs.request.blocks != 0
	if b.on == on {
		return
	}
	if b.on = on; !on {
		b.wipe()
		return
	}
	if cs.request.Older != nil {
		for block := range cs.request.Older {
			b.older(block)
		}
	}
	if cs.request.Live == nil {
		return
	}
	cs.p.reader.Exclusive(func() {
		for block := range cs.request.Live {
			b.older(block)
		}
	})
}

// older notes a block that was made before, by whichever function.
func (b *blockTable) older(block uint64) {
	if block%(1<<blockShift) == 0 {
		at, tag := blockIndex(block)
		b.bytes[at] = tag | stateAny
	}
}

// blockIndex is where the state of a block is, and its tag.
func blockIndex(block uint64) (at uint64, tag byte) {
	return block >> blockShift & (blocksSize - 1), byte(block >> (blockShift + blocksBits) << tagShift)
}

// wipe forgets all states, and gives their memory back.
func (b *blockTable) wipe() {
	if b.bytes != nil {
		_ = unix.Madvise(b.bytes, unix.MADV_REMOVE) // else they stay as they are, and are not read
	}
	b.on = false
}

// close lets go of the table. The inferior's mapping of it stays.
func (b *blockTable) close() {
	if b.bytes != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(&b.bytes[0]), blocksSize)
		b.bytes, b.on = nil, false
	}
}

// unmapBlocks unmaps tables that probes have left, whose code is gone.
func unmapBlocks(p *inferior.Process, c *caller) error {
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	for _, m := range maps {
		if m.Path != "/memfd:"+blocksName {
			continue
		}
		if _, err := c.call("unmap the states of blocks", unix.SYS_MUNMAP, uint64(m.Low), uint64(m.High-m.Low)); err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether an address is in the table.
func (b *blockTable) owns(a addr.Run) bool { return b.at != 0 && b.at <= a && a < b.at+blocksSize }
