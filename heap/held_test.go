package heap

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hdb/capture"
	"hdb/capture/file"
)

// A randomProgram makes events of a program that does everything to a heap: blocks of
// odd and huge sizes, reallocs of all kinds, frees and ends that nobody saw, mappings,
// failed calls, execs, and events that are left out.
type randomProgram struct {
	rng  *rand.Rand
	rec  capture.Recorder
	live *Ledger
	seq  uint64
	mod  int
	keep int // of 100 blocks live long
	gaps bool
	exec int // events until the program is replaced
}

func newRandomProgram(seed uint64, rec capture.Recorder) *randomProgram {
	p := &randomProgram{rng: rand.New(rand.NewPCG(seed, 7)), rec: rec, live: NewLedger()}
	p.keep = 1 + p.rng.IntN(30)
	p.gaps = seed%3 == 1
	p.exec = p.rng.IntN(100_000)
	rec.FuncIndex("malloc")
	rec.FuncIndex("free")
	p.mod = rec.AddModule(capture.Module{Path: "/bin/a", From: 1})
	for i := range 20 {
		rec.Intern(capture.Stack{Truncated: fmt.Sprint(i)})
	}
	return p
}

// at is an address: most are of a few that are used over and over.
func (p *randomProgram) at() uint64 {
	if p.rng.IntN(100) < p.keep {
		return 0x10000000 + uint64(p.rng.IntN(1<<14))*48
	}
	return 0x5000 + uint64(p.rng.IntN(200))*1024
}

func (p *randomProgram) step() {
	p.seq++
	if p.gaps {
		p.seq += uint64(p.rng.IntN(50))
	}
	e := capture.Event{
		Seq: p.seq, Time: time.Duration(p.seq) * time.Microsecond, TID: int32(p.rng.IntN(5)), Stack: capture.StackID(p.rng.IntN(21)),
		Size: uint64(p.rng.IntN(60)) * 8, Addr: p.at(),
	}
	switch n := p.rng.IntN(100); {
	case n < 45:
		e.Kind = capture.Alloc
		if p.rng.IntN(500) == 0 {
			e.Size = uint64(p.rng.IntN(1 << 40))
		}
	case n < 85:
		e.Kind, e.Func, e.Size, e.Stack = capture.Free, 1, 0, 0
	case n < 95:
		e.Kind, e.Old = capture.Realloc, p.at()
		if p.rng.IntN(3) == 0 {
			e.Addr = e.Old
		}
	case n < 98:
		e.Kind = []capture.Kind{capture.Map, capture.Unmap, capture.Mark}[n-95]
	case n < 99:
		e.Kind, e.Failed, e.Addr = capture.Alloc, true, 0
	default:
		e.Kind, e.Failed, e.Old, e.Addr, e.Size = capture.Realloc, true, p.at(), 0, uint64(p.rng.IntN(2))
	}
	if p.exec--; p.exec == 0 {
		p.rec.Replaced()
		p.live = NewLedger()
		p.rec.EndModule(p.mod, p.seq)
		p.mod = p.rec.AddModule(capture.Module{Path: "/bin/b", From: p.seq})
	}
	if end, ok := p.live.Unseen(&e); ok {
		end.Func = p.rec.FuncIndex(capture.UnseenFree)
		p.rec.AddEvent(&end)
		p.seq++
		e.Seq = p.seq
	}
	p.live.Post(&e, true)
	p.rec.AddEvent(&e)
}

// without is a recording whose checkpoints are lost.
type without struct{ capture.Source }

func (without) Checkpoint(uint64) *capture.Checkpoint { return nil }

// sameAnswers holds the answers to all questions about blocks at some moments against
// those without checkpoints, and those against following the events from the start.
func sameAnswers(t *testing.T, what string, src capture.Source, moments []uint64) {
	t.Helper()
	x, err := NewIndex(src)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := NewIndex(without{src})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range moments {
		got := x.Held(to)
		if want := plain.Held(to); !slices.Equal(got, want) {
			t.Fatalf("%s: after #%d: %d blocks, want %d", what, to, len(got), len(want))
		}
		live := maps.Collect(replayed(src, to).All())
		for _, b := range got {
			if o := live[b.Addr]; o.Seq != b.Seq || o.Size != b.Size || o.Stack != b.Stack {
				t.Fatalf("%s: after #%d: %+v, replayed %+v", what, to, b, o)
			}
		}
		if len(live) != len(got) {
			t.Fatalf("%s: after #%d: %d blocks, replayed %d", what, to, len(got), len(live))
		}
		for _, key := range []Key{KeyThread, KeySize} {
			site := func(k uint64) Site { return Site{Function: fmt.Sprint(k)} }
			if diff := cmp.Diff(TopBy(plain, to, ByPeak, key, site), TopBy(x, to, ByPeak, key, site)); diff != "" {
				t.Fatalf("%s: top per %v after #%d (- from the start, + from a checkpoint):\n%s", what, key, to, diff)
			}
		}
	}
}

// reopened is what was written, opened.
func reopened(t *testing.T, write func(io.Writer) error) *file.File {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewFile("x.hdb", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if wrong := f.Verify(); len(wrong) > 0 || f.Damage() != nil {
		t.Fatalf("%q, %v", wrong, f.Damage())
	}
	return f
}

// checkpointed is a recording that has checkpoints at some moments.
type checkpointed struct {
	capture.Source
	at []*capture.Checkpoint
}

func (c checkpointed) Checkpoint(seq uint64) *capture.Checkpoint {
	var last *capture.Checkpoint
	for _, p := range c.at {
		if p.Seq <= seq {
			last = p
		}
	}
	if last != nil {
		mine := *last
		mine.Blocks = slices.Clone(last.Blocks)
		last = &mine
	}
	return last
}

// checkpointAt makes the checkpoint after #seq by following the events.
func checkpointAt(t *testing.T, src capture.Source, seq uint64) *capture.Checkpoint {
	t.Helper()
	x, err := NewIndex(without{src})
	if err != nil {
		t.Fatal(err)
	}
	c := &capture.Checkpoint{Seq: seq, Blocks: x.Held(seq)}
	name := func(k uint64) Site { return Site{Function: fmt.Sprint(k)} }
	number := func(r Row) (k uint64) {
		if _, err := fmt.Sscan(r.Site.Function, &k); err != nil {
			t.Fatal(err)
		}
		return k
	}
	for _, r := range TopBy(x, seq, ByLive, KeySize, name) {
		c.Sizes = append(c.Sizes, capture.SizeSum{Size: number(r), Allocs: r.Count, Temporary: r.Temporary})
	}
	for _, r := range TopBy(x, seq, ByLive, KeyThread, name) {
		c.Threads = append(c.Threads, capture.ThreadSum{TID: int32(number(r)), Allocs: r.Count, Bytes: r.Bytes, Temporary: r.Temporary})
	}
	return c
}

// From a checkpoint on questions are answered as from the start, wherever it lies.
func TestFromCheckpoints(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() { // each takes seconds
		seeds = 3
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 8))
		f := reopened(t, func(w io.Writer) error {
			file, err := file.NewWriter(w, capture.Info{})
			if err != nil {
				return err
			}
			p := newRandomProgram(seed, file)
			p.exec = rng.IntN(40_000) // in some there is none
			for i := range 20_000 {
				p.step()
				if i%500 == 0 {
					file.Push()
				}
			}
			return file.Close()
		})
		x, err := NewIndex(f)
		if err != nil {
			t.Fatal(err)
		}
		c := checkpointed{Source: f}
		for i, r := range x.Runs() {
			if rng.IntN(8) == 0 && i > 0 {
				c.at = append(c.at, checkpointAt(t, f, r.Last))
			}
		}
		moments := []uint64{f.Last(), End}
		for range 5 {
			moments = append(moments, uint64(rng.IntN(int(f.Last()))))
		}
		for _, p := range c.at {
			moments = append(moments, p.Seq-1, p.Seq, p.Seq+1)
		}
		sameAnswers(t, fmt.Sprintf("seed %d", seed), c, moments)
	}
}

// The events about an address are found though the parts of the recording that have
// none are not read.
func TestAbout(t *testing.T) {
	f := reopened(t, func(w io.Writer) error {
		file, err := file.NewWriter(w, capture.Info{})
		if err != nil {
			return err
		}
		p := newRandomProgram(2, file)
		for i := range 60_000 {
			p.step()
			if i%6000 == 5999 {
				file.Push()
			}
		}
		// The last part is about a few addresses only.
		for i := range uint64(5000) {
			file.AddEvent(&capture.Event{Addr: 0x7f0000000000 + i%7*64, Size: 8})
		}
		return file.Close()
	})
	x, err := NewIndex(f)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	for range 40 {
		addr := []uint64{0x10000000, 0x5000, 0x7f0000000000, 0x7effffffff00}[rng.IntN(4)] + uint64(rng.IntN(1<<14))
		from := uint64(rng.IntN(int(f.Last()) + 10))
		var got, want []uint64
		read := 0
		for e, n := range x.About(addr, from) {
			got = append(got, e.Seq)
			read = n
		}
		for s := range x.StepsBack(from) {
			if touches(&s.Event, addr) {
				want = append(want, s.Seq)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%#x up to #%d: %d, want %d", addr, from, got, want)
		}
		if addr>>32 >= 0x7eff && read > 5000 {
			t.Errorf("%d events were read for those about %#x", read, addr)
		}
	}
}

// Recordings make checkpoints themselves when they are long enough.
func TestLongRecordingsHaveCheckpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("five million events: TestFromCheckpoints has the same questions")
	}
	log := file.NewLog(capture.Info{})
	f := reopened(t, func(w io.Writer) error {
		file, err := file.NewWriter(w, capture.Info{})
		if err != nil {
			return err
		}
		a, b := newRandomProgram(1, file), newRandomProgram(1, log)
		for range 5_000_000 {
			a.step()
			b.step()
		}
		return file.Close()
	})
	moments := []uint64{f.Last() / 3, f.Last() * 7 / 8, End}
	sameAnswers(t, "file", f, moments)
	sameAnswers(t, "log", log, moments)
	if f.Checkpoint(End) == nil || log.Checkpoint(End) == nil {
		t.Error("no checkpoint was made")
	}
}
