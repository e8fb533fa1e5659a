package printers

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// cxxText is the characters of a string of libc++ and their number. Short strings are
// stored in the string object itself.
func cxxText(r *values.Reader, v values.Value) (data values.Value, n uint64, ok bool) {
	rep, ok := packed(r, v, "__r_", "__rep_")
	if !ok {
		return values.Value{}, 0, false
	}
	short, ok := r.Find(rep, "__s")
	long, ok1 := r.Find(rep, "__l")
	size, ok2 := r.FindUint(short, "__size_")
	if !ok || !ok1 || !ok2 {
		return values.Value{}, 0, false
	}
	isLong, bit := false, uint64(0)
	if bit, ok = r.FindUint(short, "__is_long_"); ok {
		isLong = bit != 0
	} else { // before version 15 a bit of the size
		isLong, size = size&1 != 0, size>>1
	}
	if isLong {
		n, ok = r.FindUint(long, "__size_")
		ptr, ok1 := r.Find(long, "__data_")
		return ptr, n, ok && ok1
	}
	chars, ok := r.Find(short, "__data_")
	return chars, size, ok && chars.Type.Strip().Kind == values.Array
}

func cxxString(r *values.Reader, v values.Value) (values.Display, bool) {
	data, n, ok := cxxText(r, v)
	if !ok {
		return values.Display{}, false
	}
	if data.Type.Strip().Kind == values.Pointer {
		return text(r, data, n)
	}
	elem := data.Type.Strip().Row()
	b, err := r.Bytes(data)
	if err != nil {
		return values.Display{Err: err}, true
	}
	width := elem.Size()
	if width < 1 || n > uint64(int64(len(b))/width) {
		return values.Display{}, false
	}
	at, _ := data.Addr()
	return values.Display{Text: &values.Text{Elem: elem, Addr: at, Data: b[:int64(n)*width], Len: n}}, true
}

func cxxStringElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	data, n, ok := cxxText(r, v)
	if !ok {
		return values.Value{}, false
	}
	if t := data.Type.Strip(); t.Kind == values.Array {
		elem := t.Row()
		return data.Part(elem, i*elem.Size()), i >= 0 && uint64(i) <= n
	}
	return behind(r, data, i)
}

func cxxVector(r *values.Reader, v values.Value) (values.Display, bool) {
	begin, ok := r.Find(v, "__begin_")
	if !ok {
		return values.Display{}, false
	}
	first, err := r.Uint(begin)
	if err != nil {
		return values.Display{}, false
	}
	if n, ok := packedUint(r, v, "__size_"); ok { // vector<bool>
		words, ok := packedUint(r, v, "__cap_", "__cap_alloc_")
		if !ok || int64(n) < 0 || n/64 > words {
			return values.Display{}, false
		}
		return bits(r, first, int64(n), words*64), true
	}
	last, ok1 := r.FindUint(v, "__end_")
	end, ok2 := packedUint(r, v, "__cap_", "__end_cap_")
	if !ok1 || !ok2 {
		return values.Display{}, false
	}
	return vector(r, begin.Type.Strip().Elem(), first, last, end)
}

func cxxVectorElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	begin, ok := r.Find(v, "__begin_")
	if !ok {
		return values.Value{}, false
	}
	if _, ok := packedUint(r, v, "__size_"); ok {
		first, err := r.Uint(begin)
		if err != nil {
			return values.Value{}, false
		}
		return bit(r, v.Type, first, i)
	}
	return behind(r, begin, i)
}

// aligned is the offset of a value of a type that follows n bytes.
func aligned(t *values.Type, n int64) addr.Run {
	a := t.Alignment()
	return addr.Run((n + a - 1) / a * a)
}

func cxxSharedPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	return r.Find(v, "__ptr_")
}

func cxxShared(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := r.Find(v, "__ptr_")
	at, ok1 := r.FindUint(v, "__cntrl_")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	// Behind the pointer to the virtual table, each one less than there are; the type
	// itself is often declared only.
	use, err := r.ReadUint(addr.Run(at)+8, 8)
	weak, err1 := r.ReadUint(addr.Run(at)+16, 8)
	return shared(v, ptr, at, int64(use)+1, int64(weak)+1, err == nil && err1 == nil), true
}

// cxxTree describes maps and sets, whose nodes have left, right, parent and a color of
// one byte before the value.
func cxxTree(r *values.Reader, v values.Value) (values.Display, bool) {
	root, ok := r.Find(v, "__tree_")
	if !ok {
		return values.Display{}, false
	}
	val := root.Type.Strip().TemplateType("_Tp")
	count, ok := packedUint(r, root, "__size_", "__pair3_")
	first, ok1 := r.FindUint(root, "__begin_node_")
	if !ok || !ok1 || val == nil {
		return values.Display{}, false
	}
	return tree(r, v.Type.Strip(), val, count, first, treeNode{left: 0, right: 8, parent: 16, value: aligned(val, 25)})
}

// cxxHash describes unordered containers, whose nodes have a link and a hash before the
// value.
func cxxHash(r *values.Reader, v values.Value) (values.Display, bool) {
	table, ok := r.Find(v, "__table_")
	if !ok {
		return values.Display{}, false
	}
	val := table.Type.Strip().TemplateType("_Tp")
	count, ok := packedUint(r, table, "__size_", "__p2_")
	before, ok1 := packed(r, table, "__first_node_", "__p1_")
	first, ok2 := r.FindUint(before, "__next_")
	if !ok || !ok1 || !ok2 || val == nil {
		return values.Display{}, false
	}
	return hash(r, v.Type.Strip(), val, count, first, aligned(val, 16))
}

func cxxOptional(r *values.Reader, v values.Value) (values.Display, bool) {
	engaged, ok := r.FindUint(v, "__engaged_")
	val, ok1 := r.Find(v, "__val_")
	elem := v.Type.Strip().TemplateType("_Tp")
	if !ok || !ok1 || elem == nil {
		return values.Display{}, false
	}
	return optional(elem, engaged != 0, val), true
}

func cxxOptionalPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	val, ok := r.Find(v, "__val_")
	if !ok {
		return values.Value{}, false
	}
	return pointerTo(val)
}

func cxxVariant(r *values.Reader, v values.Value) (values.Display, bool) {
	impl, ok := packed(r, v, "__impl_", "__impl")
	if !ok {
		return values.Display{}, false
	}
	return variant(r, impl, v.Type.Strip(), union{"__index", "__data", "__tail", []string{"__head", "__value"}})
}

// leaf is element i of a tuple of libc++: the member of its base __tuple_leaf<i, T>, or
// that base when the element is an empty class.
func leaf(r *values.Reader, v values.Value, i int) (values.Value, bool) {
	impl, ok := r.Find(v, "__base_")
	if !ok {
		return values.Value{}, false
	}
	fields := impl.Type.Strip().Fields()
	for k := range fields {
		_, args, ok := strings.Cut(fields[k].Name, "::__tuple_leaf<")
		if !ok || !fields[k].Base {
			continue
		}
		digits := args[:len(args)-len(strings.TrimLeft(args, "0123456789"))]
		if digits != fmt.Sprint(i) {
			continue
		}
		b := r.Member(impl, &fields[k])
		if m, ok := r.Field(b, "__value_"); ok {
			return m, true
		}
		return b, true
	}
	return values.Value{}, false
}

func cxxTuple(r *values.Reader, v values.Value) (values.Display, bool) {
	return tuple(func(i int) (values.Value, bool) { return leaf(r, v, i) }), true
}

// cxxList describes a list. Its nodes have links to the previous and the next node before
// the value.
func cxxList(r *values.Reader, v values.Value) (values.Display, bool) {
	head, ok := r.Find(v, "__end_")
	val := v.Type.Strip().TemplateType("_Tp")
	count, ok1 := packedUint(r, v, "__size_", "__size_alloc_")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return values.Display{}, false
	}
	at, ok := head.Addr()
	next, ok1 := r.FindUint(head, "__next_")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return chain{name: "std::list", val: val, head: uint64(at), next: next, count: int64(count), link: 8, at: aligned(val, 16)}.display(r), true
}

// cxxBlocks are those of a deque of libc++: of 4096 bytes, or of 16 large elements.
func cxxBlocks(r *values.Reader, v values.Value, val *values.Type) (blocks, bool) {
	table, ok := r.FindUint(v, "__map_", "__begin_")
	start, ok1 := r.FindUint(v, "__start_")
	count, ok2 := packedUint(r, v, "__size_")
	if !ok || !ok1 || !ok2 || int64(count) < 0 || int64(start) < 0 {
		return blocks{}, false
	}
	per := int64(16)
	if val.Size() < 256 {
		per = 4096 / val.Size()
	}
	return blocks{val, int64(count), per, int64(start), addr.Run(table)}, true
}
