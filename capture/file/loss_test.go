package file

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
)

func TestLossesAreCountedWhereTheyWere(t *testing.T) {
	log := NewLog(capturetest.SampleInfo)
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	full := capture.Reason{Kind: capture.RingFull}
	for _, r := range []capture.Recorder{log, w} {
		r.AddLoss(capture.Loss{Count: 1, Reason: full})
		first := r.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x1000})
		r.AddLoss(capture.Loss{After: first, Count: 3, Reason: full})
		r.AddLoss(capture.Loss{After: first, Count: 4, Reason: full})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []capture.Recorder{log, w} { // after the flush the Writer cannot change what it wrote
		r.AddLoss(capture.Loss{After: 1, Count: 5, Reason: full})
		r.AddLoss(capture.Loss{After: 1, Count: 1, Reason: capture.Reason{Kind: capture.NotFollowed, Text: strings.Repeat("x", maxString+1)}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []capture.Loss{{After: 0, Count: 1, Reason: full}, {After: 1, Count: 12, Reason: full}, {After: 1, Count: 1, Reason: capture.Reason{Kind: capture.NotFollowed, Text: strings.Repeat("x", maxString)}}}
	f := readBack(t, b.Bytes())
	checkWhole(t, f)
	for _, src := range []capture.Source{log, f} {
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
	log := NewLog(capturetest.SampleInfo)
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(n) {
		l := capture.Loss{After: i, Count: 2, Reason: capture.Reason{Kind: capture.NotFollowed, Text: fmt.Sprint(i % 3)}}
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
	if len(got) != maxLosses || got[maxLosses-1].Count != 2*(n-maxLosses+1) || got[1] != (capture.Loss{After: 1, Count: 2, Reason: capture.Reason{Kind: capture.NotFollowed, Text: "1"}}) {
		t.Errorf("%d losses, the last is %v", len(got), got[len(got)-1])
	}
	if !slices.Equal(f.Losses(), got) {
		t.Errorf("the file has %d losses", len(f.Losses()))
	}
}
