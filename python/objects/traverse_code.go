package objects

import "hdb/internal/addr"

// ofClass tells of the references of a class that are no variables of its own struct.
func (h *Heap) ofClass(at addr.Run, visit visitor) {
	b := h.mem.view(at, typeRead)
	if b == nil {
		return
	}
	for _, off := range []int{typeBase, typeDict, typeBases, typeMRO, typeCache, typeSubclasses} {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	if wordIn(b, typeFlags)&isHeapType == 0 {
		return
	}
	ofHeap := []int{h.l.qualname - 16, h.l.qualname - 8, h.l.qualname} // ht_name, ht_slots, ht_qualname
	if h.l.minor >= 9 {
		ofHeap = append(ofHeap, h.l.cachedKeys+8) // ht_module
	}
	for _, off := range ofHeap {
		visit(h.mem.pointer(at+addr.Run(off)), edge{field, uint32(off)})
	}
	k, ok := h.keysAt(h.mem.pointer(at + addr.Run(h.l.cachedKeys)))
	if !ok {
		return
	}
	n := min(k.entries, maxLocals)
	h.slots += int(n)
	for i := range n {
		visit(h.key(k, i), edge{sharedKey, uint32(i)})
	}
}

// ofCode tells of those of a code object.
func (h *Heap) ofCode(at addr.Run, visit visitor) error {
	l := h.l.code
	b := h.mem.view(at, l.size)
	if b == nil {
		return nil
	}
	for off := headSize + 8; off+8 <= l.size; off += 8 {
		if off != l.weak && off != l.extra && off != l.cached {
			visit(pointerIn(b, off), edge{field, uint32(off)})
		}
	}
	switch {
	case h.l.minor >= 12: // _PyCoCached: co_code, co_varnames, co_cellvars, co_freevars
		if cached := pointerIn(b, l.cached); cached != 0 {
			for i := range 4 {
				visit(h.mem.pointer(cached+addr.Run(8*i)), edge{field, uint32(l.cached)})
			}
		}
	case l.cached != 0:
		visit(pointerIn(b, l.cached), edge{field, uint32(l.cached)})
	}
	return h.looked(l.size / 8)
}

// ofFrame tells of those of a frame object.
func (h *Heap) ofFrame(at addr.Run, visit visitor) error {
	l := h.l.frame
	if l.object == 0 {
		return h.ofOldFrame(at, visit)
	}
	visit(h.mem.pointer(at+16), edge{field, 16}) // f_back
	for off := 32; off < l.embedded; off += 8 {
		if off != 40 { // f_lineno
			visit(h.mem.pointer(at+addr.Run(off)), edge{field, uint32(off)})
		}
	}
	if frame := h.mem.pointer(at + addr.Run(l.object)); frame == at+addr.Run(l.embedded) {
		return h.variables(frame, false, visit)
	}
	return nil // it belongs to a thread or a generator
}

// ofOldFrame is ofFrame up to 3.10.
func (h *Heap) ofOldFrame(at addr.Run, visit visitor) error {
	l := h.l.frame
	b := h.mem.view(at, l.size)
	if b == nil {
		return nil
	}
	for _, off := range l.fields {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	stack, fast := pointerIn(b, l.valueStack), at+addr.Run(l.fast)
	if stack < fast || stack > fast+8*maxLocals {
		return nil
	}
	h.slotsFrom(fast, int(stack-fast)/8, variable, visit)
	depth := int64(intIn(b, l.stackTop))
	if h.l.minor < 10 {
		depth = -1
		if top := pointerIn(b, l.stackTop); top >= stack {
			depth = int64(top-stack) / 8
		}
	}
	most := int64(0)
	if code := h.mem.view(pointerIn(b, l.code), h.l.code.size); code != nil {
		most = int64(max(intIn(code, h.l.code.stack), 0))
	}
	kind := temporary
	if depth < 0 || depth > most { // it runs
		depth, kind = most, leftOver
	}
	h.slotsFrom(stack, int(min(depth, maxLocals)), kind, visit)
	return h.looked(int(stack-fast)/8 + 1)
}

// variables tells of the references of a frame from 3.11 on. all has it tell of what a frame that runs may have
// on its stack, too.
func (h *Heap) variables(frame addr.Run, all bool, visit visitor) error {
	l := h.l.frame
	b := h.mem.view(frame, l.fast)
	if b == nil {
		return nil
	}
	for _, off := range l.fields {
		visit(pointerIn(b, off), edge{field, uint32(off)})
	}
	code := h.mem.view(pointerIn(b, l.code), h.l.code.size)
	if t := h.typeOf(pointerIn(b, l.code)); code == nil || t == nil || t.kind != codeKind {
		return nil
	}
	locals, most := intIn(code, h.l.code.locals), intIn(code, h.l.code.stack)
	if locals < 0 || most < 0 || locals > maxLocals || most > maxLocals {
		return nil
	}
	h.slotsFrom(frame+addr.Run(l.fast), locals, variable, visit)
	top := intIn(b, l.stackTop)
	kind, depth := temporary, top-locals
	if top <= 0 || depth < 0 || depth > most { // it runs, or is being set up
		if !all {
			return h.looked(locals)
		}
		kind, depth = leftOver, most
	}
	h.slotsFrom(frame+addr.Run(l.fast+8*locals), depth, kind, visit)
	return h.looked(locals + depth)
}

// slotsFrom tells of n variables or temporary values.
func (h *Heap) slotsFrom(from addr.Run, n int, kind edgeKind, visit visitor) {
	for i := range n {
		if to := h.mem.pointer(from + addr.Run(8*i)); to != 0 {
			visit(to, edge{kind, uint32(i)})
		}
	}
}

// ofGenerator tells of those of a generator, coroutine or asynchronous generator.
func (h *Heap) ofGenerator(at addr.Run, t *Type, visit visitor) error {
	l := h.l.frame
	if l.inGenerator == 0 {
		return h.scan(at, headSize, t.basic, t, visit)
	}
	if err := h.scan(at, headSize, int64(l.generatorState)&^7, t, visit); err != nil {
		return err
	}
	b := h.mem.view(at, l.generatorState+1)
	if b == nil || int8(b[l.generatorState]) >= frameCleared {
		return nil
	}
	return h.variables(at+addr.Run(l.inGenerator), true, visit)
}

// ofModule tells of what the state of a module points to, which C code has beside it.
func (h *Heap) ofModule(at addr.Run, visit visitor) {
	def, state := h.mem.pointer(at+moduleDef), h.mem.pointer(at+moduleState)
	if def == 0 || state == 0 {
		return
	}
	size := min(h.mem.word(def+defSize), maxState)
	h.slots += int(size / 8)
	for off := addr.Run(0); uint64(off)+8 <= size; off += 8 {
		if to := h.mem.pointer(state + off); to != 0 && to%8 == 0 {
			visit(to, edge{stateOf, uint32(off)})
		}
	}
}

// children tells of those of an Element, and of its attributes.
func (h *Heap) children(at addr.Run, visit visitor) error {
	extra := h.mem.pointer(at + elementExtra)
	if extra == 0 {
		return nil
	}
	visit(h.mem.pointer(extra), edge{field, elementExtra})
	return h.elements(h.mem.pointer(extra+extraChildren), h.mem.word(extra+8), func(to addr.Run, e edge) {
		visit(to, edge{child, e.index})
	})
}
