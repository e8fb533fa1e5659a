package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"hdb/goruntime"
	"hdb/heap/golang"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
)

// GoCollections has a Go program collect its garbage.
type GoCollections struct {
	*common
	sel  *Selection
	exec *Execution
	heap *Heap
	call *goCall // that is under way: hdb was stopped while it was made; nil: none
}

// A Collected is what a garbage collection has done.
type Collected struct {
	Before, Live golang.Sum    // slots in use; what was allocated meanwhile is among those behind
	Took         time.Duration // with the wait for a place where it could be asked for
	Stays        bool          // the selected thread stands where it stood
}

// Bounds of the search for a place where the runtime takes a call.
const (
	goCallTime  = 3 * time.Second
	goCallTick  = time.Millisecond
	goCallTries = 500 // calls that the runtime has refused
	goCallStops = 100 // to find the thread that waits
	goCallRoom  = 512 // bytes of stack
)

// A goCall is a call of runtime.GC that a goroutine is made to make.
type goCall struct {
	*GoCollections
	of      *inferior.Process
	code    *goCallCode
	page    addr.Run
	state   goCallState
	kept    inferior.Kept // of the thread that began it
	tries   int
	refused string // why the runtime has, last
	stays   bool   // the selected thread makes the call, and stands where it stood
	strict  bool   // it, or none
	began   time.Time
	err     error
	waits   atomic.Bool // for look to run
	asked   bool        // run is under way; on the owner's goroutine
}

type goCallState uint8

const (
	goCallSought goCallState = iota // for a thread at a safe point
	goCallMade
	goCallDone // its thread is still in the code in place of the protocol's, or the program goes on
)

// ErrNoGo is the error of a program without a Go runtime.
var ErrNoGo = errors.New("the program has no Go runtime")

// Collect has the runtime collect garbage, and all threads run meanwhile. What has stopped the
// program then, if it is not the end of the collection, the report tells.
func (g *GoCollections) Collect() (*Collected, *Report, error) {
	if err := g.live(); err != nil {
		return nil, nil, err
	}
	g.golang.look(g.proc, g.names.Modules)
	if len(g.golang.modules) == 0 {
		return nil, nil, ErrNoGo
	}
	if !g.golang.known {
		return nil, nil, errors.New("the version of the Go runtime is not known")
	}
	if g.call != nil && g.call.of != g.proc {
		g.call = nil
	}
	if g.UnderWay() {
		return nil, nil, errors.New("the last collection is not done yet: continue")
	}
	if why := g.unsafe(g.sel.thread); g.exec.placed && why != "" {
		return nil, nil, fmt.Errorf("%s, where a collection cannot be asked for: `frame 0` and `finish` leave it", why)
	}
	before, err := g.sum()
	if err != nil {
		return nil, nil, err
	}
	c := g.call
	if c == nil {
		if c, err = g.prepare(); err != nil {
			return nil, nil, err
		}
	}
	c.state, c.tries, c.refused, c.err, c.began = goCallSought, 0, "", nil, time.Now()
	c.stays, c.strict = g.unsafe(g.sel.thread) == "", g.exec.placed
	g.call = c
	if c.stays {
		if err := c.begin(g.sel.thread); err != nil {
			return nil, nil, err
		}
	}
	r, err := c.run()
	if r != nil || err != nil {
		return nil, r, err
	}
	out := &Collected{Before: before, Took: time.Since(c.began), Stays: c.stays}
	out.Live, err = g.sum()
	return out, nil, err
}

// sum is what the heap has in use.
func (g *GoCollections) sum() (golang.Sum, error) {
	open := g.heap.goHeap()
	if open == nil {
		return golang.Sum{}, ErrNoGo
	}
	src, err := open()
	if err != nil {
		return golang.Sum{}, err
	}
	src.Memory = g.proc
	h, err := golang.Open(context.Background(), src)
	if err != nil {
		return golang.Sum{}, err
	}
	return h.Sum(), nil
}

// prepare puts the code in place that makes the call.
func (g *GoCollections) prepare() (*goCall, error) {
	if g.golang.simd {
		return nil, errors.New("the program was built with GOEXPERIMENT=simd, whose registers would not be restored")
	}
	if g.proc.ShadowStack() {
		return nil, errors.New("the processor guards the program's return addresses (CET): its functions cannot be called from outside")
	}
	m := g.golang.modules[0]
	names := []string{"runtime.debugCallV2", "runtime.GC", "debugCall32", "debugCall64"}
	for n := 128; n <= 32768; n *= 2 {
		names = append(names, fmt.Sprint("debugCall", n))
	}
	functions := map[string]goFunction{}
	for _, sym := range g.names.Modules.Defined(m.object, m.Bias, names) {
		f := goFunction{at: sym.Addr, code: make([]byte, min(sym.Size, maxGoCallCode))}
		if m.object.File.ReadAddr(f.code, sym.Addr.File(m.Bias)) {
			functions[sym.Name] = f
		}
	}
	function := func(name string) goFunction { return functions[name] }
	v2, call32, collect := function("runtime.debugCallV2"), function("debugCall32"), function("runtime.GC")
	room := function("debugCall64")
	for _, name := range names[4:] {
		f := function(name)
		if f.at < room.end() || f.at > room.end()+64 {
			break
		}
		room.code = append(append(room.code, make([]byte, f.at-room.end())...), f.code...)
	}
	if v2.code != nil && collect.code == nil {
		return nil, errors.New("the program has no runtime.GC: the linker leaves it out where nothing calls it or debug.FreeOSMemory")
	}
	if v2.code == nil || call32.code == nil {
		return nil, fmt.Errorf("%w: %s has no runtime.debugCallV2", errGoCall, m.Name)
	}
	room.code = make([]byte, len(room.code)) // with what lies between the functions
	if !m.object.File.ReadAddr(room.code, room.at.File(m.Bias)) {
		return nil, errGoCall
	}
	t := g.proc.StoppedThread()
	if t == nil {
		return nil, ErrNotRunning
	}
	page, err := t.Syscall(9, 0, goCallPage, 3, 0x22, ^uint64(0), 0) // mmap(NULL, ..., PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)
	if err != nil {
		return nil, fmt.Errorf("memory for a call: %w", err)
	}
	c := &goCall{GoCollections: g, of: g.proc, page: addr.Run(page)}
	if c.code, err = newGoCallCode(v2, call32, room, collect.at, c.page); err != nil {
		return nil, errors.Join(err, c.unmap())
	}
	for _, p := range c.code.patches {
		if _, err := g.proc.WriteAt(p.now, int64(p.at)); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	return c, nil
}

// maxGoCallCode bounds the functions of the protocol, in bytes.
const maxGoCallCode = 4096

// end takes the code out again; no thread is in it.
func (c *goCall) end() error {
	c.GoCollections.call = nil
	var errs []error
	for _, p := range c.code.patches {
		_, err := c.proc.WriteAt(p.was, int64(p.at))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.unmap())...)
}

func (c *goCall) unmap() error {
	t := c.proc.StoppedThread()
	if t == nil {
		return ErrNotRunning
	}
	_, err := t.Syscall(11, uint64(c.page), goCallPage) // munmap
	return err
}

// unsafe is where a thread stands, if it cannot make a call there; "": it may. The runtime has
// the last word.
func (g *GoCollections) unsafe(t *inferior.Thread) string {
	if t == nil {
		return "no thread is selected"
	}
	outside := fmt.Sprintf("thread %d runs no code of the program's goroutines", t.Num)
	regs, err := t.Regs()
	if err != nil {
		return outside
	}
	i := g.module(regs.PC())
	if i < 0 {
		return outside
	}
	var frames []symbols.Frame
	_ = symbols.Guard(func() { frames = g.names.Modules.Frames(addr.PC(regs.PC())) })
	if len(frames) == 0 {
		return outside
	}
	f := frames[len(frames)-1] // the runtime looks at no inlined calls
	name := f.Function
	// Assembly code may have more in vector registers than the code in place restores.
	if strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasSuffix(f.File, ".s") || f.File == "" {
		return fmt.Sprintf("thread %d is in %s", t.Num, name)
	}
	m := goMemory{g.proc, g.golang}
	if regs.R14 == 0 || m.user(regs.R14) != regs.R14 {
		return outside
	}
	l := g.golang.layout
	low, ok := m.word(regs.R14)
	high, ok2 := m.word(regs.R14 + 8)
	status, ok3 := m.word(regs.R14 + uint64(l.Status))
	if sp := uint64(regs.SP()); !ok || !ok2 || !ok3 || uint32(status) != goruntime.GRunning || sp > high || sp < low+goCallRoom {
		return outside
	}
	thread, _ := m.word(regs.R14 + uint64(l.GM))
	mallocing, ok := m.word(thread + uint64(l.Mallocing))
	locks, ok2 := m.word(thread + uint64(l.Locks))
	off, ok3 := m.word(thread + uint64(l.PreemptOff) + 8)
	if !ok || !ok2 || !ok3 || uint32(mallocing) != 0 || uint32(locks) != 0 || off != 0 { // the runtime's canPreemptM
		return fmt.Sprintf("thread %d does something for the Go runtime", t.Num)
	}
	return g.calledByRuntime(t)
}

// goCallFrames is how many frames are looked at for one of the runtime's: what it calls in other
// packages, as sync.poolCleanup while the world is stopped, is never deep.
const goCallFrames = 64

// goCallers are functions of the runtime that call the program's at safe points.
var goCallers = regexp.MustCompile(`^runtime\.(goexit|main|gopanic|runfinq|runFinalizers|doInit1?|call[0-9]+|deferreturn|Goexit)$`)

// calledByRuntime is why the function that a thread is in cannot call, if the runtime has called it; "":
// it has not.
func (g *GoCollections) calledByRuntime(t *inferior.Thread) string {
	raw, err := g.sel.walker.raw(t, goCallFrames, addr.Code{})
	if err != nil || raw.Truncated != "" && len(raw.Frames) < goCallFrames {
		return fmt.Sprintf("the stack of thread %d is not known", t.Num)
	}
	for _, f := range raw.Frames {
		frames := g.names.Modules.Frames(f.PC)
		if len(frames) == 0 {
			continue
		}
		if name := frames[len(frames)-1].Function; strings.HasPrefix(name, "runtime.") && !goCallers.MatchString(name) {
			return fmt.Sprintf("thread %d does something for %s", t.Num, name)
		}
	}
	return ""
}

// module is the number of the module of Go at an address, -1: none is.
func (g *GoCollections) module(a addr.Run) int {
	for i, m := range g.golang.modules {
		if m.Low <= a && a < m.High {
			return i
		}
	}
	return -1
}

// begin has a thread make the call when it goes on.
func (c *goCall) begin(t *inferior.Thread) error {
	kept, err := t.Keep()
	if err != nil {
		return err
	}
	kept.Vectors = kept.Vectors.Clone()
	var page [gpXMM + 16*16]byte
	if !c.strict {
		page[gpRelease] = 1 // wherever it goes on: nobody waits for it
	}
	page[gpFlags], page[gpFlags+1] = byte(kept.Regs.Eflags>>11&1), byte(kept.Regs.Eflags)
	for i := range 16 {
		copy(page[gpXMM+16*i:], kept.Vectors.SSE(i)[:16])
	}
	if _, err := c.proc.WriteAt(page[:], int64(c.page)); err != nil {
		return err
	}
	regs := kept.Regs
	regs.Rsp -= 8
	if _, err := c.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, regs.Rip), int64(regs.Rsp)); err != nil {
		return err
	}
	if _, err := c.proc.WriteAt(make([]byte, 8), int64(regs.Rsp-16)); err != nil { // bytes of arguments
		return err
	}
	regs.Rip = uint64(c.code.entry)
	c.kept = kept
	if err := t.SetRegs(regs); err != nil {
		return err
	}
	c.state = goCallMade
	return nil
}

// run lets the program run until the call is made. The report is of something else that stopped
// it before.
func (c *goCall) run() (*Report, error) {
	was := c.sel.thread
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(goCallTick)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if p := c.target.Load(); p != nil && c.waits.CompareAndSwap(false, true) {
					p.Wake(c.look)
				}
			}
		}
	}()
	defer close(over)
	c.asked, c.exec.demand.passing = true, true
	defer func() { c.asked, c.exec.demand.passing = false, false }()
	var stop inferior.Stop
	for range goCallStops {
		var err error
		if _, stop, err = c.exec.runToTargets(nil); err != nil {
			return nil, err
		}
		// A signal may have come first to the thread that waits: it comes back.
		if stop.Reason != inferior.Interrupted || c.state != goCallDone || !c.strict || c.inside() != nil || c.word(gpLeft) != 0 {
			break
		}
		c.state = goCallMade
	}
	if stop.Reason != inferior.Interrupted || len(c.exec.demand.hits) > 0 {
		if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone || stop.Reason == inferior.Execed {
			c.GoCollections.call = nil
		}
		return c.exec.report(stop, "gc"), nil
	}
	var t *inferior.Thread
	err := c.err
	switch {
	case c.state == goCallSought:
		err = cmp.Or(c.err, errors.New("interrupted"))
	case c.state == goCallMade:
		err = cmp.Or(c.err, errors.New("interrupted: the collection goes on with the program"))
	case c.strict:
		var failed error
		t, failed = c.leave()
		err = errors.Join(err, failed)
		if c.refused != "" {
			err = errors.Join(err, fmt.Errorf("the Go runtime takes no call here (%s): step, and ask again", c.refused))
		}
	}
	if c.stays = t != nil; !c.stays {
		t = c.stillThere(was, stop.Thread)
	}
	c.sel.selectThread(t, addr.Code{})
	return nil, err
}

// reason is what the runtime says of the call that it has refused.
func (c *goCall) reason() (text string) {
	text = "unknown reason"
	_ = c.proc.StopAll(func() error {
		t := c.inside()
		if t == nil {
			return nil
		}
		regs, err := t.Regs()
		if err != nil {
			return err
		}
		m := goMemory{c.proc, c.golang}
		at, _ := m.word(uint64(regs.SP()))
		n, _ := m.word(uint64(regs.SP()) + 8)
		b := make([]byte, min(n, 100))
		if _, err := c.proc.ReadAt(b, int64(at)); err == nil && n > 0 && !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' }) {
			text = string(b)
		}
		return nil
	})
	return text
}

// stillThere is a thread, or another one if it has ended.
func (c *goCall) stillThere(t, other *inferior.Thread) *inferior.Thread {
	if t != nil && c.proc.Thread(t.TID) == t {
		return t
	}
	return other
}

// look runs on the owner's goroutine while the program runs.
func (c *goCall) look() {
	c.waits.Store(false)
	switch {
	case !c.asked: // it was waked when run was about to end, and the program goes on for another reason
	case c.state == goCallMade && c.isDone():
		c.finished()
	case c.state == goCallSought && time.Since(c.began) > goCallTime:
		c.fail(errors.New("no goroutine ran code of the program's for 3 s, where a collection can be asked for: have the program do something, and ask again"))
	case c.state == goCallSought:
		if err := c.proc.StopAll(c.seek); err != nil {
			c.fail(err)
		}
	}
}

// seek has the first thread that can make the call; all are stopped.
func (c *goCall) seek() error {
	for _, t := range c.proc.Threads() {
		if c.unsafe(t) == "" {
			return c.begin(t)
		}
	}
	return nil
}

// finished looks what became of a call that is done.
func (c *goCall) finished() {
	switch {
	case c.word(gpCalled) != 0:
		c.state = goCallDone
		c.interrupt()
	case c.strict:
		c.state = goCallDone
		c.refused = c.reason()
		c.interrupt()
	case c.word(gpLeft) == 0: // soon
	case c.tries >= goCallTries:
		c.state = goCallSought
		c.fail(errors.New("the Go runtime takes no call anywhere: continue, and ask again"))
	default:
		c.tries++
		c.state, c.stays = goCallSought, false
	}
}

func (c *goCall) fail(err error) {
	c.err = err
	c.interrupt()
}

func (c *goCall) interrupt() {
	if err := c.proc.Interrupt(); err != nil {
		c.err = errors.Join(c.err, err)
	}
}

// word is a word of the page, 0 if it cannot be read.
func (c *goCall) word(at int64) uint32 {
	var b [4]byte
	if _, err := c.proc.ReadAt(b[:], int64(c.page)+at); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

func (c *goCall) isDone() bool { return c.word(gpDone) != 0 }

// inside is the thread that is in the code in place; nil: none is.
func (c *goCall) inside() *inferior.Thread {
	for _, t := range c.proc.Threads() {
		if regs, err := t.Regs(); err == nil && c.code.stub.has(regs.PC()) {
			return t
		}
	}
	return nil
}

// leave brings the thread that has made the call, which waits, back to where it was, on whatever
// thread its goroutine is now. It is nil if that went on by itself, as nobody came in time.
func (c *goCall) leave() (*inferior.Thread, error) {
	t := c.inside()
	if t == nil {
		return nil, nil
	}
	regs, err := t.Regs()
	if err != nil {
		return nil, err
	}
	back := c.kept
	m := goMemory{c.proc, c.golang}
	back.Regs, _ = c.code.returned(regs, m.word)
	if back.Regs.Rip != c.kept.Regs.Rip {
		return nil, c.note(gpRelease)
	}
	back.Regs.Eflags = c.kept.Regs.Eflags
	return t, errors.Join(t.Restore(back), c.note(gpLeft))
}

// note sets a word of the page.
func (c *goCall) note(at int64) error {
	_, err := c.proc.WriteAt([]byte{1, 0, 0, 0}, int64(c.page)+at)
	return err
}

// UnderWay tells that a collection was asked for which is not known to be done.
func (g *GoCollections) UnderWay() bool {
	return g.call != nil && g.call.state != goCallSought && g.call.word(gpLeft) == 0
}

// letGo takes the code of a collection out, as far as that is certain not to be in use, before hdb
// lets go of the process. What stays does no harm: only debuggers call it.
func (g *GoCollections) letGo() {
	c := g.call
	if c == nil || c.of != g.proc || g.proc.StoppedThread() == nil || g.UnderWay() || c.inside() != nil {
		return
	}
	_ = c.end()
}
