package report

import (
	"fmt"
	"slices"

	"hdb/internal/units"
)

// An Earlier is another recording of the program, which the one that is checked must not be worse than.
type Earlier struct {
	Name      string // of the file
	Profile   *Profile
	Tolerance float64 // the share by which numbers may be higher
}

// allowed is what a number may be that the earlier recording has.
func (e *Earlier) allowed(n uint64) uint64 { return n + uint64(float64(n)*e.Tolerance) }

// flag is how the share that is allowed is asked for.
func (e *Earlier) flag() string { return fmt.Sprintf("--tolerance %.4g%%", 100*e.Tolerance) }

// Related reports whether a profile has a stack in common with the earlier one, or either has none: else they are hardly of one program.
func (e *Earlier) Related(p *Profile) bool {
	find := func(p *Profile) []finding {
		return p.Counted().gather(func(_ int, st *Stack) (uint64, uint64) { return st.Bytes, st.Allocs }, false)
	}
	mine, theirs := find(p), map[string]bool{}
	for _, f := range find(e.Profile) {
		theirs[f.fingerprint] = true
	}
	return len(mine) == 0 || len(theirs) == 0 || slices.ContainsFunc(mine, func(f finding) bool { return theirs[f.fingerprint] })
}

// checkAgainst holds a profile against an earlier one: the peak, and what is live at the end. Both show the stacks that have
// more than before. Stacks are the same if their functions are, so that lines may have moved. What is not counted as a leak does
// not count here.
func checkAgainst(p *Profile, l *Limits) []Verdict {
	e := l.Against
	now, before := p.PeakBytes(), e.Profile.PeakBytes()
	peak := Verdict{Name: "against-peak", rule: "against-peak", unit: "bytes", Held: now <= e.allowed(before)}
	peak.Text = fmt.Sprintf("%s live at once, %s in %s (%s)", p.Units.Long(now), p.Units.Long(before), e.Name, e.flag())
	peak.decide(p, l, liveBytes, now, e.allowed(before))
	if peak.Failed() {
		peak.grown(p.Counted(), e, 0, func(p *Profile) []finding {
			return p.Counted().gather(func(_ int, st *Stack) (uint64, uint64) { return st.Peak, st.PeakBlocks }, false)
		})
	}
	return []Verdict{peak, p.leftMore(l)}
}

// grown has a verdict have the stacks with more than in the earlier recording, and reports how many of them are new. A stack may
// have more by a share of all stacks, as long as all together do not: a few blocks more or less in a large program are no change.
func (v *Verdict) grown(p *Profile, e *Earlier, share float64, find func(*Profile) []finding) (added int) {
	before, all, now := map[string]uint64{}, uint64(0), uint64(0)
	for _, f := range find(e.Profile) {
		before[f.fingerprint] = f.weight
		all += f.weight
	}
	found := find(p)
	for _, f := range found {
		now += f.weight
	}
	slack := uint64(float64(all) * share)
	if now > all+slack {
		slack = 0
	}
	v.value = 0
	for _, f := range found {
		was, known := before[f.fingerprint]
		if f.weight <= was+slack {
			continue
		}
		if !known {
			added++
		}
		f.weight, f.blocks, f.mapped, f.stacks = f.weight-was, 0, 0, 1
		v.value += f.weight
		v.places = append(v.places, f)
	}
	sortFindings(v.places)
	return added
}

// leftMore is the verdict on what is live at the end.
func (p *Profile) leftMore(l *Limits) Verdict {
	e := l.Against
	v := Verdict{Name: "against-leaks", rule: "leak", unit: "bytes"}
	added := v.grown(p, e, e.Tolerance, func(p *Profile) []finding {
		k := p.remaining(l, p.collected())
		return p.gather(func(i int, st *Stack) (uint64, uint64) {
			if !k.counts[i] {
				return 0, 0
			}
			return st.Live, st.LiveBlocks
		}, false)
	})
	v.Held = len(v.places) == 0
	v.Text = fmt.Sprintf("no stack leaves more at the end than in %s, beyond %s", e.Name, e.flag())
	if !v.Held {
		v.Text = fmt.Sprintf("%s more live at the end than in %s (%s), from %s", p.Units.Long(v.value), e.Name, e.flag(), units.Count(len(v.places), "stack"))
		if added > 0 {
			v.Text += fmt.Sprintf(", %d of them new", added)
		}
	}
	k := p.remaining(l, p.collected())
	v.Text += k.garbage(p)
	if v.decide(p, l, liveGrowth, v.value, 0); !v.Failed() {
		v.places = nil
	}
	return v
}
