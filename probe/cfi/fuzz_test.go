package cfi

import (
	"math/rand/v2"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"
)

// FuzzCompile compiles foreign bytes over foreign code. The table has the shape that
// the walker relies on, and says what RowAt says.
func FuzzCompile(f *testing.F) {
	s := ehFrame(fde{0x1010, 16, false, asm(cfaAdvanceLoc|4, cfaDefCFAOffset, 16, cfaAdvanceLoc|4, pltCFA(11))},
		fde{0x1020, 9, true, kernelFrame()}, fde{0x1018, 64, false, asm(cfaExpression, unwind.RBX, expr(opBreg6, 0))})
	debug := debugFrame(fde{0x1000, 0x80, false, asm(cfaUndefined, unwind.RA)})
	f.Add(s.EhFrame, debug, text(piece{0x1000, lazyPLT}, piece{0x1060, trampoline}), uint16(0x20), uint16(0x40), uint16(0x80))
	f.Add(debug, s.EhFrame, trampoline, uint16(0), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, eh, debug, code []byte, entry, plt, pltSize uint16) {
		const low, high = 0x1000, 0x1400
		cfi, err := unwind.NewTable(unwind.Sections{EhFrame: eh, EhFrameAddr: 0x100000, DebugFrame: debug, Entry: low + addr.File(entry),
			PLT: []unwind.Range{{Low: low + addr.File(plt), High: low + addr.File(plt) + addr.File(pltSize)}}})
		if err != nil {
			return
		}
		rules := NewRules()
		table, err := Compile(cfi, low, high, pieces{{low, code}}, rules)
		if err != nil {
			t.Fatal(err)
		}
		checkShape(t, table)
		list := rules.List()
		nested := len(eh)/24+len(debug)/20 > 64 // deeper than Rows follows it, perhaps
		r := rand.New(rand.NewPCG(1, 2))
		w := newWorld(t, cfi, table, high, pieces{{low, code}}, rules)
		last, want := unwind.Row{}, ""
		for a := addr.File(low); a < high && !nested; a++ {
			row, ok := cfi.RowAt(a)
			if !ok {
				continue
			}
			if row.Low != last.Low || row.High != last.High || want == "" {
				last, want = row, expectRule(&row)
			}
			got := list[table.At(a)]
			stands := false // the last byte of a function for the trampoline behind it
			if a == row.Function.High-1 && got.String() != want {
				behind, ok := cfi.RowAt(a + 1)
				stands = got == Rule(Signal) || ok && behind.Signal && got.String() == expectRule(&behind)
			}
			if got.String() != want && !stands {
				t.Errorf("%v: %v, want %s", a, got, want)
			}
			if a%64 == 0 && !stands && tame(&row) {
				if diff := w.disagreement(w.random(r, a)); diff != "" {
					t.Errorf("PC %v: %s", a, diff)
				}
			}
		}
	})
}

// tame reports whether no expression of a row can loop, which the walker does a while,
// and none is in the way of finding out that there is no caller.
func tame(row *unwind.Row) bool {
	for _, rule := range append(row.Rules[:], row.CFA) {
		if len(rule.Expr) > 12 {
			return false
		}
	}
	return row.CFA.Kind == unwind.Register || row.Rules[unwind.RA].Kind != unwind.Undefined
}
