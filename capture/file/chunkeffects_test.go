package file

import "testing"

// What a madeBlock has no room for is kept apart.
func TestOddBlocks(t *testing.T) {
	type block struct {
		addr, size        uint64
		stack, op, thread int
	}
	blocks := []block{
		{0x7f0000001230, 48, 3, 2, 1},
		{1<<addrBits - 1, 1<<32 - 1, oddStack - 1, 1<<16 - 1, 1<<16 - 1},
		{1 << addrBits, 1, 1, 1<<16 - 1, 1<<16 - 1},
		{1<<64 - 1, 1<<64 - 1, 1 << 16, 0, 0},
		{16, 1 << 32, 0, 5, 6},
		{32, 8, oddStack, 7, 8},
	}
	o := chunkEffects{made: make([]madeBlock, len(blocks))}
	for i, b := range blocks {
		o.put(i, b.addr, b.size, uint32(b.stack), b.op, b.thread)
	}
	for i, want := range blocks {
		m := &o.made[i]
		addr, size, stack := o.block(m)
		if got := (block{addr, size, int(stack), int(m.where >> addrBits), int(m.thread)}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if len(o.odd) != 4 {
		t.Errorf("%d blocks apart", len(o.odd))
	}
}
