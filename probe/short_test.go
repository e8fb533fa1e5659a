package probe

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/probe/cfi"

	"golang.org/x/sys/unix"

	"hdb/testprogs"
)

// longWay are marks that only the core's long way passes.
var longWay = []uint32{markAlloc, markFree, markRecord, markQuickOdd, markOther, markTake}

// barLongWay makes the lab be left where the core's long way begins, until the function
// that it returns is called.
func (l *lab) barLongWay() (lift func()) {
	original := slices.Clone(l.core.code)
	for _, mark := range longWay {
		l.interruptAt(l.remote.core + addr.Run(l.core.marks[mark]))
	}
	return func() { copy(l.at(l.remote.core), original) }
}

// plainStack makes a stack of so many frames, all of which the memo takes, and tells where
// the return addresses are, but for the first.
func (l *lab) plainStack(th *labThread, frames int) (m *stackMaker, slots []addr.Run) {
	m = l.newStack(th, uint64(frames))
	m.even = true
	for range frames - 1 {
		m.frame(cfi.SP)
		slots = append(slots, m.last)
	}
	m.returnsTo(m.code(), cfi.Rule(cfi.Root))
	m.end(uint64(m.want.PCs[frames-1]))
	return m, slots
}

// A shortCall is a call that the core has a short way for.
type shortCall struct {
	symbol string
	args   []uint64
	result uint64
}

var shortCalls = []shortCall{
	{"malloc", []uint64{16}, 0x5000},
	{"malloc", []uint64{1 << 62}, 0},
	{"_Znwm", []uint64{16}, 0x5000},
	{"calloc", []uint64{3, 16}, 0x5000},
	{"calloc", []uint64{1 << 33, 1 << 33}, 0},
	{"realloc", []uint64{0, 16}, 0x5000},
	{"realloc", []uint64{0x5000, 32}, 0x6000},
	{"realloc", []uint64{0x5000, 32}, 0},
	{"realloc", []uint64{0x5000, 0}, 0},
	{"reallocf", []uint64{0x5000, 32}, 0},
	{"reallocarray", []uint64{0x5000, 3, 32}, 0x6000},
	{"reallocarray", []uint64{0x5000, 1 << 33, 1 << 33}, 0},
	{"aligned_alloc", []uint64{64, 128}, 0x5000},
	{"_ZnwmSt11align_val_t", []uint64{128, 64}, 0x5000},
	{"free", []uint64{0x5000}, 0},
	{"_ZdlPv", []uint64{0x5000}, 0},
	{"_ZdlPvm", []uint64{0x5000, 24}, 0},
	{"PyObject_Malloc", []uint64{16, 0x7000}, 0x5000}, // behind their thunks, which have swapped these,
	{"PyObject_Free", []uint64{0x5000, 0x7000}, 0},
	{"PyObject_Calloc", []uint64{0x7000, 3, 16}, 0x5000}, // but not these
	{"PyObject_Realloc", []uint64{0x7000, 0x5000, 32}, 0x6000},
	{"PyObject_Realloc", []uint64{0x7000, 0, 32}, 0x6000},
}

func (c shortCall) String() string { return fmt.Sprintf("%s%v = %#x", c.symbol, c.args, c.result) }

// play has the thread make the call, whose return address is on its stack, and tells
// whether it has come back.
func (c shortCall) play(th labThread) bool {
	clear(th.l.slotOf(th.key)[slFreed:slShadow])
	th.sp -= 8
	return th.jump(c.symbol, c.args...) < exitReturn && (th.l.site(c.symbol).Function.Frees() || th.ret(c.result) == exitReturn)
}

// nested has the thread call operator new, which calls malloc, and delete, which jumps to
// free, and tells whether they have come back.
func nested(th labThread) bool {
	clear(th.l.slotOf(th.key)[slFreed:slShadow])
	c := th
	c.sp -= 8
	if c.jump("_Znwm", 16) >= exitReturn || c.call(inCXX, "malloc", 16) >= exitReturn || c.ret(0x5000) != exitReturn || c.ret(0x5000) != exitReturn {
		return false
	}
	th.sp -= 8
	return th.jump("_ZdlPv", 0x5000) < exitReturn && th.jump("free", 0x5000) < exitReturn
}

// newShortLab has the functions of shortCalls.
func newShortLab(t *testing.T) *lab {
	l := newLab(t, Request{Record: true})
	l.addSite(catalogued(t, "reallocarray"), libcAt)
	l.addSite(catalogued(t, "_ZnwmSt11align_val_t"), libcxxAt)
	for _, fn := range breakpoints.PythonFunctions()[8:] {
		l.addPointer(fn, programAt)
	}
	l.stubs()
	return l
}

// anew makes a thread of a lab that knows no stacks.
func (l *lab) anew() *labThread {
	l.restart(l.request)
	l.setState(stDepth, memoWords+10)
	l.tables.end = fileTables
	th := l.thread(1)
	th.sp -= 16 << 10
	return th
}

// What the short way writes is what the long way does, whether the consumer sleeps or not;
// one that does is woken.
func TestShortWayWritesTheSame(t *testing.T) {
	l := newShortLab(t)
	for _, c := range shortCalls {
		t.Run(c.String(), func(t *testing.T) {
			l.t = t
			th := l.anew()
			l.plainStack(th, 10)
			records := func(way uint64, sleeps uint32) (words []uint64) {
				l.setState(stEnabled, way)
				l.shared.half(hdSleep).Store(sleeps)
				from := l.head()
				if !c.play(*th) {
					t.Fatal("it has not come back")
				}
				if l.shared.half(hdSleep).Load() != 0 {
					t.Error("the consumer sleeps on")
				}
				for at := from; at < l.head(); {
					record := l.shared.words(at, int(l.shared.recordLength(l.shared.record(at).Load())/8))
					words = append(append(words, record[0]), record[2:]...) // all but the time
					at += uint64(8 * len(record))
				}
				l.Drain()
				return words
			}
			records(enabled, 0) // the stack is new
			long := records(enabled, 0)
			for sleeps := range uint32(2) {
				if short := records(quickEnabled, sleeps); !slices.Equal(short, long) {
					t.Errorf("the consumer sleeps: %d: the short way wrote %#x, the long way %#x", sleeps, short, long)
				}
			}
			if n := l.Stats().Torn; n != 0 || len(long) == 0 {
				t.Errorf("%d torn of %d words", n, len(long))
			}
		})
	}
}

// Calls of known stacks do take the short way to its end.
func TestShortWayIsTaken(t *testing.T) {
	l := newShortLab(t)
	for _, frames := range []int{2, 3, 17, 18, 40, memoWords, memoWords + 1} {
		th := l.anew()
		l.plainStack(th, frames)
		for _, c := range shortCalls {
			c.play(*th)
		}
		lift := l.barLongWay()
		for _, c := range shortCalls {
			if !c.play(*th) {
				t.Errorf("%v with a stack of %d frames has taken the long way", c, frames)
			}
		}
		if !nested(*th) {
			t.Errorf("what does the work of operator new or delete with a stack of %d frames has taken the long way", frames)
		}
		lift()
		l.Drain()
		if got := l.lines[len(l.lines)-2:]; !slices.Equal(got, []string{"operator new(16) = 0x5000", "operator delete(0x5000)"}) {
			t.Errorf("of new and delete were recorded %q", got)
		}
	}
}

// While a function runs, its arguments are where a filter finds them that hdb sets
// meanwhile.
func TestShortWayKeepsArguments(t *testing.T) {
	l := newShortLab(t)
	th := l.anew()
	l.plainStack(th, 10)
	lift := l.barLongWay()
	defer lift()
	for _, c := range shortCalls {
		in := *th
		in.sp -= 8
		if l.site(c.symbol).Function.Frees() || in.jump(c.symbol, c.args...) >= exitReturn {
			continue // it leaves no frame, or takes the long way
		}
		for _, o := range []breakpoints.Operand{l.site(c.symbol).Function.Size, l.site(c.symbol).Function.Count, l.site(c.symbol).Function.Old} {
			if o.From != breakpoints.Argument {
				continue
			}
			if got := l.peek(in.sp + 8 + frArgs + addr.Run(8*o.Index)); got != c.args[o.Index] {
				t.Errorf("%v: argument %d is %#x", c, o.Index, got)
			}
		}
		in.ret(c.result)
	}
}

// It is not taken where it must not be: with a stack of more words than the memo has, or
// in a thread that is in another call.
func TestShortWayGivesUp(t *testing.T) {
	l := newShortLab(t)
	for _, frames := range []int{10, memoWords + 2} {
		th := l.anew()
		l.plainStack(th, frames)
		for _, c := range shortCalls {
			c.play(*th)
			if frames == 10 {
				l.slotOf(th.key)[slDepth] = 1
			}
			lift := l.barLongWay()
			if c.play(*th) {
				t.Errorf("%v with a stack of %d frames has taken the short way", c, frames)
			}
			lift()
			l.forget(th)
		}
	}
}

// An entry of the memo that becomes another stack's while its words are summed up is not
// taken for what it was.
func TestMemoIsWrittenMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name  string
		way   uint64
		mark  uint32 // where it has been summed up
		stack int    // the register that has the stack's number there, -1 if it is read later
	}{{"the long way", enabled, markMemoEnd, rsi}, {"the short way", quickEnabled, markQuickMemoEnd, -1}} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Request{Record: true})
			th := l.anew()
			m, _ := l.plainStack(th, 10)
			m.check("first")
			l.setState(stEnabled, c.way)
			m.check("remembered")
			pc := l.remote.core + addr.Run(l.core.marks[c.mark])
			original := slices.Clone(l.at(pc)[:5])
			l.interruptAt(pc)
			call := *th
			call.sp -= 8
			if exit := call.jump("free", 0x5000); exit != exitInterrupt {
				t.Fatalf("has left at exit %d", exit)
			}
			copy(l.at(pc), original)
			entry := l.shared.file[addr.Run(call.regs[r10])-l.remote.file:]
			binary.LittleEndian.PutUint64(entry[meTag:], 0x4711)
			binary.LittleEndian.PutUint32(entry[meStack:], 0x4711)
			if c.stack >= 0 {
				call.regs[c.stack] = 0x4711
			}
			if exit := call.run(pc); exit != l.site("free").index {
				t.Fatalf("has left at exit %d", exit)
			}
			l.Drain()
			e := l.events[len(l.events)-1]
			if got := l.notebook.stacks[e.Stack]; !slices.Equal(got.PCs, m.want.PCs) {
				t.Errorf("its stack is %v, want %v", got.PCs, m.want.PCs)
			}
		})
	}
}

// Each word of an entry of the memo counts on the short way, those too of which it has
// nothing but their part of the sum.
func TestShortWayComparesAll(t *testing.T) {
	l := newLab(t, Request{Record: true})
	for _, frames := range []int{memoChecks, memoChecks + 1, memoChecks + 2, 50, memoWords, memoWords + 1} {
		th := l.anew()
		m, slots := l.plainStack(th, frames)
		whole := m.want.PCs
		other := m.code()
		m.rules[other-1] = cfi.Rule(cfi.Root)
		m.end(uint64(whole[frames-1]))
		m.check("first")
		for i, at := range slots {
			m.put(at, uint64(other))
			m.want.PCs = append(slices.Clone(whole[:i+1]), other)
			m.check(fmt.Sprintf("%d frames, another caller of frame %d", frames, i))
			m.put(at, uint64(whole[i+1]))
		}
		m.want.PCs = whole
		m.check(fmt.Sprintf("%d frames, as before", frames))
	}
}

// A realloc may be the first call of a thread that is recorded, by a signal handler that
// has interrupted the search for its slot.
func TestShortWayOfTheNameless(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := l.thread(1)
	binary.LittleEndian.PutUint32(l.slotOf(th.key)[slTID:], 0)
	th.call(here, "realloc", 0x5000, 10)
	th.ret(0x6000)
	l.Drain()
	l.expect(t, fmt.Sprintf("%d: realloc(0x5000, 10) = 0x6000", unix.Gettid()))
	if len(l.resizes) != 0 {
		t.Errorf("%d reallocs are still to end", len(l.resizes))
	}
}

// A random script: calls from anywhere, made inside others and jumped to, that return or are
// left.
func randomScript(l *lab, th *labThread, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	type call struct {
		before, entered addr.Run
		symbol          string
	}
	var calls []call
	leave := func(n int) {
		th.sp = calls[n].before
		calls = calls[:n]
	}
	end := func(result uint64) {
		n := len(calls) - 1
		if calls[n].symbol == "mmap" && result == 0 {
			result = ^result
		}
		th.sp = calls[n].entered
		th.ret(result)
		leave(n)
	}
	allocators := []string{"malloc", "malloc", "_Znwm", "_Znam", "calloc", "pool_get", "mmap"}
	arguments := func(symbol string) []uint64 {
		size := uint64(8) << random.Uint64N(3)
		switch symbol {
		case "calloc":
			return []uint64{2, size / 2}
		case "mmap":
			return []uint64{0, size}
		case "realloc":
			return []uint64{0x5000 * random.Uint64N(2), size}
		}
		return []uint64{size}
	}
	from := []addr.Run{here, there, inLibc, inCXX, inCXX, inCXX + 1}
	for range 14 {
		ret := from[random.IntN(len(from))]
		c := call{before: th.sp}
		symbol := append(allocators, "realloc")[random.IntN(len(allocators)+1)]
		switch op := random.IntN(8); {
		case op < 4 && len(calls) < shadowDepth:
			th.frame(8 * addr.Run(random.IntN(3)))
			th.call(ret, symbol, arguments(symbol)...)
			c.entered, c.symbol = th.sp, symbol
			calls = append(calls, c)
		case op == 4:
			block := []uint64{0x5000, 0x6000}[random.IntN(2)]
			th.frame(8 * addr.Run(random.IntN(3)))
			th.call(ret, []string{"free", "_ZdlPv", "_ZdlPvm"}[random.IntN(3)], block, 8)
			inner := []string{"free", "_ZdlPv"}[random.IntN(2)]
			switch random.IntN(3) {
			case 0:
				th.jump(inner, block)
			case 1:
				th.frame(16)
				th.call(inCXX, inner, block)
				th.ret(0)
				th.frame(^addr.Run(16 - 1))
			}
			th.ret(0)
			th.sp = c.before
		case len(calls) == 0:
		case op == 5:
			th.jump(symbol, arguments(symbol)...)
		case op == 6:
			leave(random.IntN(len(calls)))
			if random.IntN(2) == 0 { // and other functions are called there
				th.frame(8)
				th.l.poke(th.sp, uint64(there))
			}
		default:
			end(0x10000 * random.Uint64N(3))
		}
	}
	for len(calls) > 0 {
		end(0x9000)
	}
}

// The short way takes the same calls for events as the long way, offers the same ones to
// stops, and counts the same.
func TestShortWayJudgesTheSame(t *testing.T) {
	for _, c := range []struct {
		name    string
		request Request
	}{
		{"recorded", Request{}},
		{"without stacks", Request{Bare: true}},
		{"stops", stopsAt(t, "alloc if size >= 20", "free if addr == 0x5000")},
		{"stops that ask for the heap", stopsAt(t, "malloc if live >= 100", "alloc if blocks > 4 && nth > 3", "free if nth == 7")},
		{"stops that ask for the stack", stopsAt(t, `alloc if size >= 20 && func("load_*")`, `free if func("load_*")`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.request.Record = true
			l := newLab(t, c.request, "pool_get size=ARG1")
			l.allocateExceptions(breakpoints.Extent{Low: inCXX + 1, High: inCXX + 2})
			stopped := 0
			for seed := range uint64(testprogs.Rounds(40, 1000)) {
				var seen [2]string
				for i, way := range []uint64{enabled, quickEnabled} {
					th := l.anew()
					l.setState(stEnabled, way)
					randomScript(l, th, seed)
					l.Drain()
					word := func(at int) uint64 { return l.shared.word(at).Load() }
					seen[i] = fmt.Sprintf("events\n%q\nstops\n%q\ncounted %d, bounds %d, %d, %d", l.lines, l.stops, l.Unreported(), word(hdCount), word(hdLive), word(hdBlocks))
					stopped += len(l.stops)
				}
				if seen[0] != seen[1] {
					t.Fatalf("seed %d: by the long way %s\n\nby the short way %s", seed, seen[0], seen[1])
				}
			}
			if stopped > 0 != (len(c.request.Stops) > 0) {
				t.Errorf("%d stops", stopped)
			}
		})
	}
}

// What is counted while nothing is recorded is what a recording has, by the core alone as
// well as through quick thunks.
func TestCountedAsRecorded(t *testing.T) {
	l := newLab(t, Request{Record: true}, "pool_get size=ARG1")
	l.allocateExceptions(breakpoints.Extent{Low: inCXX + 1, High: inCXX + 2})
	counts := stopsAt(t, "alloc if size == 4711")
	for seed := range uint64(testprogs.Rounds(100, 5000)) {
		var events []uint64
		for _, c := range []struct {
			request Request
			quick   bool
		}{{Request{Record: true}, false}, {counts, false}, {counts, true}} {
			l.request, l.quick = c.request, c.quick
			th := l.anew()
			randomScript(l, th, seed)
			l.ThreadExited(int32(th.tid)) // what a call that was left keeps back is told
			l.Drain()
			events = append(events, l.total())
		}
		if events[1] != events[0] || events[2] != events[0] {
			t.Fatalf("seed %d: %d events counted by the core, %d with quick thunks, recorded %q", seed, events[1], events[2], l.lines)
		}
	}
}
