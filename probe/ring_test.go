package probe

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// newShared makes a memory file as an inferior would have it.
func newShared(t testing.TB) *shared {
	t.Helper()
	fd, err := unix.MemfdCreate("probe test", memfdFlags)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s, err := mapShared(os.Getpid(), fd, ringSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// A notebook is a Sink that writes events down as the console spells them.
type notebook struct {
	failed error
	live   *heap.Ledger
	lines  []string
	events []capture.Event
	stacks []capture.Stack // by ID, from 1
	alloc  func(breakpoints.Call) inferior.Action
	may    func(breakpoints.Call) bool
	python [][]PythonCall // by ID
	codes  map[uint64][]PythonPiece
	with   map[capture.StackID]PythonID // stacks that have calls of Python
}

func newNotebook() *notebook {
	return &notebook{live: heap.NewLedger(), stacks: make([]capture.Stack, 1), with: map[capture.StackID]PythonID{}, codes: map[uint64][]PythonPiece{}}
}

func (n *notebook) Stack(st capture.Stack) capture.StackID {
	for id, known := range n.stacks[1:] {
		if reflect.DeepEqual(st, known) {
			return capture.StackID(id + 1)
		}
	}
	st.PCs = slices.Clone(st.PCs)
	n.stacks = append(n.stacks, st)
	return capture.StackID(len(n.stacks) - 1)
}

func (n *notebook) Python(calls []PythonCall, more bool) PythonID {
	n.python = append(n.python, slices.Clone(calls))
	if more {
		n.python[len(n.python)-1] = append(n.python[len(n.python)-1], PythonCall{Instruction: 1})
	}
	return PythonID(len(n.python) - 1)
}

func (n *notebook) PythonCode(id uint64, pieces []PythonPiece) bool {
	n.codes[id] = slices.Clone(pieces)
	return false
}

func (n *notebook) WithPython(of capture.StackID, calls PythonID) capture.StackID {
	n.stacks = append(n.stacks, n.stacks[of])
	n.with[capture.StackID(len(n.stacks)-1)] = calls
	return capture.StackID(len(n.stacks) - 1)
}

func (n *notebook) Batch(events []capture.Event, functions []*breakpoints.Function) {
	for i := range events {
		e := &events[i]
		posted := *e // what the probe says is compared, not what the ledger adds
		n.live.Post(&posted, false)
		n.events = append(n.events, *e)
		n.lines = append(n.lines, spell(e, functions[e.Func]))
	}
}

func (n *notebook) Alloc(_ *inferior.Thread, c breakpoints.Call) inferior.Action { return n.alloc(c) }

func (n *notebook) Wrong(_ *inferior.Thread, _ breakpoints.Call, _ Suspicion) inferior.Action {
	return inferior.Resume
}
func (n *notebook) May(_ *inferior.Thread, c breakpoints.Call) bool { return n.may(c) }

func (n *notebook) Failed(err error) { n.failed = err }

func (n *notebook) Heap() (bytes, blocks uint64) { return n.live.Bytes(), uint64(n.live.Blocks()) }

// spell writes an event as breakpoints.Call does, of another thread than 1 with
// its TID.
func spell(e *capture.Event, fn *breakpoints.Function) string {
	c := breakpoints.Call{Function: *fn, Event: *e, Abandoned: e.Abandoned}
	put := func(o breakpoints.Operand, v uint64) {
		if o.From == breakpoints.Argument {
			c.Args[o.Index] = v
		}
	}
	put(fn.Ptr, e.Addr)
	put(fn.Old, e.Old)
	put(fn.Align, e.Aux)
	put(fn.Count, e.Aux)
	put(fn.Mode, e.Aux&0xff)
	put(fn.Flags, e.Aux>>8)
	size := e.Size
	if fn.Count.From == breakpoints.Argument && e.Aux != 0 {
		size /= e.Aux
	}
	if e.Kind == capture.Unmap && fn.MayUnmap() {
		size = -size
	}
	put(fn.Size, size)
	text := c.String()
	if e.TID != 1 {
		text = fmt.Sprintf("%d: %s", e.TID, text)
	}
	if e.Kind == capture.Free && fn.Kind != capture.Free || e.Kind == capture.Unmap && fn.Kind != capture.Unmap {
		text += fmt.Sprintf(" %v %#x", e.Kind, e.Addr) // of a function that does something else
	}
	return text
}

// expect compares the events since the last time.
func (n *notebook) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(n.lines, want) {
		t.Errorf("events\n got %s\nwant %s", strings.Join(n.lines, "; "), strings.Join(want, "; "))
	}
	n.lines = nil
}

// Modules of the tests: the program, its C library, and the C++ runtime.
const (
	programAt, libcAt, libcxxAt = addr.Run(0x1000010000), addr.Run(0x1000020000), addr.Run(0x1000030000)
	moduleSize                  = 0x10000

	// Return addresses in them.
	here   = programAt + 0x101
	there  = programAt + 0x202
	inLibc = libcAt + 0x5003
	inCXX  = libcxxAt + 0x6004
)

var testModules = map[addr.Run]inferior.Module{
	programAt: {Name: "program", Path: "/program", Low: programAt, High: programAt + moduleSize},
	libcAt:    {Name: "libc", Path: "/libc.so.6", Low: libcAt, High: libcAt + moduleSize},
	libcxxAt:  {Name: "libstdc++", Path: "/libstdc++", Low: libcxxAt, High: libcxxAt + moduleSize},
}

// testSites are the functions of the test modules by symbol.
var testSites = []struct {
	module addr.Run
	symbol string
}{
	{libcAt, "malloc"}, {libcAt, "calloc"}, {libcAt, "realloc"}, {libcAt, "free"}, {libcAt, "posix_memalign"},
	{libcAt, "aligned_alloc"}, {libcAt, "reallocf"}, {libcAt, "mmap"}, {libcAt, "munmap"}, {libcAt, "mremap"}, {libcAt, "mprotect"}, {libcAt, "sbrk"},
	{libcAt, "brk"}, {libcxxAt, "_Znwm"}, {libcxxAt, "_Znam"}, {libcxxAt, "_ZnwmRKSt9nothrow_t"}, {libcxxAt, "_ZdlPv"}, {libcxxAt, "_ZdlPvm"},
}

func catalogued(t testing.TB, symbol string) breakpoints.Function {
	t.Helper()
	i := slices.IndexFunc(breakpoints.Catalogue(), func(f breakpoints.Function) bool { return f.Symbol == symbol })
	if i < 0 {
		t.Fatalf("no function %s", symbol)
	}
	return breakpoints.Catalogue()[i]
}

// A ring is the consumer's side of a probe, without a process and without the
// goroutine that drains, and a thread that writes records by hand.
type ring struct {
	*Probe
	*notebook
	t     testing.TB
	calls uint64 // number of the stack that calls have, 0 for none
}

// newReader gives a probe a reader that only Drain runs.
func (p *Probe) newReader() {
	p.reader, p.slots = reader{p: p}, slots{p: p, guests: map[uint32][]byte{}}
	p.reader.init(0)
	p.reader.stopped = true // nobody waits for records that are not complete
}

func newRing(t testing.TB) *ring {
	t.Helper()
	r := &ring{Probe: newProbe(nil, Config{}), notebook: newNotebook(), t: t}
	r.shared = newShared(t)
	r.cfg.Sink = r.notebook
	r.newReader()
	var err error
	if r.tables, err = newTables(r.Probe.shared, 0); err != nil {
		t.Fatal(err)
	}
	for _, s := range testSites {
		r.addSite(catalogued(t, s.symbol), s.module)
	}
	return r
}

func (r *ring) addSite(fn breakpoints.Function, module addr.Run) *site {
	s := &site{
		Site:  &breakpoints.Site{Function: fn, In: testModules[module], Addr: module + addr.Run(16*len(r.siteTable.list))},
		index: len(r.siteTable.list), bit: r.nextBit(fn),
	}
	r.siteTable.list = append(r.siteTable.list, s)
	return s
}

// addPointer is addSite for a function that a table points to.
func (r *ring) addPointer(fn breakpoints.Function, module addr.Run) *site {
	s := r.addSite(fn, module)
	p := pointerSite(s.Site)
	s.Site, s.swapped = p.Site, p.swapped
	return s
}

func (r *ring) site(symbol string) *site {
	r.t.Helper()
	i := slices.IndexFunc(r.siteTable.list, func(s *site) bool { return s.Function.Symbol == symbol })
	if i < 0 {
		r.t.Fatalf("no site %s", symbol)
	}
	return r.siteTable.list[i]
}

// put writes a record at the head.
func (r *ring) put(words ...uint64) {
	head := r.shared.word(hdHead)
	at := head.Load()
	if n := (&shared{size: ringSize}).recordLength(words[0]); n != 8*uint64(len(words)) {
		r.t.Fatalf("record of %d words says %d bytes", len(words), n)
	}
	copy(r.shared.words(at, len(words))[1:], words[1:])
	head.Store(at + 8*uint64(len(words)))
	r.shared.record(at).Store(words[0])
}

// call writes the record of a call of thread tid.
func (r *ring) call(kind uint64, tid uint32, symbol string, address, size uint64, flags uint64, more ...uint64) {
	s := r.site(symbol)
	if r.calls == 0 || kind == recBegin {
		flags |= flagBare
	} else {
		flags |= r.calls << stackShift
	}
	words := []uint64{kind | flags | uint64(s.index)<<siteShift | uint64(tid)<<tidShift, readTSC(), address, size}
	if len(more) > 0 {
		words[0] |= flagLong
		words = append(words, more...)
	}
	r.put(words...)
}

func (r *ring) alloc(tid uint32, symbol string, size, result uint64, more ...uint64) {
	r.call(recAlloc, tid, symbol, result, size, 0, more...)
}

func (r *ring) inside(tid uint32, symbol string, size, result uint64) {
	r.call(recAlloc, tid, symbol, result, size, flagInside)
}

func (r *ring) free(tid uint32, symbol string, block uint64) {
	r.call(recFree, tid, symbol, block, 0, 0)
}

// stack writes the frames of a stack.
func (r *ring) stack(number uint64, tid uint32, end uint64, frames ...uint64) {
	words := append([]uint64{recStack | uint64(len(frames))<<countShift | end<<reasonShift | number<<stackShift, uint64(tid)}, frames...)
	if len(words)%2 != 0 {
		words = append(words, 0)
	}
	r.put(words...)
}

// ownerThread locks the test to its OS thread and gives the probe a process of
// its own that stands at its first instruction.
func (r *ring) ownerThread() *inferior.Process {
	r.t.Helper()
	runtime.LockOSThread()
	p, err := inferior.Launch(inferior.Config{Path: "/bin/true"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.proc = p
	r.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			r.t.Error(err)
		}
		runtime.UnlockOSThread()
	})
	return p
}
