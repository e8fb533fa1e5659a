package report

import (
	"errors"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/internal/units"
)

// Caveats are why the numbers drawn from a recording may not be those of the run.
// Whatever shows such a number shows them, too.
type Caveats struct {
	Partial  capture.Reasons // why events of the run are not recorded, see capture.Info
	Lost     uint64          // calls that are missing from the recording
	LostOpen bool            // its end is missing: Lost is the least
	Damage   error           // which part of the file cannot be read, nil if no damage is known
	Collects bool            // a Go runtime made blocks: they live until its collector has found them dead
	NoTypes  string          // why types of Go that were asked for are not known, "" if they are
	Doubt    Doubt           // why blocks that seem to live may not, NoDoubt if Partial says so or they do
}

// CaveatsOf are those that the recording itself knows. What cannot be read of a file
// is known when it was read.
func CaveatsOf(src capture.Source) Caveats {
	info := src.Info()
	return Caveats{
		Partial: slices.Clip(info.Partial), Lost: info.Totals.Lost, LostOpen: info.OpenEnded(), Damage: src.Damage(),
		Collects: !info.Partial.Has(capture.GoHeap) && slices.ContainsFunc(src.Functions(), capture.OfGo),
	}
}

// DamageText says which part of a recording cannot be read, "" if no damage is known, or none but
// that the end is missing, for which capture.OpenEnd is a reason.
func DamageText(err error) string {
	var d *capture.DamageError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &d): // of a recording in memory
		return err.Error()
	}
	text := "the capture is damaged: "
	if d.OnlyCut() {
		text = "the capture was cut off: "
	}
	switch {
	case d.Missing > 0:
		return text + atLeast(d.Open) + units.CountVerb(d.Missing, "event", "is", "are") + " missing"
	case d.OnlyCut():
		return ""
	}
	return text + "hdb capture check shows what is missing"
}

// NoTypesText says that types of Go are not known, and why, "" if they are.
func NoTypesText(why string) string {
	if why == "" {
		return ""
	}
	return "types of Go are not known: " + why + "; once the file is there, `symbols refresh` finds them"
}

// Lines are the caveats in words, one a line, none if there are none. They may hold
// foreign names.
func (c *Caveats) Lines() (lines []string) {
	if len(c.Partial) > 0 {
		lines = append(lines, PartialText(c.Partial))
	}
	if c.Lost > 0 {
		lines = append(lines, c.missing()+": counts are too low, live and peak are uncertain")
	}
	if c.Collects {
		lines = append(lines, "blocks of Go are live until a garbage collection has found them dead")
	}
	for _, text := range []string{NoTypesText(c.NoTypes), DamageText(c.Damage), DoubtText(c.Doubt)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// carefulTitle is the title with the caveats behind it, for formats that have no other
// place for them.
func (p *Profile) carefulTitle() string {
	lines := p.Caveats.Lines()
	if len(lines) == 0 {
		return Plain(p.Title)
	}
	return Plain(p.Title + " (careful: " + strings.Join(lines, "; ") + ")")
}

// Whole tells that no call that was to be recorded is missing.
func (c *Caveats) Whole() bool { return c.Lost == 0 && !c.LostOpen && c.Damage == nil }

// freedUnseen tells that blocks which seem to live may not.
func (c *Caveats) freedUnseen() bool {
	return c.Doubt != NoDoubt || c.Partial.Has(capture.FreedUnseen)
}

// beganLate reports whether the program may have had blocks when the recording began: they are in no number.
func (c *Caveats) beganLate() bool { return c.Partial.Has(capture.BeganLate) }

// GoHeap tells that what the Go runtime allocates is in no number.
func (c *Caveats) GoHeap() bool { return c.Partial.Has(capture.GoHeap) }

// Unfollowed reports whether the program ran while no allocator function of it was known: what it allocated then is in no number.
func (c *Caveats) Unfollowed() bool { return c.Partial.Has(capture.NoAllocator) }

// PartialText is the warning that a recording has not all events of the run.
func PartialText(why capture.Reasons) string {
	return "not all events of the run were recorded: " + strings.Join(ReasonTexts(why), "; ")
}

// missing says how many calls are missing.
func (c *Caveats) missing() string {
	return atLeast(c.LostOpen) + units.CountVerb(c.Lost, "call", "is", "are") + " missing from the recording"
}

// atLeast is before a number to which there may be more.
func atLeast(more bool) string {
	if more {
		return "at least "
	}
	return ""
}
