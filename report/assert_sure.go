package report

import (
	"fmt"
	"math"
)

// A quantity is what an assertion limits, by what a missing call may change of it.
type quantity uint8

const (
	allocatedBlocks quantity = iota // a call makes one at most
	temporaryBlocks                 // a realloc ends one and makes one
	leftBlocks                      // at the end: a call makes one or ends one
	liveBytes                       // of blocks of any size
	liveGrowth                      // the difference of two such numbers
)

// beyond represents a number without an upper bound.
const beyond = math.MaxUint64

// span is what a number of the run may be, where the recording has value.
func (c *Caveats) span(q quantity, value uint64) (low, high uint64) {
	low, high = value, value
	if !c.Whole() {
		lost := c.Lost
		if c.LostOpen || c.Damage != nil {
			lost = beyond // it is not known how many
		}
		switch q {
		case allocatedBlocks:
			high = plus(value, lost)
		case temporaryBlocks:
			low, high = value-min(value, plus(lost, lost)), plus(value, plus(lost, lost))
		case leftBlocks:
			low, high = value-min(value, lost), plus(value, lost)
		default:
			low, high = 0, beyond
		}
	}
	if c.GoHeap() || c.Unfollowed() {
		if high = beyond; q == temporaryBlocks || q == liveGrowth {
			low = 0
		}
	}
	if c.beganLate() {
		switch q {
		case leftBlocks, liveBytes:
			high = beyond // blocks from before may be live
		case liveGrowth:
			low = 0 // and may have been freed since
		}
	}
	if c.freedUnseen() && q != allocatedBlocks && q != temporaryBlocks {
		low = 0
	}
	return low, high
}

// plus is a sum that is at most beyond.
func plus(a, b uint64) uint64 {
	if a > beyond-b {
		return beyond
	}
	return a + b
}

// decideMapped makes the verdict on the peak undecided if the limit is between what was live at the peak that is known
// and what may have been, see Profile.MostMapped, but for Limits.Incomplete; it fails if mappings alone are too much.
func (v *Verdict) decideMapped(p *Profile, l *Limits, limit uint64) {
	if !v.Held || p.MostMapped <= limit && (l.Incomplete || p.Peak.Live+p.MostMapped <= limit) {
		return
	}
	v.Held = false
	if v.Text += fmt.Sprintf("; the program had up to %s mapped, perhaps at another moment", p.Units.Long(p.MostMapped)); p.MostMapped <= limit {
		v.Undecided = true
		v.Text += ": undecided: the recording has totals and no events (--allow-incomplete uses the known peak)"
	}
}

// decide makes a verdict undecided if the number of the run may be on the other side of the limit
// than the recorded value. Limits.Incomplete takes the recorded value as it is, unless nothing but a
// Go runtime allocated, or no allocator was followed: then nothing is recorded.
func (v *Verdict) decide(p *Profile, l *Limits, q quantity, value, limit uint64) {
	low, high := p.Caveats.span(q, value)
	nothing := p.Total().Allocs == 0
	onlyGo, unfollowed := nothing && p.GoHeap(), nothing && p.Unfollowed()
	if l.Incomplete && !onlyGo && !unfollowed || high <= limit || low > limit {
		return
	}
	v.Held, v.Undecided = false, true
	switch {
	case onlyGo:
		v.Text += "; undecided: what the Go runtime allocates is not counted"
	case p.GoHeap() && p.Whole():
		v.Text += "; undecided: what the Go runtime allocates is not counted (--allow-incomplete decides by the rest)"
	case unfollowed:
		v.Text += "; undecided: no allocator function was followed: name them with alloc add, or use hdb leaks -- PROGRAM, which reads glibc's heap"
	case p.Unfollowed() && p.Whole():
		v.Text += "; undecided: no allocator function was followed for a part of the run (--allow-incomplete decides by the rest)"
	case p.beganLate() && p.Whole() && !p.freedUnseen():
		v.Text += "; undecided: blocks from before hdb attached are not counted (--allow-incomplete decides by the rest)"
	default:
		v.Text += "; undecided: the recording is incomplete (--allow-incomplete decides by what it has)"
	}
}
