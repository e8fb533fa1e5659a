package goruntime_test

import (
	"math"
	"testing"

	"hdb/goruntime"
)

// TestSlotSize asks this runtime, which gives a slice as much as its slot has room for.
func TestSlotSize(t *testing.T) {
	source := make([]byte, 200_000)
	const pages = 34_000 // from the last size class on a slot is whole pages
	for size := 16; size < len(source); size++ {
		if testing.Short() && size > pages && size%8192 > 2 && size%61 != 0 {
			continue
		}
		if want := cap(append([]byte(nil), source[:size]...)); goruntime.SlotSize(uint64(size)) != uint64(want) {
			t.Fatalf("%d bytes have a slot of %d, want %d", size, goruntime.SlotSize(uint64(size)), want)
		}
	}
	for size, want := range map[uint64]uint64{1: 16, 7: 16, 8: 8, 9: 16, 32769: 40960, math.MaxUint64: math.MaxUint64} {
		if got := goruntime.SlotSize(size); got != want {
			t.Errorf("%d bytes have a slot of %d, want %d", size, got, want)
		}
	}
}
