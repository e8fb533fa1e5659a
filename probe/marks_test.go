package probe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// markedLab is a lab whose blocks are marked.
func markedLab(t *testing.T, specs ...string) *lab {
	l := newLab(t, Request{})
	r := stopsAt(t, specs...)
	r.Record, r.marks = true, l.remote.file+fileMarks
	l.restart(r)
	return l
}

// Only frees of blocks for whose sizes a condition may hold end at a trap, whoever made
// them and whatever was at their addresses before.
func TestMarks(t *testing.T) {
	play := func(l *lab, th *labThread) {
		made := func(block uint64) func(symbol string, args ...uint64) {
			return func(symbol string, args ...uint64) {
				th.call(here, symbol, args...)
				th.ret(block)
			}
		}
		frees := func(symbol string, args ...uint64) {
			th.call(here, symbol, args...)
			th.ret(0)
		}
		made(0x5000)("malloc", 48)
		made(0x6000)("malloc", 49)
		made(0x7000)("calloc", 4, 12)
		made(0x8000)("aligned_alloc", 64, 100)
		frees("free", 0x6000)
		frees("free", 0x5000)
		made(0x5000)("malloc", 20)
		frees("free", 0x5000) // no more
		made(0x8000)("realloc", 0x8000, 48)
		frees("free", 0x8000)
		frees("free", 0x7000)
		frees("free", 0x9000)        // nobody knows it
		frees("_ZdlPvm", 0xa000, 48) // but of this it is said
		frees("_ZdlPvm", 0xb000, 20)
		made(0xc000)("malloc", 0)
		frees("free", 0xc000)
	}
	for _, c := range []struct {
		specs []string
		want  []string
	}{
		{[]string{"free if size == 48"}, []string{"free(0x5000)", "free(0x8000)", "free(0x7000)", "operator delete(0xa000, 48)"}},
		{[]string{"free if size >= 48 && addr > 0x7000"}, []string{"free(0x8000)", "operator delete(0xa000, 48)"}},
		{[]string{"free if !(size < 49)"}, []string{"free(0x6000)"}},
		{[]string{"free if size == 20 || addr == 0x9000", "free if size == 49"},
			[]string{"free(0x6000)", "free(0x5000)", "free(0x9000)", "operator delete(0xb000, 20)"}},
		{[]string{"free if size == 48", "free if addr == 0x9000"},
			[]string{"free(0x5000)", "free(0x8000)", "free(0x7000)", "free(0x9000)", "operator delete(0xa000, 48)"}},
		{[]string{"free if size == 0"}, []string{"free(0xc000)"}},
		{[]string{"free if size < 48"}, []string{"free(0x5000)", "operator delete(0xb000, 20)", "free(0xc000)"}},
		{[]string{"free if !(size >= 48)"}, []string{"free(0x5000)", "operator delete(0xb000, 20)", "free(0xc000)"}},
		{[]string{"alloc if size == 49", "free if size > 1000"}, []string{"malloc(49) = 0x6000"}},
	} {
		t.Run(fmt.Sprint(c.specs), func(t *testing.T) {
			l := markedLab(t, c.specs...)
			play(l, l.thread(1))
			if !slices.Equal(l.stops, c.want) {
				t.Errorf("stops %q\nwant %q", l.stops, c.want)
			}
		})
	}
}

// Blocks that share a word are all taken for marked once two were.
func TestMarksShared(t *testing.T) {
	l := markedLab(t, "free if size == 48")
	index := func(block uint64) uint32 { return uint32(block>>4) * markHash >> (32 - markBits) }
	blocks := []uint64{0x5000}
	for b := uint64(0x5010); len(blocks) < 3; b += 16 {
		if index(b) == index(0x5000) {
			blocks = append(blocks, b)
		}
	}
	word := func() uint64 { return binary.LittleEndian.Uint64(l.shared.file[fileMarks+8*int(index(0x5000)):]) }
	th := l.thread(1)
	for _, c := range []struct{ block, size, want uint64 }{
		{blocks[0], 20, 0}, {blocks[0], 48, blocks[0]}, {blocks[1], 20, blocks[0]}, {blocks[0], 48, blocks[0]}, {blocks[0], 20, 0},
		{blocks[1], 48, blocks[1]}, {blocks[0], 48, several}, {blocks[0], 20, several}, {blocks[2], 48, several},
	} {
		th.call(here, "malloc", c.size)
		th.ret(c.block)
		if got := word(); got != c.want {
			t.Errorf("%#x of %d bytes: %#x, want %#x", c.block, c.size, got, c.want)
		}
	}
	clear(l.shared.file[fileMarks:fileRules])
	for i, want := range []uint64{blocks[0], several} { // from outside
		if l.markBlock(blocks[i]); word() != want {
			t.Errorf("%#x: %#x, want %#x", blocks[i], word(), want)
		}
	}
	th.call(here, "free", blocks[2])
	th.ret(0)
	if want := []string{fmt.Sprintf("free(%#x)", blocks[2])}; !slices.Equal(l.stops, want) {
		t.Errorf("stops %q, want %q", l.stops, want)
	}
}

// What a size says of a condition.
func TestSizeMay(t *testing.T) {
	for _, c := range []struct {
		spec string
		may  []uint64
	}{
		{"free if size == 5", []uint64{5}}, {"free if size > 4 && size <= 6", []uint64{5, 6}}, {"free if !(size < 7 || size == 8)", []uint64{7, 9}},
		{`free if size == 3 && func("f")`, []uint64{3}}, {`free if !(size != 3 || func("f"))`, []uint64{3}},
		{"free if size == 1 || size == 9", []uint64{1, 9}}, {"free if size == 1 || addr == 9", []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		n := stopsAt(t, c.spec).Stops[0].Cond.Root()
		var may []uint64
		for size := range uint64(10) {
			if sizeMay(n, size, true) {
				may = append(may, size)
			}
		}
		if !slices.Equal(may, c.may) {
			t.Errorf("%s: %d, want %d", c.spec, may, c.may)
		}
	}
}
