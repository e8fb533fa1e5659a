package desk

import (
	"fmt"

	"hdb/console/screen"
	"hdb/heap/glibc"
	"hdb/internal/units"
	"hdb/session/heaps"
)

// abortWords say what the message of malloc's check means.
var abortWords = [...]string{
	heaps.AbortOther:       "a check of malloc's has failed",
	heaps.AbortWrongFree:   "double free, or a free of something that is not a block",
	heaps.AbortEither:      "double free, a free of something that is not a block, or the header of its chunk or of a neighbour was overwritten",
	heaps.AbortOverwritten: "the header of a chunk was overwritten, as by writing beyond the end of a block",
	heaps.AbortLink:        "a link between free chunks was overwritten, as by writing to a freed block",
}

// abortHint says what tells more the next time, or how hdb stops before such a call; "" where it has looked.
func abortHint(a *heaps.MallocAbort) string {
	free := a.Kind == heaps.AbortWrongFree || a.Kind == heaps.AbortEither && len(a.Damage) == 0
	switch {
	case a.Wrong != nil && a.Off:
		return "`set wrong-frees stop` would have stopped before the call"
	case free && a.Off && a.Unrecorded:
		return "`set wrong-frees stop` and `record start` before the run would stop at such a free, and show who allocated and freed the block"
	case free && a.Off:
		return "`set wrong-frees stop` would stop before such a free"
	case free && a.Unrecorded:
		return "`record start` before the run would stop at such a free, and show who allocated and freed the block"
	case a.Unrecorded && len(a.Damage) > 0:
		return "`record start` before the run would show who allocated the blocks there"
	}
	return ""
}

// An abortView is why malloc has ended the program.
type abortView struct {
	Message string       `json:"text"`
	Why     string       `json:"why"`
	Wrong   *WrongView   `json:"wrong_free,omitempty"`
	Damage  []DamageView `json:"damaged,omitempty"`
	More    int          `json:"more,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

func viewAbort(a *heaps.MallocAbort) *abortView {
	v := &abortView{Message: a.Message, Why: abortWords[a.Kind], Damage: ViewDamages(a.Damage), More: a.More, Hint: abortHint(a)}
	if a.Wrong != nil {
		v.Wrong = ViewWrong(a.Wrong)
	}
	return v
}

// printAbort says why malloc has ended the program, and what the heap has that tells more.
func printAbort(o *screen.Output, a *heaps.MallocAbort) {
	o.Line(screen.Plain(fmt.Sprintf("malloc's own check has ended the program: %q", a.Message)))
	o.Line(screen.Guess("   " + abortWords[a.Kind]))
	if a.Wrong != nil {
		o.Line(screen.Plain(fmt.Sprintf("%s: %s: %s", a.Wrong.Kind, a.Wrong.CallText(Called(o)), WrongText(o, a.Wrong))))
		PrintWrong(o, a.Wrong)
	}
	PrintDamages(o, a.Damage, a.Threads, a.More)
	if a.More > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%s more: heap)", units.Count(a.More, "damaged field"))))
	}
	if hint := abortHint(a); hint != "" {
		o.Line(screen.Guess("(" + hint + ")"))
	}
}

// DamageView is a place where the heap is damaged.
type DamageView struct {
	Arena    int            `json:"arena_number"` // -1 of a tcache
	Chunk    string         `json:"header"`
	Field    string         `json:"field"`
	Found    string         `json:"found"`
	Expected string         `json:"expected"`
	Passing  bool           `json:"in_passing,omitempty"`
	Before   *NeighbourView `json:"before,omitempty"`
	At       *NeighbourView `json:"at,omitempty"`
}

// ViewDamages are damaged chunks for JSON.
func ViewDamages(all []heaps.HeapDamage) (views []DamageView) {
	for i := range all {
		d := &all[i]
		views = append(views, DamageView{d.Arena, d.Chunk.String(), d.Field, d.Found(), d.Expected(), d.Passing, ViewNeighbour(d.Before), ViewNeighbour(d.At)})
	}
	return views
}

// NeighbourView is a chunk with who made its block.
type NeighbourView struct {
	Address string      `json:"address"`
	Usable  uint64      `json:"usable_bytes"`
	State   string      `json:"chunk_state"`
	Event   *EventView  `json:"event,omitempty"`
	Frames  []FrameView `json:"frames,omitempty"`
}

// ViewNeighbour is the block next to a damaged chunk for JSON, nil without one.
func ViewNeighbour(n *heaps.HeapNeighbour) *NeighbourView {
	if n == nil {
		return nil
	}
	v := &NeighbourView{Address: n.Addr.String(), Usable: n.Size, State: n.State.String()}
	if n.Event != nil {
		e := ViewEvent(n.Event)
		v.Event, v.Frames = &e, ViewFrames(n.Frames)
	}
	return v
}

// PrintDamages tells where the heap is damaged.
func PrintDamages(o *screen.Output, all []heaps.HeapDamage, threads map[int]int, more int) {
	for i := range all {
		d := &all[i]
		if i == maxDamages {
			o.Line(screen.Guess(fmt.Sprintf("(%s more; --json lists them)", units.Count(len(all)-i+more, "damaged field"))))
			return
		}
		text := "! " + d.String()
		if d.Arena > 0 {
			text += fmt.Sprintf(" (arena %d)", d.Arena)
		}
		if n, ok := threads[d.TID]; ok && d.TID != 0 {
			text += fmt.Sprintf(" (thread %d)", n)
		}
		if d.Passing {
			text += "; a thread may be about to change it"
		}
		o.Line(screen.Warning(text))
		if d.Before != nil {
			o.Line(screen.Plain("  in front of it: "), screen.Plain(NeighbourText(o, d.Before)))
		}
		if d.At != nil {
			o.Line(screen.Plain("  its block: "), screen.Plain(NeighbourText(o, d.At)))
		}
	}
}

// NeighbourText is a chunk in a sentence.
func NeighbourText(o *screen.Output, n *heaps.HeapNeighbour) string {
	text := fmt.Sprintf("%s, %s at %v", StateWords[n.State], o.Sizes.Long(n.Size), n.Addr)
	if n.Event == nil {
		return text
	}
	return text + ", " + MakerText(o, n)
}

// MakerText is who made a block that is recorded.
func MakerText(o *screen.Output, n *heaps.HeapNeighbour) string {
	text := fmt.Sprintf("#%d %s", n.Event.Seq, n.Event.CallText(o.Sizes.Argument))
	if n.Owner < len(n.Frames) {
		f := &n.Frames[n.Owner]
		text += "  " + o.Names.Short(f.Name())
		if f.Line > 0 {
			text += fmt.Sprintf("  %s:%d", screen.ShortPath(f.File), f.Line)
		}
	}
	return text
}

// StateWords say what a chunk is.
var StateWords = [...]string{
	glibc.Used: "used", glibc.Mmapped: "used, a mapping of its own", glibc.TCache: "free, in a tcache", glibc.FastBin: "free, in a fastbin",
	glibc.Free: "free, in a bin", glibc.Top: "the top of its arena", glibc.Internal: "the tcache of a thread",
}

// maxArenaRows is how many arenas `heap` lists, maxDamages how many damaged fields; --json has all.
const (
	MaxArenaRows = 16
	maxDamages   = 10
)
