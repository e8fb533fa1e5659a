package probe

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

func TestCoreLinks(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d marks", len(c.code), len(c.marks))
	for n := uint32(1); n <= markFault; n++ {
		if _, ok := c.marks[n]; !ok {
			t.Errorf("mark %d is nowhere", n)
		}
	}
}

// The prefix that a lone thread's core goes without is that of a lock.
func TestAlone(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range c.alone() {
		code := c.code[at:]
		if code[0] != lockPrefix {
			t.Fatalf("% x", code[:8])
		}
		before, err := x86asm.Decode(code, 64)
		if err != nil {
			t.Fatal(err)
		}
		code[0] = noPrefix
		after, err := x86asm.Decode(code, 64)
		if err != nil || before.Op != x86asm.CMPXCHG && before.Op != x86asm.XADD || after.Op != before.Op || after.Len != before.Len || after.Args != before.Args {
			t.Errorf("%v becomes %v, %v", before, after, err)
		}
	}
}

// A thread may lose its processor anywhere: what is recorded behind it must not seem to be
// later than it.
func TestStampBeforePlace(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	for i, from := range []uint32{markRecord, markRecordQuick} {
		taken, stamped := c.alone()[i], false
		for at := c.marks[from]; at < taken; at += lengthAt(t, c.code[at:]) {
			stamped = stamped || rdtscAt(c.code[at:])
		}
		if !stamped {
			t.Errorf("no time is read before a place is taken at %#x", taken)
		}
		for at := taken; c.code[at] != 0xc3; at += lengthAt(t, c.code[at:]) { // ret
			if rdtscAt(c.code[at:]) {
				t.Errorf("the time is read at %#x, after a place was taken at %#x", at, taken)
			}
		}
	}
}

func rdtscAt(code []byte) bool { return code[0] == 0x0f && code[1] == 0x31 }

func lengthAt(t *testing.T, code []byte) int {
	t.Helper()
	in, err := x86asm.Decode(code, 64)
	if err != nil {
		t.Fatalf("% x: %v", code[:8], err)
	}
	return in.Len
}

func TestCoreFrames(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.trace()
	if err != nil {
		t.Fatal(err)
	}
	for n := uint32(1); n <= markFault; n++ {
		if n != markEnd && rows[c.marks[n]].cfa == 0 {
			t.Errorf("mark %d is never reached", n)
		}
	}
}
