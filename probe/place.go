package probe

import (
	"errors"
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/units"
)

// The probe's memory is in the first free place of [placesLow, placesHigh), at fixed distances from
// the place's beginning. This range and no other, because
//
//   - the kernel maps nothing there by itself: the stack, libraries and what programs
//     map without an address go from the top of the address space down, a program that
//     is position independent lies from placesHigh on (ELF_ET_DYN_BASE,
//     arch/x86/include/asm/elf.h), its heap behind it, and others are below 4 GiB. So
//     libraries and blocks have the addresses that they have without the probe;
//   - AddressSanitizer's shadow ends at 0x10007fff8000, and its and LeakSanitizer's
//     blocks are at 0x600000000000 or 0x500000000000, 4 TiB of them;
//   - ThreadSanitizer ends a program that has anything mapped outside of 0-0x8000000000,
//     0x550000000000-0x568000000000 and 0x7e8000000000 on, newer ones outside of ranges
//     that contain these (compiler-rt/lib/tsan/rtl/tsan_platform.h);
//   - MemorySanitizer and DataFlowSanitizer do so outside of 0-0x10000000000,
//     0x510000000000-0x600000000000 and 0x700000000000 on (compiler-rt/lib/msan/msan.h);
//   - language runtimes ask for addresses that are far below: Go 0xc000000000, GHC
//     0x4200000000, Java's ZGC 4, 8 and 16 TiB.
const (
	placesLow  = 0x551000000000
	placesHigh = 0x555555554000
	placeSize  = 16 << 30

	placeFile = 4 << 30 // the state is at 0
	placeRing = 8 << 30
	placeCore = 12 << 30
)

var errNoPlace = errors.New("no free addresses for the probe's memory")

// freePlace is the first place in which nothing is mapped.
func freePlace(maps []inferior.Mapping) (addr.Run, error) {
	at := addr.Run(placesLow)
	for _, m := range maps {
		for m.Low < at+placeSize && at < m.High {
			at += placeSize
		}
	}
	if at+placeSize > placesHigh {
		return 0, noPlace(maps, placesLow, placesHigh)
	}
	return at, nil
}

// noPlace is errNoPlace with what is mapped where a place was looked for.
func noPlace(maps []inferior.Mapping, low, high addr.Run) error {
	taken, last := 0, inferior.Mapping{}
	for _, m := range maps {
		if m.Low < high && low < m.High {
			taken++
			last = m
		}
	}
	return fmt.Errorf("%w: %s from %v to %v, the last that is in the way %v to %v %q", errNoPlace, units.Count(taken, "mapping"), low, high, last.Low, last.High, last.Path)
}
