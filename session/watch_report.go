package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/session/stopped"
)

// watchHits are what the watchpoints among numbered stops saw.
func (x *Execution) watchHits(stop inferior.Stop, stops []*breakpoints.Stop) (hits []stopped.WatchHit) {
	for _, st := range stops {
		b := x.stops.binds[st.ID]
		i := slices.IndexFunc(stop.Changes, func(c inferior.Change) bool { return b != nil && c.Watch == b.watch })
		if i < 0 {
			continue
		}
		c := stop.Changes[i]
		w := stopped.WatchHit{Addr: c.Watch.Addr, Size: c.Watch.Size, Old: c.Old, New: c.New, Merged: c.Merged}
		if b.typed != nil {
			if w.New == nil {
				w.Name = b.typed.name
			}
			watchTexts(x.stops.values, b.typed, &w)
		}
		hits = append(hits, w)
	}
	return hits
}
