package printers

import (
	"fmt"
	"strconv"

	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
	"hdb/values"
)

// view describes n elements of an array.
func view(r *values.Reader, name string, ptr values.Value, n uint64) (values.Display, bool) {
	t := ptr.Type.Strip()
	if t.Kind != values.Pointer || int64(n) < 0 {
		return values.Display{}, false
	}
	elem := t.Elem()
	a, err := r.Uint(ptr)
	size := elem.Size()
	if err != nil || size <= 0 {
		return values.Display{}, false
	}
	d := values.Display{Head: fmt.Sprintf("%s of length %d", name, n), Len: new(int64(n))}
	if n > 0 {
		d.Elements = &values.Elements{Count: int64(n), At: func(i int64) values.Value {
			return values.MemoryValue(elem, addr.Run(a)+addr.Run(i*size))
		}}
	}
	return d, true
}

// lastNumber finds the last template argument of a name if that is a number. Compilers
// differ in suffixes.
var lastNumber = lazyregexp.New(`, ([0-9]+)[uUlL]*>$`)

// spanParts are the pointer and the length of a span of either library. The length may be a
// template argument.
func spanParts(r *values.Reader, v values.Value) (values.Value, uint64, bool) {
	ptr, ok := packed(r, v, "_M_ptr", "__data_", "__data")
	if !ok {
		return values.Value{}, 0, false
	}
	if n, ok := r.FindUint(v, "_M_extent", "_M_extent_value"); ok {
		return ptr, n, true
	}
	if n, ok := packedUint(r, v, "__size_", "__size"); ok {
		return ptr, n, true
	}
	m := lastNumber().FindStringSubmatch(v.Type.Strip().Name)
	if m == nil {
		return values.Value{}, 0, false
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	return ptr, n, err == nil
}

func span(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, n, ok := spanParts(r, v)
	if !ok {
		return values.Display{}, false
	}
	return view(r, "std::span", ptr, n)
}

func spanElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, _, ok := spanParts(r, v)
	if !ok {
		return values.Value{}, false
	}
	return behind(r, ptr, i)
}

func initializerList(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := packed(r, v, "_M_array", "__begin_")
	n, ok1 := packedUint(r, v, "_M_len", "__size_")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return view(r, "std::initializer_list", ptr, n)
}

// arraySize is what the functions of an array say, which is printed by its members.
func arraySize(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	elems, ok := packed(r, v, "_M_elems", "__elems_")
	if !ok || elems.Type.Strip().Kind != values.Array {
		return values.Value{}, nil, false
	}
	n := elems.Type.Strip().Count()
	elem := elems.Type.Strip().Row()
	switch name {
	case "size":
		return values.Number(v.Type.Program().UnsignedLong(), uint64(n)), nil, n >= 0
	case "empty":
		return v.Type.Program().Boolean(n == 0), nil, n >= 0
	case "front":
		return elems.Part(elem, 0), nil, n > 0
	case "back":
		return elems.Part(elem, (n-1)*elem.Size()), nil, n > 0
	case "data":
		p, ok := pointerTo(elems.Part(elem, 0))
		return p, nil, ok && n > 0
	}
	return values.Value{}, nil, false
}

// bitset describes the bits that are set, as gdb's printer does.
func bitset(r *values.Reader, v values.Value) (values.Display, bool) {
	d := values.Display{Head: "std::bitset"}
	words, ok := packed(r, v, "_M_w", "__first_")
	if !ok {
		return d, v.Type.Size() <= 1 // bitset<0> has no members
	}
	b, err := r.Bytes(words)
	if err != nil {
		return values.Display{Head: d.Head, Err: err}, true
	}
	if any := func() bool {
		for _, c := range b {
			if c != 0 {
				return true
			}
		}
		return false
	}(); !any {
		return d, true
	}
	one := values.Number(v.Type.Program().UnsignedLong(), 1)
	d.Items = func(yield func(values.Item, error) bool) {
		for i := range int64(len(b)) * 8 {
			if b[i/8]>>(i%8)&1 == 1 && !yield(values.Item{Label: number(i), Value: one}, nil) {
				return
			}
		}
	}
	return d, true
}

// forward describes a list with links in one direction. value is the offset of the value.
func forward(r *values.Reader, val *values.Type, first uint64) values.Display {
	if first == 0 {
		return values.Display{Head: "empty std::forward_list", Len: new(int64)}
	}
	off := aligned(val, 8)
	return values.Display{Head: "std::forward_list", Items: func(yield func(values.Item, error) bool) {
		next := first
		for i := int64(0); next != 0; i++ {
			at := addr.Run(next)
			var err error
			if next, err = r.ReadUint(at, 8); err != nil {
				yield(values.Item{}, errBroken)
				return
			}
			if !yield(values.Item{Label: number(i), Value: values.MemoryValue(val, at+off)}, nil) {
				return
			}
		}
	}}
}

func stdForward(r *values.Reader, v values.Value) (values.Display, bool) {
	first, ok := r.FindUint(v, "_M_impl", "_M_head", "_M_next")
	val := v.Type.Strip().TemplateType("_Tp")
	if !ok || val == nil {
		return values.Display{}, false
	}
	return forward(r, val, first), true
}

func cxxForward(r *values.Reader, v values.Value) (values.Display, bool) {
	before, ok := packed(r, v, "__before_begin_")
	val := v.Type.Strip().TemplateType("_Tp")
	if !ok || val == nil {
		return values.Display{}, false
	}
	first, ok := r.FindUint(before, "__next_")
	return forward(r, val, first), ok
}

// forwardEmpty is empty() of a forward_list, which has no size().
func forwardEmpty(show func(r *values.Reader, v values.Value) (values.Display, bool)) func(*values.Reader, values.Value, string) (values.Value, error, bool) {
	return func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
		d, ok := show(r, v)
		if !ok || name != "empty" {
			return values.Value{}, nil, false
		}
		return v.Type.Program().Boolean(d.Items == nil), nil, true
	}
}

// adapter describes a stack or queue by the container that it has. top says which end each of
// its functions gives.
func adapter(top map[string]string) *values.Printer {
	return &values.Printer{
		Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
			c, ok := r.Find(v, "c")
			if !ok {
				return values.Display{}, false
			}
			d, ok := r.Describe(c)
			name, _ := className(v.Type.Strip())
			d.Head = "std::" + name + " wrapping: " + d.Head
			return d, ok
		},
		Method: func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
			at, ok := top[name]
			c, ok1 := r.Find(v, "c")
			if !ok || !ok1 {
				return values.Value{}, nil, false
			}
			out, err := r.Ends(c, at == "back")
			return out, err, true
		},
	}
}
