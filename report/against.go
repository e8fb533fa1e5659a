package report

import (
	"fmt"

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

// tolerance words the share that is allowed, "" for none.
func (e *Earlier) tolerance() string {
	if e.Tolerance == 0 {
		return ""
	}
	return fmt.Sprintf(" by more than %.4g %%", 100*e.Tolerance)
}

// checkAgainst holds a profile against an earlier one: the peak, and what is live at the end. Both show the stacks that have
// more than before. Stacks are the same if their functions are, so that lines may have moved. What is not counted as a leak does
// not count here.
func checkAgainst(p *Profile, l *Limits) []Verdict {
	e := l.Against
	now, before := p.PeakBytes(), e.Profile.PeakBytes()
	peak := Verdict{Name: "against-peak", rule: "against-peak", unit: "bytes", Held: now <= e.allowed(before)}
	peak.Text = fmt.Sprintf("%s live at once, %s in %s", p.Units.Long(now), p.Units.Long(before), e.Name)
	peak.decide(p, l, liveBytes, now, e.allowed(before))
	if peak.Failed() {
		peak.grown(p.Counted(), e, func(p *Profile) []finding {
			return p.Counted().gather(func(_ int, st *Stack) (uint64, uint64) { return st.Peak, st.PeakBlocks }, false)
		})
	}
	return []Verdict{peak, p.leftMore(l)}
}

// grown has a verdict have the stacks with more than in the earlier recording, and reports how many of them are new.
func (v *Verdict) grown(p *Profile, e *Earlier, find func(*Profile) []finding) (added int) {
	before := map[string]uint64{}
	for _, f := range find(e.Profile) {
		before[f.fingerprint] = f.weight
	}
	v.value = 0
	for _, f := range find(p) {
		was, known := before[f.fingerprint]
		if f.weight <= e.allowed(was) {
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
	added := v.grown(p, e, func(p *Profile) []finding {
		k := p.remaining(l, p.collected())
		return p.gather(func(i int, st *Stack) (uint64, uint64) {
			if !k.counts[i] {
				return 0, 0
			}
			return st.Live, st.LiveBlocks
		}, false)
	})
	v.Held = len(v.places) == 0
	v.Text = fmt.Sprintf("no stack leaves more at the end%s than in %s", e.tolerance(), e.Name)
	if !v.Held {
		v.Text = fmt.Sprintf("%s more live at the end than in %s, from %s", p.Units.Long(v.value), e.Name, units.Count(len(v.places), "stack"))
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
