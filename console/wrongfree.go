package console

import (
	"fmt"
	"hdb/console/screen"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session"
)

// A wrongView is a call that gives back what is no block.
type wrongView struct {
	Kind   string      `json:"kind"`
	Why    string      `json:"why"`
	Call   eventView   `json:"event"`
	Addr   string      `json:"address"`
	Unsure bool        `json:"unsure,omitempty"`
	Made   *eventView  `json:"made,omitempty"`
	Freed  *eventView  `json:"freed,omitempty"`
	Frames []frameView `json:"frames,omitempty"`

	MadeFrames  []frameView `json:"made_frames,omitempty"`
	FreedFrames []frameView `json:"freed_frames,omitempty"`
}

func viewWrong(w *query.WrongFree) *wrongView {
	v := &wrongView{
		Kind: w.Kind.String(), Why: w.Why((*recording.Event).Call), Call: viewEvent(w.Call), Addr: fmt.Sprintf("%#x", w.Addr), Unsure: w.Unsure,
		Frames: viewFrames(w.CallFrames), MadeFrames: viewFrames(w.MadeFrames), FreedFrames: viewFrames(w.FreedFrames),
	}
	if w.Made != nil {
		v.Made = new(viewEvent(w.Made))
	}
	if w.Freed != nil {
		v.Freed = new(viewEvent(w.Freed))
	}
	return v
}

// wrongText says why a call is wrong.
func wrongText(o *screen.Output, w *query.WrongFree) string {
	text := w.Why(called(o))
	if w.Unsure {
		text += " (perhaps: not all calls are recorded, the block may have been handed out again)"
	}
	return text
}

// printWrong prints the stacks of the calls before.
func printWrong(o *screen.Output, w *query.WrongFree) {
	print := func(what string, frames []names.Frame) {
		if len(frames) > 0 {
			o.Line(screen.Guess(what + ":"))
			printFrames(o, userFrames(frames))
		}
	}
	if w.Made != nil {
		print(fmt.Sprintf("made by #%d %s", w.Made.Seq, called(o)(w.Made)), w.MadeFrames)
	}
	if w.Freed != nil {
		print(fmt.Sprintf("given back by #%d %s", w.Freed.Seq, called(o)(w.Freed)), w.FreedFrames)
	}
}

// threadOf names a recorded thread.
func threadOf(s *session.Session, tid int32) string {
	for _, t := range s.Recorded.Threads() {
		if t.TID == tid {
			return fmt.Sprintf("thread %d %q", t.Num, t.Name)
		}
	}
	return fmt.Sprintf("thread with TID %d", tid)
}
