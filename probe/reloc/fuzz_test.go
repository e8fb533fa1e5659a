package reloc

import (
	"testing"

	"hdb/internal/addr"
)

// FuzzRelocate holds what is accepted against what the doc comments promise.
func FuzzRelocate(f *testing.F) {
	for _, code := range []string{
		"f3 0f 1e fa 55 48 89 e5 c3",
		"48 8b 05 01 02 03 04 c3",
		"e3 10 e3 10 ff 15 00 01 00 00 c3",
		"31 c0 c3 66 66 2e 0f 1f 84 00 00 00 00 00 66 90",
		"c5 f8 77 c4 e3 fd 00 0d 00 01 00 00 1b",
		"62 f1 fe 08 6f 05 00 01 00 00 c3",
		"e8 00 10 00 00 c3", "eb 03 90 90 90 c3", "0f 84 00 01 00 00 c3", "67 e8 00 10 00 00",
	} {
		f.Add(unhex(f, code), uint16(0), int64(1<<20), uint8(5))
		f.Add(unhex(f, code), uint16(len(unhex(f, code))), int64(-1<<20), uint8(5))
	}
	f.Fuzz(func(t *testing.T, code []byte, size uint16, distance int64, need uint8) {
		const from = testFrom
		for covered := range 40 {
			if BranchesInto(code, from, covered) != nil && BranchesInto(code, from, covered+1) == nil {
				t.Fatalf("a branch into %d bytes, but none into %d", covered, covered+1)
			}
		}
		to := from + addr.Run(distance)
		p, err := Relocate(code, int(size), from, to, int(need))
		if err != nil {
			return
		}
		checkPromises(t, code, int(size), int(need), p)
		for _, moved := range []addr.Run{to + 1, from + 100} {
			q, err := Relocate(code, int(size), from, moved, int(need))
			if err == nil && (q.Covered != p.Covered || len(q.Code) != len(p.Code) || len(q.Moves) != len(p.Moves)) {
				t.Fatalf("to %v: %+v, to %v: %+v", to, p, moved, q)
			}
		}
		if q, err := Relocate(code, 0, from, to, int(need)); err == nil && (q.Covered != p.Covered || string(q.Code) != string(p.Code)) {
			t.Fatalf("with size %+v, without %+v", p, q)
		}
		if q, err := Relocate(p.Code, 0, to, from, int(need)); err == nil && q.Covered > len(p.Code) {
			t.Fatalf("moved twice: %+v", q)
		}
	})
}

// checkPromises checks a prologue of code.
func checkPromises(t *testing.T, code []byte, size, need int, p Prologue) {
	t.Helper()
	if p.Covered < need || p.Covered > len(code) || len(p.Code) == 0 {
		t.Fatalf("covers %d of %d bytes with %d, need %d", p.Covered, len(code), len(p.Code), need)
	}
	if need <= 5 && len(p.Code) > MaxCode {
		t.Fatalf("%d bytes: % x", len(p.Code), p.Code)
	}
	if BranchesInto(code[:min(p.Covered, len(code))], testFrom, p.Covered) != nil {
		t.Fatalf("% x branches into itself", code[:p.Covered])
	}
	last := Move{0, 0}
	boundaries := map[int]bool{}
	for n := 0; n < len(p.Code); {
		i, err := decode(p.Code[n:])
		if err != nil {
			t.Fatalf("% x: %v at +%d", p.Code, err, n)
		}
		boundaries[n] = true
		n += len(i.raw)
	}
	for _, m := range p.Moves {
		i, err := decode(code[last.From:])
		if err != nil || last.From+len(i.raw) != m.From || m.From >= p.Covered || m.To <= last.To || !boundaries[m.To] {
			t.Fatalf("% x has become % x, and %v follows %v", code, p.Code, m, last)
		}
		last = m
	}
	i, err := decode(code[last.From:])
	if err != nil {
		t.Fatal(err)
	}
	if end := last.From + len(i.raw); end != p.Covered && i.form != leaves && i.form != jump {
		t.Fatalf("+%d is the end, and %d bytes are covered", end, p.Covered)
	}
	if size > 0 && last.From+len(i.raw) > size {
		t.Fatalf("+%d is the end of %d bytes", last.From+len(i.raw), size)
	}
}

// FuzzBranchesFrom is for panics alone.
func FuzzBranchesFrom(f *testing.F) {
	f.Add(unhex(f, "e9 fe ff fe ff"), int64(0x10000), uint8(5))
	f.Add(unhex(f, "e9"), int64(-5), uint8(0))
	f.Fuzz(func(t *testing.T, code []byte, distance int64, covered uint8) {
		_ = BranchesFrom(code, testFrom+addr.Run(distance), testFrom, int(covered))
	})
}
