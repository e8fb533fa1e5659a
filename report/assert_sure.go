package report

import "math"

// A quantity is what an assertion limits, by what a missing call may change of it.
type quantity uint8

const (
	allocatedBlocks quantity = iota // a call makes one at most
	temporaryBlocks                 // a realloc ends one and makes one
	leftBlocks                      // at the end: a call makes one or ends one
	liveBytes                       // of blocks of any size
	liveGrowth                      // the difference of two such numbers
)

// beyond is more than any number.
const beyond = math.MaxUint64

// span is what a number of the run may be, where the recording has value.
func (c *Caveats) span(q quantity, value uint64) (low, high uint64) {
	low, high = value, value
	if !c.Whole() {
		lost := c.Lost
		if c.LostOpen || c.Damage != "" {
			lost = beyond // nobody knows how many
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
	if c.GoHeap() {
		if high = beyond; q == temporaryBlocks || q == liveGrowth {
			low = 0
		}
	}
	if c.freedUnseen() && q != allocatedBlocks && q != temporaryBlocks {
		low = 0
	}
	return low, high
}

// plus is a sum that stays below what is beyond all numbers.
func plus(a, b uint64) uint64 {
	if a > beyond-b {
		return beyond
	}
	return a + b
}

// decide has a verdict on a number be none if what the recording lacks may turn it.
// The user may have what is recorded taken for the whole, but not nothing for what a
// Go program allocates.
func (v *Verdict) decide(p *Profile, l *Limits, q quantity, value, limit uint64) {
	low, high := p.Caveats.span(q, value)
	onlyGo := p.GoHeap() && p.Total().Allocs == 0
	if l.Incomplete && !onlyGo || high <= limit || low > limit {
		return
	}
	v.Held, v.Undecided = false, true
	switch {
	case onlyGo:
		v.Text += "; undecided, for what the Go runtime allocates is not counted"
	case p.GoHeap() && p.Whole():
		v.Text += "; undecided, for what the Go runtime allocates is not counted (--allow-incomplete takes the rest for the whole)"
	default:
		v.Text += "; undecided, for the recording is not whole (--allow-incomplete takes it as it is)"
	}
}
