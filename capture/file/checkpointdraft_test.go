package file

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
)

// Whatever blocks live on in what chunks, and whenever those that ended are dropped: all
// that live are written.
func TestCheckpointDraft(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 6))
		gaps, odd := seed%2 == 1, seed < 4
		var c checkpointDraft
		for base := uint64(100); base < 103; base++ { // in the memory of the one before
			c.begin(base)
			c.after = 1 << 30
			want, seq := []capture.Held{}, base+1
			for range 20 {
				o := chunkEffects{made: make([]madeBlock, 1024), ops: []shape{{fn: 3}, {kind: capture.Realloc}}, sums: []capture.ThreadSum{{TID: 7}, {TID: -1}}, stacks: []capture.StackID{0, 9, 1<<32 - 1}}
				o.live.reset(len(o.made))
				head := eventHead{first: seq}
				for i := range o.made {
					if gaps {
						seq += uint64(rng.IntN(3))
						o.seqs = append(o.seqs, seq)
					}
					head.last = seq
					addr, size := rng.Uint64()>>rng.IntN(60), rng.Uint64()>>rng.IntN(64)
					if !odd {
						addr, size = addr>>16, size>>32
					}
					stack, op, thread := rng.Uint32N(3), rng.IntN(2), rng.IntN(2)
					o.put(i, addr, size, stack, op, thread)
					if rng.IntN(4) > 0 {
						o.live.add(i)
						want = append(want, capture.Held{Seq: seq, Addr: addr, Size: size, Stack: o.stacks[stack], TID: o.sums[thread].TID, Func: o.ops[op].fn, Kind: o.ops[op].kind})
					}
					seq++
				}
				head.count = len(o.made)
				c.survivors(&head, &o)
				for range rng.IntN(1200) {
					if len(want) == 0 {
						break
					}
					i := rng.IntN(len(want))
					k := min(i+1+rng.IntN(4), len(want))
					var ended []uint64
					for _, b := range want[i:k] {
						ended = append(ended, b.Seq)
					}
					rng.Shuffle(len(ended), func(i, k int) { ended[i], ended[k] = ended[k], ended[i] })
					for left := ended; len(left) > 0; {
						n := c.end(left)
						if n == 0 || c.end(left) != 0 {
							t.Fatalf("seed %d: the block of #%d ends never or twice", seed, left[0])
						}
						left = left[n:]
					}
					want = slices.Delete(want, i, k)
				}
				if c.alive != len(want) {
					t.Fatalf("seed %d: %d blocks, want %d", seed, c.alive, len(want))
				}
				if rng.IntN(3) == 0 {
					if c.compact(); c.count != c.alive {
						t.Fatalf("seed %d: %d blocks kept of %d", seed, c.count, c.alive)
					}
				}
			}
			var u unpacker
			s, err := u.sections(c.append(nil, new(packer)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := parseCheckpoint(s)
			if err != nil || !slices.Equal(got.blocks, want) {
				t.Fatalf("seed %d: %v; %d blocks, want %d", seed, err, len(got.blocks), len(want))
			}
		}
	}
}

// Numbers are told in their order, each once, however many and how far apart.
func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct{ low, count, most uint64 }{
		"none":       {0, 0, 1},
		"one":        {1<<40 + 7, 1, 1},
		"near":       {1 << 33, 30_000, 50_000},
		"far":        {5, 500, 1 << 31},
		"both sides": {1<<32 - 1000, 20_000, 2000},
	} {
		var n numbers
		for seed := range uint64(2) { // also in the memory of the ones before
			rng := rand.New(rand.NewPCG(seed, 7))
			n.reset()
			var want []uint64
			for range c.count {
				want = append(want, c.low+rng.Uint64N(c.most))
			}
			half := len(want) / 2
			for _, seq := range want[:half] {
				n.add(seq)
			}
			rest := append(slices.Clone(want[half:]), c.low+c.most, c.low)
			if took := n.take(rest, c.low+c.most-1); took != len(rest)-2 || n.count != len(want) {
				t.Fatalf("%s: %d numbers taken, want %d", name, took, len(rest)-2)
			}
			slices.Sort(want)
			want = slices.Compact(want)
			var got []uint64
			e := cursor{name: name, b: n.append(nil)}
			for before := uint64(0); len(e.b) > 0; {
				before += e.uvarint()
				got = append(got, before)
			}
			if !slices.Equal(got, want) || e.err != nil {
				t.Errorf("%s: %v; %d numbers, want %d", name, e.err, len(got), len(want))
			}
		}
	}
}
