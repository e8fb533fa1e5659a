package probe

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// registers are what a lab loads and stores, by their numbers in instructions:
// rax rcx rdx rbx rsp rbp rsi rdi r8 to r15.
type registers struct {
	all   [16]uint64
	pc    uint64 // where to go on
	exit  uint64 // at which exit it has left
	goSP  uint64 // Go's stack pointer meanwhile
	flags uint64
	spare [12]uint64
}

const (
	rdx, rbx, rbp, rsi = 2, 3, 5, 6
	r8, r9, r10        = 8, 9, 10
	r12, r15           = 12, 15
)

// Where the parts of a lab lie, from labAt.
const (
	labAt     = programAt
	labCore   = 8 * moduleSize
	labIsland = labCore + maxCore
	labStubs  = labIsland + islandSize
	labStacks = labStubs + moduleSize
	labFar    = labStacks + 32<<20 // the top of a stack far from the others
	labSize   = labFar + 4096

	stackSize = 1 << 16
	callsFrom = moduleSize / 2 // where a module has calls
)

// Exits of a lab above the numbers of sites, whose original functions they are.
const (
	exitReturn     = 1<<10 + iota // to a return address of the user's code
	exitMatchAlloc                // offers of matches
	exitMatchFree
	exitMatchGuard
	exitMatchLeft
	exitMatchFreeLeft
	exitInterrupt // where a signal comes
	numExits      = 1<<10 + iota
)

// A lab runs the core and thunks in the test's own process. Code that they would
// call or return to in an inferior leaves the lab instead, so that the test plays
// its part and goes on: one stack at a time, as a coroutine.
type lab struct {
	*ring
	mem   []byte // labSize bytes at labAt: modules, core, island, stubs, stacks
	state []byte
	regs  *registers
	enter func(*registers)
	root  addr.Run   // of the function enter
	quick bool       // thread 1 comes through thunks
	home  addr.Run   // the island's free room begins there
	entry []addr.Run // thunks by site
	stops []string   // calls that ended at a trap
	wrong []string   // those of them that give back what seems to be no block, and why

	// leaveAt makes an address one that the user's code returns to.
	leaveAt func(addr.Run)
	// interruptAt makes an instruction of the core one to leave at.
	interruptAt func(addr.Run)
}

func mapAt(t testing.TB, at, size uintptr, prot int) []byte {
	t.Helper()
	const fixedNoReplace = 0x100000 // MAP_FIXED_NOREPLACE
	flags := unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE
	if at != 0 {
		flags |= fixedNoReplace
	}
	var hint unsafe.Pointer
	hint = unsafe.Add(hint, at)
	p, err := unix.MmapPtr(-1, 0, hint, size, prot, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.MunmapPtr(p, size) })
	return unsafe.Slice((*byte)(p), size)
}

// newLab makes one whose thread is the test's. The functions are the user's own.
func newLab(t testing.TB, request Request, functions ...string) *lab {
	t.Helper()
	runtime.LockOSThread() // the core knows threads by their FS base
	t.Cleanup(runtime.UnlockOSThread)
	const all = unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC
	l := &lab{ring: newRing(t), mem: mapAt(t, uintptr(labAt), labSize, all), state: mapAt(t, 0, privateSize, unix.PROT_READ|unix.PROT_WRITE)}
	l.fsgsbase = true
	for _, text := range functions {
		l.addSite(userFunction(t, text), programAt)
	}
	place := func(b []byte) addr.Run { return addr.Run(uintptr(unsafe.Pointer(&b[0]))) }
	l.remote = remote{state: place(l.state), file: place(l.shared.file), ring: place(l.shared.ring), core: labAt + labCore}
	l.tables.at = l.remote.file
	var err error
	if l.Probe.core, err = loadCore(l.remote.state); err != nil {
		t.Fatal(err)
	}
	if l.frames, err = l.core.trace(); err != nil {
		t.Fatal(err)
	}
	copy(l.at(l.remote.core), l.core.code)
	l.stubs()
	l.restart(request)
	return l
}

// restart begins anew with another request.
func (l *lab) restart(request Request) {
	if l.request = request; request.WrongFrees {
		l.blocks.at = addr.Run(uintptr(unsafe.Pointer(&mapAt(l.t, 0, blocksSize, unix.PROT_READ|unix.PROT_WRITE)[0])))
		l.request.blocks = l.blocks.at
	}
	l.wrong = nil
	*l.notebook = *newNotebook()
	l.stops = nil
	clear(l.shared.ring[:l.shared.word(hdHead).Load()%ringSize])
	if l.shared.word(hdNew).Load() > 0 {
		clear(l.shared.file[fileStacks:fileCaches])
		clear(l.shared.file[filePairs:fileRules])
	}
	clear(l.shared.file[fileHeader : fileHeader+headerSize])
	clear(l.shared.file[fileSlots : fileSlots+numSlots*slotSize])
	l.newReader()
	l.home = labAt + labIsland
	for _, s := range l.siteTable.list {
		l.aimSite(s)
	}
	l.fillState()
	l.publish()
}

// at is the memory at an address.
func (l *lab) at(a addr.Run) []byte { return l.mem[a-labAt:] }

func (l *lab) poke(a addr.Run, v uint64) { binary.LittleEndian.PutUint64(l.at(a), v) }
func (l *lab) peek(a addr.Run) uint64    { return binary.LittleEndian.Uint64(l.at(a)) }

// stubs writes the ways into the lab and out.
func (l *lab) stubs() {
	regs := labAt + labStubs
	l.regs = (*registers)(unsafe.Pointer(&l.at(regs)[0]))
	field := func(offset uintptr) addr.Run { return regs + addr.Run(offset) }
	reg := func(n int) addr.Run { return field(8 * uintptr(n)) }
	w := &writer{at: regs + addr.Run(unsafe.Sizeof(registers{}))}
	const load, store = 0x8b, 0x89
	move := func(opcode byte, n int, place addr.Run) { // mov place(%rip),%reg or back
		w.bytes(0x48|byte(n)>>3<<2, opcode, 0x05|byte(n)&7<<3)
		w.rel32(place)
	}
	l.root = w.here()
	w.bytes(0x55, 0x41, 0x56) // push %rbp, %r14: Go's frame pointer and g
	move(store, rsp, field(unsafe.Offsetof(l.regs.goSP)))
	w.bytes(0xff, 0x35) // push flags(%rip); popf
	w.rel32(field(unsafe.Offsetof(l.regs.flags)))
	w.bytes(0x9d)
	for n := range 16 {
		move(load, n, reg(n))
	}
	w.bytes(0xff, 0x25) // jmp *pc(%rip)
	w.rel32(field(unsafe.Offsetof(l.regs.pc)))
	leave := w.here()
	for n := range 16 {
		if n != rax {
			move(store, n, reg(n))
		}
	}
	move(store, rax, field(unsafe.Offsetof(l.regs.exit)))
	move(load, rsp, field(unsafe.Offsetof(l.regs.goSP)))
	w.bytes(0x9c, 0x8f, 0x05) // pushf; pop flags(%rip)
	w.rel32(field(unsafe.Offsetof(l.regs.flags)))
	w.bytes(0x41, 0x5e, 0x5d, 0xc3) // pop %r14, %rbp; ret
	exits := w.here()
	for n := range numExits {
		move(store, rax, reg(rax))
		w.bytes(0xb8) // mov $n,%eax
		w.imm32(uint32(n))
		w.jmp(leave)
	}
	if w.errs != nil || len(w.code) > moduleSize-int(unsafe.Sizeof(registers{})) {
		l.t.Fatal("stubs: ", len(w.code), w.errs)
	}
	copy(l.at(w.at), w.code)
	exit := func(n int) addr.Run { return exits + addr.Run(17*n) }
	for _, s := range l.siteTable.list {
		s.relocated = exit(s.index)
	}
	// The user's code returns to an exit, wherever it is: in the first half of a
	// module over nops, in the second by a jump each 16 bytes, which is behind
	// something that looks like a call.
	leaveAt := func(a addr.Run, n int) {
		w := &writer{at: a}
		w.jmp(exit(n))
		copy(l.at(a), w.code)
	}
	l.leaveAt = func(a addr.Run) { leaveAt(a, exitReturn) }
	l.interruptAt = func(a addr.Run) { leaveAt(a, exitInterrupt) }
	for _, m := range testModules {
		for a := m.Low; a < m.Low+callsFrom; a++ {
			l.at(a)[0] = 0x90
		}
		l.leaveAt(m.Low + callsFrom - 16)
		for a := m.Low + callsFrom; a < m.High; a += 16 {
			l.leaveAt(a)
			l.at(a + 11)[0] = 0xe8 // call
		}
	}
	for mark, n := range map[uint32]int{markMatchAlloc: exitMatchAlloc, markMatchFree: exitMatchFree, markMatchGuard: exitMatchGuard, markMatchLeft: exitMatchLeft, markMatchFreeLeft: exitMatchFreeLeft} {
		leaveAt(l.remote.core+addr.Run(l.core.marks[mark]), n)
	}
	closure := &l.root // a func value points to a word with the address of its code
	l.enter = *(*func(*registers))(unsafe.Pointer(&closure))
}

// fillState is what Probe.writeState does in an inferior.
func (l *lab) fillState() {
	file := uint64(l.remote.file)
	for at, v := range map[int]uint64{
		stEnabled: l.enabled(), stMode: l.mode(), stHeader: file + fileHeader, stRing: uint64(l.remote.ring), stRoom: ringSize - ringSpare, stMask: ringSize - 1,
		stStacks: file + fileStacks, stSlots: file + fileSlots, stScratch: uint64(l.remote.state) + privateScratch,
		stVerdicts: file + fileVerdicts, stReturn: uint64(l.remote.core) + uint64(l.core.marks[markReturn]),
		stReturnWide: uint64(l.remote.core) + uint64(l.core.marks[markReturnWide]), stDepth: 64,
		stSums:  uint64(l.remote.core) + uint64(l.core.sums()),
		stPairs: file + filePairs, stPySeen: file + fileSeen, stPyCodes: file + fileCodes, stGoTypes: file + fileTypes,
	} {
		l.setState(at, v)
	}
	copy(l.state[stFactors:], factors())
}

func (l *lab) setState(at int, v uint64) { binary.LittleEndian.PutUint64(l.state[at:], v) }

// publish is what Probe.publish does.
func (l *lab) publish() {
	ptr, err := l.tables.publish(true)
	if err != nil {
		l.t.Fatal(err)
	}
	for at, v := range map[int]uint64{stRules: ptr.rules, stModules: ptr.modules, stNumMods: ptr.count, stCache: ptr.cache, stMemo: ptr.memo} {
		l.setState(at, v)
	}
}

// room takes n bytes of the island.
func (l *lab) room(n int) addr.Run {
	at := l.home
	l.home += addr.Run(n+15) &^ 15
	return at
}

// aimSite is what Probe.aim does.
func (l *lab) aimSite(s *site) {
	code, err := l.filterCode(s, l.home)
	if err != nil {
		l.t.Fatal(err)
	}
	filterAt := addr.Run(0)
	if code != nil {
		filterAt = l.room(len(code))
		copy(l.at(filterAt), code)
	}
	s.guard = 0
	if code := l.guardCode(s, l.home); code != nil {
		s.guard = l.room(len(code))
		copy(l.at(s.guard), code)
	}
	s.desc = l.room(siteBytes)
	w := &writer{at: l.room(maxThunk)}
	var frame [2]addr.Run
	switch quick, ok := l.quickFilter(s); {
	case ok && s.Function.Frees():
		l.quickFree(w, s, s.desc, quick)
	case ok:
		frame = l.quickAlloc(w, s, s.desc, quick)
	default:
		l.coreThunk(w, s, s.desc)
	}
	if w.errs != nil {
		l.t.Fatal(w.errs)
	}
	copy(l.at(w.at), w.code)
	copy(l.at(s.desc), l.descriptor(s, filterAt, frame[0]+quickCall))
	l.entry = append(l.entry[:s.index], w.at)
}

// A thread of a lab. Thread 1 is known by the test's own FS base, the others by
// numbers that stand for one.
type labThread struct {
	l    *lab
	tid  uint32
	key  uint64
	sp   addr.Run
	regs [16]uint64 // those that functions preserve have what nothing else has

	flags uint64
}

func (l *lab) thread(tid uint32) *labThread {
	th := &labThread{l: l, tid: tid, sp: labAt + labStacks + addr.Run(tid+1)*stackSize - 256}
	th.key = 0x7f0000000000 + uint64(tid)<<12
	if tid == 1 {
		th.key = l.fsBase()
	}
	for n := range th.regs {
		th.regs[n] = 0xabcd<<40 + uint64(n)<<32 + uint64(tid)
	}
	th.regs[rbp] = 0 // no frame pointer
	th.flags = 0x202 // interrupts are on, as for all programs
	slot := l.slotOf(th.key)
	binary.LittleEndian.PutUint64(slot[slKey:], th.key)
	binary.LittleEndian.PutUint32(slot[slTID:], tid)
	return th
}

// fsBase reads the FS base of the test's thread as thunks do.
func (l *lab) fsBase() uint64 {
	at := l.room(32)
	w := &writer{at: at}
	w.bytes(0xf3, 0x48, 0x0f, 0xae, 0xc0) // rdfsbase %rax
	w.jmp(l.siteTable.list[0].relocated)
	copy(l.at(at), w.code)
	*l.regs = registers{pc: uint64(at), flags: 0x202}
	l.enter(l.regs)
	return l.regs.all[rax]
}

// total is how many events the core has counted, recorded or offered.
func (l *lab) total() uint64 { return l.Unreported() + uint64(len(l.lines)+len(l.stops)) }

// slotOf is the first place for a key.
func (l *lab) slotOf(key uint64) []byte { return l.shared.slot(slotIndex(key)) }

func slotIndex(key uint64) int {
	hash := int32(slotHash)
	return int(uint32(key) * uint32(hash) >> (32 - slotBits))
}

// run lets the thread go on and tells the exit.
func (th *labThread) run(pc addr.Run) int {
	l := th.l
	*l.regs = registers{all: th.regs, pc: uint64(pc), flags: th.flags}
	l.regs.all[rsp] = uint64(th.sp)
	l.enter(l.regs)
	th.regs = l.regs.all
	th.sp = addr.Run(th.regs[rsp])
	exit := int(l.regs.exit)
	th.flags = l.regs.flags
	if exit >= exitMatchAlloc && exit <= exitMatchFreeLeft {
		return th.trapped(exit)
	}
	return exit
}

// trapped does what the handlers of the core's traps do, but for the process.
func (th *labThread) trapped(exit int) int {
	l := th.l
	f := frame{at: th.sp}
	for i := range f.words {
		f.words[i] = l.peek(th.sp + addr.Run(8*i))
	}
	i := slices.IndexFunc(l.siteTable.list, func(s *site) bool { return uint64(s.desc) == f.word(frSite) })
	s := l.siteTable.list[i]
	c := f.call(s, &inferior.Thread{TID: int(th.tid)})
	if mark, left := map[int]uint32{exitMatchLeft: markMatchLeft, exitMatchFreeLeft: markMatchFreeLeft}[exit]; left {
		l.stops = append(l.stops, "left")
		return th.run(l.remote.core + addr.Run(l.core.marks[mark]+markSize+5))
	}
	if f.flags()&flagWrong != 0 {
		l.wrong = append(l.wrong, fmt.Sprintf("%s(%#x): %d", c.Function.Name, max(c.Event.Old, f.word(frAddr)), f.word(frRes)))
	}
	if exit == exitMatchGuard { // behind the call that offers
		return th.run(l.remote.core + addr.Run(l.core.marks[markMatchGuard]+markSize+5))
	}
	if exit == exitMatchFree {
		l.stops = append(l.stops, c.String())
		for i, n := range argNumbers {
			th.regs[n] = c.Args[i]
		}
		th.sp = c.SP
		return th.run(s.relocated)
	}
	complete(&c.Event, &c.Function, f.flags()&flagFailed != 0)
	l.stops = append(l.stops, c.String())
	th.sp += frameSize + 8
	th.regs[rax], th.regs[rdx] = f.word(frRes), f.word(frRes2)
	return exitReturn
}

// call pushes the return address and enters the function of that symbol, until
// its original runs; an empty symbol is a function that is no allocator.
func (th *labThread) call(ret addr.Run, symbol string, args ...uint64) int {
	th.sp -= 8
	th.l.poke(th.sp, uint64(ret))
	return th.jump(symbol, args...)
}

var argNumbers = [...]int{rdi, rsi, rdx, 1, r8, r9}

// jump enters a function without pushing, as a tail call does.
func (th *labThread) jump(symbol string, args ...uint64) int {
	if symbol == "" {
		return 0
	}
	l := th.l
	s := l.site(symbol)
	for i, n := range argNumbers {
		th.regs[n] = 0xa49<<40 + uint64(i)
	}
	for i, v := range args {
		th.regs[argNumbers[i]] = v
	}
	before := th.regs
	pc := l.entry[s.index]
	if th.tid != 1 || !l.quick {
		pc = l.coreEntry(s)
		th.regs[rax], th.regs[r10], th.regs[r11] = th.key, uint64(uintptr(unsafe.Pointer(&l.slotOf(th.key)[0]))), uint64(s.desc)
	}
	exit := th.run(pc)
	if exit < exitReturn {
		if exit != s.index {
			l.t.Errorf("%s runs %s", symbol, l.siteTable.list[exit].Function.Symbol)
		}
		th.check(before, argNumbers[:]...)
	}
	return exit
}

// frame makes room for local variables.
func (th *labThread) frame(size addr.Run) { th.sp -= size }

// ret ends the original function.
func (th *labThread) ret(result uint64) int {
	pc := addr.Run(th.l.peek(th.sp))
	th.sp += 8
	th.regs[rax], th.regs[rdx] = result, ^result
	before := th.regs
	exit := th.run(pc)
	if exit == exitReturn {
		th.check(before, rax, rdx)
	}
	return exit
}

// check compares registers that functions preserve, and others.
func (th *labThread) check(before [16]uint64, more ...int) {
	th.l.t.Helper()
	for _, n := range append([]int{rbx, rbp, r12, 13, 14, r15}, more...) {
		if th.regs[n] != before[n] {
			th.l.t.Errorf("register %d is %#x, was %#x", n, th.regs[n], before[n])
		}
	}
}

func userFunction(t testing.TB, text string) breakpoints.Function {
	t.Helper()
	f, err := breakpoints.ParseFunction(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
