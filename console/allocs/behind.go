package allocs

import (
	"fmt"
	"strings"

	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/session/heaps"
)

// A behindView is the blocks that are held behind headers only.
type behindView struct {
	BehindBlocks int            `json:"behind_header_blocks,omitempty"`
	BehindBytes  uint64         `json:"behind_header_bytes,omitempty"`
	Heads        int            `json:"behind_header_heads,omitempty"`
	HeadsBytes   uint64         `json:"behind_header_heads_bytes,omitempty"`
	Pools        int            `json:"behind_header_pools,omitempty"`
	Headers      []heaps.Header `json:"headers,omitempty"`
}

func viewBehind(a *heaps.LeakAnswer) behindView {
	return behindView{a.Behind.Blocks, a.Behind.Bytes, a.Behind.Heads.Blocks, a.Behind.Heads.Bytes, a.Behind.Pools, a.Headers}
}

// shownHeaders are named in a line.
const shownHeaders = 2

// noteBehind says how many blocks count as reachable that memcheck has as possibly lost, and why.
func noteBehind(o *screen.Output, a *heaps.LeakAnswer) {
	b := &a.Behind
	if b.Blocks == 0 {
		return
	}
	text := fmt.Sprintf("%s (%s) held only behind a header", units.Count(b.Blocks, "block"), o.Sizes.Short(b.Bytes))
	if b.Pools > 0 {
		text += fmt.Sprintf(", or as pools by pointers to many offsets (%s)", units.Grouped(b.Pools))
	}
	if n := b.Blocks - b.Heads.Blocks; n > 0 {
		text += fmt.Sprintf(", %s of them by others of these", units.Grouped(n))
	}
	var named []string
	for i := range a.Headers[:min(shownHeaders, len(a.Headers))] {
		h := &a.Headers[i]
		of := ""
		if h.Function != "" {
			of = " of `" + o.Names.Short(h.Function) + "`"
		}
		named = append(named, fmt.Sprintf("+%d in %s of %s%s", h.Offset, units.Grouped(h.Blocks), units.Grouped(h.Of), of))
	}
	if len(a.Headers) > len(named) {
		named = append(named, "...")
	}
	if len(named) > 0 {
		text += " (" + strings.Join(named, ", ") + ")"
	}
	o.Printf("%s: counted as reachable; --strict shows them\n", text)
}
