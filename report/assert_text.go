package report

import (
	"fmt"
	"io"
	"unicode/utf8"

	"hdb/internal/units"
)

// StackForm is how much of the stacks of a failed assertion is shown.
type StackForm uint8

// The forms.
const (
	NoStacks     StackForm = iota // the line of the user's
	FoldedStacks                  // without the frames at both ends that are not the user's
	WholeStacks
)

// How much of a failed assertion is shown.
const (
	shownLines  = 3 // of the user's
	shownPlaces = 5 // with their stacks
	shownFrames = 16
)

// WriteVerdicts writes the verdicts for people: a line each, and below one of a failed assertion where it was allocated,
// the places that weigh most first. Foreign names have no control characters.
func WriteVerdicts(w io.Writer, p *Profile, all []Verdict, form StackForm) error {
	for i := range all {
		word := "FAILED"
		switch {
		case all[i].Held:
			word = "ok    "
		case all[i].Undecided:
			word = "UNDECIDED"
		}
		if _, err := fmt.Fprintf(w, "%s %s: %s\n%s", word, all[i].Name, printable(all[i].Text), all[i].details(p, form)); err != nil {
			return err
		}
	}
	return nil
}

// details are the places of a failed assertion, in lines.
func (v *Verdict) details(p *Profile, form StackForm) string {
	if form == NoStacks {
		return v.lines(p)
	}
	var b []byte
	for i := range v.places {
		if i == shownPlaces {
			return string(b) + v.rest(p, v.places[i:])
		}
		f := &v.places[i]
		b = fmt.Appendf(b, "  %s%s\n", v.amount(p, f), f.others(p, v.unit))
		b = append(b, p.stackText(f.stack, "    ", form)...)
	}
	return string(b)
}

// lines are the places of a failed assertion, one in a line.
func (v *Verdict) lines(p *Profile) string {
	shown := v.places[:min(len(v.places), shownLines)]
	if len(v.places) == shownLines+1 {
		shown = v.places
	}
	widest, width := 0, 0
	for i := range shown {
		function, _ := p.siteNames(shown[i].stack)
		widest = max(widest, utf8.RuneCountInString(v.amount(p, &shown[i])))
		width = max(width, min(utf8.RuneCountInString(printable(function)), 50))
	}
	var b []byte
	for i := range shown {
		function, where := p.siteNames(shown[i].stack)
		b = fmt.Appendf(b, "  %-*s  %-*s  %s\n", widest, v.amount(p, &shown[i]), width, printable(function), printable(where))
	}
	if len(shown) == len(v.places) {
		return string(b)
	}
	return string(b) + v.rest(p, v.places[len(shown):])
}

// siteNames is the frame that the blocks of a stack belong to, as people read it.
func (p *Profile) siteNames(st *Stack) (function, where string) {
	f := p.site(st)
	if f == nil {
		return "(no stack)", ""
	}
	_, where = p.frameNames(f)
	return f.Function, where
}

// rest is the line on places that are not shown.
func (v *Verdict) rest(p *Profile, places []finding) string {
	sum := finding{}
	for i := range places {
		sum.weight += places[i].weight
		sum.blocks += places[i].blocks
		sum.mapped += places[i].mapped
	}
	return fmt.Sprintf("  %s in %s\n", v.amount(p, &sum), units.Count(uint64(len(places)), "further place"))
}

// amount is the weight of a place, with its share of the whole.
func (v *Verdict) amount(p *Profile, f *finding) string {
	text := units.Count(f.weight, "block")
	switch {
	case v.counted:
		switch text = units.Blocks(p.Units, f.weight, f.blocks); {
		case f.mapped == f.weight && f.mapped > 0:
			text = p.Units.Long(f.weight) + " mapped"
		case f.mapped > 0:
			text = fmt.Sprintf("%s, %s of it mapped and %s", p.Units.Long(f.weight), p.Units.Short(f.mapped), units.Blocks(p.Units, f.weight-f.mapped, f.blocks))
		}
	case v.unit == "bytes":
		text = p.Units.Long(f.weight)
	}
	if v.value > 0 {
		text += " (" + units.Percent(f.weight, v.value) + ")"
	}
	return text
}

// stackText is a stack in lines, innermost first. Folded, it has none of the frames at both ends that are not the user's, but
// lines that say so. Its middle is left out if it is long.
func (p *Profile) stackText(st *Stack, indent string, form StackForm) string {
	var b []byte
	frames, between, gaps := st.Frames, st.Between, map[int]int{}
	if form == FoldedStacks {
		inner, outer := st.Folded()
		if inner > 0 {
			b = fmt.Appendf(b, "%s(%s of allocators and libraries hidden)\n", indent, units.Count(inner, "frame"))
		}
		frames = nil
		for i := inner; i < outer; i++ {
			if len(between) > 0 && i == between[0][0] {
				gaps[len(frames)] += between[0][1] - i
				i, between = between[0][1]-1, between[1:]
				continue
			}
			frames = append(frames, st.Frames[i])
		}
	}
	width := 0
	for _, i := range frames {
		function, _ := p.frameNames(&p.Frames[i])
		width = max(width, min(utf8.RuneCountInString(printable(function)), 50))
	}
	for n, i := range frames {
		if left := len(frames) - shownFrames; left > 1 && n >= shownFrames/2 && n < shownFrames/2+left {
			if n == shownFrames/2 {
				hidden := 0
				for k := n; k < n+left; k++ {
					hidden += gaps[k]
				}
				b = fmt.Appendf(b, "%s(%d more frames)\n", indent, left+hidden)
			}
			continue
		}
		if gap := gaps[n]; gap > 0 {
			b = fmt.Appendf(b, "%s(%d frames of libraries hidden)\n", indent, gap)
		}
		function, where := p.frameNames(&p.Frames[i])
		b = fmt.Appendf(b, "%s%-*s  %s\n", indent, width, printable(function), printable(where))
	}
	if form == FoldedStacks && st.Outer > 0 {
		b = fmt.Appendf(b, "%s(%d outer frames of %s hidden)\n", indent, st.Outer, st.Callers)
	}
	if st.Truncated != "" {
		b = fmt.Appendf(b, "%s(outer frames are missing: %s)\n", indent, printable(st.Truncated))
	}
	return string(b)
}
