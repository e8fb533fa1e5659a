package probe

import (
	"slices"
	"testing"
	"unsafe"
)

// labBlocks is the state of a block.
func (l *lab) state8(block uint64) byte {
	at, tag := blockIndex(block)
	b := *(*byte)(unsafe.Add(unsafe.Pointer(nil), uintptr(l.blocks.at)+uintptr(at)))
	if b>>tagShift<<tagShift != tag {
		return 0
	}
	return b & (1<<tagShift - 1)
}

// A step of a thread: a call with what it returns, and what is offered of it.
type blockStep struct {
	symbol string
	args   []uint64
	result uint64
	wrong  string
	state  byte // of the block afterwards
}

func playBlocks(t *testing.T, l *lab, steps []blockStep) {
	th := l.thread(1)
	for i, s := range steps {
		l.wrong = nil
		clear(l.slotOf(th.key)[slFreed:slShadow])
		call := shortCall{s.symbol, s.args, s.result}
		th.sp -= 8
		th.l.poke(th.sp, uint64(here))
		c := *th
		if exit := c.jump(s.symbol, s.args...); exit >= exitReturn {
			t.Fatalf("step %d, %v: left at %d", i, call, exit)
		}
		block := s.args[0]
		if !l.site(s.symbol).Function.Frees() {
			if exit := c.ret(s.result); exit != exitReturn {
				t.Fatalf("step %d, %v: left at %d", i, call, exit)
			}
			if s.result != 0 {
				block = s.result
			}
		}
		th.sp += 8
		var want []string
		if s.wrong != "" {
			want = []string{s.wrong}
		}
		if !slices.Equal(l.wrong, want) {
			t.Errorf("step %d, %v: offered %q, want %q", i, call, l.wrong, want)
		}
		if got := l.state8(block); got != s.state {
			t.Errorf("step %d, %v: state of %#x is %d, want %d", i, call, block, got, s.state)
		}
	}
}

// TestBlocks: what gives back a block that is freed, unknown or another family's is offered, on
// the core's long way and on its short one.
func TestBlocks(t *testing.T) {
	const a, b, far = 0x5000, 0x6000, 0x5000 + 1<<(blocksBits+blockShift)
	steps := []blockStep{
		{"malloc", []uint64{16}, a, "", stateLive},
		{"free", []uint64{a}, 0, "", stateFreed},
		{"free", []uint64{a}, 0, "free(0x5000): 1", stateFreed},
		{"malloc", []uint64{16}, a, "", stateLive}, // used again
		{"free", []uint64{a}, 0, "", stateFreed},
		{"free", []uint64{b}, 0, "free(0x6000): 2", stateFreed},
		{"malloc", []uint64{64}, b, "", stateLive},
		{"free", []uint64{b + 16}, 0, "free(0x6010): 2", stateFreed},
		{"free", []uint64{b + 1}, 0, "free(0x6001): 2", stateLive},
		{"free", []uint64{b + 8}, 0, "free(0x6008): 2", stateLive},
		{"free", []uint64{b}, 0, "", stateFreed},
		{"malloc", []uint64{1 << 62}, 0, "", 0},
		{"_Znwm", []uint64{16}, a, "", stateNew},
		{"free", []uint64{a}, 0, "free(0x5000): 3", stateFreed},
		{"malloc", []uint64{16}, a, "", stateLive},
		{"_ZdlPv", []uint64{a}, 0, "operator delete(0x5000): 3", stateFreed},
		{"_Znwm", []uint64{16}, a, "", stateNew},
		{"_ZdlPvm", []uint64{a, 16}, 0, "", stateFreed},
		{"_ZdlPvm", []uint64{a, 16}, 0, "operator delete(0x5000): 1", stateFreed},
		{"realloc", []uint64{0, 16}, a, "", stateLive},
		{"realloc", []uint64{a, 32}, b, "", stateLive},
		{"free", []uint64{a}, 0, "free(0x5000): 1", stateFreed},
		{"realloc", []uint64{b, 64}, b, "", stateLive},
		{"realloc", []uint64{b, 1 << 62}, 0, "", stateLive},
		{"free", []uint64{b}, 0, "", stateFreed},
		{"realloc", []uint64{b, 32}, a, "realloc(0x6000): 1", stateLive},
		{"realloc", []uint64{a + 16, 32}, b, "realloc(0x5010): 2", stateLive},
		{"realloc", []uint64{a, 0}, 0, "", stateFreed},
		{"calloc", []uint64{3, 16}, a, "", stateLive},
		{"malloc", []uint64{16}, far, "", stateLive}, // takes the byte of a
		{"free", []uint64{a}, 0, "free(0x5000): 2", stateFreed},
		{"free", []uint64{far}, 0, "free(0x20000005000): 2", stateFreed},
	}
	for name, quick := range map[string]bool{"short": true, "long": false} {
		t.Run(name, func(t *testing.T) {
			l := newShortLab(t)
			l.restart(Request{Record: true, WrongFrees: true})
			l.site("free").In.Name = "libc.so.6"
			l.restart(Request{Record: true, WrongFrees: true})
			if !quick {
				l.setState(stEnabled, enabled)
			}
			playBlocks(t, l, steps)
		})
	}
}

// TestBlocksUnsuspected: what hdb does not want to hear of any more is not offered.
func TestBlocksUnsuspected(t *testing.T) {
	l := newShortLab(t)
	r := Request{Record: true, WrongFrees: true}
	r.Unsuspected[UnknownBlock], r.Unsuspected[OtherFamily] = true, true
	l.restart(r)
	playBlocks(t, l, []blockStep{
		{"free", []uint64{0x5000}, 0, "", stateFreed},
		{"free", []uint64{0x5000}, 0, "free(0x5000): 1", stateFreed},
		{"free", []uint64{0x5001}, 0, "", stateFreed},
		{"_Znwm", []uint64{16}, 0x5000, "", stateNew},
		{"free", []uint64{0x5000}, 0, "", stateFreed},
		{"PyObject_Malloc", []uint64{16, 0x7000}, 0x5000, "", stateLive},
		{"PyObject_Free", []uint64{0x5000, 0x7000}, 0, "", stateFreed},
		{"PyObject_Free", []uint64{0x5000, 0x7000}, 0, "", stateFreed}, // its blocks may be in others
	})
}

// TestBlocksGap: the table goes where nothing is, and no byte of it is the place of another's.
func TestBlocksGap(t *testing.T) {
	for _, block := range []uint64{16, 0x555555559000, 0x7ffff7fff000, 0x7fffffffe000, 1<<47 - 16} {
		at, tag := blockIndex(block)
		if back := at<<blockShift | uint64(tag>>tagShift)<<(blocksBits+blockShift); back != block&(1<<46-1) {
			t.Errorf("%#x: byte %#x with tag %#x is %#x", block, at, tag, back)
		}
	}
}
