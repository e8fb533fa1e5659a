package probe

import (
	"slices"
	"testing"

	"hdb/capture"
)

// FuzzPlain has records of any kinds and order make the same events by plain, as far as it
// understands them, and by take alone.
func FuzzPlain(f *testing.F) {
	f.Add([]byte{0, 0x11, 1, 0x11, 5, 0x11, 2, 0x12, 3, 0x23})
	f.Add([]byte{2, 0x11, 0, 0x21, 3, 0x13, 6, 0x11, 7, 0x01, 3, 0x31})
	f.Add([]byte{4, 0x11, 8, 0x12, 9, 0, 0, 0x10, 10, 0x11, 5, 0x13, 5, 0x13})
	f.Add([]byte{13, 0x11, 14, 0x51, 13, 0x02, 0, 0x11, 14, 0xf3})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 400 {
			ops = ops[:400]
		}
		plain, careful := playRecords(t, ops, false), playRecords(t, ops, true)
		if !slices.Equal(plain, careful) {
			t.Errorf("plain and take: %+v\ntake alone:     %+v", plain, careful)
		}
	})
}

// playRecords makes a record of each two bytes: its kind, and its thread, block and size.
func playRecords(t *testing.T, ops []byte, careful bool) []capture.Event {
	r := newRing(t)
	const goType = uint64(libcAt + 0x80)
	r.addSite(catalogued(t, "runtime.mallocgc"), libcAt)
	r.golang.flat = map[uint64]bool{goType: true}
	r.stack(1, 1, endWhole, uint64(here))
	r.calls = 1
	if careful {
		r.guests[99] = []byte{}
	}
	for ; len(ops) >= 2; ops = ops[2:] {
		tid, size := uint32(ops[1]&3), 8*uint64(ops[1]>>4)
		block := 0x5000 + uint64(ops[1]>>2&7)<<8
		switch ops[0] % 15 {
		case 0:
			r.alloc(tid, "malloc", size, block)
		case 1:
			r.alloc(tid, "calloc", size, block, 0, 3)
		case 2:
			r.call(recBegin, tid, "realloc", block, size, 0)
		case 3:
			r.alloc(tid, "realloc", size, block+0x100*uint64(ops[0]>>6), block, 0)
		case 4:
			r.alloc(tid, "realloc", size, block, 0, 0)
		case 5:
			r.free(tid, "free", block)
		case 6:
			r.call(recFree, tid, "_ZdlPvm", block, size, 0)
		case 7:
			r.alloc(tid, "malloc", size, 0)
		case 8:
			r.inside(tid, "malloc", size, block)
		case 9:
			r.alloc(tid, "_Znwm", size, block)
		case 10:
			r.call(recAbandon, tid, "realloc", 0, size, 0)
		case 11:
			r.call(recAlloc, tid, "posix_memalign", block, size, flagFailed, 0, 3)
		case 12:
			r.call(recFree, tid, "free", block, 0, flagInside)
		case 13:
			r.alloc(tid, "runtime.mallocgc", size, block, goType, 17)
		case 14:
			r.alloc(tid, "runtime.mallocgc", size, block, 0, 18)
		}
		if ops[0]>>5 == 7 {
			r.Drain()
		}
	}
	r.Drain()
	for i := range r.events {
		r.events[i].Time = 0
	}
	return r.events
}
