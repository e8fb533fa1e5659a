package main

import (
	"math"
	"slices"
)

// series is one number for each round, in their order.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}

// least is the series of its least number alone.
func (s series) least() series {
	if len(s) == 0 {
		return nil
	}
	return series{slices.Min(s)}
}

// spread is half the way from the least to the greatest.
func (s series) spread() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return (slices.Max(s) - slices.Min(s)) / 2
}

// each combines series round by round: a machine that was slow in one round
// was so for both. Without any it is empty.
func each(f func(v []float64) float64, all ...series) series {
	var out series
	for i := range all[0] {
		v := make([]float64, len(all))
		for k, s := range all {
			if i >= len(s) {
				return out
			}
			v[k] = s[i]
		}
		out = append(out, f(v))
	}
	return out
}

func minus(a, b series) series {
	return each(func(v []float64) float64 { return v[0] - v[1] }, a, b)
}

func over(a, b series) series {
	return each(func(v []float64) float64 { return v[0] / v[1] }, a, b)
}

func mean(a, b series) series {
	return each(func(v []float64) float64 { return (v[0] + v[1]) / 2 }, a, b)
}

func (s series) scale(by float64) series {
	return each(func(v []float64) float64 { return v[0] * by }, s)
}

// sample is what one run of one variant gives; what it does not is 0.
type sample struct {
	cpu   float64 // s, of all processes
	wall  float64 // s
	own   float64 // what the program printed of itself
	bytes float64 // written
}

func cpu(s sample) float64     { return s.cpu }
func own(s sample) float64     { return s.own }
func written(s sample) float64 { return s.bytes }

// variant is one way of doing the same work.
type variant struct {
	name string
	run  func() (sample, error)
}

// result holds the samples of each variant, and the error of those that
// failed: these have no samples.
type result struct {
	samples map[string][]sample
	failed  map[string]error
}

func (r result) series(name string, pick func(sample) float64) series {
	var s series
	for _, v := range r.samples[name] {
		s = append(s, pick(v))
	}
	return s
}

// interleave runs each variant once a round, each round beginning with another
// one. What fails once is not tried again.
func interleave(rounds int, variants []variant) result {
	r := result{map[string][]sample{}, map[string]error{}}
	for round := range rounds {
		for i := range variants {
			v := variants[(i+round)%len(variants)]
			if r.failed[v.name] != nil {
				continue
			}
			s, err := v.run()
			if err != nil {
				r.failed[v.name] = err
				delete(r.samples, v.name)
				continue
			}
			r.samples[v.name] = append(r.samples[v.name], s)
		}
	}
	return r
}
