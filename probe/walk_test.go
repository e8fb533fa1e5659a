package probe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/testprogs"
)

// A stackMaker writes a stack that the walker is to read, frame by frame from
// the innermost, and the CFI that belongs to it.
type stackMaker struct {
	l     *lab
	th    *labThread
	rand  *rand.Rand
	rules map[addr.Run]cfi.Rule // by the address that is looked up
	sp    addr.Run              // of the frame that is made next
	rbp   word                  // its rbp and rbx
	rbx   word
	want  capture.Stack
	// interrupted are the frames that signals interrupted.
	interrupted []int
	even        bool     // registers are saved relative to the CFA only, and none is lost
	ownCore     bool     // the core has a table among those
	last        addr.Run // where the return address of the last frame is
}

// A word is a register's value and where it has been found.
type word struct {
	at    addr.Run // 0: in the register
	value uint64
	lost  bool
}

// newStack begins a stack whose first frame is the caller of an allocator.
func (l *lab) newStack(th *labThread, seed uint64) *stackMaker {
	m := &stackMaker{l: l, th: th, rand: rand.New(rand.NewPCG(seed, 2)), rules: map[addr.Run]cfi.Rule{}, sp: th.sp}
	m.rbp, m.rbx = word{value: m.value()}, word{value: m.value()}
	th.regs[rbp], th.regs[rbx] = m.rbp.value, m.rbx.value
	m.last = th.sp - 8
	return m
}

// value is something for a register to hold, an address of the stack in half of
// all cases.
func (m *stackMaker) value() uint64 {
	if m.rand.IntN(2) == 0 {
		return uint64(m.sp) + 8*uint64(m.rand.IntN(40))
	}
	return m.rand.Uint64() >> 16 << 3
}

// put writes a word of the stack.
func (m *stackMaker) put(at addr.Run, v uint64) { m.l.poke(at, v) }

// code is a return address in one of the modules that is not in use yet, behind a call.
func (m *stackMaker) code() addr.Run {
	for {
		module := []addr.Run{programAt, libcAt, libcxxAt}[m.rand.IntN(3)]
		at := module + callsFrom + 16 + addr.Run(m.rand.IntN(callsFrom-32))&^15
		if _, taken := m.rules[at-1]; !taken {
			return at
		}
	}
}

// returnsTo makes the frame the last one's caller.
func (m *stackMaker) returnsTo(pc addr.Run, rule cfi.Rule) {
	m.put(m.last, uint64(pc))
	m.rules[pc-1] = rule
	if rule.Form() != cfi.Hidden {
		m.want.PCs = append(m.want.PCs, pc)
	}
}

// saves is a flag and a slot for a register that the frame up to cfa saves, or not.
func (m *stackMaker) saves(w *word, cfa addr.Run) (cfi.Flags, int8) {
	slots := int64(cfa-m.sp)/8 - 1 // from sp up to the return address
	next := m.value()
	kind := m.rand.IntN(4)
	if m.even {
		kind = m.rand.IntN(2) * 3
	}
	switch kind {
	case 0:
		return 0, 0
	case 1:
		near := int64(m.sp-addr.Run(m.rbp.value)) / 8 // slots relative to rbp that lie in the frame
		if m.rbp.lost || m.rbp.value%8 != 0 || slots < 1 || near < -100 || near+slots > 100 {
			return 0, 0
		}
		slot := near + m.rand.Int64N(slots)
		at := addr.Run(int64(m.rbp.value) + 8*slot)
		m.put(at, next)
		*w = word{at: at, value: next}
		return cfi.RBPAtRBP, int8(slot)
	case 2:
		if m.rand.IntN(4) == 0 {
			*w = word{lost: true}
			return cfi.RBPLost, 0
		}
	}
	if slots < 1 {
		return 0, 0
	}
	slot := -2 - m.rand.Int64N(slots)
	at := cfa + addr.Run(8*slot)
	m.put(at, next)
	*w = word{at: at, value: next}
	return cfi.RBPAtCFA, int8(slot)
}

// frame adds a frame of an ordinary function with one of the forms.
func (m *stackMaker) frame(form cfi.Form) {
	pc := m.code()
	cfa := m.sp + 8*addr.Run(1+m.rand.IntN(20))
	offset := int64(cfa - m.sp)
	switch {
	case form == cfi.BP && !m.rbp.lost && inReach(cfa, m.rbp.value):
		offset = int64(cfa) - int64(m.rbp.value)
	case form == cfi.BX && !m.rbx.lost && inReach(cfa, m.rbx.value):
		offset = int64(cfa) - int64(m.rbx.value)
	case form == cfi.DerefBP && !m.rbp.lost && inReach(m.sp, m.rbp.value) && cfa >= m.sp+32:
		at := m.sp
		m.put(at, uint64(cfa))
		offset = int64(at) - int64(m.rbp.value)
		m.sp += 8 // what is saved lies elsewhere
	case form == cfi.Hidden:
	default:
		form = cfi.SP
	}
	// Both are found with the rbp of this frame.
	bxFlag, bxSlot := m.saves(&m.rbx, cfa)
	if bxFlag != 0 && bxFlag != cfi.RBPLost {
		m.sp = max(m.sp, m.rbx.at+8) // and no two in one place
	}
	bpFlag, bpSlot := cfi.Flags(0), int8(0)
	if m.sp < cfa-8 {
		bpFlag, bpSlot = m.saves(&m.rbp, cfa)
	}
	m.returnsTo(pc, cfi.NewRule(form, int32(offset), bpFlag|bxFlag<<4, bpSlot, bxSlot))
	m.sp, m.last = cfa, cfa-8
}

func inReach(a addr.Run, v uint64) bool {
	return v != 0 && int64(a)-int64(v) == int64(int32(int64(a)-int64(v)))
}

// signal adds the frame of a handler's return and the one that was interrupted.
func (m *stackMaker) signal(form cfi.Form, offset int32) {
	m.returnsTo(m.code(), cfi.Rule(cfi.Signal))
	context := m.sp
	pc := m.code()
	m.want.PCs = append(m.want.PCs, pc)
	m.interrupted = append(m.interrupted, len(m.want.PCs)-1)
	m.rbp, m.rbx = word{at: context + 120, value: m.value()}, word{at: context + 128, value: m.value()}
	m.sp = context + 512
	for at, v := range map[addr.Run]uint64{168: uint64(pc), 120: m.rbp.value, 128: m.rbx.value, 160: uint64(m.sp)} {
		m.put(context+at, v)
	}
	m.rules[pc] = cfi.NewRule(form, offset, 0, 0, 0)
	cfa := m.sp + addr.Run(offset)
	if form == cfi.PLT {
		cfa = m.sp + 8
		if int32(pc&15) >= offset {
			cfa += 8
		}
	}
	m.sp, m.last = cfa, cfa-8
}

// end writes the tables, so that the stack can be walked. The last frame returns
// to what ends it.
func (m *stackMaker) end(last uint64) {
	m.put(m.last, last)
	tables := m.l.tables
	tables.mods = tables.mods[:0]
	for low, module := range testModules {
		table := &cfi.Table{Low: addr.File(low), Offs: []uint32{0}, IDs: []uint16{cfi.UnsupportedID}}
		var at []addr.Run
		for pc := range m.rules {
			if module.Low <= pc && pc < module.High {
				at = append(at, pc)
			}
		}
		slices.Sort(at)
		for _, pc := range at {
			table.Offs = append(table.Offs, uint32(pc-low), uint32(pc-low)+1)
			table.IDs = append(table.IDs, tables.rules.ID(m.rules[pc]), cfi.UnsupportedID)
		}
		p, err := tables.place(table, addr.File(module.High))
		if err != nil {
			m.l.t.Fatal(err)
		}
		tables.mods = append(tables.mods, tableOf{module: module, placed: p})
	}
	if m.ownCore {
		core := m.l.frames.table(tables.rules)
		core.Low += addr.File(m.l.remote.core)
		if err := tables.setOwn([]ownTable{{core, m.l.remote.core + addr.Run(len(m.l.core.code))}}); err != nil {
			m.l.t.Fatal(err)
		}
	}
	if m.ownCore {
		core := m.l.frames.table(tables.rules)
		core.Low += addr.File(m.l.remote.core)
		if err := tables.setOwn([]ownTable{{core, m.l.remote.core + addr.Run(len(m.l.core.code))}}); err != nil {
			m.l.t.Fatal(err)
		}
	}
	m.l.publish()
}

// walked is the stack of a malloc that is called now.
func (m *stackMaker) walked() capture.Stack {
	l, th := m.l, *m.th
	th.sp -= 8 // the return address is there already
	th.jump("malloc", 16)
	th.ret(0x5000)
	l.Drain()
	e := l.events[len(l.events)-1]
	l.lines = nil
	return l.notebook.stacks[e.Stack]
}

func (m *stackMaker) check(when string) {
	t := m.l.t
	t.Helper()
	got, want := m.walked(), m.want
	for _, i := range m.interrupted {
		want.Interrupted = setBit(want.Interrupted, i, len(want.PCs))
	}
	if !slices.Equal(got.PCs, want.PCs) || !slices.Equal(got.Interrupted, want.Interrupted) || !slices.Equal(got.Guess, want.Guess) || got.Truncated != want.Truncated {
		t.Errorf("%s: walked %d frames, ended by %q, guessed %v, interrupted %v; want %d, %q, %v, %v", when,
			len(got.PCs), got.Truncated, got.Guess, got.Interrupted, len(want.PCs), want.Truncated, want.Guess, want.Interrupted)
		for i, pc := range want.PCs {
			if i >= len(got.PCs) || got.PCs[i] != pc {
				t.Fatalf("frame %d is not %v, whose rule is %v", i, pc, m.rules[pc-1])
			}
		}
	}
}

// Any chain of frames that the rules can describe is followed, the first time,
// when it is remembered, and when it is much the same.
func TestWalk(t *testing.T) {
	l := newLab(t, Request{Record: true})
	forms := []cfi.Form{cfi.SP, cfi.SP, cfi.SP, cfi.BP, cfi.BP, cfi.BX, cfi.DerefBP, cfi.Hidden}
	for seed := range uint64(testprogs.Rounds(150, 400)) {
		l.restart(l.request)
		l.tables.end = fileTables
		th := l.thread(1)
		th.sp -= 16 << 10
		m := l.newStack(th, seed)
		for range m.rand.IntN(40) + 1 {
			if seed%4 == 3 && m.rand.IntN(20) == 0 {
				m.signal([]cfi.Form{cfi.SP, cfi.PLT}[m.rand.IntN(2)], 8)
				continue
			}
			m.frame(forms[m.rand.IntN(1+int(seed%uint64(len(forms))))])
		}
		var last uint64
		if m.rand.IntN(2) == 0 {
			pc := m.code()
			m.rules[pc-1] = []cfi.Rule{cfi.Rule(cfi.Root), cfi.Rule(cfi.Entry)}[m.rand.IntN(2)]
			m.want.PCs = append(m.want.PCs, pc)
			last = uint64(pc)
		} else {
			m.returnsTo(m.code(), cfi.NewRule(cfi.SP, 8, 0, 0, 0))
			m.last = m.sp
		}
		m.end(last)
		name := fmt.Sprintf("seed %d", seed)
		m.check(name)
		m.check(name + ", again")
		if t.Failed() {
			return
		}
	}
	if n := l.stats.Torn; n != 0 {
		t.Errorf("%d torn", n)
	}
}

// Why walks end early.
func TestWalkEnds(t *testing.T) {
	l := newLab(t, Request{Record: true})
	for _, c := range []struct {
		name string
		play func(m *stackMaker)
	}{
		{"the limit", func(m *stackMaker) {
			for range 70 {
				m.frame(cfi.SP)
			}
			m.want.PCs, m.want.Truncated = m.want.PCs[:64], "depth limit 64"
			m.end(0)
		}},
		{"no rule", func(m *stackMaker) {
			m.frame(cfi.SP)
			m.returnsTo(m.code(), cfi.Rule(cfi.Unsupported))
			m.want.Truncated = fmt.Sprintf("CFI of the frame at %v cannot be followed inside the process", m.want.PCs[1])
			m.put(m.last, uint64(m.want.PCs[1]))
			m.end(uint64(m.want.PCs[1]))
		}},
		{"a CFA that does not grow", func(m *stackMaker) {
			m.returnsTo(m.code(), cfi.NewRule(cfi.BP, 0, 0, 0, 0))
			m.th.regs[rbp] = uint64(m.sp)
			m.want.Truncated = fmt.Sprintf("CFA of the frame at %v does not grow", m.want.PCs[0])
			m.end(uint64(m.want.PCs[0]))
		}},
		{"a frame pointer that is lost", func(m *stackMaker) {
			m.returnsTo(m.code(), cfi.NewRule(cfi.SP, 16, cfi.RBPLost, 0, 0))
			m.last, m.sp = m.sp+8, m.sp+16
			m.returnsTo(m.code(), cfi.NewRule(cfi.BP, 16, 0, 0, 0))
			m.want.Truncated = fmt.Sprintf("CFA of the frame at %v does not grow", m.want.PCs[1])
			m.end(uint64(m.want.PCs[1]))
		}},
		{"0 in the middle", func(m *stackMaker) {
			m.returnsTo(m.code(), cfi.NewRule(cfi.SP, 24, 0, 0, 0))
			m.last = m.sp + 16
			m.want.Truncated = "return address 0x0 not in any module"
			m.end(0)
		}},
		{"by frame pointer", func(m *stackMaker) {
			m.returnsTo(m.code(), cfi.Rule(cfi.NoCFI))
			m.th.regs[rbp] = uint64(m.sp + 32)
			m.put(m.sp+32, uint64(m.sp+64))
			m.last, m.sp = m.sp+40, m.sp+48
			m.returnsTo(m.code(), cfi.Rule(cfi.NoCFI))
			m.last, m.sp = m.sp+24, m.sp+32
			m.returnsTo(m.code(), cfi.Rule(cfi.Root))
			m.want.Guess = []bool{false, true, true}
			m.end(uint64(m.want.PCs[2]))
		}},
		{"a frame pointer to what is no return address", func(m *stackMaker) {
			m.returnsTo(m.code(), cfi.Rule(cfi.NoCFI))
			m.th.regs[rbp] = uint64(m.sp + 32)
			m.put(m.sp+32, uint64(m.sp+64))
			m.put(m.sp+40, uint64(programAt+0x100)) // behind no call
			m.want.Truncated = fmt.Sprintf("no CFI for %s at %v", m.l.tables.path(m.want.PCs[0]), m.want.PCs[0])
			m.end(uint64(m.want.PCs[0]))
			m.want.Truncated = fmt.Sprintf("no CFI for %s at %v", m.l.tables.path(m.want.PCs[0]), m.want.PCs[0])
		}},
		{"code in no module, behind a call", func(m *stackMaker) {
			pc := labAt + labCore - 0x100
			m.l.at(pc - 2)[0], m.l.at(pc - 1)[0] = 0xff, 0xd0 // call *%rax
			m.l.leaveAt(pc)
			m.returnsTo(pc, 0)
			m.th.regs[rbp] = uint64(m.sp + 16)
			m.put(m.sp+16, 0)
			m.last, m.sp = m.sp+24, m.sp+32
			m.returnsTo(m.code(), cfi.Rule(cfi.Root))
			m.want.Guess = []bool{false, true}
			m.end(uint64(m.want.PCs[1]))
		}},
		{"code in no module, behind nothing", func(m *stackMaker) {
			m.frame(cfi.SP)
			m.put(m.last, uint64(labAt+labCore-0x200))
			m.want.Truncated = fmt.Sprintf("return address above %v not in any module", m.want.PCs[0])
			m.end(uint64(labAt + labCore - 0x200))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.t = t
			l.restart(l.request)
			th := l.thread(1)
			th.sp -= 16 << 10
			m := l.newStack(th, 1)
			c.play(m)
			m.check("first")
			m.check("again")
		})
	}
}

// A stack that is remembered is compared with the memory: one that differs in a
// single return address is another.
func TestMemoCompares(t *testing.T) {
	l := newLab(t, Request{Record: true})
	for seed := range uint64(20) {
		l.restart(l.request)
		l.tables.end = fileTables
		th := l.thread(1)
		th.sp -= 16 << 10
		m := l.newStack(th, seed)
		m.even = true
		var slots []addr.Run
		for range 15 {
			slots = append(slots, m.last)
			m.frame([]cfi.Form{cfi.SP, cfi.SP, cfi.BP}[m.rand.IntN(1+int(seed%3))])
		}
		m.returnsTo(m.code(), cfi.Rule(cfi.Root))
		other := m.code()
		m.rules[other-1] = cfi.Rule(cfi.Root)
		m.end(uint64(m.want.PCs[15]))
		whole := slices.Clone(m.want.PCs)
		m.check("first")
		for i, at := range slots {
			m.put(at, uint64(other))
			m.want.PCs = append(slices.Clone(whole[:i]), other)
			m.check(fmt.Sprintf("another caller of frame %d", i))
			m.put(at, uint64(whole[i]))
			m.want.PCs = whole
			m.check(fmt.Sprintf("frame %d as before", i))
		}
		// All of them are remembered, though they have one place.
		before := l.shared.word(hdWalks).Load()
		if before != 16 {
			t.Errorf("seed %d: walked %d times, want 16", seed, before)
		}
		for i := 1; i < len(slots); i++ { // a stack of one frame is not
			m.put(slots[i], uint64(other))
			m.want.PCs = append(slices.Clone(whole[:i]), other)
			m.check(fmt.Sprintf("another caller of frame %d, again", i))
			m.put(slots[i], uint64(whole[i]))
			m.want.PCs = whole
		}
		if n := l.shared.word(hdWalks).Load() - before; n > 0 {
			t.Errorf("seed %d: walked %d times for stacks that were known", seed, n)
		}
		if n := l.shared.word(hdNew).Load(); n != 16 {
			t.Errorf("seed %d: %d stacks published, want 16", seed, n)
		}
	}
}

// Two stacks with the same frames that end otherwise are two.
func TestSameFramesOtherEnd(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := l.thread(1)
	th.sp -= 16 << 10
	m := l.newStack(th, 1)
	m.returnsTo(m.code(), cfi.NewRule(cfi.SP, 8, 0, 0, 0))
	m.last = m.sp
	m.end(0)
	m.check("whole")
	m.put(m.last, uint64(labAt+labCore-0x200))
	m.want.Truncated = fmt.Sprintf("return address above %v not in any module", m.want.PCs[0])
	m.check("wild")
	m.put(m.last, 0)
	m.want.Truncated = ""
	m.check("whole again")
}

// Deep recursion is followed as far as is wanted.
func TestDeepStack(t *testing.T) {
	l := newLab(t, Request{Record: true})
	const frames = 2500
	for _, depth := range []int{1, 2, memoWords - 1, memoWords, memoWords + 1, memoWords + 2, 1000, 2048, frames, 4000} {
		l.restart(l.request)
		l.tables.end = fileTables
		l.setState(stDepth, uint64(depth))
		th := l.thread(1)
		th.sp = labAt + labFar - 1<<20
		m := l.newStack(th, 1)
		m.even = true
		for range frames - 1 {
			m.frame(cfi.SP)
		}
		m.returnsTo(m.code(), cfi.Rule(cfi.Root))
		m.end(uint64(m.want.PCs[frames-1]))
		if depth < frames {
			m.want.PCs, m.want.Truncated = m.want.PCs[:depth], fmt.Sprintf("depth limit %d", depth)
		}
		m.check(fmt.Sprintf("depth %d", depth))
		m.check(fmt.Sprintf("depth %d, again", depth))
	}
}
