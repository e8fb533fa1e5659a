package console

import (
	"fmt"

	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/session/heaps"
)

// abortWords say what the message of malloc's check means.
var abortWords = [...]string{
	heaps.AbortOther:       "a check of malloc's has failed",
	heaps.AbortWrongFree:   "the block was given back before, or what was given back is no block",
	heaps.AbortEither:      "the block was given back before, or is none, or the header of its chunk or of a neighbour was overwritten",
	heaps.AbortOverwritten: "the header of a chunk was overwritten, as by writing behind the end of a block",
	heaps.AbortLink:        "a link between free chunks was overwritten, as by writing to a block that was given back",
}

// abortHint says what tells more the next time, or how hdb stops before such a call; "" where it has looked.
func abortHint(a *heaps.MallocAbort) string {
	free := a.Kind == heaps.AbortWrongFree || a.Kind == heaps.AbortEither && len(a.Damage) == 0
	switch {
	case a.Wrong != nil && a.Off:
		return "`set wrong-frees stop` would have stopped before the call"
	case free && a.Off && a.Unrecorded:
		return "`set wrong-frees stop` and `record start` before would stop at a call that gives back what is no block, with who made and freed it"
	case free && a.Off:
		return "`set wrong-frees stop` would stop before a call that gives back what is no block"
	case free && a.Unrecorded:
		return "`record start` before would stop at a call that gives back what is no block, with who made and freed it"
	case a.Unrecorded && len(a.Damage) > 0:
		return "`record start` before tells who made the blocks there"
	}
	return ""
}

// An abortView is why malloc has ended the program.
type abortView struct {
	Message string       `json:"text"`
	Why     string       `json:"why"`
	Wrong   *wrongView   `json:"wrong_free,omitempty"`
	Damage  []damageView `json:"damaged,omitempty"`
	More    int          `json:"more,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

func viewAbort(a *heaps.MallocAbort) *abortView {
	v := &abortView{Message: a.Message, Why: abortWords[a.Kind], Damage: viewDamages(a.Damage), More: a.More, Hint: abortHint(a)}
	if a.Wrong != nil {
		v.Wrong = viewWrong(a.Wrong)
	}
	return v
}

// printAbort says why malloc has ended the program, and what the heap has that tells more.
func printAbort(o *screen.Output, a *heaps.MallocAbort) {
	o.Line(screen.Plain(fmt.Sprintf("malloc's own check has ended the program: %q", a.Message)))
	o.Line(screen.Guess("   " + abortWords[a.Kind]))
	if a.Wrong != nil {
		o.Line(screen.Plain(fmt.Sprintf("%s: %s: %s", a.Wrong.Kind, a.Wrong.CallText(called(o)), wrongText(o, a.Wrong))))
		printWrong(o, a.Wrong)
	}
	printDamages(o, a.Damage, a.Threads, a.More)
	if a.More > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%s more: heap)", units.Count(a.More, "damaged field"))))
	}
	if hint := abortHint(a); hint != "" {
		o.Line(screen.Guess("(" + hint + ")"))
	}
}
