package heaps

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"hdb/heap/regions"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// A named is what a place in memory is called, and the type of what lies there if it is known.
type named struct {
	text string
	typ  *values.Type
	weak bool // it is part of a weak pointer
}

// placeNames names the places in memory outside of blocks: variables of modules and threads, and of frames.
type placeNames struct {
	target *target.Target
	values *variables.Values
	walker *target.Walker

	stacks map[int]*stackView // by thread, as long as the process is stopped
}

// forget drops what is known of stacks.
func (h *placeNames) forget() { h.stacks = map[int]*stackView{} }

// global names a place in the data of a module: as a variable with its members if debug information
// describes it, else as a symbol and an offset, else as a place in the file.
func (h *placeNames) global(at addr.Run) named {
	sym, err := h.target.Names.Symbols.At(at)
	if err != nil {
		return named{}
	}
	if n := h.variable(sym.Module, sym.Name, at); n.typ != nil {
		return n
	}
	if sym.Offset == 0 {
		return named{text: sym.Name}
	}
	return named{text: fmt.Sprintf("%s+%d", sym.Name, sym.Offset)}
}

// variable names a place by the variable outside of functions that lies there, with its members. It
// is empty if the debug information of the module has none of that name there.
func (h *placeNames) variable(module, name string, at addr.Run) (n named) {
	_ = symbols.Guard(func() {
		for _, o := range h.target.Names.Images() {
			if o.Name != module {
				continue
			}
			v := h.values.World.VariableAt(values.Module{Obj: o.Object, Bias: o.Bias}, name, at)
			if v == nil {
				v = h.static(name, at)
			}
			if v == nil {
				continue
			}
			base, _ := v.Addr()
			if text, t := blocktype.Member(v.Type, int64(at-base)); t != nil {
				n = named{name + text, t, blocktype.WeakMember(v.Type, int64(at-base))}
			}
			return
		}
	})
	return n
}

// static is the static variable of a function that is at a place and has that symbol, nil if debug information has none.
func (h *placeNames) static(symbol string, at addr.Run) *values.Value {
	i := strings.LastIndex(symbol, "::")
	if i < 0 {
		return nil
	}
	function, _, _ := strings.Cut(symbol[:i], "(") // its parameters
	name := function + symbol[i:]
	if strings.ContainsFunc(name, func(c rune) bool { return c != ':' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		return nil // no name alone
	}
	v, err := h.values.World.Eval(nil, name)
	if low, ok := v.Addr(); err != nil || !ok || v.Type == nil || at < low || int64(at-low) >= max(v.Type.Size(), 1) {
		return nil
	}
	return &v
}

// A stackView is the frames of a thread with their variables, as far as they were asked for.
type stackView struct {
	stack     names.Stack
	variables map[int][]values.Variable // by frame
}

// placeOnStack finds the frame that has a place on a thread's stack, in region r, and the variable there
// with the place's offset in it. They are nil if none is known. A call that is inlined shares the frame of its
// function.
func (h *placeNames) placeOnStack(t *inferior.Thread, r *regions.Region, at addr.Run) (frame *names.Frame, v *values.Variable, off uint64) {
	regs, err := t.Regs()
	if err != nil || at < regs.SP() && r.Contains(regs.SP()) && uint64(regs.SP()-at) > addr.RedZone {
		return nil, nil, 0
	}
	st := h.stackOf(t)
	if st == nil {
		return nil, nil, 0
	}
	frames := st.stack.Frames
	first := slices.IndexFunc(frames, func(f names.Frame) bool { return at < f.CFA && r.Start < f.CFA && f.CFA <= r.End })
	if first < 0 {
		return nil, nil, 0
	}
	for n := first; n < len(frames) && frames[n].CFA == frames[first].CFA; n++ {
		frame = &frames[n]
		vars := st.of(h, n)
		for i := range vars {
			base, ok := vars[i].Value.Addr()
			if t := vars[i].Value.Type; ok && t != nil && base <= at && int64(at-base) < t.Size() {
				return frame, &vars[i], uint64(at - base)
			}
		}
	}
	return frame, nil, 0
}

// of are the variables of a frame that debug information describes, arguments included.
func (st *stackView) of(h *placeNames, n int) []values.Variable {
	if vars, ok := st.variables[n]; ok {
		return vars
	}
	var all []values.Variable
	_ = symbols.Guard(func() {
		f := h.values.FrameAt(st.stack.Frames, n)
		if f == nil || f.Module.Obj == nil {
			return
		}
		args, _ := h.values.World.Args(f) // what cannot be read has no name
		locals, _ := h.values.World.Locals(f)
		all = append(args, locals...)
	})
	st.variables[n] = all
	return all
}

// maxNamedFrames is how deep frames are looked for.
const maxNamedFrames = 4096

// stackOf is the stack of a thread, walked once while an Image holds; nil if it cannot be.
func (h *placeNames) stackOf(t *inferior.Thread) *stackView {
	view, ok := h.stacks[t.Num]
	if !ok {
		if st, err := h.walker.Stack(t, maxNamedFrames, addr.Code{}); err == nil {
			view = &stackView{st, map[int][]values.Variable{}}
		}
		h.stacks[t.Num] = view
	}
	return view
}

// slot names a place on a thread's stack: the frame, and the variable with its members that lies there.
func (h *placeNames) slot(t *inferior.Thread, r *regions.Region, at addr.Run) (*names.Frame, named) {
	frame, v, off := h.placeOnStack(t, r, at)
	if v == nil {
		return frame, named{}
	}
	text, typ := blocktype.Member(v.Value.Type, int64(off))
	if typ == nil {
		text = fmt.Sprintf("+%d", off)
	}
	return frame, named{v.Name + text, typ, blocktype.WeakMember(v.Value.Type, int64(off))}
}

// localVariable is threadLocal with the name of the place, as global names one.
func (h *placeNames) localVariable(space *regions.Space, at addr.Run) (*ThreadVariable, named) {
	v := h.threadLocal(space, at)
	if v == nil || v.Name == "" {
		return v, named{}
	}
	b, _ := space.TLSAt(at)
	w := &h.values.World
	defer func(selected func(values.Module, uint64) (addr.Run, error)) { w.TLS = selected }(w.TLS)
	w.TLS = func(_ values.Module, offset uint64) (addr.Run, error) { return b.Start + addr.Run(offset), nil }
	if n := h.variable(v.Module, v.Name, at); n.typ != nil {
		return v, n
	}
	return v, named{text: v.String()}
}

// threadLocal is the place of an address in thread-local storage, nil if it is not there.
func (h *placeNames) threadLocal(space *regions.Space, at addr.Run) *ThreadVariable {
	b, ok := space.TLSAt(at)
	if !ok {
		return nil
	}
	v := &ThreadVariable{TID: b.TID, Module: b.Module, Offset: uint64(at - b.Start)}
	if sym, ok := h.target.Names.Symbols.ThreadLocalAt(b.Module, v.Offset); ok {
		v.Name, v.Offset = sym.Name, sym.Offset
	}
	return v
}
