package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// quantity is what the rounds measured of one side of a comparison. Without a
// series it was not measured.
type quantity struct {
	Who    string // the peer's name; empty for native and hdb
	Unit   string
	Series series
}

// goal is what a row's figure should not pass.
type goal struct {
	Limit float64
	Least bool // the figure should be at least, not at most, the limit
}

// row is one line of the table.
type row struct {
	Group  string // what -only chooses by, with What
	What   string
	Native quantity
	Peer   quantity
	HDB    quantity
	// Figure is the comparison, round by round.
	Figure quantity
	Goal   *goal
	// Partial says that the figure lacks some of what the goal is about.
	Partial bool
	Note    string
}

// Verdicts on a goal.
const (
	met      = "met"
	missed   = "MISSED"
	unjudged = "not measured"
)

func (r row) verdict() string {
	if r.Goal == nil {
		return ""
	}
	m := r.Figure.Series.median()
	switch {
	case math.IsNaN(m), r.Partial:
		return unjudged
	case r.Goal.Least && m >= r.Goal.Limit, !r.Goal.Least && m <= r.Goal.Limit:
		return met
	}
	return missed
}

func (g *goal) text(unit string) string {
	if g == nil {
		return ""
	}
	sign := "<="
	if g.Least {
		sign = ">="
	}
	return strings.TrimSpace(sign + " " + digits(g.Limit) + " " + unit)
}

func (q quantity) text() string {
	if len(q.Series) == 0 {
		return "-"
	}
	m := q.Series.median()
	// Near 0, as differences are, a percentage says nothing.
	around := digits(q.Series.spread())
	if relative := q.Series.spread() / math.Abs(m); relative < 1 {
		around = fmt.Sprintf("%.0f%%", 100*relative)
	}
	return strings.TrimSpace(strings.Join(strings.Fields(q.Who+" "+digits(m)+" "+q.Unit), " ") + " ±" + around)
}

// digits shows three significant digits, or all of those before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 10000:
		return grouped(v)
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// grouped has a comma between each three digits.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", math.Abs(v))
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// printTable aligns all rows, with each group's title above its own.
func printTable(w io.Writer, rows []row, titles map[string]string) {
	cells := [][]string{{"", "native", "peer", "hdb", "figure", "goal", "", ""}}
	for _, r := range rows {
		cells = append(cells, []string{"  " + r.What, r.Native.text(), r.Peer.text(), r.HDB.text(),
			r.Figure.text(), r.Goal.text(r.Figure.Unit), r.verdict(), r.Note})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	group := ""
	for i, line := range cells {
		if i > 0 && rows[i-1].Group != group {
			group = rows[i-1].Group
			fmt.Fprintln(w, titles[group])
		}
		fmt.Fprintln(w, strings.TrimRight(aligned(line, widths), " "))
	}
}

// aligned puts the numbers to the right of their columns, all words to the left.
func aligned(line []string, widths []int) string {
	var b strings.Builder
	for i, c := range line {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i == 0 || i >= len(line)-2 {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
		b.WriteString("  ")
	}
	return b.String()
}

// remarks joins those that there are.
func remarks(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// count says how many goals were met, missed and not measured.
func count(rows []row) string {
	n := map[string]int{}
	goals := 0
	for _, r := range rows {
		if r.Goal != nil {
			goals++
			n[r.verdict()]++
		}
	}
	return fmt.Sprintf("%d goals: %d met, %d missed, %d not measured", goals, n[met], n[missed], n[unjudged])
}
