package session

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/names"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// A named is what a place in memory is called, and the type of what lies there if it is known.
type named struct {
	text string
	typ  *values.Type
}

// global names a place in the data of a module: as a variable with its members if debug information
// describes it, else as a symbol and an offset, else as a place in the file.
func (h *Heap) global(at addr.Run) named {
	sym, err := h.names.Symbols.At(at)
	if err != nil {
		return named{}
	}
	if v := h.variable(sym.Name); v != nil {
		if base, ok := v.Addr(); ok && base <= at {
			if text, t := blocktype.Member(v.Type, int64(at-base)); t != nil {
				return named{sym.Name + text, t}
			}
		}
	}
	if sym.Offset == 0 {
		return named{text: sym.Name}
	}
	return named{text: fmt.Sprintf("%s+%d", sym.Name, sym.Offset)}
}

// variable is a variable outside of functions, nil if debug information does not describe it.
func (h *Heap) variable(name string) (v *values.Value) {
	if strings.ContainsAny(name, " <>()[]") {
		return nil // no expression
	}
	_ = symbols.Guard(func() {
		if x, err := h.values.w.Eval(nil, name); err == nil {
			v = &x
		}
	})
	return v
}

// A stackView is the frames of a thread with their variables, as far as they were asked for.
type stackView struct {
	stack     names.Stack
	variables map[int][]values.Variable // by frame
}

// slot names a place on a thread's stack: the frame, and the variable with its members that lies
// there.
func (h *Heap) slot(thread int, at addr.Run) (frame *names.Frame, name named) {
	st := h.stackOf(thread)
	if st == nil {
		return nil, named{}
	}
	frames := st.stack.Frames
	for i := range frames {
		f := &frames[i]
		if f.CFA == 0 {
			break
		}
		if at >= f.CFA {
			continue
		}
		first := i
		for n := first; n < len(frames) && frames[n].CFA == f.CFA; n++ { // inlined calls share the frame
			for _, v := range st.of(h, n) {
				base, ok := v.Value.Addr()
				if !ok || v.Value.Type == nil || base > at || int64(at-base) >= v.Value.Type.Size() {
					continue
				}
				text, t := blocktype.Member(v.Value.Type, int64(at-base))
				if t == nil {
					text = fmt.Sprintf("+%d", at-base)
				}
				return &frames[n], named{v.Name + text, t}
			}
			frame = &frames[n]
		}
		return frame, named{}
	}
	return nil, named{}
}

// of are the variables of a frame that debug information describes, arguments included.
func (st *stackView) of(h *Heap, n int) []values.Variable {
	if vars, ok := st.variables[n]; ok {
		return vars
	}
	var all []values.Variable
	_ = symbols.Guard(func() {
		f := h.values.frameAt(st.stack.Frames, n)
		if f == nil {
			return
		}
		args, _ := h.values.w.Args(f) // what cannot be read has no name
		locals, _ := h.values.w.Locals(f)
		all = append(args, locals...)
	})
	st.variables[n] = all
	return all
}

// maxNamedFrames is how deep variables are looked for.
const maxNamedFrames = 200

// stackOf is the stack of a thread, walked once while an Image holds; nil if it cannot be.
func (h *Heap) stackOf(thread int) *stackView {
	if st, ok := h.stacks[thread]; ok {
		return st
	}
	var view *stackView
	for _, t := range h.common.image.Threads() {
		if t.Num != thread {
			continue
		}
		if st, err := h.walker.stack(t, maxNamedFrames, addr.Code{}); err == nil {
			view = &stackView{st, map[int][]values.Variable{}}
		}
	}
	h.stacks[thread] = view
	return view
}

// threadVariable names a place in the static thread-local storage of a thread, by the symbols of the
// modules.
func (h *Heap) threadVariable(thread int, at addr.Run) named {
	return named{}
}
