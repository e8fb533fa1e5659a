package collect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
)

// A goCall is a call of runtime.GC that a goroutine is made to make.
type goCall struct {
	*Collections
	of      *inferior.Process
	program *names.Program // that it executes
	code    *goCallCode    // nil: none can be made,
	cannot  error          // and why
	page    addr.Run
	trigger *goTrigger // has the runtime collect by itself; nil: its variables are not known
	state   goCallState
	kept    inferior.Kept // of the thread that began it
	tries   int
	refused string // why the runtime has, last
	stays   bool   // the selected thread makes the call, and stands where it stood
	strict  bool   // it, or none
	began   time.Time
	err     error
	waits   atomic.Bool // for look to run
	asked   bool        // run is under way; on the owner's goroutine, as all is
	beside  bool        // the program runs in the background, and is not stopped at the end
	over    bool        // nothing more is waited for
}

type goCallState uint8

const (
	goCallSought goCallState = iota // for a thread at a safe point
	goCallMade
	goCallDone // its thread is still in the code in place of the protocol's, or the program goes on
	goCallSelf // none: the runtime has collected by itself
)

// gone tells that the process executes another program.
func (c *goCall) gone() bool { return c.of != c.target.Proc || c.program != c.target.Names.Program }

// newCall finds what has the program that runs collect garbage.
func (g *Collections) newCall() *goCall {
	c := &goCall{Collections: g, of: g.target.Proc, program: g.target.Names.Program}
	m := g.target.Go.Modules[0]
	c.cannot = c.prepare(m)
	var err error
	if c.trigger, err = g.newGoTrigger(m); err != nil && c.cannot != nil {
		c.cannot = fmt.Errorf("%w; %w", c.cannot, err)
	}
	return c
}

// prepare puts the code in place that makes the call.
func (c *goCall) prepare(m target.GoModule) error {
	g := c.Collections
	if g.target.Go.SIMD {
		return errors.New("the program was built with GOEXPERIMENT=simd, whose registers would not be restored")
	}
	if g.target.Proc.ShadowStack() {
		return errors.New("the processor guards the program's return addresses (CET): its functions cannot be called from outside")
	}
	names := []string{"runtime.debugCallV2", "runtime.GC", "debugCall32", "debugCall64"}
	for n := 128; n <= 32768; n *= 2 {
		names = append(names, fmt.Sprint("debugCall", n))
	}
	functions := map[string]goFunction{}
	for _, sym := range g.target.Names.Modules.Defined(m.Object, m.Bias, names) {
		f := goFunction{at: sym.Addr, code: make([]byte, min(sym.Size, maxGoCallCode))}
		if m.Object.File.ReadAddr(f.code, sym.Addr.File(m.Bias)) {
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
		return errors.New("the program has no runtime.GC: the linker leaves it out where nothing calls it or debug.FreeOSMemory")
	}
	if v2.code == nil || call32.code == nil {
		return fmt.Errorf("%w: %s has no runtime.debugCallV2", errGoCall, m.Name)
	}
	room.code = make([]byte, len(room.code)) // with what lies between the functions
	if !m.Object.File.ReadAddr(room.code, room.at.File(m.Bias)) {
		return errGoCall
	}
	t := g.target.Proc.StoppedThread()
	if t == nil {
		return target.ErrNotRunning
	}
	page, err := t.Syscall(9, 0, goCallPage, 3, 0x22, ^uint64(0), 0) // mmap(NULL, ..., PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)
	if err != nil {
		return fmt.Errorf("memory for a call: %w", err)
	}
	c.page = addr.Run(page)
	code, err := newGoCallCode(v2, call32, room, collect.at, c.page)
	if err != nil {
		return errors.Join(err, c.unmap())
	}
	c.code = code
	for _, p := range c.code.patches {
		if _, err := g.target.Proc.WriteAt(p.now, int64(p.at)); err != nil {
			return errors.Join(err, c.end())
		}
	}
	return nil
}

// maxGoCallCode bounds the functions of the protocol, in bytes.
const maxGoCallCode = 4096

// end takes the code out again; no thread is in it.
func (c *goCall) end() error {
	var errs []error
	for _, p := range c.code.patches {
		_, err := c.target.Proc.WriteAt(p.was, int64(p.at))
		errs = append(errs, err)
	}
	c.code = nil
	return errors.Join(append(errs, c.unmap())...)
}

func (c *goCall) unmap() error {
	t := c.target.Proc.StoppedThread()
	if t == nil {
		return target.ErrNotRunning
	}
	_, err := t.Syscall(11, uint64(c.page), goCallPage) // munmap
	return err
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
	if _, err := c.target.Proc.WriteAt(page[:], int64(c.page)); err != nil {
		return err
	}
	regs := kept.Regs
	regs.Rsp -= 8
	if _, err := c.target.Proc.WriteAt(binary.LittleEndian.AppendUint64(nil, regs.Rip), int64(regs.Rsp)); err != nil {
		return err
	}
	if _, err := c.target.Proc.WriteAt(make([]byte, 8), int64(regs.Rsp-16)); err != nil { // bytes of arguments
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

// untilMade lets the program run until the call is made. The stop is something else that stopped
// it before, and the error beside it says whether the collection goes on.
func (c *goCall) untilMade() (*inferior.Stop, error) {
	was := c.sel.Cur.Thread
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(goCallTick)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if p := c.target.Current.Load(); p != nil && c.waits.CompareAndSwap(false, true) {
					p.Wake(c.look)
				}
			}
		}
	}()
	defer close(over)
	c.asked = true
	defer func() { c.asked = false }()
	var stop inferior.Stop
	for range goCallStops {
		var err error
		if stop, err = c.run.RunPast(); err != nil {
			return nil, err
		}
		// A signal may have come first to the thread that waits: it comes back.
		if stop.Reason != inferior.Interrupted || c.state != goCallDone || !c.strict || c.inside() != nil || c.word(gpLeft) != 0 {
			break
		}
		c.state, c.over = goCallMade, false
	}
	if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone || stop.Reason == inferior.Execed {
		c.Collections.call = nil
		return &stop, nil
	}
	stopped, interrupted := c.stopped(), c.cut("interrupted")
	// What a collection that is under way will do of itself stays.
	if err := c.undo(); err != nil {
		return nil, err
	}
	if stop.Reason != inferior.Interrupted || c.run.HitAny() {
		return &stop, stopped
	}
	var t *inferior.Thread
	err := c.err
	switch {
	case c.state == goCallSought, c.state == goCallMade:
		err = cmp.Or(c.err, interrupted)
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
	c.sel.Look(t, addr.Code{})
	return nil, err
}

// reason is what the runtime says of the call that it has refused.
func (c *goCall) reason() (text string) {
	text = "unknown reason"
	_ = c.target.Proc.StopAll(func() error {
		t := c.inside()
		if t == nil {
			return nil
		}
		regs, err := t.Regs()
		if err != nil {
			return err
		}
		m := c.target.Go.Memory(c.target.Proc)
		at, _ := m.Word(uint64(regs.SP()))
		n, _ := m.Word(uint64(regs.SP()) + 8)
		b := make([]byte, min(n, 100))
		if _, err := c.target.Proc.ReadAt(b, int64(at)); err == nil && n > 0 && !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' }) {
			text = string(b)
		}
		return nil
	})
	return text
}

// errExecuted is of a process that executes another program since it was asked for a collection.
var errExecuted = errors.New("the process executes another program")

// cut is the error of a call whose end was not waited for.
func (c *goCall) cut(by string) error {
	if c.state == goCallMade || c.trigger.begun() {
		return errors.New(by + ": the collection goes on with the program")
	}
	return errors.New(by)
}

// stopped is the error of a call that the program has stopped at, or ended. It is called before undo.
func (c *goCall) stopped() error {
	switch {
	case c.target.Proc == nil:
		return errors.New("the program has ended")
	case c.gone():
		return errExecuted
	case c.err != nil:
		return c.err
	case c.state == goCallDone, c.state == goCallSelf:
		return errors.New("the collection is done; the program has stopped before what lives was counted")
	}
	return c.cut("stopped before the collection was done")
}

// stillThere is a thread, or another one if it has ended.
func (c *goCall) stillThere(t, other *inferior.Thread) *inferior.Thread {
	if t != nil && c.target.Proc.Thread(t.TID) == t {
		return t
	}
	return other
}

// look runs on the owner's goroutine while the program runs.
func (c *goCall) look() {
	c.waits.Store(false)
	switch {
	case !c.asked || c.over: // it was waked when run was about to end, and the program goes on for another reason
	case c.gone():
		c.fail(errExecuted)
	case c.state == goCallMade && c.isDone():
		c.finished()
	case c.state == goCallSought && c.trigger.done():
		c.state = goCallSelf
		c.interrupt()
	case c.state == goCallSought && c.trigger.begun(): // it will be
	case c.state == goCallSought && time.Since(c.began) > goCallTime:
		c.fail(c.nothing())
	case c.state == goCallSought:
		if err := c.target.Proc.StopAll(c.seek); err != nil && !errors.Is(err, inferior.ErrEnded) { // which will be told
			c.fail(err)
		}
	}
}

// nothing is why no collection was made in time.
func (c *goCall) nothing() error {
	const again = "have the program do something, and ask again"
	switch {
	case c.code == nil:
		return fmt.Errorf("the runtime has begun no collection within 3 s, as with GOGC=off, and cannot be called: %w", c.cannot)
	case c.strict || c.trigger == nil:
		return errors.New("no goroutine ran code of the program's for 3 s, where a collection can be asked for: " + again)
	}
	return errors.New("no goroutine ran code of the program's for 3 s, where a collection can be asked for, and the runtime has begun none by itself, as with GOGC=off: " + again)
}

// seek has the first thread that can make the call; all are stopped. If none comes by soon, the
// runtime shall collect by itself.
func (c *goCall) seek() error {
	if c.gone() {
		return nil
	}
	if c.code != nil {
		for _, t := range c.target.Proc.Threads() {
			if c.unsafe(t) == "" {
				return c.begin(t)
			}
		}
	}
	if c.trigger == nil || c.strict || c.code != nil && time.Since(c.began) < goCallIdle {
		return nil
	}
	return c.trigger.pull()
}

// undo takes back what has not led to a collection.
func (c *goCall) undo() error {
	if c.trigger == nil || c.gone() {
		return nil
	}
	return c.target.Proc.StopAll(c.trigger.undo)
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

// interrupt ends the wait.
func (c *goCall) interrupt() {
	c.over = true
	if c.beside {
		return
	}
	if err := c.target.Proc.Interrupt(); err != nil {
		c.err = errors.Join(c.err, err)
	}
}

// word is a word of the page, 0 if it cannot be read.
func (c *goCall) word(at int64) uint32 {
	var b [4]byte
	if _, err := c.target.Proc.ReadAt(b[:], int64(c.page)+at); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

func (c *goCall) isDone() bool { return c.word(gpDone) != 0 }

// inside is the thread that is in the code in place; nil: none is.
func (c *goCall) inside() *inferior.Thread {
	for _, t := range c.target.Proc.Threads() {
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
	m := c.target.Go.Memory(c.target.Proc)
	back.Regs, _ = c.code.returned(regs, m.Word)
	if back.Regs.Rip != c.kept.Regs.Rip {
		return nil, c.note(gpRelease)
	}
	back.Regs.Eflags = c.kept.Regs.Eflags
	return t, errors.Join(t.Restore(back), c.note(gpLeft))
}

// note sets a word of the page.
func (c *goCall) note(at int64) error {
	_, err := c.target.Proc.WriteAt([]byte{1, 0, 0, 0}, int64(c.page)+at)
	return err
}
