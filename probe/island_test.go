package probe

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
)

func mapping(low, high addr.Run) inferior.Mapping { return inferior.Mapping{Low: low, High: high} }

func TestGaps(t *testing.T) {
	const (
		mib, gib = 1 << 20, 1 << 30
		exe      = addr.Run(0x555555554000)
		lib      = addr.Run(0x7ffff7d00000)
	)
	for _, c := range []struct {
		name      string
		maps      []inferior.Mapping
		low, high addr.Run
		want      []addr.Run
	}{
		{"below, a GiB aside first, then above", []inferior.Mapping{mapping(exe, exe+mib)}, exe, exe + mib,
			[]addr.Run{exe - mib - gib, exe - mib, exe + mib}},
		{"no room for a GiB aside", []inferior.Mapping{mapping(exe-gib, exe-2*mib), mapping(exe, exe+mib)}, exe, exe + mib,
			[]addr.Run{exe - mib, exe - gib - mib, exe + mib}},
		{"the nearest hole is too small", []inferior.Mapping{mapping(lib-16*mib, lib-mib+4096), mapping(lib, lib+2*mib)}, lib, lib + 2*mib,
			[]addr.Run{lib - 17*mib - gib, lib - 17*mib, lib + 2*mib}},
		{"only above", []inferior.Mapping{mapping(exe-4*gib, exe+mib), mapping(exe+8*mib, exe+9*mib)}, exe, exe + mib,
			[]addr.Run{exe + mib, exe + 9*mib}},
		{"nothing near", []inferior.Mapping{mapping(exe-4*gib, exe+4*gib)}, exe, exe + mib, nil},
		{"a module that is itself too large", []inferior.Mapping{mapping(exe, exe+2*gib)}, exe, exe + 2*gib, nil},
		{"at the bottom", []inferior.Mapping{mapping(0x400000, 0x500000)}, 0x400000, 0x500000, []addr.Run{0x300000, 0x500000}},
	} {
		if got := gaps(c.maps, c.low, c.high); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Every place is free, on a page, and within reach from anywhere to anywhere.
func TestGapsAreFree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		var maps []inferior.Mapping
		at := addr.Run(0x10000 + r.Uint64N(1<<33)&^0xfff)
		for range 1 + r.IntN(20) {
			size := addr.Run(1+r.Uint64N(1<<uint(r.IntN(20)))) << 12
			maps = append(maps, mapping(at, at+size))
			at += size + addr.Run(r.Uint64N(1<<uint(r.IntN(21))))<<12
		}
		m := maps[r.IntN(len(maps))]
		for _, g := range gaps(slices.Clone(maps), m.Low, m.High) {
			found++
			if g&0xfff != 0 {
				t.Fatalf("%v is not on a page", g)
			}
			for _, x := range maps {
				if g < x.High && x.Low < g+islandSize {
					t.Fatalf("%v overlaps %v-%v", g, x.Low, x.High)
				}
			}
			for _, from := range []addr.Run{g, g + islandSize} {
				for _, to := range []addr.Run{m.Low, m.High} {
					if d := int64(to) - int64(from); d >= 1<<31-16 || d <= -1<<31+16 {
						t.Fatalf("from %v to %v are %#x", from, to, d)
					}
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d places", found)
	}
}

func TestNear(t *testing.T) {
	const far = addr.Run(0x7f0000000000)
	for _, c := range []struct {
		base, low, high addr.Run
		want            bool
	}{
		{far, far + 1<<30, far + 1<<30 + 1<<20, true},
		{far, far + 1<<31 - 1<<22, far + 1<<31 - 1<<21, true},
		{far, far + 1<<30, far + 1<<31 + 1, false},
		{far, far - 1<<30, far - 1<<29, true},
		{far, far - 1<<31, far - 1<<30, false},
	} {
		if got := (&island{base: c.base}).near(c.low, c.high); got != c.want {
			t.Errorf("island at %v near [%v, %v): %v", c.base, c.low, c.high, got)
		}
	}
}

// What hdb's own unwinder is told of an island is what the walker is told.
func TestIslandUnwinding(t *testing.T) {
	rules := cfi.NewRules()
	i := &island{base: 0x700000000000}
	for n, r := range []cfi.Rule{
		frameRow{cfa: 8}.rule(), frameRow{cfa: 16}.rule(), frameRow{cfa: 8}.rule(), cfi.NewRule(cfi.NoCFI, 0, 0, 0, 0),
		cfi.NewRule(cfi.SP, 24, cfi.RBPAtCFA, -2, 0), cfi.NewRule(cfi.BP, 16, 0, 0, 0), frameRow{cfa: 32, bp: -2, bx: -3}.rule(),
	} {
		at, err := i.take(16)
		if err != nil {
			t.Fatal(err)
		}
		if n == 2 || n == 3 { // of two at an address the second holds
			i.note(at+addr.Run(n%2), rules.ID(frameRow{cfa: 48}.rule()))
		}
		i.note(at+addr.Run(n%2), rules.ID(r))
	}
	table, err := i.unwinding(rules.List())
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []int64{8, 16, 8, 0, 24, 0, 32} {
		row, ok := table.RowAt(addr.File(i.base) + addr.File(16*n+n%2+3))
		if ok != (want != 0) || ok && (row.CFA.Offset != want || row.CFA.Reg != dwRSP) {
			t.Errorf("piece %d: %+v, %v, want rsp+%d", n, row.CFA, ok, want)
		}
	}
	if row, _ := table.RowAt(addr.File(i.base) + 100); row.Rules[dwRBP].Offset != -16 || row.Rules[dwRBX].Offset != -24 {
		t.Errorf("saved registers: %+v", row.Rules)
	}
}

func TestIslandRows(t *testing.T) {
	i := &island{base: 0x700000000000}
	if tab := i.table(); !slices.Equal(tab.Offs, []uint32{0}) || !slices.Equal(tab.IDs, []uint16{cfi.NoCFIID}) {
		t.Errorf("empty: %+v", tab)
	}
	first, err := i.take(33)
	if err != nil || first != i.base {
		t.Fatal(first, err)
	}
	second, err := i.take(7)
	if err != nil || second != i.base+48 {
		t.Fatal(second, err)
	}
	i.note(first, 10)
	i.note(first+5, 10)
	i.note(first+8, 11)
	i.note(second, 11)
	i.note(second+7, cfi.NoCFIID)
	tab := i.table()
	if !slices.Equal(tab.Offs, []uint32{0, 8, 55}) || !slices.Equal(tab.IDs, []uint16{10, 11, cfi.NoCFIID}) {
		t.Errorf("%+v", tab)
	}
	if !i.covers(i.base) || !i.covers(i.base+islandSize-1) || i.covers(i.base-1) || i.covers(i.base+islandSize) {
		t.Error("covers is wrong")
	}
	if _, err := i.take(islandSize); err == nil {
		t.Error("took more than there is")
	}
	if _, err := i.take(islandSize - 64); err != nil {
		t.Error(err)
	}
}
