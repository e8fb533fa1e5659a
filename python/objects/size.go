package objects

import (
	"hdb/internal/addr"
	"hdb/python/layout"
)

// size is what sys.getsizeof says of an object: its struct with what comes before it, and the memory
// that is its own elsewhere. ok is false if that is nonsense.
func (h *Heap) size(at addr.Run, t *Type) (n int64, ok bool) {
	n = h.body(at, t)
	if n < 0 || n > maxSize {
		return 0, false
	}
	if h.l.Minor >= 11 {
		return n + t.head, true
	}
	if h.hasHead(at, t) {
		n += int64(h.l.GC.Head)
	}
	return n, true
}

// times is a product of what memory tells, -1 if it is nonsense.
func times(n uint64, size int64) int64 {
	if n > maxItems {
		return -1
	}
	return int64(n) * size
}

// plus adds what an object has elsewhere, which may be nonsense, to its struct.
func plus(n, more int64) int64 {
	if more < 0 {
		return -1
	}
	return n + more
}

// body is the size without what is before the object: its __sizeof__.
func (h *Heap) body(at addr.Run, t *Type) int64 {
	word := func(off int) uint64 { return h.mem.word(at + addr.Run(off)) }
	switch t.kind {
	case textKind:
		return h.textSize(at)
	case intKind:
		return int64(h.l.Int.Digits) + layout.DigitSize*h.digits(at)
	case listKind:
		return plus(t.Basic, times(word(h.l.List.Allocated), 8))
	case dictKind:
		return plus(t.Basic, h.dictSize(at))
	case orderedKind:
		n := plus(plus(t.Basic, h.dictSize(at)), times(word(h.l.Ordered.Nodes), 8))
		if n >= 0 && word(h.l.Ordered.First) != 0 {
			n = plus(n, times(word(h.l.Dict.Used), int64(h.l.Ordered.Node)))
		}
		return n
	case setKind:
		if word(h.l.Set.Table) == uint64(at)+uint64(h.l.Set.Small) {
			return t.Basic
		}
		return plus(t.Basic, times(word(h.l.Set.Mask)+1, 16))
	case bytearrayKind:
		return plus(t.Basic, times(word(h.l.ByteArray.Allocated), 1))
	case dequeKind:
		return plus(t.Basic, times((word(h.l.Deque.Index)+word(h.l.Object.Count)+layout.DequeBlock-1)/layout.DequeBlock, layout.DequeBlockSize))
	case typeKind:
		return h.classSize(at)
	case codeKind:
		return h.codeSize(at, t)
	case frameKind:
		return h.frameSize(at)
	case generatorKind:
		if g, f := &h.l.Generator, &h.l.Frame; g.Embedded {
			return int64(g.Frame) + int64(f.Fast) + 8*h.room(h.mem.field(at, g.Frame+f.Code))
		}
	case arrayKind:
		descr := h.mem.word(h.mem.field(at, h.l.Array.Descr)) // its second int is the size of an element
		return plus(t.Basic, times(word(h.l.Array.Allocated), int64(int32(descr>>32))))
	case decimalKind:
		const elsewhere = 0xe0 // data that is static, shared or constant is not its own
		if word(h.l.Decimal.Flags)&elsewhere == 0 {
			return plus(t.Basic, times(word(h.l.Decimal.Allocated), 8))
		}
		return t.Basic
	case bytesIOKind:
		buf := h.mem.field(at, h.l.BytesIO.Buffer)
		if bt := h.typeOf(buf); bt != nil && bt.kind == varLeaf && h.mem.word(buf) == 1 {
			n, ok := h.size(buf, bt)
			if !ok {
				return -1
			}
			return t.Basic + n
		}
		return t.Basic
	case bufferedKind:
		if word(h.l.Buffered.Buffer) != 0 {
			return plus(t.Basic, times(word(h.l.Buffered.Size), 1))
		}
		return t.Basic
	case elementKind:
		return plus(t.Basic, h.elementSize(at))
	}
	return h.structSize(at, t)
}

// structSize is object.__sizeof__: the struct with its elements. Attributes that are behind it from 3.13 on are not
// counted, nor those that are elsewhere in 3.11 and 3.12 while an object has no dict.
func (h *Heap) structSize(at addr.Run, t *Type) int64 {
	n := t.Basic
	if t.Item > 0 {
		n = plus(n, times(h.count(at), t.Item))
	}
	return n
}

// digits is how many digits of 30 bits an int counts, -1 if that is nonsense.
func (h *Heap) digits(at addr.Run) int64 {
	n, _ := h.l.Int.Count(h.count(at))
	if n == 0 && h.l.Minor >= 11 {
		n = 1
	}
	return n
}

// textSize is str.__sizeof__.
func (h *Heap) textSize(at addr.Run) int64 {
	l := &h.l.Text
	b := h.mem.view(at, l.Size)
	if b == nil { // at the end of what is mapped
		b = make([]byte, l.Size)
		head := h.mem.view(at, l.ASCII)
		if head == nil {
			return -1
		}
		copy(b, head)
	}
	state, length := l.StateOf(b), wordIn(b, l.Length)
	if length > maxSize {
		return -1
	}
	width := int64(state.Width)
	data := uint64(at) + uint64(l.Compact)
	ascii := state.Compact && state.ASCII
	var n int64
	switch {
	case ascii:
		n, data = int64(l.ASCII)+int64(length)+1, uint64(at)+uint64(l.ASCII)
	case state.Compact:
		n = int64(l.Compact) + (int64(length)+1)*width
	default:
		n = int64(l.Size)
		if data = wordIn(b, l.Compact); data != 0 {
			n += (int64(length) + 1) * width
		}
	}
	if l.Wide != 0 {
		if wide := wordIn(b, l.Wide); wide != 0 && (!state.Ready || wide != data) {
			chars := length
			if !ascii {
				chars = wordIn(b, l.WideLength)
			}
			n = plus(n, times(chars+1, 4))
		}
	}
	if utf8 := wordIn(b, l.UTF8); !ascii && utf8 != 0 && utf8 != data && n >= 0 {
		n = plus(n, times(wordIn(b, l.UTF8Length)+1, 1))
	}
	return n
}

// dictSize is what a dict has elsewhere: values that it does not have with its keys, and the keys unless others
// share them.
func (h *Heap) dictSize(at addr.Run) int64 {
	b := h.mem.view(at, h.l.Dict.Size)
	if b == nil {
		return -1
	}
	k, ok := h.keysAt(pointerIn(b, h.l.Dict.Keys))
	if !ok {
		return -1
	}
	n := int64(0)
	if pointerIn(b, h.l.Dict.Values) != 0 {
		room := k.Capacity
		if h.l.Minor >= 11 {
			room = k.Shared()
		}
		n = times(room, 8)
	}
	if k.Refs == 1 {
		n = plus(k.Bytes, n)
	}
	return n
}

// classSize is type.__sizeof__.
func (h *Heap) classSize(at addr.Run) int64 {
	if h.mem.word(at+addr.Run(h.l.Type.Flags))&layout.IsHeapType == 0 {
		return int64(h.l.HeapType.Static)
	}
	n := int64(h.l.HeapType.Size)
	if k, ok := h.keysAt(h.mem.field(at, h.l.HeapType.CachedKeys)); ok {
		n += k.Bytes
	}
	return n
}

// codeSize is code.__sizeof__.
func (h *Heap) codeSize(at addr.Run, t *Type) int64 {
	l := &h.l.Code
	n := t.Basic
	if t.Item > 0 {
		n = plus(n, times(h.count(at), t.Item))
		if n >= 0 {
			n = (n + 7) &^ 7
		}
	}
	if l.CellArguments != 0 && h.mem.word(at+addr.Run(l.CellArguments)) != 0 {
		n = plus(n, times(h.count(h.mem.field(at, l.Cells)), 8))
	}
	if extra := h.mem.field(at, l.Extra); extra != 0 {
		n = plus(n, 16+plus(times(h.mem.word(extra), 8), -8))
	}
	if l.Opcache != 0 && h.mem.word(at+addr.Run(l.Opcache)) != 0 {
		const entry = 32
		n = plus(n, times(h.count(h.mem.field(at, l.Bytecode))/2, 1))
		n = plus(n, entry*int64(h.mem.word(at+addr.Run(l.Opcache+12))&0xff))
	}
	return n
}

// room is how many variables and temporary values a frame of a code object has room for.
func (h *Heap) room(code addr.Run) int64 {
	l := &h.l.Code
	b := h.mem.view(code, l.Fields())
	if b == nil {
		return 0
	}
	n := int64(intIn(b, l.Locals)) + int64(intIn(b, l.Stack))
	if l.Cells != 0 {
		for _, names := range []int{l.Cells, l.Free} {
			n += int64(min(h.count(pointerIn(b, names)), maxLocals))
		}
	}
	if n < 0 || n > maxLocals {
		return 0
	}
	return n
}

// frameSize is frame.__sizeof__.
func (h *Heap) frameSize(at addr.Run) int64 {
	l, o := &h.l.Frame, &h.l.FrameObject
	if o.Frame == 0 {
		return int64(l.Size) - 8 + 8*h.room(h.mem.field(at, l.Code))
	}
	frame := h.mem.field(at, o.Frame)
	return int64(o.Embedded) + int64(l.Fast) + 8*h.room(h.mem.field(frame, l.Code))
}

func (h *Heap) elementSize(at addr.Run) int64 {
	extra := h.mem.field(at, h.l.Element.Extra)
	if extra == 0 {
		return 0
	}
	if h.mem.field(extra, layout.ExtraChildren) == extra+layout.ExtraStatic {
		return layout.ExtraSize
	}
	return plus(layout.ExtraSize, times(h.mem.word(extra+layout.ExtraAllocated), 8))
}
