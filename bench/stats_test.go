package main

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		s              series
		median, spread float64
	}{
		{series{3}, 3, 0},
		{series{9, 1, 2}, 2, 4},
		{series{4, 1, 2, 9}, 3, 4},
	} {
		if m, d := c.s.median(), c.s.spread(); m != c.median || d != c.spread {
			t.Errorf("%v: median %v spread %v, want %v and %v", c.s, m, d, c.median, c.spread)
		}
	}
	if m := (series{}).median(); !math.IsNaN(m) {
		t.Errorf("the median of nothing is %v", m)
	}
	native, ours, theirs := series{1, 2}, series{1.5, 3}, series{3, 6}
	if got := over(minus(ours, native), minus(theirs, native)); !slices.Equal(got, series{0.25, 0.25}) {
		t.Errorf("ratios %v", got)
	}
	if got := minus(ours, series{}); len(got) != 0 {
		t.Errorf("with a side that was not measured: %v", got)
	}
}

// TestMedianOfRows takes the row in the middle, not the middle of each round.
func TestMedianOfRows(t *testing.T) {
	rowOf := func(s ...float64) row { return row{Figure: quantity{Series: s}} }
	rows := []row{rowOf(7, 8, 9), rowOf(4, 1, 1), rowOf(2, 5, 3), rowOf(2, 2, 6), rowOf(9, 9, 9)}
	if m := medianOf(rows, 5, nil); !slices.Equal(m.Figure.Series, series{2, 5, 3}) || m.Partial {
		t.Errorf("of five: %v, partial %v", m.Figure.Series, m.Partial)
	}
	if m := medianOf(rows[:4], 5, nil); !slices.Equal(m.Figure.Series, series{2, 3.5, 4.5}) || !m.Partial {
		t.Errorf("of four: %v, partial %v", m.Figure.Series, m.Partial)
	}
	if m := medianOf([]row{{}}, 5, nil); len(m.Figure.Series) != 0 || !m.Partial {
		t.Errorf("of none: %v, partial %v", m.Figure.Series, m.Partial)
	}
}

// TestInterleave has variants take turns at being the first, and drops the one
// that fails.
func TestInterleave(t *testing.T) {
	var order []string
	v := func(name string, fails bool) variant {
		return variant{name, func() (sample, error) {
			order = append(order, name)
			if fails {
				return sample{}, errors.New("broken")
			}
			return sample{own: float64(len(order))}, nil
		}}
	}
	r := interleave(2, []variant{v("a", false), v("b", true), v("c", false)})
	if want := []string{"a", "b", "c", "c", "a"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if r.failed["b"] == nil || len(r.series("b", own)) != 0 {
		t.Errorf("b: %v %v", r.failed["b"], r.samples["b"])
	}
	if got := r.series("a", own); !slices.Equal(got, series{1, 5}) {
		t.Errorf("a: %v", got)
	}
}
