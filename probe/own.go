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

// Own is what probes have mapped in a process, be they in use, left behind by one that could not be
// taken out, or in a core file: their cards and the names of their files identify them.
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
	for _, m := range maps {
		what, ours := strings.CutPrefix(m.Path, "/memfd:hdb ")
		if ours && !slices.ContainsFunc(all, func(o Owned) bool { return o.Low <= m.Low && m.Low < o.High }) {
			all = append(all, Owned{m.Low, m.High, "probe's " + what})
		}
	}
	return all
}
