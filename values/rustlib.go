package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

// slice is the parts of a fat pointer: data_ptr and length.
func (p *formatter) slice(v Value) (data Value, n int64, ok bool) {
	d, okData := p.w.field(v, "data_ptr")
	l, okLen := p.w.field(v, "length")
	if !okData || !okLen {
		return Value{}, 0, false
	}
	count, err := p.w.uint(l)
	if err != nil || int64(count) < 0 {
		return Value{}, 0, false
	}
	return d, int64(count), true
}

// rustString writes n bytes at a pointer as a string.
func (p *formatter) rustString(data Value, n int64) {
	a, err := p.w.uint(data)
	if err != nil {
		p.write(fault(err))
		return
	}
	show := min(n, int64(p.o.Elements))
	b, err := p.w.read(addr.Run(a), int(min(show, maxRead)))
	if err != nil {
		p.write(fault(err))
		return
	}
	p.write(quoted(b, 1, show < n))
}

func (p *formatter) rustSequence(before string, data Value, n int64) {
	a, err := p.w.uint(data)
	if err != nil {
		p.write(before + fault(err))
		return
	}
	elem := data.Type.strip().Elem()
	size := elem.Size()
	p.write(before + "[")
	p.depth++
	p.sequence(n, func(i int64) Value { return memoryValue(elem, addr.Run(a)+addr.Run(i*size)) })
	p.depth--
	p.write("]")
}

// field is a direct member of a struct by its name.
func (w *World) field(v Value, name string) (Value, bool) {
	fields := v.Type.strip().Fields()
	for i := range fields {
		if fields[i].Name == name && !fields[i].Static {
			m := w.member(v, &fields[i])
			return m, m.err == nil
		}
	}
	return Value{}, false
}

// firstPointer descends into the only or first member until there is a pointer.
func (w *World) firstPointer(v Value) (Value, bool) {
	for range 8 {
		t := v.Type.strip()
		if t.Kind == Pointer {
			return v, true
		}
		fields := t.Fields()
		found := false
		for i := range fields {
			if s := fields[i].Type.Size(); s == 8 || s == 16 {
				v, found = w.member(v, &fields[i]), true
				break
			}
		}
		if !found {
			return Value{}, false
		}
	}
	return Value{}, false
}

// rustVec writes a Vec<T>, or a String, which has one of bytes. The pointer of a
// RawVec is one to bytes since Rust 1.80: the element type is a template parameter.
func (p *formatter) rustVec(v Value, text bool) bool {
	vec := v
	if text {
		var ok bool
		if vec, ok = p.w.field(v, "vec"); !ok {
			return false
		}
	}
	l, ok := p.w.field(vec, "len")
	if !ok {
		return false
	}
	buf, ok := p.w.field(vec, "buf")
	if !ok {
		return false
	}
	if inner, ok := p.w.field(buf, "inner"); ok {
		buf = inner
	}
	raw, ok := p.w.field(buf, "ptr")
	if !ok {
		return false
	}
	ptr, ok := p.w.firstPointer(raw)
	n, err := p.w.uint(l)
	if !ok || err != nil || int64(n) < 0 {
		return false
	}
	if text {
		p.rustString(ptr, int64(n))
		return true
	}
	elem := vec.Type.strip().templateType("T")
	if elem == nil {
		elem = ptr.Type.strip().Elem()
	}
	ptr.Type = elem.pointerTo()
	p.rustSequence(fmt.Sprintf("Vec(size=%d) ", n), ptr, int64(n))
	return true
}

// rustCounted writes Rc and Arc with their counts.
func (p *formatter) rustCounted(v Value, t *Type) bool {
	ptr, ok := p.w.firstPointer(v)
	if !ok {
		return false
	}
	box, err := p.w.deref(ptr)
	if err != nil {
		return false
	}
	box = p.w.load(box)
	strong, ok1 := p.w.number(box, "strong")
	weak, ok2 := p.w.number(box, "weak")
	val, ok3 := p.w.field(box, "value")
	if !ok3 {
		val, ok3 = p.w.field(box, "data")
	}
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	word := "Rc"
	if strings.HasPrefix(t.Name, "alloc::sync") {
		word = "Arc"
	}
	p.write(fmt.Sprintf("%s(strong=%d, weak=%d) {value = ", word, strong, weak-1))
	if n, ok := p.w.fatLength(v); !ok {
		p.value(val)
	} else if at, ok := val.Addr(); ok && n >= 0 {
		elem := val.Type
		data := number(elem.pointerTo(), uint64(at))
		if strings.Contains(t.Name, "<str,") || strings.HasSuffix(t.Name, "<str>") {
			p.rustString(data, n)
		} else {
			p.rustSequence(fmt.Sprintf("[..](size=%d) ", n), data, n)
		}
	}
	p.write("}")
	return true
}

// fatLength is the number of elements that an Rc or Arc of a slice or str keeps beside
// its pointer; false for one of a sized type.
func (w *World) fatLength(v Value) (int64, bool) {
	for range 8 {
		if l, ok := w.field(v, "length"); ok {
			n, err := w.uint(l)
			return int64(n), err == nil
		}
		fields := v.Type.strip().Fields()
		found := false
		for i := range fields {
			if fields[i].Type.Size() == 16 {
				v, found = w.member(v, &fields[i]), true
				break
			}
		}
		if !found {
			break
		}
	}
	return 0, false
}

// number is the integer in a member, which may be wrapped in structs of one member.
func (w *World) number(v Value, name string) (int64, bool) {
	m, ok := w.field(v, name)
	for i := 0; ok && i < 8; i++ {
		t := m.Type.strip()
		if t.Kind != Struct {
			n, err := w.uint(m)
			return int64(n), err == nil
		}
		fields := t.Fields()
		if len(fields) == 0 {
			return 0, false
		}
		m = w.member(m, &fields[0])
	}
	return 0, false
}
