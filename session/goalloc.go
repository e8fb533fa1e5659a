package session

import (
	"slices"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/recording"
	"hdb/session/stopped"
	"hdb/unwind"
)

// goAllocation is what is known of an allocation that a thread is at; nil: it is none of Go.
func (x *Execution) goAllocation(e *recording.Event, t *inferior.Thread) *stopped.GoAllocation {
	id, ok := e.Goroutine(e.Function)
	if !ok {
		return nil
	}
	a := &stopped.GoAllocation{Goroutine: id}
	if typ := x.target.Go.Of(e.Made(), capture.GoAux(e.Aux), e.Size); typ != nil {
		a.Type = typ.String()
	}
	if g, ok := x.target.Goroutine(t); ok && g.ID == id && g.Creator != (addr.Code{}) {
		if frames := x.target.Names.AppendFrames(nil, unwind.Frame{PC: g.Creator, How: unwind.CFI}); len(frames) > 0 {
			frames[0].Made = true
			a.Creator = &frames[0]
		}
	}
	return a
}

// goAllocation is what a recording has of an allocation with this stack; nil: it is none of Go.
func (t *Travel) goAllocation(e *recording.Event, stack []names.Frame) *stopped.GoAllocation {
	id, ok := e.Goroutine(e.Function)
	if !ok {
		return nil
	}
	a := &stopped.GoAllocation{Goroutine: id}
	if typ := t.types.OfEvent(e); typ != nil {
		a.Type = typ.String()
	}
	if i := slices.IndexFunc(stack, func(f names.Frame) bool { return f.Made }); i >= 0 {
		a.Creator = &stack[i]
	}
	return a
}
