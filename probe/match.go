package probe

import (
	"encoding/binary"
	"fmt"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// A matcher takes the calls that may stop the process, where threads offer them.
type matcher struct {
	p      *Probe
	gate   *inferior.Trap   // where threads offer matches,
	signal int              // the signal that they send themselves there,
	traps  []*inferior.Trap // and where they do, and ask for their TIDs, without system calls
}

// A frame is what the core has on the stack when it offers a match.
type frame struct {
	words [frameSize/8 + 1]uint64
	at    addr.Run
}

func (f *frame) word(offset int) uint64 { return f.words[offset/8] }

// flags are the second half of the first word.
func (f *frame) flags() uint32 { return uint32(f.words[0] >> 32) }

// match handles a thread that offers a match.
func (m *matcher) match(t *inferior.Thread) inferior.Action {
	f, s, regs, err := m.offered(t)
	if err == nil && m.p.slots.guests[uint32(t.TID)] == nil {
		switch wrong := f.flags()&flagWrong != 0; {
		case f.flags()&flagLeft != 0:
			return m.leftMatch(t, &f, s, regs)
		case !s.Function.Frees() && !wrong:
			return m.allocMatch(t, &f, s, regs)
		case !s.Function.Frees():
			return m.guardMatch(t, &f, s, regs)
		case wrong:
			action := m.freeMatch(t, &f, s, regs)
			c := f.call(s, t)
			c.Now = addr.PC(c.Entry)
			return max(action, m.p.cfg.Sink.Wrong(t, c, Suspicion(f.word(frRes))))
		}
		return m.freeMatch(t, &f, s, regs)
	}
	if err != nil {
		m.p.message("%v", err)
	}
	m.pass(t, regs)
	return inferior.Resume
}

// pass lets the thread continue as if the call had not matched.
func (m *matcher) pass(t *inferior.Thread, regs inferior.Registers) {
	mark := uint32(markGateEnd)
	if regs.PC() == m.at(markTrap) {
		mark = markOffered // it has blocked no signals, and may not
	}
	regs.Rip = uint64(m.p.remote.core) + uint64(m.p.core.marks[mark])
	_ = t.SetRegs(regs) // killed, if this fails
}

// at is a place in the core.
func (m *matcher) at(mark uint32) addr.Run {
	return m.p.remote.core + addr.Run(m.p.core.marks[mark])
}

// tell tells a thread its TID, for which it may not ask the kernel.
func (m *matcher) tell(t *inferior.Thread) inferior.Action {
	if regs, err := t.Regs(); err == nil {
		regs.Rax = uint64(t.TID)
		regs.Rip += markSize
		_ = t.SetRegs(regs) // killed, if this fails
	}
	return inferior.Resume
}

// offerBelow is how far below its stack pointer a thread that offers a match has left
// addresses of the core, in bytes: walks for the stack's number go deeper than the offer.
const offerBelow = 256

// offered reads the frame of a thread that offers a match, and gives it back the
// signal mask that it had before.
func (m *matcher) offered(t *inferior.Thread) (f frame, s *site, regs inferior.Registers, err error) {
	if regs, err = t.Regs(); err != nil {
		return f, nil, regs, err
	}
	f.at = regs.SP() + ofFrame
	b := make([]byte, ofFrame+len(f.words)*8)
	if _, err = m.p.proc.ReadAt(b, int64(regs.SP())); err != nil {
		return f, nil, regs, err
	}
	for i := range f.words {
		f.words[i] = binary.LittleEndian.Uint64(b[ofFrame+8*i:])
	}
	if s = m.p.siteTable.byDesc[addr.Run(f.word(frSite))]; s == nil {
		return f, nil, regs, fmt.Errorf("probe: no function has its descriptor at %#x", f.word(frSite))
	}
	if mask := binary.LittleEndian.Uint64(b[ofMask:]); mask&signalSet(m.signal) != 0 {
		_ = t.Block(m.signal) // killed, if this fails
	}
	return f, s, regs, nil
}

// signalSet is the set of one signal, in the kernel's form.
func signalSet(n int) uint64 { return 1 << (n - 1) }

// call is what breakpoints would report of it.
func (f *frame) call(s *site, t *inferior.Thread) breakpoints.Call {
	c := breakpoints.Call{Function: s.Function, Entry: s.code(), Return: addr.Run(f.word(frameSize)), SP: f.at + frameSize}
	for i := range c.Args {
		c.Args[i] = f.word(frArgs + 8*i)
	}
	fn, e := &c.Function, &c.Event
	e.TID, e.Kind, e.Addr, e.Size = int32(t.TID), fn.Kind, f.word(frAddr), f.word(frSize)
	arg := func(o breakpoints.Operand) (uint64, bool) {
		if o.From != breakpoints.Argument {
			return 0, false
		}
		return c.Args[o.Index], true
	}
	if goAllocates(fn) {
		e.Aux = s.goAux(c.Args[1], c.Args[2])
	}
	e.Old, _ = arg(fn.Old)
	if v, ok := arg(fn.Count); ok {
		e.Aux = v
	}
	if v, ok := arg(fn.Align); ok {
		e.Aux = v
	}
	if v, ok := arg(fn.Pool); ok {
		e.Aux = v
	}
	if v, ok := arg(fn.Mode); ok {
		flags, _ := arg(fn.Flags)
		e.Aux = fn.MapAux(v, flags)
	}
	return c
}

// allocMatch handles a call that has returned to the core and may stop the process. The thread is
// made to be where it returns to.
func (m *matcher) allocMatch(t *inferior.Thread, f *frame, s *site, regs inferior.Registers) inferior.Action {
	m.p.reader.mu.Lock()
	defer m.p.reader.mu.Unlock()
	m.p.reader.drainAll()
	c := f.call(s, t)
	complete(&c.Event, &c.Function, f.flags()&flagFailed != 0)
	c.Inner = m.inner(m.entry(f, f.word(frIndex)&0xffffffff))
	tid := uint32(t.TID)
	if c.Event.Kind == capture.Realloc && c.Event.Old != 0 && m.p.reader.endResize(tid) {
		c.Event.Old = 0
	}
	if f.flags()&flagNoEvent != 0 && c.Event.Failed {
		m.pass(t, regs) // the call around it will tell
		return m.p.reader.accounted(f.word(frSize), 1, func() inferior.Action { return inferior.Resume })
	}
	if s.ofGo() { // see goBack
		low := regs.SP() - offerBelow
		_, _ = m.p.proc.WriteAt(make([]byte, f.at+frameSize-low), int64(low)) // what stays there does no harm but to a later unmapping
	}
	regs.Rip, regs.Rsp = f.word(frameSize), uint64(f.at)+frameSize+8
	regs.Rax, regs.Rdx = f.word(frRes), f.word(frRes2)
	if err := t.SetRegs(regs); err != nil {
		return inferior.Resume // killed
	}
	c.Regs, c.Now = regs, addr.Return(c.Return)
	asked := f.word(frSize)
	if goAllocates(&c.Function) {
		m.p.reader.goMade(c.Event.Addr, c.Event.Size, c.Args[1])
	}
	return m.p.reader.accounted(asked, 1, func() inferior.Action {
		m.p.reader.reportInside(tid, c.Event.Addr)
		m.p.reader.flush()
		m.judge(s, f, t, c)
		m.p.conditions.learnType(s, c.Args[1])
		return m.p.cfg.Sink.Alloc(t, c)
	})
}

// judge keeps the verdict on the stack of a call for those to come.
func (m *matcher) judge(s *site, f *frame, t *inferior.Thread, c breakpoints.Call) {
	if f.flags()&(flagWrong|flagSure) != 0 || !m.p.conditions.request.asksStack(s.Function) {
		return // the core has not asked for the stack's number
	}
	slot := m.slot(f)
	if slot == nil {
		return
	}
	number := binary.LittleEndian.Uint32(slot[slStack:])
	if number >= 1<<stackBits || m.p.shared.file[fileVerdicts+int64(number)] != verdictNone {
		return
	}
	verdict := byte(verdictNo)
	if m.p.cfg.Sink.May(t, c) {
		verdict = verdictMay
	}
	m.p.shared.file[fileVerdicts+int64(number)] = verdict
}

// entry is the entry of the shadow stack with an index that a call has left behind, zeros if it cannot be read.
func (m *matcher) entry(f *frame, index uint64) (entry [shadowSize]byte) {
	_, _ = m.p.proc.ReadAt(entry[:], int64(f.word(frSlot)+slShadow+shadowSize*index))
	return entry
}

// slot is the slot of the thread with a frame, nil if what is there is none.
func (m *matcher) slot(f *frame) []byte {
	at := int64(f.word(frSlot)) - int64(m.p.remote.file) - fileSlots
	if at < 0 || at >= numSlots*slotSize || at%slotSize != 0 {
		return nil
	}
	return m.p.shared.slot(int(at / slotSize))
}

// inner names the functions that did the work of the call of an entry.
func (m *matcher) inner(entry [shadowSize]byte) []string {
	served := binary.LittleEndian.Uint64(entry[shServed:])
	var names []string
	for _, s := range m.p.siteTable.list {
		if !s.dead && !s.Function.Frees() && s.Function.Group != breakpoints.GroupVM && served>>s.bit&1 != 0 {
			names = append(names, s.Function.Name)
		}
	}
	return names
}

// freeMatch handles a call of free that may stop the process. The thread is made to be at the
// function's entry.
func (m *matcher) freeMatch(t *inferior.Thread, f *frame, s *site, regs inferior.Registers) inferior.Action {
	m.p.reader.mu.Lock()
	defer m.p.reader.mu.Unlock()
	m.p.reader.drainAll()
	c := f.call(s, t)
	s.arrive(&regs, c)
	if err := t.SetRegs(regs); err != nil {
		return inferior.Resume // killed
	}
	if err := m.enter(t, s, c.Entry); err != nil {
		m.p.message("%v", err)
		regs.Rip, regs.Rdi, regs.Rsi = uint64(s.relocated), c.Args[0], c.Args[1]
		_ = t.SetRegs(regs) // killed, if this fails
	}
	c.Regs, c.Now = regs, addr.PC(c.Entry)
	m.judge(s, f, t, c)
	return m.p.reader.accounted(0, 0, func() inferior.Action { return m.p.cfg.Sink.Alloc(t, c) })
}

// arrive makes registers those of the entry of a call.
func (s *site) arrive(regs *inferior.Registers, c breakpoints.Call) {
	for i, r := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.Rcx, &regs.R8, &regs.R9} {
		*r = c.Args[i]
	}
	if s.swapped {
		regs.Rdi, regs.Rsi = regs.Rsi, regs.Rdi
	}
	regs.Rip, regs.Rsp = uint64(c.Entry), uint64(c.SP)
}

// leftMatch handles a call that an exception or longjmp has left, which is known as its thread calls s. The thread is
// made to be at the entry of that function, where plain breakpoints would see it. From there it makes the call
// anew; but nothing at the code of a function that is called by a pointer leads to the core.
func (m *matcher) leftMatch(t *inferior.Thread, f *frame, s *site, regs inferior.Registers) inferior.Action {
	m.p.reader.mu.Lock()
	defer m.p.reader.mu.Unlock()
	m.p.reader.drainAll()
	entry := m.entry(f, 0)
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(entry[at:]) }
	left, next := m.p.siteTable.byDesc[addr.Run(word(shSite))], f.call(s, t)
	now := addr.PC(next.Entry)
	if slot := m.slot(f); s.entrance != 0 || left == nil || slot == nil {
		m.pass(t, regs)
		now = addr.Return(next.Return)
	} else {
		binary.LittleEndian.PutUint32(slot[slDepth:], 0)
		s.arrive(&regs, next)
		if err := t.SetRegs(regs); err != nil {
			return inferior.Resume // killed
		}
		if s.patch != nil && !s.trap {
			t.PassTraps(next.Entry) // the user's have been hit
		}
	}
	if left == nil {
		return inferior.Resume
	}
	c := breakpoints.Call{
		Function: left.Function, Inner: m.inner(entry), Entry: left.code(), Return: addr.Run(word(shRet)), SP: next.SP,
		Regs: regs, Now: now, Abandoned: true,
	}
	e := &c.Event
	e.TID, e.Kind, e.Size, e.Failed, e.Abandoned = int32(t.TID), left.Function.Kind, word(shSize), true, true
	if longRecords(left.Function) {
		e.Aux = word(shAux)
	}
	constants(e, &left.Function)
	tid := uint32(t.TID)
	m.p.reader.endResize(tid)
	return m.p.reader.accounted(word(shSize), 1, func() inferior.Action {
		m.p.reader.reportInside(tid, 0)
		m.p.reader.flush()
		return m.p.cfg.Sink.Alloc(t, c)
	})
}

// enter has a thread that is at the entry of a site's function run it without another call of the core.
// No code of a function that is called by a pointer leads there: if it is followed itself, that call is
// an inner one. None does either where the probe has been disarmed since the thread offered the match:
// several threads may do so at once, and wait while the first of them is reported.
func (m *matcher) enter(t *inferior.Thread, s *site, entry addr.Run) error {
	switch {
	case s.entrance != 0:
		return nil
	case s.patch == nil:
		t.PassTraps(entry)
		return nil
	}
	return t.PlaceAt(entry)
}

// guardMatch handles a call of a realloc that is about to return what seems to be no block. The
// thread stays in the core, from where it continues with the call.
func (m *matcher) guardMatch(t *inferior.Thread, f *frame, s *site, regs inferior.Registers) inferior.Action {
	m.p.reader.Drain()
	c := f.call(s, t)
	c.Event.Addr = 0
	m.pass(t, regs)
	c.Regs, c.Now = regs, addr.Return(c.Return)
	return m.p.cfg.Sink.Wrong(t, c, Suspicion(f.word(frRes)))
}

// Other has the sink take a call that the probe does not follow itself, in its
// place behind what was recorded before.
func (m *matcher) Other(t *inferior.Thread, c breakpoints.Call) inferior.Action {
	m.p.reader.mu.Lock()
	defer m.p.reader.mu.Unlock()
	m.p.reader.drainAll()
	m.p.shared.word(hdCount).Add(1)
	if m.p.conditions.request.marks != 0 && !c.Function.Frees() {
		m.p.conditions.markBlock(c.Event.Addr)
	}
	return m.p.reader.accounted(0, 0, func() inferior.Action { return m.p.cfg.Sink.Alloc(t, c) })
}
