package heap

import (
	"math/rand/v2"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
)

// mixedLog is a recording of several runs of blocks and mappings: those of even stacks count. Some runs have no
// mapping event.
func mixedLog(seed uint64, n int) *file.Log {
	rnd := rand.New(rand.NewPCG(seed, 1))
	log := file.NewLog(capture.Info{})
	log.Intern(capture.Stack{})
	malloc, mmap, munmap := log.FuncIndex("malloc"), log.FuncIndex("mmap"), log.FuncIndex("munmap")
	var live, pages []capture.Event
	quiet := false
	for i := range n {
		if i%40_000 == 0 {
			quiet = rnd.IntN(2) == 0
		}
		e := capture.Event{Time: time.Duration(i), TID: 1, Stack: capture.StackID(1 + rnd.IntN(4))}
		switch k := rnd.IntN(100); {
		case k == 0 && !quiet && i%20 == 0:
			e.Kind, e.Func, e.Addr, e.Size, e.Aux = capture.Map, mmap, uint64(1+len(pages)+i)<<32, uint64(1+rnd.IntN(64))<<12, readWrite
			pages = append(pages, e)
		case k == 1 && !quiet && len(pages) > 0:
			p := pages[len(pages)-1]
			pages = pages[:len(pages)-1]
			e.Kind, e.Func, e.Addr, e.Size, e.Stack = capture.Unmap, munmap, p.Addr, p.Size, 0
		case k < 50 && len(live) > 0:
			j := rnd.IntN(len(live))
			b := live[j]
			live[j] = live[len(live)-1]
			live = live[:len(live)-1]
			e.Kind, e.Addr, e.Size, e.Stack = capture.Free, b.Addr, b.Size, 0
			e.Ended = capture.Ended{Recorded: true, Seq: b.Seq, Size: b.Size, Stack: b.Stack}
		default:
			e.Kind, e.Func, e.Addr, e.Size = capture.Alloc, malloc, uint64(i+1)<<20, uint64(1+rnd.IntN(4000))
		}
		log.AddEvent(&e)
		if e.Seq = uint64(i + 1); e.Kind == capture.Alloc {
			live = append(live, e)
		}
	}
	return log
}

// TestPeakCountsMappings holds the peak of blocks and mappings against one that adds up each event.
func TestPeakCountsMappings(t *testing.T) {
	counts := func(p *Mapping) bool { return p.Stack%2 == 0 }
	for seed := range uint64(4) {
		const n = 300_000
		log := mixedLog(seed, n)
		x, err := NewIndex(log)
		if err != nil {
			t.Fatal(err)
		}
		if len(x.Runs()) < 3 {
			t.Fatalf("%d runs", len(x.Runs()))
		}
		blocksAt, blocks := x.Peak()
		x.CountMappings(counts)
		for _, to := range []uint64{1, 1000, 65_536, 65_537, 131_072, 200_001, n, End} {
			var mapped, live, most, at, highest uint64
			m := Mappings{Changed: func(p Mapping, gone bool) {
				if counts(&p) {
					if size := p.High - p.Low; gone {
						mapped -= size
					} else {
						mapped += size
					}
				}
			}}
			for e := range log.Events(1) {
				if e.Seq > to {
					break
				}
				if m.Post(&e, "mmap"); e.Ended.Recorded {
					live -= e.Ended.Size
				}
				if e.Allocates() {
					live += e.Size
				}
				if live+mapped > most {
					most, at = live+mapped, e.Seq
				}
				highest = max(highest, mapped)
			}
			if seq, bytes := x.PeakBefore(to); seq != at || bytes != most {
				t.Errorf("seed %d, up to #%d: %d bytes after #%d, want %d after #%d", seed, to, bytes, seq, most, at)
			}
			if to == End && highest == 0 {
				t.Errorf("seed %d: nothing was mapped", seed)
			}
		}
		if seq, bytes := x.BlockPeakBefore(End); seq != blocksAt || bytes != blocks {
			t.Errorf("seed %d: blocks alone: %d after #%d, were %d after #%d", seed, bytes, seq, blocks, blocksAt)
		}
	}
}

// TestTimes holds the times of events that are read against their own, and has others between those of their run.
func TestTimes(t *testing.T) {
	log := mixedLog(9, 150_000)
	x, err := NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	seqs := []uint64{1, 2, 70_000, 100_000, 150_000}
	for i, when := range x.Times(seqs) {
		for _, r := range x.Runs() {
			if r.First <= seqs[i] && seqs[i] <= r.Last && (when < r.Start || when > r.End) {
				t.Errorf("#%d: %v, not within %v to %v", seqs[i], when, r.Start, r.End)
			}
		}
		if want := time.Duration(seqs[i] - 1); when < want-capture.Resolution || when > want+capture.Resolution {
			t.Errorf("#%d: %v, want %v", seqs[i], when, want)
		}
	}
}
