package probe

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that has no slot gets one; its rest must be zero.
func TestSlots(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := &labThread{l: l, flags: 0x202, tid: 77, sp: labAt + labStacks + stackSize}
	th.key = 0x1234567000
	th.call(here, "malloc", 16)
	th.ret(0x5000)
	l.Drain()
	slot := l.slotOf(th.key)
	if key := binary.LittleEndian.Uint64(slot[slKey:]); key != th.key {
		t.Errorf("key %#x", key)
	}
	tid := unix.Gettid()
	if got := binary.LittleEndian.Uint32(slot[slTID:]); int(got) != tid {
		t.Errorf("TID %d, want %d", got, tid)
	}
	l.expect(t, fmt.Sprintf("%d: malloc(16) = 0x5000", tid))

	// All others are taken: the probe lets the calls of one more pass.
	for i := range numSlots {
		if s := l.shared.slot(i); s[slKey] == 0 && binary.LittleEndian.Uint64(s[slKey:]) == 0 {
			binary.LittleEndian.PutUint64(s[slKey:], uint64(i+2))
			binary.LittleEndian.PutUint32(s[slTID:], 1000)
		}
	}
	more := &labThread{l: l, flags: 0x202, tid: 78, key: 0x7654321000, sp: th.sp}
	more.call(here, "malloc", 16)
	more.ret(0x5000)
	more.call(here, "free", 0x5000)
	more.ret(0)
	l.Drain()
	l.expect(t)
	if n := l.Stats().NoThread; n != 2 {
		t.Errorf("%d calls of threads without a slot, want 2", n)
	}
	// One ends, and its place is found behind those that are taken.
	free := l.shared.slot(int(uint64(slotIndex(more.key)+5) % numSlots))
	binary.LittleEndian.PutUint32(free[slTID:], 555)
	binary.LittleEndian.PutUint64(free[slEvents:], 1000)
	before := l.Unreported()
	l.ThreadExited(555)
	if l.Unreported() != before {
		t.Errorf("%d events, %d before a thread exited", l.Unreported(), before)
	}
	more.call(here, "malloc", 17)
	more.ret(0x5000)
	l.Drain()
	l.expect(t, fmt.Sprintf("%d: malloc(17) = 0x5000", tid))
	if key := binary.LittleEndian.Uint64(free[slKey:]); key != more.key {
		t.Errorf("the free slot has key %#x", key)
	}
}

// A thread that had to pass a slot over keeps its own when that thread ends, in
// the middle of a call too, and the next thread takes the place.
func TestSlotsPassedOver(t *testing.T) {
	l := newLab(t, Request{Record: true})
	first := l.thread(2)
	const key = 0x1234567000
	own := l.slotOf(key)
	binary.LittleEndian.PutUint64(l.slotOf(first.key)[slKey:], 0)
	binary.LittleEndian.PutUint64(own[slKey:], first.key)
	binary.LittleEndian.PutUint32(own[slTID:], 2)

	th := &labThread{l: l, flags: 0x202, tid: 3, key: key, sp: labAt + labStacks + 4*stackSize}
	th.call(here, "free", 0x5000)
	l.ThreadExited(2)
	th.jump("_ZdlPv", 0x5000) // free's further work
	th.ret(0)
	l.Drain()
	tid := unix.Gettid()
	l.expect(t, fmt.Sprintf("%d: free(0x5000)", tid))
	taken := 0
	for i := range numSlots {
		if binary.LittleEndian.Uint64(l.shared.slot(i)[slKey:]) == key {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("the thread has %d slots", taken)
	}
	other := &labThread{l: l, flags: 0x202, tid: 4, key: key + 1<<32, sp: th.sp}
	other.call(here, "malloc", 16)
	other.ret(0x6000)
	if got := binary.LittleEndian.Uint64(own[slKey:]); got != other.key {
		t.Errorf("the slot that was left has key %#x", got)
	}
}

// Threads whose control blocks lie close together have slots of their own.
func TestSlotsOfNeighbours(t *testing.T) {
	const threads = 64
	for _, apart := range []uint64{0x1000, 0x22000, 0x801000, 1 << 26} {
		seen := map[int]bool{}
		for i := range uint64(threads) {
			seen[slotIndex(0x7ffff7d00740-i*apart)] = true
		}
		if len(seen) < threads*9/10 {
			t.Errorf("%#x apart: %d threads begin at %d slots", apart, threads, len(seen))
		}
	}
}
