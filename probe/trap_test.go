package probe

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/testprogs"

	"golang.org/x/sys/unix"
)

// stopsAt is a request for stops, each as break reads it.
func stopsAt(t testing.TB, specs ...string) Request {
	t.Helper()
	var r Request
	for _, text := range specs {
		spec, err := breakpoints.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Stops = append(r.Stops, breakpoints.NewStop(spec))
	}
	return r
}

// Only calls for which a condition may hold end at a trap.
func TestTraps(t *testing.T) {
	play := func(l *lab, th *labThread) {
		th.call(here, "malloc", 16)
		th.ret(0x5000)
		th.call(here, "malloc", 100)
		th.ret(0x6000)
		th.call(here, "_Znwm", 100)
		th.call(inCXX, "malloc", 100)
		th.ret(0x7000)
		th.ret(0x7000)
		th.call(here, "calloc", 4, 100)
		th.ret(0x8000)
		th.call(here, "aligned_alloc", 64, 128)
		th.ret(0x9000)
		th.call(here, "realloc", 0x6000, 200)
		th.ret(0xa000)
		th.call(here, "free", 0)
		th.ret(0)
		th.call(here, "free", 0x5000)
		th.ret(0)
		th.call(here, "_ZdlPvm", 0x7000, 100)
		th.jump("_ZdlPv", 0x7000)
		th.jump("free", 0x7000)
		th.ret(0)
		th.call(here, "mmap", 0, 4096)
		th.ret(0x10000)
		th.call(here, "malloc", 1<<50)
		th.ret(0)
	}
	for _, c := range []struct {
		specs string
		want  []string
	}{
		{"malloc if size >= 100", []string{"malloc(100) = 0x6000", "operator new(100) = 0x7000", "calloc(4, 100) = 0x8000",
			"aligned_alloc(64, 128) = 0x9000", "realloc(0x6000, 200) = 0xa000", "malloc(1125899906842624) = NULL"}}, // others may have malloc do their work
		{"alloc if size == 100", []string{"malloc(100) = 0x6000", "operator new(100) = 0x7000"}},
		{"alloc if size > 1000", []string{"malloc(1125899906842624) = NULL"}},
		{"alloc if count == 4", []string{"calloc(4, 100) = 0x8000"}},
		{"alloc if align == 64 && addr > 0", []string{"aligned_alloc(64, 128) = 0x9000"}},
		{"alloc if old == 0x6000", []string{"realloc(0x6000, 200) = 0xa000"}},
		{"alloc if addr == 0", []string{"malloc(1125899906842624) = NULL"}},
		{"free", []string{"free(0x5000)", "operator delete(0x7000, 100)"}},
		{"free if addr == 0x7000", []string{"operator delete(0x7000, 100)"}},
		{"free if addr == 0x5000; alloc if size == 16", []string{"malloc(16) = 0x5000", "free(0x5000)"}},
		{"alloc if size == 77777", nil},
	} {
		for _, quick := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/quick=%v", c.specs, quick), func(t *testing.T) {
				l := newLab(t, stopsAt(t, strings.Split(c.specs, "; ")...))
				l.quick = quick
				play(l, l.thread(1))
				if !slices.Equal(l.stops, c.want) {
					t.Errorf("stops\n got %s\nwant %s", strings.Join(l.stops, "; "), strings.Join(c.want, "; "))
				}
				l.Drain()
				l.expect(t)
				if n := l.total(); n != 10 {
					t.Errorf("%d events counted, want 10", n)
				}
			})
		}
	}
}

// A thread whose match nobody takes goes on as if there had been none, with the
// signals blocked that it had blocked: when hdb is dead, which ends the
// probe, and when it does not trace the thread.
func TestOfferUntaken(t *testing.T) {
	for _, dead := range []bool{false, true} {
		for _, blocked := range []bool{false, true} {
			t.Run(fmt.Sprintf("dead=%v,blocked=%v", dead, blocked), func(t *testing.T) { offerUntaken(t, dead, blocked) })
		}
	}
}

func offerUntaken(t *testing.T, dead, blocked bool) {
	const signal = unix.SIGWINCH
	l := newLab(t, stopsAt(t, "malloc if size == 100", "free"))
	for _, mark := range []uint32{markMatchAlloc, markMatchFree} {
		at := l.core.marks[mark]
		copy(l.at(l.remote.core+addr.Run(at)), l.core.code[at:at+markSize])
	}
	l.setState(stSignal, uint64(signal))
	l.setState(stSignalSet, signalSet(int(signal)))
	if dead {
		l.shared.half(hdAlive).Store(ownerDied)
	}
	var before, set, after unix.Sigset_t
	if blocked {
		set.Val[0] = signalSet(int(signal))
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &before); err != nil {
		t.Fatal(err)
	}
	th := l.thread(1)
	th.call(here, "malloc", 100)
	if exit := th.ret(0x6000); exit != exitReturn {
		t.Errorf("malloc leaves at %d", exit)
	}
	th.call(here, "free", 0x6000) // runs the original
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, &after); err != nil {
		t.Fatal(err)
	}
	if want := before.Val[0] | set.Val[0]; after.Val[0] != want {
		t.Errorf("signals %#x are blocked, %#x were", after.Val[0], want)
	}
	if on := l.state[stEnabled] != 0; on == dead {
		t.Errorf("enabled: %v", on)
	}
}

// A player does what a seed says.
type player struct {
	th     *labThread
	rand   *rand.Rand
	blocks []uint64
	next   uint64
	odd    string // a function that may be of a kind of its own
}

func (p *player) block() uint64 {
	p.next += 16
	return p.next
}

// some plays calls from one place, which is inside a call if within names its
// module. It tells whether all have been left by a longjmp.
func (p *player) some(depth int, within addr.Run) (left bool) {
	th := p.th
	for range p.rand.IntN(5) + 1 {
		from := []addr.Run{here, there, inLibc, inCXX}[p.rand.IntN(4)]
		if within != 0 && p.rand.IntN(2) == 0 {
			from = within + 0x800
		}
		size := uint64(p.rand.IntN(4)+1) * 16
		sp := th.sp
		switch p.rand.IntN(10) {
		case 0, 1, 2:
			th.call(from, "malloc", size)
			left = p.body(depth, libcAt)
		case 3, 4:
			th.call(from, "_Znwm", size)
			left = p.body(depth, libcxxAt)
		case 5:
			th.call(from, p.odd, 2, size)
			left = p.body(depth, libcAt)
		case 6:
			th.call(from, "realloc", p.some1(), size)
			left = p.body(depth, libcAt)
		case 7, 8:
			th.call(from, "free", p.some1())
			th.ret(0)
		case 9:
			block := p.some1()
			th.call(from, "_ZdlPvm", block, 8)
			th.jump("free", block)
			th.ret(0)
		}
		if left && depth > 0 {
			return true
		}
		th.sp = sp
	}
	return false
}

// some1 is a block, or none.
func (p *player) some1() uint64 {
	if len(p.blocks) == 0 || p.rand.IntN(8) == 0 {
		return 0
	}
	return p.blocks[p.rand.IntN(len(p.blocks))]
}

// body plays the inside of a call, and its end.
func (p *player) body(depth int, module addr.Run) (left bool) {
	th := p.th
	sp := th.sp
	if depth < 4 && p.rand.IntN(3) == 0 {
		th.frame(addr.Run(16 * p.rand.IntN(8)))
		if p.some(depth+1, module) {
			return true
		}
		th.sp = sp
	}
	switch p.rand.IntN(12) {
	case 0:
		return true // by longjmp
	case 1:
		th.ret(0)
	default:
		b := p.block()
		p.blocks = append(p.blocks, b)
		th.ret(b)
	}
	return false
}

// Quick thunks do what the core does.
func TestQuickThunksDoTheSame(t *testing.T) {
	for _, odd := range []string{"aligned_alloc", "calloc"} {
		t.Run(odd, func(t *testing.T) { checkQuick(t, odd) })
	}
}

func checkQuick(t *testing.T, odd string) {
	l := newLab(t, Request{})
	for k := range uint64(testprogs.Rounds(100, 300)) {
		seed := k * uint64(testprogs.Stride(7)) % 300
		var stops [2][]string
		var events [2]uint64
		for i, quick := range []bool{false, true} {
			spec := []string{"alloc", "alloc if size == 32", "alloc if size > 1000"}[seed%3]
			l.restart(stopsAt(t, spec, []string{"free", "free if addr == 0x5100"}[seed%2]))
			l.quick = quick
			p := &player{th: l.thread(1), rand: rand.New(rand.NewPCG(seed, 1)), next: 0x5000, odd: odd}
			for range 1 + seed/10 {
				p.some(0, 0)
			}
			stops[i], events[i] = l.stops, l.Unreported()
			l.checkShadow(p.th)
		}
		if !slices.Equal(stops[0], stops[1]) || events[0] != events[1] {
			t.Fatalf("seed %d: the core counts %d events, quick thunks %d\n core %s\nquick %s", seed, events[0], events[1],
				strings.Join(stops[0], "; "), strings.Join(stops[1], "; "))
		}
	}
}

// checkShadow looks for entries of the shadow stack that should be empty.
func (l *lab) checkShadow(th *labThread) {
	l.t.Helper()
	slot := l.slotOf(th.key)
	depth := binary.LittleEndian.Uint32(slot[slDepth:])
	for n := depth; n < shadowDepth; n++ {
		if sp := binary.LittleEndian.Uint64(slot[slShadow+shadowSize*n+shSP:]); sp != 0 {
			l.t.Errorf("entry %d of %d has stack pointer %#x", n, depth, sp)
		}
	}
}

// A stack that has been judged is not asked about again, but for what is wanted whatever the stack.
func TestVerdicts(t *testing.T) {
	l := newLab(t, stopsAt(t, `malloc if size >= 100 && func("load_*") || size == 77`, `malloc if size == 55`, `free if func("load_*")`, `free if addr == 0x7000`))
	th := l.thread(1)
	th.sp -= 16 << 10
	m := l.newStack(th, 3)
	m.even = true
	for range 5 {
		m.frame(cfi.SP)
	}
	m.returnsTo(m.code(), cfi.Rule(cfi.Root))
	m.end(uint64(m.want.PCs[5]))
	freed := uint64(0x6000)
	calls := func(size uint64) (stops []string) {
		l.stops = nil
		c := *th
		c.sp -= 8 // the return address is there
		c.jump("malloc", size)
		c.ret(0x5000)
		c = *th
		c.sp -= 8
		c.jump("free", freed)
		c.ret(0)
		return l.stops
	}
	verdict := func() *byte {
		n := binary.LittleEndian.Uint32(l.slotOf(th.key)[slStack:])
		if n >= 1<<stackBits {
			t.Fatalf("the stack has number %#x", n)
		}
		return &l.shared.file[fileVerdicts+n]
	}
	both := []string{"malloc(100) = 0x5000", "free(0x6000)"}
	if got := calls(100); !slices.Equal(got, both) {
		t.Errorf("not judged: %q", got)
	}
	*verdict() = verdictMay
	if got := calls(100); !slices.Equal(got, both) {
		t.Errorf("may hold: %q", got)
	}
	if got := calls(99); !slices.Equal(got, both[1:]) {
		t.Errorf("too small: %q", got)
	}
	*verdict() = verdictNo
	if got := calls(100); got != nil {
		t.Errorf("cannot hold: %q", got)
	}
	number := verdict()
	freed = 0x7000
	for _, size := range []uint64{77, 55} {
		if got := calls(size); !slices.Equal(got, []string{fmt.Sprintf("malloc(%d) = 0x5000", size), "free(0x7000)"}) {
			t.Errorf("whatever the stack: %q", got)
		}
	}
	if verdict() != number || *number != verdictNo {
		t.Errorf("the verdict is %d", *number)
	}
	l.Drain()
	l.expect(t) // but the stack's frames
	if l.Probe.reader.stacks.byNumber[binary.LittleEndian.Uint32(l.slotOf(th.key)[slStack:])] == 0 {
		t.Error("the stack was not sent")
	}
}

// The numbers of events and the heap's bounds, which conditions compare with.
func TestBounds(t *testing.T) {
	l := newLab(t, stopsAt(t, "alloc #3", "alloc if live > 1000", "free if blocks < 2"))
	if m := l.mode(); m != modeNumber|modeLive {
		t.Fatalf("mode %#x", m)
	}
	count, live, blocks := l.shared.word(hdCount), l.shared.word(hdLive), l.shared.word(hdBlocks)
	th := l.thread(1)
	play := func(size, result uint64) (stopped bool) {
		before := len(l.stops)
		th.call(here, "malloc", size)
		th.ret(result)
		return len(l.stops) > before
	}
	free := func(block uint64) (stopped bool) {
		before := len(l.stops)
		th.call(here, "free", block)
		th.ret(0)
		return len(l.stops) > before
	}
	check := func(when string, stopped, want bool, n, bytes, b uint64) {
		t.Helper()
		if stopped != want || count.Load() != n || live.Load() != bytes || blocks.Load() != b {
			t.Errorf("%s: stopped %v, %d events, %d bytes in %d blocks; want %v, %d, %d, %d", when,
				stopped, count.Load(), live.Load(), blocks.Load(), want, n, bytes, b)
		}
	}
	check("#1", play(400, 0x5000), false, 1, 400, 1)
	check("#2", play(400, 0x6000), false, 2, 800, 2)
	check("#3", play(100, 0x7000), true, 3, 900, 3)
	check("#4", play(100, 0x8000), true, 4, 1000, 4) // the count is no less than the number of any event now
	live.Store(100)
	blocks.Store(1)
	check("few blocks", free(0x5000), true, 5, 100, 1)
	blocks.Store(50)
	check("many blocks", free(0x5000), true, 6, 100, 50) // fewer than 50 are possible
}

// Conditions name threads by numbers, and cells say which TIDs these have.
func TestThreadCells(t *testing.T) {
	r := stopsAt(t, "malloc if thread == 2")
	l := newLab(t, Request{})
	l.ownerThread()
	l.restart(r)
	l.shared.half(hdThreads).Store(2) // the first cell
	for _, tid := range []uint32{1, 2, 3} {
		th := l.thread(tid)
		th.call(here, "malloc", uint64(tid))
		th.ret(0x5000)
	}
	if want := []string{"malloc(2) = 0x5000"}; !slices.Equal(l.stops, want) {
		t.Errorf("stops %q, want %q", l.stops, want)
	}
	if !slices.Equal(l.cellOf, []uint64{2}) {
		t.Errorf("cells of %v", l.cellOf)
	}
}
