package report

import (
	"fmt"
	"io"
	"slices"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/units"
)

// Limits are what a recording must not exceed; nil is no limit.
type Limits struct {
	MaxPeak       *uint64 // bytes live at once
	MaxAllocs     *uint64 // blocks allocated
	MaxLeaked     *uint64 // bytes live at the end
	NoLeaks       bool    // no block is live at the end
	MaxLiveGrowth *uint64 // bytes live at Until more than at Since
	MaxTemporary  *uint64 // blocks freed before the next allocation

	Since        *Baseline     // for MaxLiveGrowth
	Until        *Baseline     // for MaxLiveGrowth: before the program frees its memory at its end, nil: the end
	Against      *Earlier      // nil: with no other recording
	Suppressions *Suppressions // leaks that are allowed; may be nil
	Strict       bool          // what language runtimes keep for themselves counts as a leak, too
	Incomplete   bool          // what is recorded is taken for the whole
	Lost         *Numbers      // what a walk of the heap has found that nothing holds, where no allocator was followed; nil: there was none
}

// Any reports whether there is a limit.
func (l *Limits) Any() bool {
	return l.NoLeaks || l.MaxPeak != nil || l.MaxAllocs != nil || l.MaxLeaked != nil || l.MaxLiveGrowth != nil || l.MaxTemporary != nil || l.Against != nil
}

// A Baseline is the heap at an earlier moment.
type Baseline struct {
	Name string // of the moment, as the user wrote it
	Moment
	Live []uint64 // bytes, by the stacks of the profile
}

// of is what was live of a stack of the profile.
func (b *Baseline) of(i int) uint64 {
	if i >= len(b.Live) {
		return 0
	}
	return b.Live[i]
}

// A Verdict is what came of an assertion.
type Verdict struct {
	Name  string `json:"name"`            // max-peak, ...: as the flag
	Limit string `json:"limit,omitempty"` // "500.0 MiB"; "" if it has none
	Held  bool   `json:"held"`
	Text  string `json:"text"` // what was found, and what is allowed

	Undecided bool `json:"undecided,omitempty"` // what is not recorded could change the outcome; Held is false

	rule    string // of SARIF
	unit    string // bytes, blocks
	value   uint64
	places  []finding // what makes up the value, heaviest first
	counted bool      // places have blocks besides
}

// Failed tells that the limit is exceeded.
func (v *Verdict) Failed() bool { return !v.Held && !v.Undecided }

// Check holds a profile against limits, in the order of the fields.
func Check(p *Profile, l *Limits) []Verdict {
	var all []Verdict
	total := p.Total()
	if m := l.MaxPeak; m != nil {
		what := "live at once"
		if p.PeakMapped.Bytes > 0 {
			what += fmt.Sprintf(" (heap %s, mappings %s)", p.Units.Short(p.Peak.Live), p.Units.Short(p.PeakMapped.Bytes))
		}
		v := p.limited("max-peak", p.PeakBytes(), *m, true, what)
		if p.Peak.Seq > 0 {
			v.Text += fmt.Sprintf("; the peak was at %s, after event #%d", units.Time(p.Peak.Time), p.Peak.Seq)
		}
		v.decide(p, l, liveBytes, p.PeakBytes(), *m)
		v.decideMapped(p, l, *m)
		v.of(p.Counted(), func(_ int, st *Stack) (uint64, uint64) { return st.Peak, st.PeakBlocks })
		all = append(all, v)
	}
	if m := l.MaxAllocs; m != nil {
		v := p.limited("max-allocs", total.Allocs, *m, false, "allocated")
		v.decide(p, l, allocatedBlocks, total.Allocs, *m)
		v.of(p, func(_ int, st *Stack) (uint64, uint64) { return st.Allocs, 0 })
		all = append(all, v)
	}
	all = append(all, checkLeaks(p, l)...)
	if l.MaxLiveGrowth != nil && l.Since != nil {
		all = append(all, checkGrowth(p, l))
	}
	if l.Against != nil {
		all = append(all, checkAgainst(p, l)...)
	}
	if m := l.MaxTemporary; m != nil {
		v := p.limited("max-temporary", total.Temporary, *m, false, "freed before the next allocation")
		v.decide(p, l, temporaryBlocks, total.Temporary, *m)
		v.of(p, func(_ int, st *Stack) (uint64, uint64) { return st.Temporary, 0 })
		all = append(all, v)
	}
	return all
}

// limited is the verdict on a number.
func (p *Profile) limited(name string, value, limit uint64, bytes bool, what string) Verdict {
	v := Verdict{Name: name, rule: name, Held: value <= limit, unit: "blocks", value: value, counted: bytes}
	amount := func(n uint64) string { return units.Count(n, "block") }
	if bytes {
		v.unit, amount = "bytes", p.Units.Long
	}
	v.Limit = amount(limit)
	relation := "more than"
	if v.Held {
		relation = "of at most"
	}
	v.Text = fmt.Sprintf("%s %s, %s %s", amount(value), what, relation, v.Limit)
	return v
}

// of has the verdict tell what makes up its value.
func (v *Verdict) of(p *Profile, weigh func(int, *Stack) (uint64, uint64)) {
	if v.Failed() { // not asked otherwise
		v.places = p.findings(weigh)
	}
}

// checkLeaks holds what is live at the end against both limits for that.
func checkLeaks(p *Profile, l *Limits) (all []Verdict) {
	if !l.NoLeaks && l.MaxLeaked == nil {
		return nil
	}
	k := p.remaining(l, p.collected())
	weigh := func(i int, st *Stack) (uint64, uint64) {
		if !k.counts[i] {
			return 0, 0
		}
		return st.Live, st.LiveBlocks
	}
	leaked, suffix := k.counted, k.text(p)
	if l.NoLeaks {
		v := Verdict{Name: "no-leaks", rule: "leak", Held: leaked.LiveBlocks == 0, unit: "bytes", value: leaked.Live, counted: true}
		v.Text = "no block is live at the end" + suffix
		if !v.Held {
			v.Text = fmt.Sprintf("%s live at the end%s", units.Blocks(p.Units, leaked.Live, leaked.LiveBlocks), suffix)
		}
		if v.decide(p, l, leftBlocks, leaked.LiveBlocks, 0); v.Undecided && l.Lost != nil && l.Lost.LiveBlocks > 0 {
			v.lost(p, l.Lost)
		}
		v.of(p, weigh)
		all = append(all, v)
	}
	if m := l.MaxLeaked; m != nil {
		v := p.limited("max-leaked", leaked.Live, *m, true, "live at the end")
		v.Text += suffix
		v.decide(p, l, liveBytes, leaked.Live, *m)
		v.of(p, weigh)
		all = append(all, v)
	}
	return all
}

// lost decides that blocks leak which were not recorded: nothing holds them, so that they cannot be freed.
func (v *Verdict) lost(p *Profile, n *Numbers) {
	v.Undecided, v.value = false, n.Live
	v.Text = units.Blocks(p.Units, n.Live, n.LiveBlocks) + " that nothing holds, by a walk of the heap; no allocator function was followed: leaks lists them"
}

// remaining is what is live at the end, by whether it is held against the user.
type remaining struct {
	counts                []bool // by stack
	counted, own, allowed Numbers
	collected             Numbers // of Go
}

// remaining tells what the runtimes keep for themselves and what is allowed from leaks. collected
// tells blocks that a garbage collection frees, nil if none are distinguished.
func (p *Profile) remaining(l *Limits, collected func(*Stack) bool) remaining {
	k := remaining{counts: make([]bool, len(p.Stacks))}
	user, runtime := p.Suppressor(l.Suppressions), p.RuntimeOwned()
	for i := range p.Stacks {
		st := &p.Stacks[i]
		switch {
		case user.Find(st, LeakAny) >= 0:
			k.allowed.Add(st.Numbers)
		case collected != nil && collected(st):
			k.collected.Add(st.Numbers)
		case !l.Strict && runtime(st):
			k.own.Add(st.Numbers)
		default:
			k.counts[i] = true
			k.counted.Add(st.Numbers)
		}
	}
	return k
}

// collected tells the stacks whose blocks a Go runtime has made. Where nothing but sums was
// recorded, with blocks of C among them, it goes by the innermost function, which is the
// runtime's or has a name of a package that it serves.
func (p *Profile) collected() func(*Stack) bool {
	if !slices.ContainsFunc(p.Calls, func(c Calls) bool { return capture.OfGo(c.Function) }) {
		return nil
	}
	return func(st *Stack) bool {
		if p.Golang || !p.Sums || len(st.Frames) == 0 {
			return p.Golang || st.Collected
		}
		name, _ := p.frameNames(&p.Frames[st.Frames[0]])
		return goruntime.Serves(name)
	}
}

// garbage says that blocks of Go do not count, "" if there are none.
func (k *remaining) garbage(p *Profile) string {
	if k.collected.LiveBlocks == 0 {
		return ""
	}
	return fmt.Sprintf("; not counted: %s of Go, live until a garbage collection has found them dead; --max-live-growth SIZE --since MOMENT checks whether they grow", units.Blocks(p.Units, k.collected.Live, k.collected.LiveBlocks))
}

// text says what does not count.
func (k *remaining) text(p *Profile) (text string) {
	if k.own.LiveBlocks > 0 {
		text += fmt.Sprintf("; not counted: %s, kept by language runtimes for themselves", units.Blocks(p.Units, k.own.Live, k.own.LiveBlocks))
	}
	text += k.garbage(p)
	if k.allowed.LiveBlocks > 0 {
		text += fmt.Sprintf("; suppressed: %s", units.Blocks(p.Units, k.allowed.Live, k.allowed.LiveBlocks))
	}
	if m := p.LiveMapped.Program; m.Count > 0 {
		text += fmt.Sprintf("; mappings are not counted: %s in %s", p.Units.Long(m.Bytes), units.Count(m.Count, "mapping"))
	}
	return text
}

// checkGrowth holds what is live more than before against the limit.
func checkGrowth(p *Profile, l *Limits) Verdict {
	k, since := p.remaining(l, nil), l.Since
	live := func(i int) uint64 { return p.Stacks[i].Live }
	when := ""
	if u := l.Until; u != nil {
		live = u.of
		when = fmt.Sprintf(" after event #%d, before the program freed most of it", u.Seq)
	}
	var before, after uint64
	for i := range p.Stacks {
		if k.counts[i] {
			after += live(i)
			before += since.of(i)
		}
	}
	grow := after - min(before, after)
	v := p.limited("max-live-growth", grow, *l.MaxLiveGrowth, true, "live more")
	v.Text += fmt.Sprintf("; since %s (%s, after event #%d) from %s to %s%s%s", since.Name, units.Time(since.Time), since.Seq, p.Units.Long(before), p.Units.Long(after), when, k.text(p))
	v.counted = false
	v.decide(p, l, liveGrowth, grow, *l.MaxLiveGrowth)
	v.of(p, func(i int, _ *Stack) (uint64, uint64) {
		if now := live(i); k.counts[i] && since.of(i) < now {
			return now - since.of(i), 0
		}
		return 0, 0
	})
	return v
}

// WriteVerdictsSARIF writes the failed assertions as a SARIF log: for each an error
// at the line that weighs most, with all stacks of it as results. What is undecided is
// a notification. What is suppressed, nil without suppressions, is among the run's properties.
func WriteVerdictsSARIF(w io.Writer, p *Profile, all []Verdict, u *Suppressed, o Options) error {
	log := newSARIF(p, o)
	log.suppressed = u
	if unused := u.unused(); unused != "" {
		log.note("%s.", unused)
	}
	for i := range all {
		v := &all[i]
		switch {
		case v.Held:
			continue
		case v.Undecided:
			log.note("%s: %s.", v.Name, v.Text)
			continue
		}
		if len(v.places) == 0 {
			log.add(v.rule, "error", v.Name+": "+v.Text, nil)
		}
		for n := range v.places {
			if n == sarifResults/len(sarifRules) {
				log.rest(v.places[n:], v.unit)
				break
			}
			f := &v.places[n]
			text := fmt.Sprintf("%s: %s here%s", v.Name, v.amount(p, f), f.others(p, v.unit))
			if n == 0 {
				text += "; " + v.Text
			}
			log.add(v.rule, "error", text, f)
		}
	}
	return log.write(w)
}
