package console

import (
	"time"

	"hdb/console/screen"
)

// A monitorGrowth is what the rows of the live view had at earlier moments. It begins anew with
// other rows, and when the user asks for it.
type monitorGrowth struct {
	path           []screen.MonitorKey // of the rows
	threads        bool                // the rows are of threads
	base, from, to map[screen.MonitorKey]screen.MonitorSum
	baseAt         time.Duration
	fromAt, toAt   time.Duration
}

// follow gives rows what they were before, and returns the time between the last two moments, and
// since the changes count. After the program's end no moment is kept: the last rates stay.
func (g *monitorGrowth) follow(rows []screen.MonitorRow, now time.Duration, over bool) (span, since time.Duration) {
	if g.base == nil || now-g.toAt >= monitorEvery/2 && !over {
		sums := make(map[screen.MonitorKey]screen.MonitorSum, len(rows))
		for i := range rows {
			sums[rows[i].Key] = rows[i].Own
		}
		g.from, g.fromAt, g.to, g.toAt = g.to, g.toAt, sums, now
		if g.base == nil {
			g.base, g.baseAt, g.from, g.fromAt = sums, now, sums, now
		}
	}
	for i := range rows {
		r := &rows[i]
		r.Base, r.From, r.To = g.base[r.Key], g.from[r.Key], g.to[r.Key]
	}
	return g.toAt - g.fromAt, now - g.baseAt
}
