package capture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLossesAreCountedWhereTheyWere(t *testing.T) {
	log := NewLog(testInfo)
	var b bytes.Buffer
	w, err := NewWriter(&b, testInfo)
	if err != nil {
		t.Fatal(err)
	}
	full := Reason{Kind: RingFull}
	for _, r := range []Recorder{log, w} {
		r.AddLoss(Loss{Count: 1, Reason: full})
		first := r.AddEvent(&Event{Kind: Alloc, Addr: 0x1000})
		r.AddLoss(Loss{After: first, Count: 3, Reason: full})
		r.AddLoss(Loss{After: first, Count: 4, Reason: full})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Recorder{log, w} { // after the flush the Writer cannot change what it wrote
		r.AddLoss(Loss{After: 1, Count: 5, Reason: full})
		r.AddLoss(Loss{After: 1, Count: 1, Reason: Reason{NotFollowed, strings.Repeat("x", maxString+1)}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []Loss{{0, 1, full}, {1, 12, full}, {1, 1, Reason{NotFollowed, strings.Repeat("x", maxString)}}}
	f := readBack(t, b.Bytes())
	checkWhole(t, f)
	for _, src := range []Source{log, f} {
		if got := src.Losses(); !slices.Equal(got, want) {
			t.Errorf("%T: %v", src, got)
		}
		if n := src.Info().Totals.Lost; n != 14 {
			t.Errorf("%T: %d lost in all", src, n)
		}
	}
}

// A recorder that loses something all the time keeps a list of bounded length.
func TestLossesAreBounded(t *testing.T) {
	const n = maxLosses + 3000
	log := NewLog(testInfo)
	var b bytes.Buffer
	w, err := NewWriter(&b, testInfo)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(n) {
		l := Loss{After: i, Count: 2, Reason: Reason{NotFollowed, fmt.Sprint(i % 3)}}
		log.AddLoss(l)
		w.AddLoss(l)
		if i%20000 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	checkWhole(t, f)
	got := log.Losses()
	if len(got) != maxLosses || got[maxLosses-1].Count != 2*(n-maxLosses+1) || got[1] != (Loss{1, 2, Reason{NotFollowed, "1"}}) {
		t.Errorf("%d losses, the last is %v", len(got), got[len(got)-1])
	}
	if !slices.Equal(f.Losses(), got) {
		t.Errorf("the file has %d losses", len(f.Losses()))
	}
}
