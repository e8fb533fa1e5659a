package probe

import (
	"slices"
	"testing"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
)

// A readerCase plays records and says which events they make.
type readerCase struct {
	name string
	play func(r *ring)
	want []string
}

func TestReader(t *testing.T) {
	checkReader(t, []readerCase{
		{"a call and its result", func(r *ring) {
			r.alloc(1, "malloc", 16, 0x5000)
			r.free(1, "free", 0x5000)
		}, []string{"malloc(16) = 0x5000", "free(0x5000)"}},
		{"operands", func(r *ring) {
			r.alloc(1, "calloc", 96, 0x5000, 0, 3)
			r.alloc(1, "aligned_alloc", 100, 0x6000, 0, 64)
			r.alloc(1, "posix_memalign", 8, 0x7000, 0, 32)
			r.call(recFree, 1, "_ZdlPvm", 0x5000, 8, 0)
			r.call(recFree, 1, "munmap", 0x10000, 4096, 0)
		}, []string{"calloc(3, 32) = 0x5000", "aligned_alloc(64, 100) = 0x6000", "posix_memalign(32, 8) = 0x7000",
			"operator delete(0x5000, 8)", "munmap(0x10000, 4096)"}},
		{"failures", func(r *ring) {
			r.alloc(1, "malloc", 1<<62, 0)
			r.alloc(1, "mmap", 1, ^uint64(0))
			r.call(recAlloc, 1, "posix_memalign", 0, 8, flagFailed, 0, 3)
			r.alloc(1, "realloc", 1<<62, 0, 0x5000, 0)
		}, []string{"malloc(4611686018427387904) = NULL", "mmap(1) = -1", "posix_memalign(3, 8) = NULL",
			"realloc(0x5000, 4611686018427387904) = NULL"}},
		{"NULL that means freed", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 0, 0)
			r.alloc(1, "realloc", 0, 0, 0x5000, 0)
			r.call(recBegin, 1, "reallocf", 0x6000, 8, 0)
			r.alloc(1, "reallocf", 8, 0, 0x6000, 0)
		}, []string{"realloc(0x5000, 0) = NULL", "reallocf(0x6000, 8) = NULL"}},
		{"sbrk downwards unmaps", func(r *ring) {
			r.alloc(1, "sbrk", 4096, 0x8000)
			r.alloc(1, "sbrk", ^uint64(4095), 0x9000)
		}, []string{"sbrk(4096) = 0x8000", "sbrk(-4096) = 0x9000 unmap 0x8000"}},
		{"realloc", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 10, 0)
			r.alloc(1, "realloc", 10, 0x6000, 0x5000, 0)
		}, []string{"realloc(0x5000, 10) = 0x6000"}},
		{"another thread is handed the block that realloc left", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.alloc(2, "malloc", 8, 0x5000)
			r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0)
			r.free(2, "free", 0x5000)
		}, []string{"realloc(0x0, 0) free 0x5000", "2: malloc(8) = 0x5000", "realloc(0x0, 64) = 0x6000", "2: free(0x5000)"}},
		{"two threads resize at once", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.call(recBegin, 2, "realloc", 0x6000, 64, 0)
			r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0) // the old one of 2
			r.alloc(2, "realloc", 64, 0x5000, 0x6000, 0)
		}, []string{"2: realloc(0x0, 0) free 0x6000", "realloc(0x5000, 64) = 0x6000", "2: realloc(0x0, 64) = 0x5000"}},
		{"a signal handler resizes nothing in between", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.alloc(1, "realloc", 8, 0x7000, 0, 0)
			r.alloc(2, "malloc", 8, 0x5000)
			r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0)
		}, []string{"realloc(0x0, 8) = 0x7000", "realloc(0x0, 0) free 0x5000", "2: malloc(8) = 0x5000", "realloc(0x0, 64) = 0x6000"}},
		{"the thread itself is handed the old block", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.alloc(1, "realloc", 64, 0x5000, 0x5000, 0)
		}, []string{"realloc(0x5000, 64) = 0x5000"}},
		{"a failed call takes no block", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.call(recAlloc, 2, "posix_memalign", 0x5000, 8, flagFailed, 0, 3)
			r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0)
		}, []string{"2: posix_memalign(3, 8) = NULL", "realloc(0x5000, 64) = 0x6000"}},
		{"a realloc is left, and its old block lives", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.call(recAbandon, 1, "realloc", 0, 64, 0)
			r.alloc(2, "malloc", 8, 0x5000)
		}, []string{"realloc(0x0, 64) did not return", "2: malloc(8) = 0x5000"}},
		{"a thread ends before its records are handled", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
			r.alloc(2, "malloc", 8, 0x5000)
			r.drain(2)
			r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0)
			r.ThreadExited(1)
			r.call(recBegin, 1, "realloc", 0x6000, 64, 0) // another thread
			r.alloc(1, "realloc", 64, 0x7000, 0x6000, 0)
		}, []string{"realloc(0x0, 0) free 0x5000", "2: malloc(8) = 0x5000", "realloc(0x0, 64) = 0x6000", "realloc(0x6000, 64) = 0x7000"}},
		{"what a new-handler keeps comes first", func(r *ring) {
			r.inside(1, "malloc", 8, 0x5000)
			r.inside(1, "malloc", 9, 0x6000)
			r.free(2, "free", 0x7000) // of another thread
			r.alloc(1, "_Znwm", 64, 0x8000)
		}, []string{"malloc(8) = 0x5000", "2: free(0x7000)", "malloc(9) = 0x6000", "operator new(64) = 0x8000"}},
		{"the result itself is no other block", func(r *ring) {
			r.inside(1, "malloc", 64, 0x5000)
			r.alloc(1, "_Znwm", 64, 0x5000)
			r.alloc(1, "_Znwm", 65, 0x6000)
		}, []string{"operator new(64) = 0x5000", "operator new(65) = 0x6000"}},
		{"allocated and freed inside", func(r *ring) {
			r.inside(1, "malloc", 144, 0x5000)
			r.call(recFree, 1, "free", 0x5000, 0, flagInside)
			r.alloc(1, "_ZnwmRKSt9nothrow_t", 64, 0)
		}, []string{"malloc(144) = 0x5000", "free(0x5000)", "operator new(64) = NULL"}},
		{"freed inside, but older", func(r *ring) {
			r.inside(1, "malloc", 144, 0x5000)
			r.call(recFree, 1, "free", 0x7000, 0, flagInside)
			r.alloc(1, "_Znwm", 64, 0x8000)
		}, []string{"malloc(144) = 0x5000", "free(0x7000)", "operator new(64) = 0x8000"}},
		{"a failure inside", func(r *ring) {
			r.inside(1, "malloc", 64, 0)
			r.alloc(1, "_Znwm", 64, 0x5000)
		}, []string{"operator new(64) = 0x5000"}},
		{"operator new throws", func(r *ring) {
			r.inside(1, "malloc", 144, 0x5000)
			r.call(recAbandon, 1, "_Znwm", 0, 1<<60, 0)
			r.free(1, "free", 0x5000)
		}, []string{"malloc(144) = 0x5000", "operator new(1152921504606846976) did not return", "free(0x5000)"}},
		{"padding, and a record of a function that is not known", func(r *ring) {
			r.put(recPad|2<<countShift, 0, 0, 0)
			r.put(recAlloc|flagBare|4000<<siteShift, 0, 0, 0)
			r.alloc(1, "malloc", 16, 0x5000)
		}, []string{"malloc(16) = 0x5000"}},
	})
}

// checkReader plays the cases thrice: to take, because calls without a stack are not
// plain; to plain as well; and to take alone again, because something is going on.
func checkReader(t *testing.T, cases []readerCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t)
			check := func(how string) {
				t.Helper()
				c.play(r)
				r.Drain()
				r.expect(t, c.want...)
				if at, head := r.tail, r.shared.word(hdHead).Load(); at != head || r.shared.word(hdTail).Load() != head {
					t.Errorf("%s: read up to %d, tail %d, head %d", how, at, r.shared.word(hdTail).Load(), head)
				}
				if len(r.resizes) != 0 || r.pending != 0 {
					t.Errorf("%s: %d reallocs are still to end, %d calls pending", how, len(r.resizes), r.pending)
				}
			}
			check("without stacks")
			r.stack(1, 1, endWhole, uint64(here))
			r.calls = 1
			check("plain")
			r.guests[99] = []byte{}
			check("not plain")
		})
	}
}

// What records of one thread are made of: plain and take tell the same of them.
func TestPlain(t *testing.T) {
	r := newRing(t)
	r.stack(1, 1, endWhole, uint64(here))
	r.calls = 1
	play := func() []capture.Event {
		r.events = nil
		for i := range uint64(50) {
			r.alloc(1, "malloc", 16+i, 0x5000+i<<8)
			r.alloc(2, "calloc", 96, 0x15000+i<<8, 0, 3)
			r.call(recBegin, 1, "realloc", 0x5000+i<<8, 64, 0)
			r.alloc(1, "realloc", 64, 0x25000+i<<8, 0x5000+i<<8, 0)
			r.alloc(3, "realloc", 1<<40, 0, 0, 0)
			r.call(recFree, 3, "_ZdlPvm", 0x15000+i<<8, 96, 0)
		}
		r.Drain()
		for i := range r.events {
			r.events[i].Time = 0
		}
		return r.events
	}
	plain := play()
	r.guests[99] = []byte{}
	careful := play()
	if len(plain) != 250 || !slices.Equal(plain, careful) {
		t.Errorf("%d events, %d of them plain: %+v, %+v", len(careful), len(plain), plain, careful)
	}
}

// What plain takes, and what it leaves to take: all of the calls that programs make most
// are events of its.
func TestWhatIsPlain(t *testing.T) {
	for _, c := range []struct {
		name   string
		play   func(r *ring)
		events int
	}{
		{"malloc", func(r *ring) { r.alloc(1, "malloc", 16, 0x5000) }, 1},
		{"calloc", func(r *ring) { r.alloc(1, "calloc", 96, 0x5000, 0, 3) }, 1},
		{"aligned_alloc", func(r *ring) { r.alloc(1, "aligned_alloc", 96, 0x5000, 0, 64) }, 1},
		{"operator new", func(r *ring) { r.alloc(1, "_Znwm", 16, 0x5000) }, 1},
		{"realloc of nothing", func(r *ring) { r.alloc(1, "realloc", 16, 0x5000, 0, 0) }, 1},
		{"realloc", func(r *ring) {
			r.call(recBegin, 1, "realloc", 0x5000, 16, 0)
			r.alloc(1, "realloc", 16, 0x6000, 0x5000, 0)
		}, 1},
		{"free", func(r *ring) { r.free(1, "free", 0x5000) }, 1},
		{"delete of a size", func(r *ring) { r.call(recFree, 1, "_ZdlPvm", 0x5000, 16, 0) }, 1},
		{"several threads", func(r *ring) {
			r.alloc(1, "malloc", 16, 0x5000)
			r.alloc(2, "malloc", 16, 0x6000)
			r.free(1, "free", 0x6000)
		}, 3},
		{"as many as there is room for", func(r *ring) {
			for range 2 * batchSize {
				r.alloc(1, "malloc", 16, 0x5000)
			}
		}, batchSize},
		{"up to one that failed", func(r *ring) {
			r.alloc(1, "malloc", 16, 0x5000)
			r.alloc(1, "malloc", 1<<62, 0)
		}, 1},
		{"up to a realloc whose end has not come", func(r *ring) {
			r.alloc(1, "malloc", 16, 0x5000)
			r.call(recBegin, 1, "realloc", 0x5000, 16, 0)
		}, 1},
		{"none inside another call", func(r *ring) { r.inside(1, "malloc", 16, 0x5000) }, 0},
		{"without a stack", func(r *ring) {
			r.calls = 0
			r.alloc(1, "malloc", 16, 0x5000)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t)
			r.stack(1, 1, endWhole, uint64(here))
			r.Drain()
			r.calls = 1
			c.play(r)
			r.plainSites()
			now := readTSC()
			r.clock.wall, r.clock.tsc[0] = time.Now().Add(-time.Second), now-3e9 // a line that is known
			r.clock.tick()
			if n := r.plain(r.tail + ringSize); n != c.events {
				t.Errorf("%d events, want %d", n, c.events)
			}
		})
	}
}

// Plain and take give the same times: of records of the present, of those that are newer, and
// of those that are older than any, be the clock's line known or not.
func TestPlainTimes(t *testing.T) {
	for _, c := range []struct {
		name  string
		begun time.Duration // since the clock went on
	}{{"the line is known", time.Second}, {"it is not", -time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			play := func(guests map[uint32][]byte) (times []time.Duration) {
				r := newRing(t)
				r.stack(1, 1, endWhole, uint64(here))
				r.Drain()
				r.guests = guests
				now := readTSC()
				r.clock.resume(0)
				r.clock.wall, r.clock.tsc[0] = time.Now().Add(-c.begun), now-1e9
				for _, stamp := range []uint64{now, now - 1e6, now + 1<<40, now - 1e8, now + 1<<62, now - 1<<62, now - 1e3} {
					r.put(recFree|uint64(r.site("free").index)<<siteShift|1<<tidShift|1<<stackShift, stamp, 0x5000, 0)
				}
				r.Drain()
				for _, e := range r.events {
					times = append(times, e.Time)
				}
				return times
			}
			plain, careful := play(nil), play(map[uint32][]byte{99: {}})
			if len(plain) != 7 || len(careful) != 7 {
				t.Fatalf("%v by plain, %v by take", plain, careful)
			}
			for i := range plain {
				if d := plain[i] - careful[i]; d < -100*time.Millisecond || d > 100*time.Millisecond {
					t.Errorf("event %d is at %v by plain, at %v by take", i, plain[i], careful[i])
				}
			}
		})
	}
}

// A realloc whose stack has not come, or was lost, is not plain, nor does it keep those
// behind it waiting.
func TestReallocWithoutStack(t *testing.T) {
	for _, number := range []uint64{7, noStack - 1, noStack} {
		r := newRing(t)
		r.stack(1, 1, endWhole, uint64(here))
		r.calls = 1
		r.alloc(1, "malloc", 16, 0x5000)
		r.calls = number
		r.call(recBegin, 1, "realloc", 0x5000, 64, 0)
		r.alloc(1, "realloc", 64, 0x6000, 0x5000, 0)
		r.calls = 1
		r.alloc(1, "malloc", 16, 0x5000)
		r.drain(batch)
		r.expect(t, "malloc(16) = 0x5000", "realloc(0x5000, 64) = 0x6000", "malloc(16) = 0x5000")
	}
}

// A record that is not complete is not plain, not even one of the first function,
// which has no plain ones, with the first stack.
func TestNothingIsNotPlain(t *testing.T) {
	r := newRing(t)
	r.siteTable.list = slices.DeleteFunc(r.siteTable.list, func(s *site) bool { return s.Function.Symbol != "mmap" })
	r.siteTable.list[0].index = 0
	r.stack(0, 1, endWhole, uint64(here))
	r.Drain()
	r.shared.word(hdHead).Add(recordSize)
	r.Drain()
	r.expect(t)
}

func TestStacks(t *testing.T) {
	r := newRing(t)
	r.islands.list = []*island{{base: 0x900000}}
	s := r.site("malloc")
	s.relocated, s.entry, s.moves = 0x900100, s.Addr, map[addr.Run]addr.Run{s.Addr + 4: 0x900104}
	r.tables.mods = []tableOf{{module: testModules[libcAt]}}
	withStack := func(number, tid uint64) {
		r.put(recAlloc|uint64(s.index)<<siteShift|tid<<tidShift|number<<stackShift, 0, 0x5000, 1)
	}
	const guess, pc = 1 << frameGuess, 1 << framePC
	withStack(5, 1) // its frames come later, behind other records
	r.alloc(2, "malloc", 2, 0x6000)
	r.put(recPad|1<<countShift, 0)
	r.stack(5, 1, endWhole, uint64(here), 0x900104, uint64(inLibc)|pc, uint64(there)|guess)
	withStack(5, 1)
	r.stack(noStack-1, 7, endDepth, uint64(inLibc)) // without a number: each thread's last
	r.stack(noStack-1, 8, endFault, uint64(here))
	withStack(noStack-1, 7)
	withStack(noStack-1, 8)
	withStack(noStack, 1) // lost
	withStack(9, 1)       // lost with its process
	r.Drain()
	var got []capture.StackID
	for _, e := range r.events {
		got = append(got, e.Stack)
	}
	if want := []capture.StackID{1, 0, 1, 2, 3, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("stacks %v, want %v", got, want)
	}
	st := r.notebook.stacks[1]
	want := []addr.Run{here, s.Addr + 4, inLibc, there}
	if !slices.Equal(st.PCs, want) || !slices.Equal(st.Interrupted, []bool{false, false, true, false}) || !slices.Equal(st.Guess, []bool{false, false, false, true}) {
		t.Errorf("stack %+v, want %v", st, want)
	}
	if r.stats.Torn != 0 || r.stats.Events != 7 {
		t.Errorf("%+v", r.stats)
	}
}

// Why a stack ends, in the words of package unwind.
func TestReasons(t *testing.T) {
	r := newRing(t)
	r.tables.mods = []tableOf{{module: testModules[libcAt]}}
	for _, c := range []struct {
		end    int
		frames []addr.Run
		want   string
	}{
		{endWhole, []addr.Run{here}, ""},
		{endDepth, []addr.Run{here, there}, "depth limit 2"},
		{endRule, []addr.Run{inLibc}, "CFI of the frame at 0x1000025003 cannot be followed inside the process"},
		{endNoCFI, []addr.Run{inLibc}, "no CFI for /libc.so.6 at 0x1000025003"},
		{endNoCFI, []addr.Run{0x90000}, "no CFI for the region at 0x90000, which is in no module"},
		{endShrinks, []addr.Run{inLibc}, "CFA of the frame at 0x1000025003 does not grow"},
		{endFault, []addr.Run{inLibc}, "unreadable stack above the frame at 0x1000025003"},
		{endFault, nil, "unreadable stack above the frame at the first frame"},
		{endZero, []addr.Run{inLibc}, "return address 0x0 not in any module"},
		{endNoCode, []addr.Run{inLibc}, "return address above 0x1000025003 not in any module"},
		{99, []addr.Run{here}, "unknown reason 99"},
	} {
		frames := make([]uint64, len(c.frames))
		for i, f := range c.frames {
			frames[i] = uint64(f)
		}
		if got := r.reader.stacks.decode(frames, c.end).Truncated; got != c.want {
			t.Errorf("end %d of %v: %q, want %q", c.end, c.frames, got, c.want)
		}
	}
}

// The ring goes round many times, with records of all lengths across its end.
func TestRingGoesRound(t *testing.T) {
	r := newRing(t)
	malloc, calloc := r.site("malloc"), r.site("calloc")
	head := func(s *site) uint64 { return flagBare | uint64(s.index)<<siteShift | 1<<tidShift }
	var want uint64
	for i := uint64(0); r.tail < 3*ringSize; i++ {
		switch i % 4 {
		case 0:
			r.stack(i/4%1000, 1, endWhole, make([]uint64, i%2000)...)
		case 1:
			r.put(append([]uint64{recPad | (1+i%77)<<countShift}, make([]uint64, 2*(1+i%77)-1)...)...)
		case 2:
			r.put(recAlloc|head(malloc), i, i<<12|1, 10)
			want++
		case 3:
			r.put(recAlloc|flagLong|head(calloc), i, i<<12|1, 20, 0, 2)
			want++
		}
		if i%100 == 0 {
			r.Drain()
		}
	}
	r.Drain()
	if got := uint64(len(r.events)); got != want || r.stats.Torn != 0 {
		t.Errorf("%d events, want %d; %d torn", got, want, r.stats.Torn)
	}
	var n uint64
	for i, e := range r.events {
		if e.Addr <= n || e.Addr&0xfff != 1 || e.Size != 10 && (e.Size != 20 || e.Aux != 2) {
			t.Fatalf("event %d: %+v after address %#x", i, e, n)
		}
		n = e.Addr
	}
	for i, b := range r.shared.ring {
		if b != 0 {
			t.Fatalf("ring[%#x] = %#x is left", i, b)
		}
	}
}

// A record that is not complete holds up those behind it, in the order in which
// they were begun.
func TestRecordInTheMaking(t *testing.T) {
	r := newRing(t)
	r.alloc(1, "malloc", 1, 0x5000)
	at := r.shared.word(hdHead).Add(recordSize) - recordSize
	r.alloc(2, "malloc", 3, 0x7000)
	r.Drain()
	r.expect(t, "malloc(1) = 0x5000")
	if r.shared.word(hdTail).Load() != at {
		t.Error("the tail is not at the record")
	}
	copy(r.shared.words(at, 4)[1:], []uint64{0, 0x6000, 2})
	r.shared.record(at).Store(recAlloc | flagBare | uint64(r.site("malloc").index)<<siteShift | 1<<tidShift)
	r.Drain()
	r.expect(t, "malloc(2) = 0x6000", "2: malloc(3) = 0x7000")
}

// What the inferior counted is what Stats tells.
func TestStats(t *testing.T) {
	r := newRing(t)
	for i, at := range []int{hdNew, hdWalks, hdFull, hdLost, hdLostSt, hdNoSlot} {
		r.shared.word(at).Store(uint64(i + 10))
	}
	r.alloc(1, "malloc", 1, 0x5000)
	r.put(recAlloc|flagBare|4000<<siteShift, 0, 0, 0)
	r.Drain()
	want := Stats{Events: 1, Stacks: 10, Walks: 11, Waits: 12, Lost: 13, LostSt: 14, NoThread: 15, Torn: 1}
	if got := r.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	double := Stats{Events: 2, Stacks: 20, Walks: 22, Waits: 24, Lost: 26, LostSt: 28, NoThread: 30, Torn: 2}
	if got := want.Add(want); got != double {
		t.Errorf("sum %+v, want %+v", got, double)
	}
}

// The producers add what was asked for; the consumer takes off what is not live.
func TestBoundsOfTheHeap(t *testing.T) {
	t.Run("without stacks", func(t *testing.T) { checkBounds(t, newRing(t)) })
	t.Run("plain", func(t *testing.T) {
		r := newRing(t)
		r.stack(1, 1, endWhole, uint64(here))
		r.calls = 1
		checkBounds(t, r)
	})
}

func checkBounds(t *testing.T, r *ring) {
	begin := func(size uint64) { // as enterAlloc does
		r.shared.word(hdLive).Add(size)
		r.shared.word(hdBlocks).Add(1)
	}
	check := func(when string) {
		t.Helper()
		bytes, blocks := r.Heap()
		if l, b := r.shared.word(hdLive).Load(), r.shared.word(hdBlocks).Load(); l != bytes || b != blocks {
			t.Errorf("%s: bounds %d bytes in %d blocks, the heap is %d in %d", when, int64(l), int64(b), bytes, blocks)
		}
	}
	begin(100)
	r.alloc(1, "malloc", 100, 0x5000)
	begin(1 << 60)
	r.alloc(1, "malloc", 1<<60, 0)
	begin(200)
	r.call(recBegin, 1, "realloc", 0x5000, 200, 0)
	r.alloc(1, "realloc", 200, 0x6000, 0x5000, 0)
	r.Drain()
	check("after realloc")
	begin(64)
	begin(144)
	r.inside(1, "malloc", 144, 0x7000)
	r.Drain()
	r.call(recAbandon, 1, "_Znwm", 0, 64, 0)
	r.Drain()
	check("after an exception")
	r.call(recFree, 1, "_ZdlPvm", 0x6000, 200, 0)
	r.free(1, "free", 0x6000)
	begin(4096)
	r.alloc(1, "mmap", 4096, 0x10000)
	r.Drain()
	check("after frees and mmap")
}
