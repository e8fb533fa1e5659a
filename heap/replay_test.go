package heap

import (
	"math"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
)

// byAddress brings a heap to the moment after an event, by what the call did and not by the
// effect that the event carries.
func byAddress(l *Live, e *capture.Event) {
	switch {
	case e.Kind == capture.Free:
		l.Take(e.Addr)
	case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
		l.Take(e.Old)
	}
	if e.Allocates() {
		l.Put(e.Addr, Block{Seq: e.Seq, Size: e.Size, Stack: e.Stack})
	}
}

// replayed is the heap after event #to of a recording.
func replayed(src capture.Source, to uint64) *Live {
	state := NewReplay(src)
	for e := range src.Events(0) {
		if e.Seq > to {
			state.Before(to)
			return state.Live
		}
		state.Before(e.Seq)
		byAddress(state.Live, &e)
	}
	if to == math.MaxUint64 {
		state.Before(to) // an exec after the last event
	}
	return state.Live
}

// TestReplayOverExec has the blocks of three programs in one recording: those of
// the first two are gone, also where the next has one at the same address, and
// also before it has any.
func TestReplayOverExec(t *testing.T) {
	log := file.NewLog(capture.Info{})
	image := log.AddModule(capture.Module{Path: "/bin/a", From: 1})
	next := func(from uint64) {
		log.EndModule(image, from)
		log.Replaced()
		image = log.AddModule(capture.Module{Path: "/bin/a", From: from})
	}
	alloc := func(addr, size uint64) {
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: addr, Size: size})
	}
	check := func(bytes uint64, seqs ...uint64) {
		t.Helper()
		live := replayed(log, End)
		var got []uint64
		for _, b := range live.All() {
			got = append(got, b.Seq)
		}
		slices.Sort(got)
		if live.Bytes() != bytes || !slices.Equal(got, seqs) {
			t.Errorf("%d bytes live of events %d, want %d of %d", live.Bytes(), got, bytes, seqs)
		}
		x, err := NewIndex(repost(log))
		if err != nil {
			t.Fatal(err)
		}
		rows := Top(x, End, ByLive, func(capture.StackID) Site { return Site{} })
		if len(rows) != 1 || rows[0].LiveBytes != bytes || rows[0].LiveBlocks != uint64(len(seqs)) || rows[0].Count != uint64(log.Len()) {
			t.Errorf("top %+v, want %d bytes in %d blocks of %d", rows, bytes, len(seqs), log.Len())
		}
	}
	alloc(0x1000, 1)
	alloc(0x2000, 2)
	check(3, 1, 2)
	next(3)
	check(0)
	alloc(0x1000, 4)
	check(4, 3)
	next(4)
	alloc(0x3000, 8)
	check(8, 4)
}
