package when

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/internal/cond"
	"hdb/internal/units"
)

func TestParse(t *testing.T) {
	for src, want := range map[string]string{
		"live > 2GiB": "exact (live > 2GiB)",
		"live > 1k && blocks >= 3 && thread == 2": "exact (live > 1k && blocks >= 3) && (thread == 2)",
		"live > 1k || blocks > 7":                 "exact (live > 1k || blocks > 7)",
		"live < 1k":                               "",
		"live > 1k && blocks < 3":                 "",
		"growth(10s) > 50MiB":                     "",
		`blocks(func("f")) > 1M`:                  `asked func("f")`,
		`live(func("a && b(") && size > 3) > 1M`:  `asked func("a && b(") && size > 3`,
		`age > 2min && func("f")`:                 `asked func("f")`,
		"leaked(load)":                            "",
		`leaked("a::b(int)") > 1k && size > 3`:    "asked size > 3",
		"leaked()":                                "error a function expected",
		"leaked > 3":                              "error a function expected",
		"leaked(f) > 3 && live > 3":               "error with leaked() only",
		"leaked(f) && leaked(g)":                  "error only one leaked() is allowed",
		"":                                        "error a condition must follow",
		"size > 3":                                "error no live, blocks",
		"live > 3 &&":                             "error missing before or after &&",
		"&& live > 3":                             "error missing before or after &&",
		"growth > 3":                              "error growth(10s) > 50MiB expected",
		"growth(ten) > 3":                         "error a time expected",
		"growth(-1s) > 3":                         "error a time expected",
		"growth(1s)":                              "error needs a comparison",
		"growth(1s) > 3 || live > 4":              "error",
		"age < 3s":                                "error age > 30s expected",
		"age > 3s && age > 4s":                    "error only one age is allowed",
		"live(func(\"f\") > 3":                    "error",
		"blocks(bogus == 3) > 3":                  "error",
		"live > 3 && bogus == 3":                  "error",
		strings.Repeat("(", 9000) + "live > 3":    "error",
	} {
		c, err := Parse(src)
		got := ""
		switch {
		case err != nil:
			got = "error " + err.Error()
		case c.Exact() != nil:
			got = "exact " + c.Exact().Source()
		case c.Asked() != nil:
			got = "asked " + c.Asked().String()
		}
		if want == "" && got != "" || !strings.Contains(got, strings.TrimPrefix(want, "error ")) || strings.HasPrefix(got, "error") != strings.HasPrefix(want, "error") {
			t.Errorf("%.50s: %s, want %s", src, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"live > 3", `blocks(func("f")) > 3 && age > 3s`, "growth(1s) >= 3", "leaked(f) > 3"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, src string) {
		if c, err := Parse(src); err == nil {
			c.Exact()
			c.Asked()
			NewState(c)
		}
	})
}

// A world is a heap, and the event that it came to last.
type world struct {
	now    time.Duration
	seq    uint64
	blocks map[uint64]made
	last   made
	past   []point // what lived behind each event
}

type made struct {
	seq, size uint64
	at        time.Duration
	by        string
}

func (w *world) Number(f cond.Field) (uint64, bool) {
	bytes := uint64(0)
	for _, b := range w.blocks {
		bytes += b.size
	}
	switch f {
	case cond.Live:
		return bytes, true
	case cond.Blocks:
		return uint64(len(w.blocks)), true
	case cond.Size:
		return w.last.size, true
	}
	return 0, false
}

func (w *world) Func(name string) bool { return w.last.by == name }
func (w *world) Module(string) bool    { return false }
func (w *world) Caller(string) bool    { return false }
func (w *world) PyFile(string) bool    { return false }
func (w *world) Like(string) bool      { return false }
func (w *world) Kind(name string) bool { return false }
func (w *world) Type(string) bool      { return false }
func (w *world) ThreadName() string    { return "" }
func (w *world) Block(a uint64) (uint64, bool) {
	b, ok := w.blocks[a]
	return b.seq, ok
}

// event is the next event at random.
func (w *world) event(r *rand.Rand) Event {
	w.seq++
	w.now += time.Duration(r.IntN(int(20 * time.Millisecond)))
	e := Event{Seq: w.seq, Time: w.now}
	addr := uint64(1 + r.IntN(40))
	w.last = made{seq: w.seq, size: uint64(r.IntN(100)), at: w.now, by: []string{"f", "g"}[r.IntN(2)]}
	if _, live := w.blocks[addr]; live {
		e.Old = addr
		delete(w.blocks, addr)
	}
	if e.Old == 0 || r.IntN(4) == 0 { // and of a realloc
		e.Made, e.Size = addr, w.last.size
		w.blocks[addr] = w.last
	}
	bytes, _ := w.Number(cond.Live)
	w.past = append(w.past, point{w.now, bytes})
	return e
}

// sum is what the blocks of a function are, bytes or their number.
func (w *world) sum(by string, number bool) (n uint64) {
	for _, b := range w.blocks {
		if b.by == by && number {
			n++
		} else if b.by == by {
			n += b.size
		}
	}
	return n
}

// aged tells whether some block of f of at least 50 bytes is older.
func (w *world) aged(than time.Duration) bool {
	for _, b := range w.blocks {
		if b.by == "f" && b.size >= 50 && w.now-b.at > than {
			return true
		}
	}
	return false
}

// grown is what live has grown by, as of the last event not behind the span's begin.
func (w *world) grown(span time.Duration) uint64 {
	now, then := w.past[len(w.past)-1].live, w.past[0].live
	for _, p := range w.past {
		if p.at < w.now-span {
			then = p.live
		}
	}
	return max(now, then) - then
}

// TestState holds each kind of condition against the plain rule for it, and tells of it once.
func TestState(t *testing.T) {
	const span = 500 * time.Millisecond
	for src, holds := range map[string]func(*world) bool{
		"live > 1000":                            func(w *world) bool { n, _ := w.Number(cond.Live); return n > 1000 },
		"blocks < 18":                            func(w *world) bool { return len(w.blocks) < 18 },
		"live > 900 && size > 50":                func(w *world) bool { n, _ := w.Number(cond.Live); return n > 900 && w.last.size > 50 },
		`live(func("f")) > 500`:                  func(w *world) bool { return w.sum("f", false) > 500 },
		`blocks(func("g")) >= 11`:                func(w *world) bool { return w.sum("g", true) >= 11 },
		"growth(500ms) > 300":                    func(w *world) bool { return w.grown(span) > 300 },
		`age > 500ms && func("f") && size >= 50`: func(w *world) bool { return w.aged(span) },
	} {
		c, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		w := &world{blocks: map[uint64]made{}}
		s := NewState(c)
		held, times := false, 0
		for range 5000 {
			e := w.event(r)
			became := s.Event(e, w)
			now := holds(w)
			if want := now && !held; became != want || s.Met() != now {
				t.Fatalf("%s: event %d at %v: became %v, holds %v; want %v, %v", src, e.Seq, e.Time, became, s.Met(), want, now)
			}
			if became {
				times++
				if why := s.Why(e, w).Text(units.Sizes{}); why == "" {
					t.Errorf("%s: no numbers", src)
				}
			}
			held = now
		}
		if times < 10 {
			t.Errorf("%s: became true %d times", src, times)
		}
	}
}

// TestBegin: what holds already has to become false first; what lives already counts.
func TestBegin(t *testing.T) {
	w := &world{blocks: map[uint64]made{1: {1, 100, 0, "f"}, 2: {2, 50, 0, "g"}}}
	parse := func(src string) *State {
		c, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		s := NewState(c)
		for i, g := range c.groups {
			_ = g
			s.Seed(i, 1, 100, 1, 0)
		}
		if c.age != 0 {
			s.Seed(len(c.groups), 1, 100, 1, 0)
		}
		s.Begin(150, 2, time.Second)
		return s
	}
	for src, want := range map[string]bool{
		"live > 100": true, "live < 100": false, `live(func("f")) >= 100`: true, `live(func("f")) > 100`: false, "live > 100 && thread == 1": false, "age > 1ms": false,
	} {
		if s := parse(src); s.Met() != want {
			t.Errorf("%s: met %v", src, s.Met())
		}
	}
	w.now, w.seq = 2*time.Second, 3
	if s := parse("age > 1ms"); !s.Event(Event{Seq: 3, Time: w.now}, w) {
		t.Error("the seeded block is not old")
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, src := range []string{"live > 1T", `blocks(func("f")) > 1T`, "growth(10s) > 1T", "age > 10h"} {
		b.Run(src, func(b *testing.B) {
			c, err := Parse(src)
			if err != nil {
				b.Fatal(err)
			}
			s, w := NewState(c), &world{blocks: map[uint64]made{}}
			for i := range uint64(b.N) {
				e := Event{Seq: i, Time: time.Duration(i) * 100, Made: i%64 + 1, Size: 10}
				if i%2 == 1 {
					e = Event{Seq: i, Time: time.Duration(i) * 100, Old: (i-1)%64 + 1}
				}
				s.Event(e, w)
			}
		})
	}
}

// TestCalls holds Calls against sets that are looked through: random events of threads that are in
// calls or not, and give back blocks of each other.
func TestCalls(t *testing.T) {
	c, err := Parse("leaked(f) && size >= 4")
	if err != nil {
		t.Fatal(err)
	}
	calls, rnd := NewCalls(c), rand.New(rand.NewPCG(7, 7))
	type block struct {
		Kept
		tid int
	}
	live, since := map[uint64]block{}, map[int]uint64{} // since: the event at which the thread's call has begun
	ended := 0
	for seq := uint64(1); seq < 20000; seq++ {
		tid, addr := rnd.IntN(4), rnd.Uint64N(40)*16+16
		switch what := rnd.IntN(20); {
		case what == 0 && since[tid] == 0:
			calls.Begin(tid)
			since[tid] = seq
		case what <= 1 && since[tid] != 0:
			var want []Kept
			for _, m := range live {
				if m.tid == tid && m.Seq > since[tid] && m.Size >= 4 {
					want = append(want, m.Kept)
				}
			}
			slices.SortFunc(want, func(a, b Kept) int { return cmp.Compare(a.Seq, b.Seq) })
			if got := calls.End(tid); !slices.Equal(got, want) {
				t.Fatalf("event %d: %v, want %v", seq, got, want)
			} else if len(got) > 0 {
				ended++
			}
			since[tid] = 0
		case what < 9:
			calls.Event(tid, Event{Seq: seq, Old: addr}, nil)
			delete(live, addr)
		default:
			e := Event{Seq: seq, Made: addr, Size: rnd.Uint64N(8)}
			if what > 16 { // realloc
				e.Old = rnd.Uint64N(40)*16 + 16
				delete(live, e.Old)
			}
			calls.Event(tid, e, ofSize{size: e.Size})
			live[addr] = block{Kept{addr, e.Size, seq}, tid}
		}
	}
	if ended < 100 {
		t.Errorf("%d calls left blocks", ended)
	}
	for _, tc := range []struct {
		of   string
		kept []Kept
		want bool
	}{{"leaked(f)", nil, false}, {"leaked(f)", []Kept{{Size: 0}}, true}, {"leaked(f) > 5", []Kept{{Size: 2}, {Size: 3}}, false}, {"leaked(f) > 5", []Kept{{Size: 3}, {Size: 3}}, true}, {"leaked(f) < 5", nil, false}} {
		c, err := Parse(tc.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := NewCalls(c).Holds(tc.kept); got != tc.want {
			t.Errorf("%s of %v: %v", tc.of, tc.kept, got)
		}
	}
}

// ofSize is an event of that size.
type ofSize struct {
	cond.Env
	size uint64
}

func (s ofSize) Number(f cond.Field) (uint64, bool) { return s.size, f == cond.Size }
