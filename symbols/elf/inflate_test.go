package elf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// samples are contents of all kinds, some larger than the window.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	self, err := os.ReadFile("inflate.go")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 200<<10)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	few := make([]byte, 300<<10) // long codes: frequencies like Fibonacci numbers
	for i := range few {
		few[i] = byte(min(40, r.Uint32N(1<<31)>>1&0x7fffffff|1<<30>>r.Uint32N(31)) % 41)
	}
	skewed := make([]byte, 300<<10)
	for i := range skewed {
		for r.Uint32N(2) == 0 && skewed[i] < 60 {
			skewed[i]++
		}
	}
	all := map[string][]byte{
		"nothing": nil, "one byte": {7}, "a run": bytes.Repeat([]byte{9}, 100000), "source": bytes.Repeat(self, 20),
		"random": random, "few": few, "skewed": skewed,
	}
	for d := 1; d < 20; d++ {
		all[fmt.Sprintf("period %d", d)] = bytes.Repeat(random[:d], 5000/d)
	}
	return all
}

func deflate(t testing.TB, b []byte, level int) []byte {
	t.Helper()
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

func TestInflate(t *testing.T) {
	for name, want := range samples(t) {
		for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
			z := deflate(t, want, level)
			got := make([]byte, len(want))
			if err := inflateZlib(got, z); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s at level %d: %v", name, level, err)
			}
			if inflateZlib(make([]byte, len(want)+1), z) == nil {
				t.Errorf("%s at level %d: a byte too many", name, level)
			}
			if len(want) > 0 && inflateZlib(make([]byte, len(want)-1), z) == nil {
				t.Errorf("%s at level %d: a byte too few", name, level)
			}
			if inflateZlib(got, z[:len(z)-1]) == nil {
				t.Errorf("%s at level %d: cut", name, level)
			}
		}
	}
}

// TestInflateFixed: the fixed codes, which compressors take for short contents, with all
// lengths and distances.
func TestInflateFixed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		want := make([]byte, r.IntN(60))
		for i := range want {
			want[i] = byte('a' + r.IntN(3))
		}
		got := make([]byte, len(want))
		if err := inflateZlib(got, deflate(t, want, 9)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %v", want, err)
		}
	}
	// Symbols 286 and 287, and distances 30 and 31, have codes that must not occur.
	for _, bad := range [][]byte{{0x1b, 0x03, 0, 0, 0}, {0x03, 0x1e, 0, 0, 0}} {
		if inflateZlib(make([]byte, 1000), append([]byte{0x78, 0x9c}, bad...)) == nil {
			t.Errorf("% x was taken", bad)
		}
	}
}

// TestInflateFixedAgain: the fixed code's tables are the same whatever block was before.
func TestInflateFixedAgain(t *testing.T) {
	var fresh, used inflater
	for i := range used.lit {
		used.lit[i] = entLiteral | 9
	}
	for i := range used.dist {
		used.dist[i] = entBase | 9
	}
	if !fresh.fixed() || !used.fixed() {
		t.Fatal("no tables")
	}
	if [1 << litBits]uint32(used.lit[:]) != [1 << litBits]uint32(fresh.lit[:]) || [1 << distBits]uint32(used.dist[:]) != [1 << distBits]uint32(fresh.dist[:]) {
		t.Error("entries of the block before stay")
	}
}

func TestInflateDamage(t *testing.T) {
	source := samples(t)["source"][:40000]
	z := deflate(t, source, 6)
	out := make([]byte, len(source))
	for i := range z {
		for _, bit := range []byte{1, 0x10, 0x80} {
			z[i] ^= bit
			if inflateZlib(out, z) == nil && !bytes.Equal(out, source) { // some bits say nothing
				t.Errorf("byte %d ^ %#x was not noticed", i, bit)
			}
			z[i] ^= bit
		}
	}
	for n := range z {
		if inflateZlib(out, z[:n]) == nil {
			t.Errorf("cut after %d bytes", n)
		}
	}
}

// FuzzInflate: what is taken is what the library's reader makes of it.
func FuzzInflate(f *testing.F) {
	for _, b := range samples(f) {
		if len(b) < 10000 {
			f.Add(deflate(f, b, 6)[2:], len(b))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		// The checksum is put right, so that damage before it shows.
		z := append([]byte{0x78, 0x9c}, body...)
		want := make([]byte, size)
		d := inflater{in: z, pos: 2, out: want}
		for last := false; !last; {
			d.refill()
			last = d.take(1) != 0
			ok := false
			switch d.take(2) {
			case 0:
				ok = d.stored()
			case 1:
				ok = d.fixed() && d.block()
			case 2:
				ok = d.dynamic() && d.block()
			}
			if !ok || d.short {
				return
			}
		}
		if d.at != size {
			return
		}
		z = binary.BigEndian.AppendUint32(z[:d.pos-int(d.n/8)], adler32.Checksum(want))
		r, err := zlib.NewReader(bytes.NewReader(z))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("the library says %v, and %d bytes, not %d", err, len(got), len(want))
		}
		if err := inflateZlib(want, z); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	for name, want := range samples(b) {
		if len(want) < 100000 {
			continue
		}
		z := deflate(b, want, 6)
		out := make([]byte, len(want))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(want)))
			for b.Loop() {
				if err := inflateZlib(out, z); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
