package file

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
)

// A touchedBlock is addresses.
type touchedBlock struct{ addr, size uint64 }

// sectionOf is the section of a chunk of so many events about the blocks.
func sectionOf(events int, blocks []touchedBlock) []byte {
	var p pageSet
	p.reset()
	for _, b := range blocks {
		p.add(b.addr, b.size)
	}
	return p.append(nil, events)
}

// What is told of the addresses of a chunk leaves none out, and most others.
func TestTouched(t *testing.T) {
	for name, c := range map[string]struct {
		blocks int
		stride uint64 // of the addresses
		most   int    // bytes of the section
		wrong  int    // of 1000 addresses that are not touched, how many are told at most
	}{
		"few":        {50, 1 << 14, 600, 10},
		"some":       {500, 1 << 13, 2100, 10},
		"many":       {5000, 1 << 6, 2100, 700},
		"scattered":  {5000, 1 << 16, 2500, 1000},
		"everywhere": {5000, 1 << 24, 2500, 1000},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		var others []touchedBlock
		there := map[uint64]bool{}
		for range c.blocks {
			a := 0x7f0000000000 + uint64(rng.IntN(2*c.blocks))*c.stride
			size := uint64(rng.IntN(32))
			there[a] = true
			others = append(others, touchedBlock{a, size})
		}
		huge := addrRange{1 << 40, 1<<40 + 1<<30}
		others = append(others, touchedBlock{huge.low, huge.high - huge.low}, touchedBlock{1<<64 - 5, 100})
		b := sectionOf(touchedFrom, others)
		if len(b) > c.most {
			t.Errorf("%s: %d bytes", name, len(b))
		}
		said, err := parseTouched(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range others {
			if !said.has(s.addr) || !said.has(s.addr+max(s.size, 1)-1) && s.addr+s.size > s.addr {
				t.Errorf("%s: %#x is missing", name, s.addr)
			}
		}
		if !said.has(1<<64-1) || !said.has(1<<40+1<<29) || said.has(1<<40-1) {
			t.Errorf("%s: the large one", name)
		}
		wrong := 0
		for range 1000 {
			a := 0x7f0000000000 + uint64(rng.IntN(2*c.blocks))*c.stride
			if !there[a] && said.has(a) {
				wrong++
			}
		}
		if wrong > c.wrong {
			t.Errorf("%s: %d wrong", name, wrong)
		}
		if c := sectionOf(touchedFrom-1, others); c != nil {
			t.Errorf("%s: %d bytes for few events", name, len(c))
		}
	}
}

func FuzzTouched(f *testing.F) {
	for _, n := range []int{10, 1000, 3000} {
		var others []touchedBlock
		for i := range uint64(n) {
			others = append(others, touchedBlock{4096 * i * i, 100 * i})
		}
		f.Add(sectionOf(touchedFrom, others), uint64(4096))
	}
	f.Fuzz(func(t *testing.T, b []byte, a uint64) {
		if said, err := parseTouched(b); err == nil {
			said.has(a)
		}
	})
}

// Where checkpoints are not kept the steps of events are not known: their addresses
// are not told either, rather than some of them.
func TestTouchedIsWhole(t *testing.T) {
	log := NewLog(capturetest.SampleInfo)
	log.FuncIndex("malloc")
	for i := range uint64(eventsPerChunk + touchedFrom + 10) { // one sealed block, and a tail
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x1000 + 64*i, Size: 64})
	}
	var saved bytes.Buffer
	if err := WriteSource(&saved, log, nil); err != nil {
		t.Fatal(err)
	}
	if wrong := readBack(t, saved.Bytes()).Verify(); len(wrong) > 0 {
		t.Errorf("a saved log: %q", wrong)
	}
}

// TestTouchedByUnknown has a realloc of a block that is not recorded, which ends the one
// at its new address.
func TestTouchedByUnknown(t *testing.T) {
	const unknown = 0x7f0000000000
	var b bytes.Buffer
	w, err := NewWriter(&b, capture.Info{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(touchedFrom) {
		w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 4096 + 64*i, Size: 16})
	}
	w.AddEvent(&capture.Event{Kind: capture.Realloc, Old: unknown, Addr: 4096, Size: 32, Ended: capture.Ended{Size: 16, Recorded: true, Seq: 1}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile("x", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range f.Summaries(0) {
		if err != nil || !s.MayTouch(unknown) || !s.MayTouch(4096) || s.MayTouch(unknown/2) {
			t.Errorf("%v; unknown %v, known %v, none %v", err, s.MayTouch(unknown), s.MayTouch(4096), s.MayTouch(unknown/2))
		}
	}
}

// TestTouchedInside asks for the last address of blocks whose place was used before by
// smaller ones, which takes in all that a block of the class may have.
func TestTouchedInside(t *testing.T) {
	const at = 0x7f0000000030 // the ends of the first two are in different grains
	var b bytes.Buffer
	w, err := NewWriter(&b, capture.Info{})
	if err != nil {
		t.Fatal(err)
	}
	seq, last := uint64(0), map[uint64]uint64{}
	for i, sizes := range [][]uint64{{9, 24}, {2000, 2512}} { // of one class each
		a := at + 1<<20*uint64(i)
		for _, size := range sizes {
			w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: a, Size: size})
			seq += 2
			w.AddEvent(&capture.Event{Kind: capture.Free, Addr: a, Size: size, Ended: capture.Ended{Size: size, Recorded: true, Seq: seq - 1}})
			last[a+size-1] = size
		}
	}
	for i := range uint64(touchedFrom) {
		w.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 4096 + 64*i, Size: 16})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile("x", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range f.Summaries(0) {
		if err != nil {
			t.Fatal(err)
		}
		for a, size := range last {
			if !s.MayTouch(a) {
				t.Errorf("the end of %d bytes at %#x is missing", size, a)
			}
		}
		if s.MayTouch(at + 1<<30) {
			t.Error("everything is touched")
		}
	}
}
