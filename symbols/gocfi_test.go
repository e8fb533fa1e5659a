package symbols

import (
	"slices"
	"testing"

	"hdb/testprogs"
	"hdb/unwind"
)

// TestGoCFIWithoutDWARF compares what .gopclntab says of stack frames with what Go's
// linker wrote of the same code in .debug_frame.
func TestGoCFIWithoutDWARF(t *testing.T) {
	table := func(flags ...string) *unwind.Table {
		o, err := Open(testprogs.Build(t, "golang", flags...), Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Close() })
		cfi, err := o.CFI()
		if err != nil {
			t.Fatal(err)
		}
		return cfi
	}
	whole := table()
	for _, flags := range []string{"-ldflags=-s", "-ldflags=-w"} {
		stripped := table(flags)
		rows, differ, first := 0, 0, 0
		for row := range whole.Rows {
			rows++
			got, ok := stripped.RowAt(row.Low)
			if slices.ContainsFunc(stripped.Switches(), func(s unwind.Row) bool { return s.Low <= row.Low && row.Low < s.High }) {
				continue // hdb's own, of neither section
			}
			ra, want := got.Rules[unwind.RA], row.Rules[unwind.RA]
			if ok && ra.Kind == unwind.Undefined { // which the linker does not say
				first++
				ra = want
			}
			if ok && got.CFA.Kind == row.CFA.Kind && got.CFA.Reg == row.CFA.Reg && got.CFA.Offset == row.CFA.Offset && ra.Kind == want.Kind && ra.Offset == want.Offset {
				continue
			}
			if differ++; differ < 10 {
				t.Errorf("%s: at %v: %+v %+v, want %+v %+v", flags, row.Low, got.CFA, got.Rules[unwind.RA], row.CFA, row.Rules[unwind.RA])
			}
		}
		if rows < 1000 || differ > 0 || first == 0 || first > rows/100 {
			t.Errorf("%s: %d of %d rows differ, %d are of first functions", flags, differ, rows, first)
		}
	}
}
