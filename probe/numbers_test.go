package probe

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"testing"

	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// forked calls f twice for each of count stacks of one place, with its number. Each frame
// is one of two; bits of the number say which.
func (m *stackMaker) forked(count int, f func(n int)) {
	m.even = true
	var slots []addr.Run
	var callers [][2]addr.Run
	forks := bits.Len(uint(count - 1))
	for range forks {
		slots = append(slots, m.last)
		m.frame(cfi.SP)
		rule := m.rules[m.want.PCs[len(m.want.PCs)-1]-1]
		other := m.code()
		m.rules[other-1] = rule
		callers = append(callers, [2]addr.Run{m.want.PCs[len(m.want.PCs)-1], other})
	}
	m.returnsTo(m.code(), cfi.Rule(cfi.Root))
	m.end(uint64(m.want.PCs[forks]))
	for range 2 {
		for n := range count {
			for i, at := range slots {
				m.want.PCs[i] = callers[i][n>>i&1]
				m.put(at, uint64(m.want.PCs[i]))
			}
			f(n)
		}
	}
}

// Stacks of one place that differ in many words are remembered, too.
func TestMemoTree(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := l.thread(1)
	th.sp -= 16 << 10
	const stacks = 1 << 8
	m := l.newStack(th, 1)
	m.forked(stacks, func(n int) { m.check(fmt.Sprintf("stack %#x", n)) })
	if n := l.shared.word(hdWalks).Load(); n != stacks {
		t.Errorf("walked %d times for %d stacks", n, stacks)
	}
}

// There are numbers for many stacks, in pages that are next to one another while they are
// few.
func TestNumbersForStacks(t *testing.T) {
	const few = 1 << stackFew // the places that are looked at first
	many := 2 * few
	if testing.Short() {
		many = few + 64
	}
	for _, count := range []int{few / 4, many} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			th := l.thread(1)
			th.sp -= 16 << 10
			m := l.newStack(th, 1)
			m.forked(count, func(n int) { m.check(fmt.Sprintf("stack %#x", n)) })
			numbers, highest := 0, 0
			for n, known := range l.reader.stacks.byNumber {
				if known != 0 {
					numbers, highest = numbers+1, n
				}
			}
			if n := l.shared.word(hdNew).Load(); n != uint64(count) || numbers != count {
				t.Errorf("they have %d numbers, and were sent %d times", numbers, n)
			}
			if first := highest < few; first != (count < few) {
				t.Errorf("one has number %d", highest)
			}
		})
	}
}

// When the set of stacks is full, frames are sent with each event.
func TestNoNumberForAStack(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := l.thread(1)
	th.sp -= 16 << 10
	m := l.newStack(th, 1)
	m.even = true // the memo would take it
	for range 4 {
		m.frame(cfi.SP)
	}
	at := m.last
	m.frame(cfi.SP)
	one, other := m.want.PCs[4], m.code()
	m.rules[other-1] = m.rules[one-1]
	m.returnsTo(m.code(), cfi.Rule(cfi.Root))
	m.end(uint64(m.want.PCs[5]))
	set := l.shared.file[fileStacks:fileCaches]
	for i := 0; i < len(set); i += 8 {
		binary.LittleEndian.PutUint64(set[i:], uint64(i)<<1|1)
	}
	m.check("first")
	m.check("again")
	if n := l.shared.word(hdNew).Load(); n != 2 {
		t.Errorf("%d stacks published, want 2", n)
	}
	// Another one in between is not taken for it.
	for _, when := range []string{"first", "second", "third"} {
		for _, pc := range []addr.Run{other, one} {
			m.want.PCs[4] = pc
			m.put(at, uint64(pc))
			m.check(fmt.Sprintf("%s time in turn, %v", when, pc))
		}
	}
}
