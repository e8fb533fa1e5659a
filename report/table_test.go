package report

import (
	"slices"
	"strings"
	"testing"
)

// The functions' own numbers add up to the profile, and no total is above it.
func TestFunctions(t *testing.T) {
	for _, p := range []*Profile{{}, sampleProfile("a.c"), hugeProfile(300), deepProfile(50, 30)} {
		var own Numbers
		total := p.Total()
		for _, r := range p.Functions() {
			own.Add(r.Own)
			for m := range numMeasures {
				if m.Of(r.Own) > m.Of(r.Total) || m.Of(r.Total) > m.Of(total) {
					t.Errorf("%s: %s: own %d, total %d of %d", r.Function, m, m.Of(r.Own), m.Of(r.Total), m.Of(total))
				}
			}
		}
		if own != total {
			t.Errorf("%s: own numbers add up to %+v, want %+v", p.Title, own, total)
		}
	}
	rows := sampleProfile("a.c").Sorted(Bytes)
	if r := rows[0]; r.Function != "keep" || r.Own.Bytes != 10500 || r.Library {
		t.Errorf("most has %+v", r)
	}
	if i := slices.IndexFunc(rows, func(r *Row) bool { return r.Function == "main" }); rows[i].Line != 9 || rows[i].Total.Bytes != 10900 {
		t.Errorf("main is %+v", rows[i])
	}
}

func TestTableText(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, sampleProfile("/src/a.c"), Options{Measure: Allocs}, 3); err != nil {
		t.Fatal(err)
	}
	want := `prog --flag
own and total by count: blocks allocated; of all: 21

  own          total             live     bytes  temporary  function
   15  71.4 %     15  71.4 %  1.3 KiB  10.3 KiB          3  keep  a.c:5
    4  19.0 %      4  19.0 %    200 B     400 B          1  0x7f0000001234  [libc.so.6]
    1   4.8 %      1   4.8 %      0 B       7 B          0  [no stack was recorded]

3 of 7 functions

2 calls are missing from the recording: counts are too low, live and peak are uncertain
`
	if got := b.String(); got != want {
		t.Errorf("%s", got)
	}
}
