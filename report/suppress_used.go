package report

import (
	"fmt"
	"strings"

	"hdb/internal/units"
)

// Suppressed is what suppressions are about.
type Suppressed struct {
	Bytes  uint64           `json:"suppressed_bytes,omitempty"`
	Blocks uint64           `json:"suppressed_blocks,omitempty"`
	Uses   []SuppressionUse `json:"suppressions,omitempty"`             // all, in the order of the file
	Passed int              `json:"suppressions_passed_over,omitempty"` // entries of valgrind's that are for other errors than leaks
}

// A SuppressionUse is what one suppression is about.
type SuppressionUse struct {
	Name   string `json:"name"`        // LeakSanitizer's pattern, or the name of valgrind's entry
	Line   int    `json:"line"`        // of the file
	Blocks uint64 `json:"live_blocks"` // of which it is the first that fits; 0: it is not used
	Bytes  uint64 `json:"live_bytes"`
}

// Count begins to count what suppressions are about; nil of nil ones.
func (s *Suppressions) Count() *Suppressed {
	if s == nil {
		return nil
	}
	u := &Suppressed{Passed: s.passed, Uses: make([]SuppressionUse, len(s.all))}
	for i := range s.all {
		u.Uses[i] = SuppressionUse{Name: s.all[i].name, Line: s.all[i].line}
	}
	return u
}

// Add counts blocks that the suppression of this index is about.
func (u *Suppressed) Add(i int, blocks, bytes uint64) {
	u.Blocks += blocks
	u.Bytes += bytes
	u.Uses[i].Blocks += blocks
	u.Uses[i].Bytes += bytes
}

// String names a suppression, and its line, as names of entries are often the same.
func (u *SuppressionUse) String() string {
	return fmt.Sprintf("%s (line %d)", printable(u.Name), u.Line)
}

// unusedShown is how many suppressions are named that are not used.
const unusedShown = 10

// Text is a table of the suppressions that are used, and which are not. It is "" of nil.
func (u *Suppressed) Text() string {
	if u == nil {
		return ""
	}
	var b strings.Builder
	for i := range u.Uses {
		one := &u.Uses[i]
		if one.Blocks == 0 {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("suppressions used:\n   blocks         bytes  suppression\n")
		}
		fmt.Fprintf(&b, "%9s %13s  %s\n", units.Grouped(one.Blocks), units.Grouped(one.Bytes), one)
	}
	if unused := u.unused(); unused != "" {
		b.WriteString(unused + "\n")
	}
	if u.Passed > 0 {
		fmt.Fprintf(&b, "suppressions passed over: %s, for other errors than leaks\n", units.Grouped(u.Passed))
	}
	return b.String()
}

// unused names the suppressions that are about nothing, "" if there are none.
func (u *Suppressed) unused() string {
	if u == nil {
		return ""
	}
	var names []string
	left := 0
	for i := range u.Uses {
		switch one := &u.Uses[i]; {
		case one.Blocks > 0:
		case len(names) < unusedShown:
			names = append(names, one.String())
		default:
			left++
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "suppressions not used: " + strings.Join(names, ", ")
	if left > 0 {
		text += " and " + units.Grouped(left) + " more"
	}
	return text
}

// sarif are the suppressions as a property of SARIF's.
func (u *Suppressed) sarif() []map[string]any {
	all := make([]map[string]any, 0, len(u.Uses))
	for _, one := range u.Uses {
		all = append(all, map[string]any{"name": printable(one.Name), "line": one.Line, "blocks": one.Blocks, "bytes": one.Bytes})
	}
	return all
}

// Suppressed is what is live at the end that the suppressions of leaks are about, nil if leaks
// are not limited or none are allowed.
func (p *Profile) Suppressed(l *Limits) *Suppressed {
	if l.Suppressions == nil || !l.NoLeaks && l.MaxLeaked == nil && l.MaxLiveGrowth == nil {
		return nil
	}
	user, u := p.Suppressor(l.Suppressions), l.Suppressions.Count()
	for i := range p.Stacks {
		st := &p.Stacks[i]
		if st.LiveBlocks == 0 {
			continue
		}
		if one := user.Find(st, LeakAny); one >= 0 {
			u.Add(one, st.LiveBlocks, st.Live)
		}
	}
	return u
}
