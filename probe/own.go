package probe

import (
	"io"
	"slices"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
)

// Owned is memory that a probe has mapped in a process.
type Owned struct {
	Low, High addr.Run
	What      string
}

// maxAdjacent is how many islands are looked for in one mapping.
const maxAdjacent = 256

// Own is what probes and Screens have mapped in a process, be they in use, left behind by one that could
// not be taken out, or in a core file: their cards, their beginnings and the names of their files
// identify them.
func Own(maps []inferior.Mapping, mem io.ReaderAt) (all []Owned) {
	card := make([]byte, cardSize)
	for _, m := range maps {
		if m.Low < placesLow || m.Low >= placesHigh || (m.Low-placesLow)%placeSize != placeCore {
			continue
		}
		if _, err := mem.ReadAt(card, int64(m.Low+maxCore)); err != nil {
			continue
		}
		l := readCard(m.Low-placeCore, card)
		if l == nil {
			continue
		}
		all = append(all,
			Owned{l.place, l.place + placeFile, "probe's state"},
			Owned{l.place + placeFile, l.place + placeRing, "probe's tables"},
			Owned{l.place + placeRing, l.place + placeCore, "probe's ring"},
			Owned{l.place + placeCore, l.place + placeSize, "probe's code"},
		)
		for _, i := range l.islands {
			all = append(all, Owned{i, i + islandSize, "probe's island of moved code"})
		}
	}
	begin := make([]byte, len(screensName))
	for _, m := range maps {
		if m.Path != "" || m.Perm != "r-xp" {
			continue
		}
		for at := m.Low; at < m.High && at-m.Low < maxAdjacent*islandSize; at += islandSize { // the kernel merges mappings
			if _, err := mem.ReadAt(begin, int64(at)); err == nil && string(begin) == screensName {
				all = append(all, Owned{at, min(at+islandSize, m.High), "conditions of breakpoints"})
			}
		}
	}
	for _, m := range maps {
		what, ours := strings.CutPrefix(m.Path, "/memfd:hdb ")
		if ours && !slices.ContainsFunc(all, func(o Owned) bool { return o.Low <= m.Low && m.Low < o.High }) {
			all = append(all, Owned{m.Low, m.High, "probe's " + what})
		}
	}
	return all
}

// Covers reports whether a mapping has nothing but memory of all.
func Covers(all []Owned, m inferior.Mapping) bool {
	at := m.Low
	for at < m.High {
		i := slices.IndexFunc(all, func(o Owned) bool { return o.Low <= at && at < o.High })
		if i < 0 {
			return false
		}
		at = all[i].High
	}
	return true
}
