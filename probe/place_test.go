package probe

import (
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

func TestFreePlace(t *testing.T) {
	const first = addr.Run(placesLow)
	for _, c := range []struct {
		name string
		maps []inferior.Mapping
		want addr.Run // 0: none
	}{
		{"nothing is mapped", nil, first},
		{"beside it", []inferior.Mapping{mapping(first-4096, first), mapping(first+placeSize, first+2*placeSize)}, first},
		{"the first is taken", []inferior.Mapping{mapping(first+placeCore, first+placeCore+4096)}, first + placeSize},
		{"its last page is", []inferior.Mapping{mapping(first+placeSize-4096, first+placeSize)}, first + placeSize},
		{"by many", []inferior.Mapping{mapping(first, first+4096), mapping(first+placeFile, first+placeFile+4096)}, first + placeSize},
		{"the first two", []inferior.Mapping{mapping(first-4096, first+placeSize+4096)}, first + 2*placeSize},
		{"the first and third", []inferior.Mapping{mapping(first, first+4096), mapping(first+2*placeSize, first+3*placeSize)}, first + placeSize},
		{"all", []inferior.Mapping{mapping(first-4096, placesHigh)}, 0},
		{"all but less than one", []inferior.Mapping{mapping(first, placesHigh-placeSize)}, 0},
	} {
		got, err := freePlace(c.maps)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	taken := []inferior.Mapping{mapping(4096, 8192), {Low: first, High: first + 4096, Path: "/a"}, {Low: first + 8192, High: placesHigh, Path: "/b\x1b"}}
	if _, err := freePlace(taken); err == nil || err.Error() != `no free addresses for the probe's memory: 2 mappings from 0x551000000000 to 0x555555554000, the last that is in the way 0x551000002000 to 0x555555554000 "/b\x1b"` {
		t.Error(err)
	}
}

// No sanitizer has a use for the places, nor forbids them.
func TestPlacesAreFree(t *testing.T) {
	type span struct{ low, high uint64 }
	within := func(s span) bool { return s.low <= placesLow && placesHigh <= s.high }
	beside := func(s span) bool { return placesHigh <= s.low || s.high <= placesLow }
	for name, s := range map[string]span{
		"the program of ThreadSanitizer":      {0x550000000000, 0x568000000000},
		"the program of newer ones":           {0x550000000000, 0x5a0000000000},
		"the program of MemorySanitizer":      {0x510000000000, 0x600000000000},
		"the high memory of AddressSanitizer": {0x10007fff8000, 0x800000000000},
	} {
		if !within(s) {
			t.Errorf("not in %s", name)
		}
	}
	for name, s := range map[string]span{
		"AddressSanitizer's blocks":     {0x600000000000, 0x640000000000},
		"newer AddressSanitizer's":      {0x500000000000, 0x540000000000},
		"position independent programs": {0x555555554000, 0x800000000000},
	} {
		if !beside(s) {
			t.Errorf("among %s", name)
		}
	}
	if placeFile < privateSize || placeRing-placeFile < fileRing || placeCore-placeRing < 2*largeRing || placeSize-placeCore < maxCore {
		t.Error("the parts of a place overlap")
	}
}
