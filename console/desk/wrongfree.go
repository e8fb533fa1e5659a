package desk

import (
	"fmt"

	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session"
)

// A WrongView is a call that returns what is not a block.
type WrongView struct {
	Kind   string      `json:"kind"`
	Why    string      `json:"why"`
	Call   EventView   `json:"event"`
	Addr   string      `json:"address"`
	Unsure bool        `json:"unsure,omitempty"`
	Made   *EventView  `json:"made,omitempty"`
	Freed  *EventView  `json:"freed,omitempty"`
	Frames []FrameView `json:"frames,omitempty"`

	MadeFrames  []FrameView `json:"made_frames,omitempty"`
	FreedFrames []FrameView `json:"freed_frames,omitempty"`
}

// ViewWrong is a wrong free for JSON.
func ViewWrong(w *query.WrongFree) *WrongView {
	v := &WrongView{
		Kind: w.Kind.String(), Why: w.Why((*recording.Event).Call, units.Sizes{Raw: true}), Call: ViewEvent(w.Call), Addr: fmt.Sprintf("%#x", w.Addr), Unsure: w.Unsure,
		Frames: ViewFrames(w.CallFrames), MadeFrames: ViewFrames(w.MadeFrames), FreedFrames: ViewFrames(w.FreedFrames),
	}
	if w.Made != nil {
		v.Made = new(ViewEvent(w.Made))
	}
	if w.Freed != nil {
		v.Freed = new(ViewEvent(w.Freed))
	}
	return v
}

// WrongText says why a call is wrong.
func WrongText(o *screen.Output, w *query.WrongFree) string {
	text := w.Why(Called(o), o.Sizes)
	if w.Unsure {
		text += " (perhaps: not all calls are recorded, the block may have been handed out again)"
	}
	return text
}

// PrintWrong prints the stacks of the calls before.
func PrintWrong(o *screen.Output, w *query.WrongFree) {
	print := func(what string, frames []names.Frame) {
		if len(frames) > 0 {
			o.Line(screen.Guess(what + ":"))
			PrintFrames(o, UserFrames(frames))
		}
	}
	if w.Made != nil {
		print(fmt.Sprintf("made by #%d %s", w.Made.Seq, Called(o)(w.Made)), w.MadeFrames)
	}
	if w.Freed != nil {
		print(fmt.Sprintf("freed by #%d %s", w.Freed.Seq, Called(o)(w.Freed)), w.FreedFrames)
	}
}

// ThreadOf names a recorded thread.
func ThreadOf(s *session.Session, tid int32) string {
	for _, t := range s.Recorded.Threads() {
		if t.TID == tid {
			return fmt.Sprintf("thread %d %q", t.Num, t.Name)
		}
	}
	return fmt.Sprintf("thread with TID %d", tid)
}
