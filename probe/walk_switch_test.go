package probe

import (
	"fmt"
	"testing"

	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// Stacks of C that Go has called, and of Go that C has called, go on where they were called: by
// rules, or by frame pointers if the runtime is known.
func TestWalkSwitches(t *testing.T) {
	l := newLab(t, Request{Record: true})
	const creator, id, slot = 280, 152, 48
	for seed := range uint64(128) {
		known := seed >= 64
		l.restart(l.request)
		l.tables.end = fileTables
		th := l.thread(1)
		th.sp -= 16 << 10
		m := l.newStack(th, seed)
		stack := l.thread(3).sp &^ 15
		g, low, high := stack-1024, stack-(16<<10), stack-2048
		m.put(g, uint64(low))
		m.put(g+8, uint64(high))
		m.put(g+id, 17+seed%2)
		made := m.code()
		m.rules[made-1] = cfi.Rule(cfi.Unsupported) // nobody asks
		m.put(g+creator, uint64(made))
		end := m.code()
		m.rules[end-1] = cfi.NewRule(cfi.GoroutineEnd, creator, 0, id/8, 0)
		m.put(g+48, 0)
		for at, v := range map[int]uint64{stGoExit: uint64(end), stGoM: 48, stGoPC: creator, stGoID: id} {
			if !known {
				v = 0
			}
			l.setState(at, v)
		}
		m.even = true
		deep := high - 4096 // where the goroutine's stack is
		fp := addr.Run(0)   // where it has the last frame pointer
		toGo := func(with addr.Run) {
			pushed := m.rand.IntN(2) == 0
			rule := cfi.NewRule(cfi.ToGoroutine, slot, 0, 0, 0)
			if pushed {
				rule = cfi.NewRule(cfi.ToGoroutine, slot, cfi.RBPAtCFA, -2, 0)
			}
			m.returnsTo(m.code(), rule)
			m.put(m.sp+slot, uint64(with))
			m.put(m.sp+slot-8, uint64(high-deep))
			if with == 0 {
				m.put(m.sp+slot-8, uint64(deep))
			}
			m.last = deep
			if pushed {
				m.last = deep + 8
			}
			m.sp = m.last + 8
			fp = m.sp - 16
		}
		onThread := m.sp + 4096 // where the frames are that have called Go
		fromGo := func() {
			m.put(m.sp-16, uint64(onThread))
			m.returnsTo(m.code(), cfi.NewRule(cfi.FromGoroutine, 0, cfi.RBPAtCFA|cfi.RBXLost, -2, 0))
			deep = m.sp + 512
			m.rbp, m.rbx = word{value: m.value()}, word{lost: true}
			m.put(onThread, m.rbp.value)
			m.last, m.sp = onThread+8, onThread+16
			onThread += 8192
		}
		frames := func() {
			for range 1 + m.rand.IntN(4) {
				m.frame(cfi.SP)
			}
		}
		ofGo := func() { // which save no rbx
			for range 1 + m.rand.IntN(4) {
				size := 8 * addr.Run(2+m.rand.IntN(20)) // with rbp
				m.returnsTo(m.code(), cfi.NewRule(cfi.SP, int32(size), 0, 0, 0))
				m.sp += size
				m.last = m.sp - 8
				m.put(fp, uint64(m.sp-16))
				fp = m.sp - 16
			}
		}
		frames()
		for range seed % 4 {
			toGo(g)
			ofGo()
			fromGo()
			frames()
		}
		with := g
		if seed%8 == 7 {
			with = 0
		}
		toGo(with)
		ofGo()
		m.put(fp, 0)
		m.want.PCs = append(m.want.PCs, end)
		if with != 0 {
			m.want.PCs = append(m.want.PCs, made)
		}
		m.end(uint64(end))
		name := fmt.Sprintf("seed %d", seed)
		m.check(name)
		m.check(name + ", again")
		switch seed % 4 {
		case 0: // the first goroutine was made by nobody
			m.put(g+id, 1)
			if with != 0 {
				m.want.PCs = m.want.PCs[:len(m.want.PCs)-1]
			}
			m.check(name + ", the first goroutine")
		case 1: // it is another's stack
			m.put(g, uint64(high)-16)
			if known {
				break // then it is not asked
			}
			if seed%8 != 7 {
				m.want.PCs = m.want.PCs[:len(m.want.PCs)-1]
			}
			m.check(name + ", another goroutine's stack")
		}
		if t.Failed() {
			return
		}
	}
	if n := l.stats.Torn; n != 0 {
		t.Errorf("%d torn", n)
	}
}
