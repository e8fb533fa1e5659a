package objects

import "hdb/internal/addr"

// size is what sys.getsizeof tells of an object: its struct with what comes before it, and the memory that
// is its own elsewhere. ok is false if that is nonsense.
func (h *Heap) size(at addr.Run, t *Type) (n int64, ok bool) {
	n = h.body(at, t)
	if n < 0 || n > maxSize {
		return 0, false
	}
	if h.l.minor >= 11 {
		return n + t.head, true
	}
	if h.hasHead(at, t) {
		n += headSize
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
		return 24 + 4*h.digits(at)
	case listKind:
		return plus(t.basic, times(word(listAllocated), 8))
	case dictKind:
		return plus(t.basic, h.dictSize(at))
	case orderedKind:
		n := plus(plus(t.basic, h.dictSize(at)), times(word(orderedNodes), 8))
		if n >= 0 && word(orderedFirst) != 0 {
			n = plus(n, times(word(dictUsed), orderedNode))
		}
		return n
	case setKind:
		if word(setTable) == uint64(at)+setSmall {
			return t.basic
		}
		return plus(t.basic, times(word(setMask)+1, 16))
	case bytearrayKind:
		return plus(t.basic, times(word(bytearrayAlloc), 1))
	case dequeKind:
		return plus(t.basic, times((word(dequeIndex)+word(varSize)+dequeBlock-1)/dequeBlock, blockOfDeque))
	case typeKind:
		return h.classSize(at)
	case codeKind:
		return h.codeSize(at, t)
	case frameKind:
		return h.frameSize(at)
	case generatorKind:
		if l := h.l.frame; l.inGenerator != 0 {
			return int64(l.inGenerator) + int64(l.fast) + 8*h.room(h.mem.pointer(at+addr.Run(l.inGenerator+l.code)))
		}
	case arrayKind:
		// arrayobject: ob_size, ob_item, allocated and ob_descr, whose second int is the size of an element
		return plus(t.basic, times(word(32), int64(intIn32(h.mem.word(h.mem.pointer(at+40)), 1))))
	case decimalKind:
		const flags, alloc, elsewhere = 24, 56, 0xe0 // mpd_t: data that is static, shared or constant is not its own
		if word(flags)&elsewhere == 0 {
			return plus(t.basic, times(word(alloc), 8))
		}
		return t.basic
	case bytesIOKind:
		buf := h.mem.pointer(at + 16)
		if bt := h.typeOf(buf); bt != nil && bt.kind == varLeaf && h.mem.word(buf) == 1 {
			n, ok := h.size(buf, bt)
			if !ok {
				return -1
			}
			return t.basic + n
		}
		return t.basic
	case bufferedKind:
		if word(56) != 0 {
			return plus(t.basic, times(word(120), 1))
		}
		return t.basic
	case elementKind:
		return plus(t.basic, h.elementSize(at))
	}
	return h.structSize(at, t)
}

func intIn32(w uint64, i int) int32 { return int32(w >> (32 * i)) }

// structSize is object.__sizeof__: the struct with its elements. Attributes that are behind it from 3.13 on are not
// counted, nor those that are elsewhere in 3.11 and 3.12 while an object has no dict.
func (h *Heap) structSize(at addr.Run, t *Type) int64 {
	n := t.basic
	if t.item > 0 {
		n = plus(n, times(h.mem.word(at+varSize), t.item))
	}
	return n
}

// digits is how many digits of 30 bits an int counts, -1 if that is nonsense.
func (h *Heap) digits(at addr.Run) int64 {
	n := int64(h.mem.word(at + varSize))
	if h.l.minor >= 12 {
		n = int64(uint64(n) >> 3) // lv_tag
	} else if n < 0 {
		n = -n
	}
	if n == 0 && h.l.minor >= 11 {
		n = 1
	}
	return n
}

// textSize is str.__sizeof__.
func (h *Heap) textSize(at addr.Run) int64 {
	l := h.l
	b := h.mem.view(at, l.text)
	if b == nil { // at the end of what is mapped
		b = make([]byte, l.text)
		head := h.mem.view(at, l.ascii)
		if head == nil {
			return -1
		}
		copy(b, head)
	}
	state, length := b[textState], wordIn(b, textLength)
	if length > maxSize {
		return -1
	}
	width := int64(state >> 2 & 7)
	data := uint64(at) + uint64(l.compact)
	ascii := state&(textCompact|textASCII) == textCompact|textASCII
	var n int64
	switch {
	case ascii:
		n, data = int64(l.ascii)+int64(length)+1, uint64(at)+uint64(l.ascii)
	case state&textCompact != 0:
		n = int64(l.compact) + (int64(length)+1)*width
	default:
		n = int64(l.text)
		if data = wordIn(b, l.compact); data != 0 {
			n += (int64(length) + 1) * width
		}
	}
	if l.wide != 0 {
		if wide := wordIn(b, l.wide); wide != 0 && (state&textReady == 0 || wide != data) {
			chars := length
			if !ascii {
				chars = wordIn(b, l.wideLength)
			}
			n = plus(n, times(chars+1, 4))
		}
	}
	if utf8 := wordIn(b, l.utf8); !ascii && utf8 != 0 && utf8 != data && n >= 0 {
		n = plus(n, times(wordIn(b, l.utf8Length)+1, 1))
	}
	return n
}

// dictSize is what a dict has elsewhere: values that it does not have with its keys, and the keys unless others
// have them, too.
func (h *Heap) dictSize(at addr.Run) int64 {
	b := h.mem.view(at, dictSize)
	if b == nil {
		return -1
	}
	k, ok := h.keysAt(pointerIn(b, dictKeys))
	if !ok {
		return -1
	}
	n := int64(0)
	if pointerIn(b, dictValues) != 0 {
		room := k.capacity
		if h.l.minor >= 11 {
			room = k.shared()
		}
		n = times(room, 8)
	}
	if k.refs == 1 {
		n = plus(k.bytes, n)
	}
	return n
}

// classSize is type.__sizeof__.
func (h *Heap) classSize(at addr.Run) int64 {
	if h.mem.word(at+typeFlags)&isHeapType == 0 {
		return int64(h.l.staticType)
	}
	n := int64(h.l.heapType)
	if k, ok := h.keysAt(h.mem.pointer(at + addr.Run(h.l.cachedKeys))); ok {
		n += k.bytes
	}
	return n
}

// codeSize is code.__sizeof__.
func (h *Heap) codeSize(at addr.Run, t *Type) int64 {
	l := h.l.code
	n := t.basic
	if t.item > 0 {
		n = plus(n, times(h.mem.word(at+varSize), t.item))
		if n >= 0 {
			n = (n + 7) &^ 7
		}
	}
	if l.cellArguments != 0 && h.mem.word(at+addr.Run(l.cellArguments)) != 0 {
		n = plus(n, times(h.mem.word(h.mem.pointer(at+addr.Run(l.cells))+varSize), 8))
	}
	if extra := h.mem.pointer(at + addr.Run(l.extra)); extra != 0 {
		n = plus(n, 16+plus(times(h.mem.word(extra), 8), -8))
	}
	if l.opcache != 0 && h.mem.word(at+addr.Run(l.opcache)) != 0 {
		const entry = 32
		n = plus(n, times(h.mem.word(h.mem.pointer(at+addr.Run(l.bytecode))+varSize)/2, 1))
		n = plus(n, entry*int64(h.mem.word(at+addr.Run(l.opcache+12))&0xff))
	}
	return n
}

// room is how many variables and temporary values a frame of a code object has room for.
func (h *Heap) room(code addr.Run) int64 {
	l := h.l.code
	b := h.mem.view(code, l.size)
	if b == nil {
		return 0
	}
	n := int64(intIn(b, l.locals)) + int64(intIn(b, l.stack))
	if l.cells != 0 {
		for _, names := range []int{l.cells, l.free} {
			n += int64(min(h.mem.word(pointerIn(b, names)+varSize), maxLocals))
		}
	}
	if n < 0 || n > maxLocals {
		return 0
	}
	return n
}

// frameSize is frame.__sizeof__.
func (h *Heap) frameSize(at addr.Run) int64 {
	l := h.l.frame
	if l.object == 0 {
		return int64(l.size) - 8 + 8*h.room(h.mem.pointer(at+addr.Run(l.code)))
	}
	frame := h.mem.pointer(at + addr.Run(l.object))
	return int64(l.embedded) + int64(l.fast) + 8*h.room(h.mem.pointer(frame+addr.Run(l.code)))
}

// ElementObjectExtra of Modules/_elementtree.c: attrib, length, allocated, children, and room for four.
const (
	elementExtra     = 40
	extraAllocated   = 16
	extraChildren    = 24
	extraStatic      = 32
	elementExtraSize = 64
)

func (h *Heap) elementSize(at addr.Run) int64 {
	extra := h.mem.pointer(at + elementExtra)
	if extra == 0 {
		return 0
	}
	if h.mem.pointer(extra+extraChildren) == extra+extraStatic {
		return elementExtraSize
	}
	return plus(elementExtraSize, times(h.mem.word(extra+extraAllocated), 8))
}
