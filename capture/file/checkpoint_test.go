package file

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hdb/capture"
	"hdb/capture/capturetest"
)

// A wanted heap is what checkpoints shall say, followed by addresses.
type wantedHeap struct {
	blocks map[uint64]capture.Held
	last   uint64 // address of the block allocated last
	sizes  map[uint64]capture.SizeSum
	tids   map[int32]capture.ThreadSum
}

func newWantedHeap() *wantedHeap {
	return &wantedHeap{blocks: map[uint64]capture.Held{}, sizes: map[uint64]capture.SizeSum{}, tids: map[int32]capture.ThreadSum{}}
}

// end ends the block at a, if there is one, and notes whether it was temporary, if that may be.
func (h *wantedHeap) end(a uint64, may bool) (temporary bool) {
	b, ok := h.blocks[a]
	delete(h.blocks, a)
	if temporary = may && ok && b.Seq == h.last; temporary {
		s, t := h.sizes[b.Size], h.tids[b.TID]
		s.Temporary++
		t.Temporary++
		h.sizes[b.Size], h.tids[b.TID] = s, t
	}
	return temporary
}

func (h *wantedHeap) made(e *capture.Event, seq uint64) {
	h.blocks[e.Addr] = capture.Held{Seq: seq, Addr: e.Addr, Size: e.Size, Stack: e.Stack, TID: e.TID, Func: e.Func, Kind: e.Kind}
	h.last = seq
	s, t := h.sizes[e.Size], h.tids[e.TID]
	s.Size, t.TID = e.Size, e.TID
	s.Allocs++
	t.Allocs++
	t.Bytes += e.Size
	h.sizes[e.Size], h.tids[e.TID] = s, t
}

// checkpoint is the heap after event #seq as a checkpoint.
func (h *wantedHeap) checkpoint(seq uint64) *capture.Checkpoint {
	c := &capture.Checkpoint{Seq: seq, Blocks: slices.Collect(maps.Values(h.blocks)), Sizes: slices.Collect(maps.Values(h.sizes)), Threads: slices.Collect(maps.Values(h.tids))}
	sortCheckpoint(c)
	return c
}

func sortCheckpoint(c *capture.Checkpoint) {
	slices.SortFunc(c.Blocks, func(a, b capture.Held) int { return int(int64(a.Seq - b.Seq)) })
	slices.SortFunc(c.Sizes, func(a, b capture.SizeSum) int { return int(int64(a.Size - b.Size)) })
	slices.SortFunc(c.Threads, func(a, b capture.ThreadSum) int { return int(a.TID - b.TID) })
}

// keepRandom records n random events of a heap to rec, which does a checkpoint every
// some thousand, and tells how the heap was after each of its chunks. cut ends a chunk.
func keepRandom(seed uint64, n int, rec capture.Recorder, cut func()) map[uint64]*capture.Checkpoint {
	rng := rand.New(rand.NewPCG(seed, 4))
	for i := range 9 {
		rec.Intern(capture.Stack{Truncated: string('a' + rune(i))})
	}
	rec.FuncIndex("malloc")
	rec.FuncIndex("free")
	h := newWantedHeap()
	want := map[uint64]*capture.Checkpoint{}
	gaps, wide := seed%3 == 1, 2+rng.IntN(1500)
	seq := uint64(0)
	for i := range n {
		e := capture.Event{
			Time: time.Duration(i) * time.Microsecond, TID: int32(rng.IntN(4) - 1), Stack: capture.StackID(rng.IntN(10)),
			Size: uint64(rng.IntN(40)) * 8, Addr: 0x7f0000000000 + uint64(rng.IntN(wide)*rng.IntN(9))*16,
		}
		if gaps && rng.IntN(3) == 0 {
			e.Seq = seq + 1 + uint64(rng.IntN(1000))
		}
		there := func(a uint64) capture.Ended {
			b, ok := h.blocks[a]
			return capture.Ended{Size: b.Size, Stack: b.Stack, Seq: b.Seq, Recorded: ok}
		}
		switch rng.IntN(20) {
		case 0, 1, 2, 3, 4, 5, 6, 7, 8:
			e.Kind, e.Ended = capture.Alloc, there(e.Addr)
			h.end(e.Addr, false)
		case 9, 10:
			e.Kind, e.Old = capture.Realloc, 0x7f0000000000+uint64(rng.IntN(wide))*16
			if rng.IntN(2) == 0 {
				e.Addr = e.Old
			}
			if under := there(e.Addr); under.Recorded && e.Addr != e.Old { // nobody saw its end
				h.end(e.Addr, false)
				rec.AddEvent(&capture.Event{Seq: e.Seq, Time: e.Time, Kind: capture.Free, Func: 1, Addr: e.Addr, Size: under.Size, Ended: under})
				e.Seq = 0
			}
			e.Ended = there(e.Old)
			e.Ended.Temporary = h.end(e.Old, true)
		case 11:
			e.Kind = capture.Map
		case 12:
			e.Kind, e.Failed, e.Addr = capture.Alloc, true, 0
		default:
			e.Kind, e.Func, e.Stack, e.Ended = capture.Free, 1, 0, there(e.Addr)
			e.Size = e.Ended.Size
			e.Ended.Temporary = h.end(e.Addr, true)
		}
		seq = rec.AddEvent(&e)
		if e.Allocates() {
			h.made(&e, seq)
		}
		if rng.IntN(300) == 0 {
			want[seq] = h.checkpoint(seq)
			if cut(); rng.IntN(60) == 0 {
				rec.Replaced()
				clear(h.blocks)
				h.last = 0
			}
		}
	}
	want[seq] = h.checkpoint(seq)
	return want
}

// checkCheckpoints holds the checkpoints of a source against how the heap was.
func checkCheckpoints(t *testing.T, what string, src capture.Source, want map[uint64]*capture.Checkpoint) {
	t.Helper()
	seen := 0
	for seq := uint64(math.MaxUint64); seq > 0; {
		c := src.Checkpoint(seq)
		if c == nil {
			break
		}
		if c.Seq > seq {
			t.Fatalf("%s: the last one up to #%d is after #%d", what, seq, c.Seq)
		}
		sortCheckpoint(c)
		w := want[c.Seq]
		if w == nil {
			t.Fatalf("%s: a checkpoint after #%d, where no chunk ends", what, c.Seq)
		}
		if !slices.Equal(c.Blocks, w.Blocks) || !slices.Equal(c.Sizes, w.Sizes) || !slices.Equal(c.Threads, w.Threads) {
			diff := cmp.Diff(w, c)
			t.Fatalf("%s: after #%d (- want, + got):\n%s", what, c.Seq, diff)
		}
		seen++
		seq = c.Seq - 1
	}
	if seen < 3 {
		t.Errorf("%s: %d checkpoints", what, seen)
	}
}

// TestCheckpoints holds the checkpoints of random recordings, and of what tools make of
// them, against a heap that is followed by addresses.
func TestCheckpoints(t *testing.T) {
	for seed := range uint64(5) {
		var b bytes.Buffer
		w, err := NewWriter(&b, capturetest.SampleInfo)
		if err != nil {
			t.Fatal(err)
		}
		w.builder.every = 1000
		want := keepRandom(seed, 15_000, w, w.Push)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f := readBack(t, b.Bytes())
		checkCheckpoints(t, "file", f, want)
		if wrong := f.Verify(); len(wrong) > 0 {
			t.Errorf("%q", wrong)
		}
		log := NewLog(capturetest.SampleInfo)
		log.builder.every = 1000
		log.spill.keep = 10_000
		wantLog := keepRandom(seed, 15_000, log, func() { log.seal(log.tail[:log.filled.Load()]) })
		log.queue.wait()
		checkCheckpoints(t, "log", log, wantLog)
		var saved bytes.Buffer
		if err := WriteSource(&saved, log, nil); err != nil {
			t.Fatal(err)
		}
		checkCheckpoints(t, "saved log", readBack(t, saved.Bytes()), wantLog)
		copied := recopied(t, f)
		checkCheckpoints(t, "copied", copied, want)
		cutAnywhere(t, b.Bytes(), want)
	}
}

// recopied is a file that was written anew from its events, which do not tell the
// events that made the blocks they end.
func recopied(t *testing.T, f *File) *File {
	t.Helper()
	var b bytes.Buffer
	c, err := NewWriter(&b, f.Info())
	if err != nil {
		t.Fatal(err)
	}
	c.builder.every = 1000
	c.AddFunctions(f.Functions())
	for id := range f.Stacks() {
		c.Intern(f.Stack(capture.StackID(id + 1)))
	}
	var live LiveBlocks
	execs := f.Execs()
	for w := f.Walk(0); ; w.Step() {
		e := w.Peek()
		if e == nil {
			break
		}
		if len(execs) > 0 && execs[0] <= e.Seq {
			execs = c.ReplacedUpTo(execs, e.Seq)
			live.Clear()
		}
		live.Settle(e)
		live.Add(c, e)
		if w.at+1 == len(w.buf) {
			c.Push()
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return readBack(t, b.Bytes())
}

// cutAnywhere holds that a capture which was cut off has the checkpoints before the
// cut, and one with a damaged checkpoint those before that.
func cutAnywhere(t *testing.T, data []byte, want map[uint64]*capture.Checkpoint) {
	t.Helper()
	whole := readBack(t, data)
	rng := rand.New(rand.NewPCG(uint64(len(data)), 5))
	for range 6 {
		n := headerSize + rng.IntN(len(data)-headerSize)
		f := readBack(t, data[:n])
		there := 0
		for i, ref := range whole.checkpoints {
			end := int64(n)
			if i+1 < len(whole.checkpoints) && whole.checkpoints[i+1].offset < end {
				end = whole.checkpoints[i+1].offset
			}
			if h, err := whole.chunks.header(ref.offset); err == nil && ref.offset+chunkHeaderSize+int64(h.length) <= end {
				there++
			}
		}
		if len(f.checkpoints) != there {
			t.Fatalf("cut at byte %d: %d checkpoints, want %d", n, len(f.checkpoints), there)
		}
		if there > 3 {
			checkCheckpoints(t, "cut", f, want)
		}
	}
	damaged := bytes.Clone(data)
	ref := whole.checkpoints[4]
	damaged[ref.offset+chunkHeaderSize+20] ^= 1
	f := readBack(t, damaged)
	if f.Damage() == nil {
		t.Error("a damaged checkpoint is no damage")
	}
	checkCheckpoints(t, "damaged", f, want)
	if c := f.Checkpoint(math.MaxUint64); c == nil || c.Seq != whole.checkpointEvents(t, 3) {
		t.Errorf("the last whole checkpoint is %v", c)
	}
}

// checkpointEvents is the event of checkpoint i.
func (f *File) checkpointEvents(t *testing.T, i int) uint64 {
	t.Helper()
	s, err := f.chunks.sections(f.checkpoints[i])
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCheckpoint(s)
	if err != nil {
		t.Fatal(err)
	}
	return c.after
}

// A recorder that says of a free that it ended another block than it did is found out.
func TestVerifyFindsWrongCheckpoints(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.builder.every = 1
	w.FuncIndex("malloc")
	for i := range uint64(2) {
		w.AddEvent(&capture.Event{Addr: 0x1000 + 64*i, Size: 8})
	}
	w.AddEvent(&capture.Event{Kind: capture.Free, Addr: 0x1000, Size: 8, Ended: capture.Ended{Size: 8, Recorded: true, Seq: 2}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if wrong := readBack(t, b.Bytes()).Verify(); len(wrong) != 1 {
		t.Errorf("%q", wrong)
	}
}

// Whatever bytes a checkpoint is made of, it is refused or in order.
func FuzzCheckpoint(f *testing.F) {
	for seed := range uint64(3) {
		var b bytes.Buffer
		w, err := NewWriter(&b, capturetest.SampleInfo)
		if err != nil {
			f.Fatal(err)
		}
		w.builder.every = 100
		keepRandom(seed, 3000, w, w.Push)
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		file := readBack(f, b.Bytes())
		for _, ref := range file.checkpoints[:2] {
			payload, err := file.chunks.chunk(ref)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var u unpacker
		s, err := u.sections(payload)
		if err != nil {
			return
		}
		c, err := parseCheckpoint(s)
		if err != nil {
			return
		}
		last := c.base
		for _, b := range c.blocks {
			if b.Seq <= last || b.Seq > c.after {
				t.Fatalf("block of #%d after #%d", b.Seq, last)
			}
			last = b.Seq
		}
		var p packer
		s, err = u.sections(pendingOf(c).append(nil, &p))
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseCheckpoint(s)
		if diff := cmp.Diff(c, again, cmp.AllowUnexported(checkpoint{})); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// pendingOf is what is written as c.
func pendingOf(c *checkpoint) *checkpointDraft {
	k := new(checkpointDraft)
	k.begin(c.base)
	k.after, k.fresh, k.sizes, k.threads = c.after, c.fresh, c.sizes, c.threads
	for _, seq := range c.ended {
		k.ended.add(seq)
	}
	for rest := range slices.Chunk(c.blocks, eventsPerChunk) {
		var o chunkEffects
		for i, b := range rest {
			o.room(eventsPerChunk)
			o.put(i, b.Addr, b.Size, uint32(i), i, i)
			o.seqs, o.stacks = append(o.seqs, b.Seq), append(o.stacks, b.Stack)
			o.ops, o.sums = append(o.ops, shape{kind: b.Kind, fn: b.Func}), append(o.sums, capture.ThreadSum{TID: b.TID})
		}
		o.live.fill(len(rest))
		k.survivors(&eventHead{first: rest[0].Seq, last: rest[len(rest)-1].Seq}, &o)
	}
	return k
}

// The last op and the last thread that a chunk can have make blocks, too.
func TestMakerOfTheLastThread(t *testing.T) {
	o := chunkEffects{ops: make([]shape, 1<<16), sums: make([]capture.ThreadSum, 1<<16), stacks: []capture.StackID{0}}
	o.ops[1<<16-1], o.sums[1<<16-1].TID = shape{fn: 7}, 42
	o.room(eventsPerChunk)
	o.put(0, 16, 0, 0, 1<<16-1, 1<<16-1)
	o.live.fill(1)
	var c checkpointDraft
	c.begin(0)
	c.survivors(&eventHead{count: 1, first: 1, last: 1}, &o)
	if b := c.blocks[0][0]; len(c.makers) != 1 || c.makers[b.where>>addrBits] != (maker{fn: 7, tid: 42}) {
		t.Errorf("%+v made by %+v", b, c.makers)
	}
}

// Temporary blocks are counted where events say so, also where that is not expected.
func TestTemporaryIsAsDecided(t *testing.T) {
	events := []capture.Event{
		{Seq: 1, Addr: 0x1000, Size: 8},
		{Seq: 2, Addr: 0x2000, Size: 16},
		{Seq: 3, Kind: capture.Free, Addr: 0x2000, Size: 16, Ended: capture.Ended{Size: 16, Recorded: true, Temporary: true, Seq: 2}},
		{Seq: 4, Kind: capture.Realloc, Old: 0x1000, Addr: 0x3000, Size: 24, Ended: capture.Ended{Size: 8, Recorded: true, Seq: 1}},
		{Seq: 5, Kind: capture.Realloc, Old: 0x3000, Addr: 0x4000, Size: 32, Ended: capture.Ended{Size: 24, Recorded: true, Temporary: true, Seq: 4}},
		{Seq: 6, Kind: capture.Free, Addr: 0x4000, Size: 32, Ended: capture.Ended{Size: 32, Recorded: true, Seq: 5}}, // another block was made that is not recorded
	}
	c := eventEncoder{following: true}
	c.begin(1, 0)
	c.events(events)
	sizes := map[uint64]uint32{}
	for size, n := range c.sizes.temporary {
		if n > 0 {
			sizes[uint64(size)] = n
		}
	}
	if want := map[uint64]uint32{16: 1, 24: 1}; !maps.Equal(sizes, want) || c.sums[0].Temporary != 2 {
		t.Errorf("temporary by size %v, want %v; by thread %d", sizes, want, c.sums[0].Temporary)
	}
}
