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
			"aligned_alloc(64, 128) = 0x9000", "malloc(1125899906842624) = NULL"}}, // others may have malloc do their work
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
				if n := l.Events(); n != 10 {
					t.Errorf("%d events counted, want 10", n)
				}
			})
		}
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
func TestQuickThunksDoTheSame(t *testing.T) { checkQuick(t, "aligned_alloc") }

func checkQuick(t *testing.T, odd string) {
	l := newLab(t, Request{})
	for seed := range uint64(300) {
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
			stops[i], events[i] = l.stops, l.Events()
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
