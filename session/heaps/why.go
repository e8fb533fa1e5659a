package heaps

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"hdb/capture"
	"hdb/heap/graph"
	"hdb/memory"
	"hdb/query"
	"hdb/recording"
)

// WhyAnswer is what is known of a block.
type WhyAnswer struct {
	Refs     *RefsAnswer
	Path     *PathAnswer
	Retained graph.Sum
	LostToo  graph.Sum          // see [ReachAnswer]
	Content  string             // its first bytes, as text if they are
	Whence   *query.Whence      // nil: no event is recorded
	Chain    []*recording.Event // reallocs and the allocation before the event, the latest first
}

// Why is what is known of the block around an address, with at most limit holders.
func (h *Heap) Why(ctx context.Context, at uint64, limit int) (*WhyAnswer, error) {
	a := &WhyAnswer{}
	var err error
	if a.Refs, err = h.Refs(ctx, at, limit); err != nil {
		return nil, err
	}
	if a.Path, err = h.Path(ctx, at); err != nil {
		return nil, err
	}
	r, err := h.Reach(ctx, at)
	if err != nil {
		return nil, err
	}
	a.Retained, a.LostToo = r.Retained, r.LostToo
	m, err := h.Image()
	if err != nil {
		return nil, err
	}
	a.Content = content(m, &a.Refs.Block)
	if a.Whence = h.stackOfBlock(&a.Refs.Block.Block); a.Whence != nil {
		a.Chain = h.chain(a.Whence.Event)
	}
	return a, nil
}

// maxChain bounds how many reallocs of a block are shown.
const maxChain = 8

// chain are the events that the block of a realloc came from, the latest first.
func (h *Heap) chain(e *recording.Event) (out []*recording.Event) {
	for len(out) < maxChain && e.Kind == capture.Realloc && e.Old != 0 {
		events, _, _, err := h.queries.History(e.Old, 0)
		if err != nil {
			return out
		}
		var made *recording.Event
		for _, x := range events {
			if x.Seq < e.Seq && x.Allocates() && x.Addr == e.Old {
				made = x
			}
		}
		if made == nil {
			return out
		}
		out = append(out, made)
		e = made
	}
	return out
}

// shownContent is how many bytes of a block are shown.
const shownContent = 32

// content shows the first bytes of a block: as text if they are, else as words.
func content(m *memory.Image, b *HeldBlock) string {
	buf := make([]byte, min(b.Size, shownContent))
	n, _ := m.Reader().ReadAt(buf, int64(b.Addr)) // what could be read
	buf = buf[:n]
	text := 0
	for text < len(buf) && buf[text] >= ' ' && buf[text] < 0x7f {
		text++
	}
	more := ""
	if uint64(len(buf)) < b.Size {
		more = " ..."
	}
	if text >= 4 && (text == len(buf) || buf[text] == 0) {
		if text < len(buf) {
			more = ""
		}
		return fmt.Sprintf("%q%s", buf[:text], more)
	}
	var words []string
	for len(buf) >= 8 {
		words = append(words, fmt.Sprintf("%#x", binary.LittleEndian.Uint64(buf)))
		buf = buf[8:]
	}
	if len(buf) > 0 {
		words = append(words, fmt.Sprintf("% x", buf))
	}
	return strings.Join(words, " ") + more
}
