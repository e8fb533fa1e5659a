package probe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// A deepStack is one of many words: a return address a frame, and what is read of rbp if
// the frames keep a frame pointer.
type deepStack struct {
	*stackMaker
	words int
	rets  []addr.Run // where the return addresses above the first are
	rbps  []addr.Run // where each frame saves rbp
	other addr.Run   // a return address of no frame of it, where a stack ends
}

// deep makes a stack of so many words, in a lab that knows none.
func (l *lab) deep(words int, pointers bool) *deepStack {
	th := l.anew()
	l.setState(stDepth, maxDepth)
	th.sp = labAt + labFar - 1<<20
	d := &deepStack{stackMaker: l.newStack(th, uint64(words)), words: words}
	d.even = true
	for n := words; n > 0; n-- {
		d.rets = append(d.rets, d.last)
		if pointers && n > 1 {
			d.pointerFrame()
			n--
		} else {
			d.frame(cfi.SP)
		}
	}
	d.rets = append(d.rets[1:], d.last)
	d.returnsTo(d.code(), cfi.Rule(cfi.Root))
	d.other = d.code()
	d.rules[d.other-1] = cfi.Rule(cfi.Root)
	d.end(uint64(d.want.PCs[len(d.want.PCs)-1]))
	return d
}

// pointerFrame adds a frame that begins with push %rbp; mov %rsp,%rbp.
func (d *deepStack) pointerFrame() {
	at := d.sp + 8*addr.Run(1+d.rand.IntN(6))
	if len(d.rbps) == 0 {
		d.th.regs[rbp] = uint64(at)
	} else {
		d.put(d.rbps[len(d.rbps)-1], uint64(at))
	}
	d.rbps = append(d.rbps, at)
	d.returnsTo(d.code(), cfi.NewRule(cfi.BP, 16, cfi.RBPAtCFA, -2, 0))
	d.sp, d.last = at+16, at+8
}

// walks is how many stacks have been walked meanwhile.
func (l *lab) walks(f func()) uint64 {
	before := l.shared.word(hdWalks).Load()
	f()
	return l.shared.word(hdWalks).Load() - before
}

// entries are those of the memo in use.
func (l *lab) entries() (list [][]byte) {
	memo := l.shared.file[addr.Run(binary.LittleEndian.Uint64(l.state[stMemo:]))-l.remote.file:]
	for i := range 1 << memoBits {
		if e := memo[i*memoEntry : (i+1)*memoEntry]; binary.LittleEndian.Uint64(e[meTag:]) != 0 {
			list = append(list, e)
		}
	}
	return list
}

// deepWords are numbers of words around the limits of an entry and of the memo.
var deepWords = []int{memoWords - 1, memoWords, memoWords + 1, 2*memoWords - 1, 2 * memoWords, 2*memoWords + 1, 1000, memoLong - 1, memoLong, memoLong + 1}

// Stacks of many words are remembered in as many entries as they need, up to a limit,
// with frame pointers and without.
func TestMemoOfDeepStacks(t *testing.T) {
	l := newLab(t, Request{Record: true})
	for _, pointers := range []bool{false, true} {
		for _, words := range deepWords {
			if !pointers && words > 2500 {
				continue // the lab has no code for so many frames
			}
			for _, way := range []uint64{enabled, quickEnabled} {
				t.Run(fmt.Sprintf("words=%d,pointers=%v,way=%d", words, pointers, way), func(t *testing.T) {
					l.t = t
					d := l.deep(words, pointers)
					l.setState(stEnabled, way)
					d.check("first")
					wantWalks, wantEntries := uint64(0), (words+memoWords-1)/memoWords
					if words > memoLong {
						wantWalks, wantEntries = 2, 0
					}
					if n := l.walks(func() { d.check("again"); d.check("a third time") }); n != wantWalks {
						t.Errorf("walked %d times again, want %d", n, wantWalks)
					}
					if n := len(l.entries()); n != wantEntries {
						t.Errorf("%d entries, want %d", n, wantEntries)
					}
				})
			}
		}
	}
}

// One word that is another, wherever it is, makes another stack, and the old one is known
// when it is as it was.
func TestMemoComparesDeepStacks(t *testing.T) {
	l := newLab(t, Request{Record: true})
	for _, pointers := range []bool{false, true} {
		for _, words := range deepWords {
			if !pointers && words > 2500 {
				continue
			}
			d := l.deep(words, pointers)
			whole := d.want.PCs
			d.check("first")
			frames := []int{0, len(d.rets) - 1, len(d.rets) / 2}
			for range 20 {
				frames = append(frames, d.rand.IntN(len(d.rets)))
			}
			for _, i := range frames {
				name := fmt.Sprintf("%d words, frame pointers %v, another caller of frame %d", words, pointers, i)
				d.put(d.rets[i], uint64(d.other))
				d.want.PCs = append(slices.Clone(whole[:i+1]), d.other)
				d.check(name)
				d.put(d.rets[i], uint64(whole[i+1]))
				d.want.PCs = whole
				d.check(name + ", as before")
			}
			for range min(20, len(d.rbps)) {
				i := d.rand.IntN(len(d.rbps) - 2)
				name := fmt.Sprintf("%d words, frame %d skipped by rbp", words, i+1)
				d.put(d.rbps[i], uint64(d.rbps[i+2]))
				d.want.PCs = slices.Delete(slices.Clone(whole), i+2, i+3)
				d.check(name)
				d.put(d.rbps[i], uint64(d.rbps[i+1]))
				d.want.PCs = whole
				d.check(name + ", as before")
			}
		}
	}
}

// Deep stacks of one place that differ near the top are all remembered.
func TestMemoTreeOfDeepStacks(t *testing.T) {
	l := newLab(t, Request{Record: true})
	d := l.deep(3*memoWords, false)
	whole := slices.Clone(d.want.PCs)
	var others []addr.Run
	for i := 1; i <= memoChecks/2; i++ {
		other := d.code()
		d.rules[other-1] = d.rules[whole[i]-1]
		others = append(others, other)
	}
	d.end(uint64(whole[len(whole)-1]))
	each := func() {
		d.check("the first")
		for i, other := range others {
			d.put(d.rets[i], uint64(other))
			d.want.PCs[i+1] = other
			d.check(fmt.Sprintf("another caller of frame %d", i))
			d.put(d.rets[i], uint64(whole[i+1]))
			d.want.PCs[i+1] = whole[i+1]
		}
	}
	if n := l.walks(each); n != uint64(1+len(others)) {
		t.Errorf("walked %d times, want %d", n, 1+len(others))
	}
	if n := l.walks(each); n != 0 {
		t.Errorf("walked %d times for stacks that are known", n)
	}
}

// Stacks that differ further out than an entry has checks are all remembered, though none of
// those that are near one another have a place by a word.
func TestMemoOfStacksThatDifferFarOut(t *testing.T) {
	for _, words := range []int{3 * memoChecks, 2 * memoWords} {
		t.Run(fmt.Sprintf("%d words", words), func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			d := l.deep(words, false)
			whole := slices.Clone(d.want.PCs)
			const forks = 6
			var others []addr.Run
			at := func(fork int) int { return memoChecks + 4 + fork*(words-memoChecks-6)/forks }
			for fork := range forks {
				other := d.code()
				d.rules[other-1] = d.rules[whole[at(fork)+1]-1]
				others = append(others, other)
			}
			d.end(uint64(whole[len(whole)-1]))
			each := func() {
				for n := range 1 << forks {
					for fork, other := range others {
						pc := whole[at(fork)+1]
						if n>>fork&1 != 0 {
							pc = other
						}
						d.put(d.rets[at(fork)], uint64(pc))
						d.want.PCs[at(fork)+1] = pc
					}
					d.check(fmt.Sprintf("stack %#x", n))
				}
			}
			if n := l.walks(each); n != 1<<forks {
				t.Errorf("walked %d times, want %d", n, 1<<forks)
			}
			if n := l.walks(each); n != 0 {
				t.Errorf("walked %d times for stacks that are known", n)
			}
		})
	}
}

// If an entry of a deep stack has gone to another, the stack is walked once, and the entry
// is made again, none of the others.
func TestMemoLosesAnEntry(t *testing.T) {
	l := newLab(t, Request{Record: true})
	const entries = 5
	d := l.deep(entries*memoWords-7, true)
	d.check("first")
	for n := range entries {
		list := l.entries()
		if len(list) != entries {
			t.Fatalf("%d entries, want %d", len(list), entries)
		}
		binary.LittleEndian.PutUint64(list[n][meTag:], 0x4711)
		if n := l.walks(func() { d.check("without an entry") }); n != 1 {
			t.Errorf("walked %d times, want 1", n)
		}
		if n := l.walks(func() { d.check("with it") }); n != 0 {
			t.Errorf("walked %d times, want 0", n)
		}
		for _, e := range l.entries() {
			if binary.LittleEndian.Uint64(e[meTag:]) == 0x4711 {
				binary.LittleEndian.PutUint64(e[meTag:], 0)
			}
		}
	}
}

// BenchmarkDepth is a free that is recorded, by the words of its stack, and getting in and
// out of the lab.
func BenchmarkDepth(b *testing.B) {
	for _, pointers := range []bool{false, true} {
		for _, words := range []int{10, 25, 49, memoWords, memoWords + 1, 120, 300, 1000, 2000} {
			b.Run(fmt.Sprintf("words=%d,pointers=%v", words, pointers), func(b *testing.B) {
				l := newLab(b, Request{Record: true})
				d := l.deep(words, pointers)
				l.setState(stEnabled, quickEnabled)
				d.th.sp -= 8
				l.Drain()
				for n := range b.N {
					d.th.jump("free", uint64(0x5000+n%2*64))
					if n%10000 == 0 {
						b.StopTimer()
						l.Drain()
						l.lines, l.events = nil, nil
						b.StartTimer()
					}
				}
			})
		}
	}
}
