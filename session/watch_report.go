package session

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/target"
)

// WatchHit is what a watchpoint saw.
type WatchHit struct {
	Addr     addr.Run
	Size     int
	Old, New []byte // New is nil where the memory is no more

	// Of a watched expression with a type, the name and both values; "" otherwise.
	Name, OldText, NewText string
	// Parts are its smallest parts that have changed, one more than are to be shown if
	// there are more of them.
	Parts []WatchedPart
}

// A WatchedPart is a member or an element that has changed, or the whole.
type WatchedPart struct{ Name, Old, New string }

func (p WatchedPart) String() string { return fmt.Sprintf("%s: %s -> %s", p.Name, p.Old, p.New) }

// String is the change: "total: 3 -> 4".
func (w *WatchHit) String() string {
	parts := w.Parts
	switch {
	case w.New == nil:
		return fmt.Sprintf("%v: its memory is unmapped", w.what())
	case w.Name == "":
		parts = w.words("")
	case len(parts) == 0: // bytes between members
		parts = []WatchedPart{{w.Name, w.OldText, w.NewText}}
	}
	var all []string
	if len(parts) == 0 { // it was read
		return fmt.Sprintf("%s: %d bytes, unchanged", w.what(), w.Size)
	}
	for _, p := range parts[:min(len(parts), maxWatchedParts)] {
		all = append(all, p.String())
	}
	if len(parts) > maxWatchedParts {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}

// what is the expression or the address.
func (w *WatchHit) what() string {
	if w.Name != "" {
		return w.Name
	}
	return fmt.Sprintf("*%v", w.Addr)
}

// words are the parts of memory whose type says nothing: up to 8 bytes each, by their place in a variable, or without one
// by their address.
func (w *WatchHit) words(variable string) (all []WatchedPart) {
	const word = 8
	for at := 0; at < len(w.Old) && at < len(w.New) && len(all) <= maxWatchedParts; at += word {
		old, now := w.Old[at:min(at+word, len(w.Old))], w.New[at:min(at+word, len(w.New))]
		if bytes.Equal(old, now) && len(w.Old) > word {
			continue
		}
		name := fmt.Sprintf("*%v", w.Addr+addr.Run(at))
		if variable != "" {
			name = fmt.Sprintf("%s, bytes %d to %d", variable, at, at+len(now)-1)
		}
		all = append(all, WatchedPart{name, fmt.Sprintf("%#x", target.Uint(old)), fmt.Sprintf("%#x", target.Uint(now))})
	}
	return all
}

// watchHits are what the watchpoints among numbered stops saw.
func (x *Execution) watchHits(stop inferior.Stop, stops []*breakpoints.Stop) (hits []WatchHit) {
	for _, st := range stops {
		b := x.stops.binds[st.ID]
		i := slices.IndexFunc(stop.Changes, func(c inferior.Change) bool { return b != nil && c.Watch == b.watch })
		if i < 0 {
			continue
		}
		c := stop.Changes[i]
		w := WatchHit{Addr: c.Watch.Addr, Size: c.Watch.Size, Old: c.Old, New: c.New}
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
