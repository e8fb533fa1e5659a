package console

import (
	"time"

	"hdb/console/screen"
)

// A monitorGrowth is what the rows of a table of the live view had at earlier moments. base is nil as long as it is not
// known.
type monitorGrowth struct {
	base, from, to       monitorSums
	baseAt, fromAt, toAt time.Duration
}

// monitorSums are the sums of rows.
type monitorSums map[screen.MonitorKey]screen.MonitorSum

func sumsOf(rows []screen.MonitorRow) monitorSums {
	sums := make(monitorSums, len(rows))
	for i := range rows {
		sums[rows[i].Key] = rows[i].Own
	}
	return sums
}

// note takes in what rows have now, from which changes count if they count from nothing yet. After the program's end no
// moment is kept: the last rates stay.
func (g *monitorGrowth) note(rows []screen.MonitorRow, now time.Duration, over bool) {
	if g.base == nil {
		g.base, g.baseAt = sumsOf(rows), now
	}
	if g.to != nil && (over || now-g.toAt < monitorEvery/2) {
		return
	}
	g.from, g.fromAt = g.to, g.toAt
	g.to, g.toAt = sumsOf(rows), now
	if g.from == nil {
		g.from, g.fromAt = g.to, now
	}
}

// fill gives rows what they had before, and returns the time between the last two moments, and since the changes count,
// below 0 if that is not known.
func (g *monitorGrowth) fill(rows []screen.MonitorRow, now time.Duration) (span, since time.Duration) {
	for i := range rows {
		r := &rows[i]
		r.Base, r.From, r.To = g.base[r.Key], g.from[r.Key], g.to[r.Key]
	}
	if g.base == nil {
		return 0, -1
	}
	return g.toAt - g.fromAt, now - g.baseAt
}
