package objects

import (
	"hdb/internal/addr"
	"hdb/python/layout"
)

// ofClass describes the references of a class that are no variables of its own struct.
func (h *Heap) ofClass(at addr.Run, visit visitor) {
	b := h.mem.view(at, h.l.Type.Read)
	if b == nil {
		return
	}
	for _, off := range []int{h.l.Type.Base, h.l.Type.Dict, h.l.Type.Bases, h.l.Type.MRO, h.l.Type.Cache, h.l.Type.Subclasses} {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	if wordIn(b, h.l.Type.Flags)&layout.IsHeapType == 0 {
		return
	}
	l := &h.l.HeapType
	for _, off := range []int{l.Name, l.Slots, l.Qualname, l.Module} {
		if off != 0 {
			visit(h.mem.field(at, off), edge{field, uint32(off)})
		}
	}
	k, ok := h.keysAt(h.mem.field(at, l.CachedKeys))
	if !ok {
		return
	}
	n := min(k.Entries, maxLocals)
	h.slots += int(n)
	for i := range n {
		visit(h.mem.pointer(k.KeyAt(i)), edge{sharedKey, uint32(i)})
	}
}

// ofCode describes those of a code object.
func (h *Heap) ofCode(at addr.Run, visit visitor) error {
	l := &h.l.Code
	size := l.Fields()
	b := h.mem.view(at, size)
	if b == nil {
		return nil
	}
	for off := h.l.Object.Size + 8; off+8 <= size; off += 8 {
		if off != l.Weak && off != l.Extra && off != l.Cached {
			visit(pointerIn(b, off), edge{field, uint32(off)})
		}
	}
	switch {
	case l.CachedParts != 0: // co_code, co_varnames, co_cellvars, co_freevars
		if cached := pointerIn(b, l.Cached); cached != 0 {
			for i := range l.CachedParts {
				visit(h.mem.field(cached, 8*i), edge{field, uint32(l.Cached)})
			}
		}
	case l.Cached != 0:
		visit(pointerIn(b, l.Cached), edge{field, uint32(l.Cached)})
	}
	return h.looked(size / 8)
}

// ofFrame describes those of a frame object.
func (h *Heap) ofFrame(at addr.Run, visit visitor) error {
	l := &h.l.FrameObject
	if l.Frame == 0 {
		return h.ofOldFrame(at, visit)
	}
	for _, off := range l.References {
		visit(h.mem.field(at, off), edge{field, uint32(off)})
	}
	if frame := h.mem.field(at, l.Frame); frame == at+addr.Run(l.Embedded) {
		return h.variables(frame, false, visit)
	}
	return nil // it belongs to a thread or a generator
}

// ofOldFrame is ofFrame up to 3.10.
func (h *Heap) ofOldFrame(at addr.Run, visit visitor) error {
	l := &h.l.Frame
	b := h.mem.view(at, l.Size)
	if b == nil {
		return nil
	}
	for _, off := range l.References {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	stack, fast := pointerIn(b, l.ValueStack), at+addr.Run(l.Fast)
	if stack < fast || stack > fast+8*maxLocals {
		return nil
	}
	h.slotsFrom(fast, int(stack-fast)/8, variable, visit)
	depth := int64(-1)
	if l.StackDepth != 0 {
		depth = int64(intIn(b, l.StackDepth))
	} else if top := pointerIn(b, l.StackTop); top >= stack {
		depth = int64(top-stack) / 8
	}
	most := int64(0)
	if code := h.mem.view(pointerIn(b, l.Code), h.l.Code.Fields()); code != nil {
		most = int64(max(intIn(code, h.l.Code.Stack), 0))
	}
	kind := temporary
	if depth < 0 || depth > most { // it runs
		depth, kind = most, leftOver
	}
	h.slotsFrom(stack, int(min(depth, maxLocals)), kind, visit)
	return h.looked(int(stack-fast)/8 + 1)
}

// variables describes the references of a frame from 3.11 on. all has it describe what a frame that runs may
// have on its stack, too.
func (h *Heap) variables(frame addr.Run, all bool, visit visitor) error {
	l := &h.l.Frame
	b := h.mem.view(frame, l.Fast)
	if b == nil {
		return nil
	}
	for _, off := range l.References {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	code := h.mem.view(pointerIn(b, l.Code), h.l.Code.Fields())
	if t := h.typeOf(pointerIn(b, l.Code)); code == nil || t == nil || t.kind != codeKind {
		return nil
	}
	locals, most := intIn(code, h.l.Code.Locals), intIn(code, h.l.Code.Stack)
	if locals < 0 || most < 0 || locals > maxLocals || most > maxLocals {
		return nil
	}
	h.slotsFrom(frame+addr.Run(l.Fast), locals, variable, visit)
	top := intIn(b, l.StackTop)
	kind, depth := temporary, top-locals
	if top <= 0 || depth < 0 || depth > most { // it runs, or is being set up
		if !all {
			return h.looked(locals)
		}
		kind, depth = leftOver, most
	}
	h.slotsFrom(frame+addr.Run(l.Fast+8*locals), depth, kind, visit)
	return h.looked(locals + depth)
}

// slotsFrom describes n variables or temporary values.
func (h *Heap) slotsFrom(from addr.Run, n int, kind edgeKind, visit visitor) {
	for i := range n {
		if to := h.mem.pointer(from + addr.Run(8*i)); to != 0 {
			visit(to, edge{kind, uint32(i)})
		}
	}
}

// ofGenerator describes those of a generator, coroutine or asynchronous generator.
func (h *Heap) ofGenerator(at addr.Run, t *Type, visit visitor) error {
	l := &h.l.Generator
	if !l.Embedded {
		return h.scan(at, int64(h.l.Object.Size), t.Basic, t, visit)
	}
	if err := h.scan(at, int64(h.l.Object.Size), int64(l.State)&^7, t, visit); err != nil {
		return err
	}
	b := h.mem.view(at, l.State+1)
	if b == nil || int(int8(b[l.State])) >= l.Finished {
		return nil
	}
	return h.variables(at+addr.Run(l.Frame), true, visit)
}

// ofModule describes what the state of a module points to, which C code has in addition.
func (h *Heap) ofModule(at addr.Run, visit visitor) {
	def, state := h.mem.field(at, h.l.Module.Def), h.mem.field(at, h.l.Module.State)
	if def == 0 || state == 0 {
		return
	}
	size := min(h.mem.word(def+addr.Run(h.l.Module.StateSize)), maxState)
	h.slots += int(size / 8)
	for off := addr.Run(0); uint64(off)+8 <= size; off += 8 {
		if to := h.mem.pointer(state + off); to != 0 && to%8 == 0 {
			visit(to, edge{stateOf, uint32(off)})
		}
	}
}

// children describes those of an Element, and of its attributes.
func (h *Heap) children(at addr.Run, visit visitor) error {
	extra := h.mem.field(at, h.l.Element.Extra)
	if extra == 0 {
		return nil
	}
	visit(h.mem.pointer(extra), edge{field, uint32(h.l.Element.Extra)})
	return h.elements(h.mem.field(extra, layout.ExtraChildren), h.mem.word(extra+layout.ExtraLength), func(to addr.Run, e edge) {
		visit(to, edge{child, e.index})
	})
}
