package printers

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// errBroken is the error of a container whose links do not lead to all elements.
var errBroken = errors.New("the chain of elements is broken")

// maxTuple bounds the elements of a tuple.
const maxTuple = 20

// packed is a member under one of the names that it had in some version of libc++.
// Versions before 20 put some members into a compressed pair with an allocator.
func packed(r *values.Reader, v values.Value, names ...string) (values.Value, bool) {
	for _, n := range names {
		m, ok := r.Find(v, n)
		if !ok {
			continue
		}
		if t := m.Type.Strip(); t.Kind == values.Struct && strings.Contains(t.Name, "::__compressed_pair<") {
			return r.Find(m, "__value_")
		}
		return m, true
	}
	return values.Value{}, false
}

func packedUint(r *values.Reader, v values.Value, names ...string) (uint64, bool) {
	m, ok := packed(r, v, names...)
	if !ok {
		return 0, false
	}
	n, err := r.Uint(m)
	return n, err == nil
}

// text is the string of n characters at a pointer.
func text(r *values.Reader, ptr values.Value, n uint64) (values.Display, bool) {
	a, err := r.Uint(ptr)
	elem := ptr.Type.Strip().Elem()
	if width := elem.Size(); err != nil || width < 1 || width > 4 || int64(n) < 0 {
		return values.Display{}, false
	}
	return values.Display{Text: &values.Text{Elem: elem, Addr: addr.Run(a), Len: n}}, true
}

// viewPointer is the pointer of a string view of either library.
func viewPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	return packed(r, v, "_M_str", "__data_", "__data")
}

func stringView(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := viewPointer(r, v)
	n, ok1 := packedUint(r, v, "_M_len", "__size_", "__size")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return text(r, ptr, n)
}

func viewElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, ok := viewPointer(r, v)
	if !ok {
		return values.Value{}, false
	}
	return behind(r, ptr, i)
}

// behind is element i of the array that a pointer points to.
func behind(r *values.Reader, ptr values.Value, i int64) (values.Value, bool) {
	t := ptr.Type.Strip()
	if t.Kind != values.Pointer {
		return values.Value{}, false
	}
	a, err := r.Uint(ptr)
	elem := t.Elem()
	return values.MemoryValue(elem, addr.Run(a)+addr.Run(i*elem.Size())), err == nil
}

// arrayElement is element i of a std::array of either library.
func arrayElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	elems, ok := packed(r, v, "_M_elems", "__elems_")
	if !ok {
		return values.Value{}, false
	}
	elem := elems.Type.Strip().Row()
	return elems.Part(elem, i*elem.Size()), true
}

func elements(n int64) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}

// vector describes a vector. Its elements are from first up to last, and its storage ends
// at end.
func vector(r *values.Reader, elem *values.Type, first, last, end uint64) (values.Display, bool) {
	size := uint64(elem.Size())
	if size == 0 || last < first || end < last || (last-first)%size != 0 {
		return values.Display{}, false
	}
	n := int64((last - first) / size)
	d := values.Display{Head: fmt.Sprintf("std::vector of length %d, capacity %d", n, (end-first)/size), Len: &n}
	if n > 0 {
		whole := r.Load(values.MemoryValue(elem.ArrayOf(n), addr.Run(first)))
		d.Elements = &values.Elements{Count: n, At: func(i int64) values.Value { return whole.Part(elem, i*int64(size)) }}
	}
	return d, true
}

// bits describes a vector<bool> of n elements.
func bits(r *values.Reader, first uint64, n int64, capacity uint64) values.Display {
	d := values.Display{Head: fmt.Sprintf("std::vector<bool> of length %d, capacity %d", n, capacity), Len: &n, Inline: true}
	if n == 0 {
		return d
	}
	d.Items = func(yield func(values.Item, error) bool) {
		for i := range n {
			b, err := r.ReadUint(addr.Run(first)+addr.Run(i/8), 1)
			if !yield(values.Item{Text: fmt.Sprint(b>>(i%8)&1 == 1)}, err) || err != nil {
				return
			}
		}
	}
	return d
}

// bit is element i of a vector<bool>.
func bit(r *values.Reader, t *values.Type, first uint64, i int64) (values.Value, bool) {
	b, err := r.ReadUint(addr.Run(first)+addr.Run(i/8), 1)
	if i < 0 || err != nil {
		return values.Value{}, false
	}
	return t.Program().Boolean(b>>(i%8)&1 == 1), true
}

// deque describes a deque of either library.
func deque(r *values.Reader, v values.Value) (values.Display, bool) {
	b, ok := blocksOf(r, v)
	if !ok {
		return values.Display{}, false
	}
	at := func(i int64) values.Value {
		e, err := b.at(r, i)
		if err != nil {
			return values.LostValue(b.elem, err)
		}
		return e
	}
	return values.Display{Head: "std::deque with " + elements(b.count), Elements: &values.Elements{Count: b.count, At: at}}, true
}

func dequeElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	b, ok := blocksOf(r, v)
	if !ok || i < 0 || i > 1<<40 {
		return values.Value{}, false
	}
	e, err := b.at(r, i)
	return e, err == nil
}

// blocks are where a deque has its elements.
type blocks struct {
	elem  *values.Type
	count int64    // of the elements
	per   int64    // elements in each block
	skip  int64    // places before the first element
	table addr.Run // of the blocks' addresses
}

func blocksOf(r *values.Reader, v values.Value) (blocks, bool) {
	val := v.Type.Strip().TemplateType("_Tp")
	if val == nil || val.Size() <= 0 {
		return blocks{}, false
	}
	if impl, ok := r.Find(v, "_M_impl"); ok {
		return stdBlocks(r, impl, val)
	}
	return cxxBlocks(r, v, val)
}

// at is element i of a deque.
func (b *blocks) at(r *values.Reader, i int64) (values.Value, error) {
	i += b.skip
	block, err := r.ReadUint(b.table+addr.Run(8*(i/b.per)), 8)
	return values.MemoryValue(b.elem, addr.Run(block)+addr.Run(i%b.per*b.elem.Size())), err
}

// A chain is a circular list of count nodes and a head. link and at are the offsets of a
// node's link to the next one and of its value.
type chain struct {
	name       string
	val        *values.Type
	head, next uint64
	count      int64
	link, at   addr.Run
}

func (c chain) display(r *values.Reader) values.Display {
	if c.count == 0 {
		return values.Display{Head: "empty " + c.name, Len: &c.count}
	}
	return values.Display{Head: c.name, Len: &c.count, Items: func(yield func(values.Item, error) bool) {
		next := c.next
		for i := range c.count {
			node := next
			var err error
			if next, err = r.ReadUint(addr.Run(node)+c.link, 8); err != nil || node == c.head {
				yield(values.Item{}, errBroken)
				return
			}
			if !yield(values.Item{Label: number(i), Value: values.MemoryValue(c.val, addr.Run(node)+c.at)}, nil) {
				return
			}
		}
	}}
}

// number is the label of an element that has no key.
func number(i int64) string { return fmt.Sprintf("[%d]", i) }

// shared describes a shared or weak pointer. at is the address of its counts, 0 if it is
// empty. known says that the counts could be read. All shared pointers to an object count
// as one weak pointer.
func shared(v, ptr values.Value, at uint64, use, weak int64, known bool) values.Display {
	t := v.Type.Strip()
	elem := t.TemplateType("_Tp")
	if elem == nil {
		elem = ptr.Type.Strip().Elem()
	}
	counts := ""
	switch {
	case at == 0:
		counts = "(empty)"
	case !known:
		counts = fmt.Sprintf("<error: Cannot access memory at address %#x>", at)
	case use > 0:
		counts = fmt.Sprintf("(use count %d, weak count %d)", use, weak-1)
	default:
		counts = fmt.Sprintf("(expired, weak count %d)", weak)
	}
	name, _ := className(t)
	return pointing(fmt.Sprintf("std::%s<%s> %s", name, elem, counts), ptr)
}

// pointing describes a smart pointer.
func pointing(head string, ptr values.Value) values.Display {
	return values.Display{Head: head, Members: []values.Member{{Name: "get()", Value: ptr}}}
}

// owned is the pointer of a unique_ptr of either library.
func owned(r *values.Reader, v values.Value) (values.Value, bool) {
	if ptr, ok := packed(r, v, "__ptr_"); ok { // libc++
		return ptr, true
	}
	impl, ok := r.Find(v, "_M_t")
	if !ok {
		return values.Value{}, false
	}
	if inner, ok := r.Find(impl, "_M_t"); ok {
		impl = inner
	}
	return head(r, impl, 0, 0)
}

// ownedElement is an element of the array that a unique_ptr of T[] owns. Memory does not
// tell how many there are.
func ownedElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, ok := owned(r, v)
	if !ok || !strings.Contains(v.Type.Strip().Name, "[]") {
		return values.Value{}, false
	}
	a, err := r.Uint(ptr)
	elem := ptr.Type.Strip().Elem()
	if err != nil {
		return values.LostValue(elem, err), true
	}
	return values.MemoryValue(elem, addr.Run(a)+addr.Run(i*elem.Size())), true
}

func unique(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := owned(r, v)
	elem := v.Type.Strip().TemplateType("_Tp")
	if !ok || elem == nil {
		return values.Display{}, false
	}
	return pointing("std::unique_ptr<"+elem.String()+">", ptr), true
}

func optional(elem *values.Type, engaged bool, val values.Value) values.Display {
	d := values.Display{Head: "std::optional<" + elem.String() + ">"}
	if !engaged {
		d.Head += " [no contained value]"
		return d
	}
	d.Members = []values.Member{{Name: "[contained value]", Value: val}}
	return d
}

// pointerTo is a pointer to the value in an optional.
func pointerTo(val values.Value) (values.Value, bool) {
	a, ok := val.Addr()
	if !ok {
		return values.Value{}, false
	}
	return values.Number(val.Type.PointerTo(), uint64(a)), true
}

// A union says how a variant stores its alternatives. The first one is in the member data,
// the others are in the member rest of that, and so on. content is the path to the value.
type union struct {
	index, data, rest string
	content           []string
}

// variant describes a variant of type t, whose members v has.
func variant(r *values.Reader, v values.Value, t *values.Type, u union) (values.Display, bool) {
	which, ok := r.Find(v, u.index)
	in, ok1 := r.Find(v, u.data)
	if !ok || !ok1 {
		return values.Display{}, false
	}
	n, err := r.Uint(which)
	if err != nil {
		return values.Display{}, false
	}
	if size := which.Type.Size(); size > 0 && size < 8 {
		n &= 1<<(8*size) - 1
	}
	types := t.TemplatePack()
	if n >= uint64(len(types)) {
		return values.Display{Head: t.String() + " [no contained value]"}, true
	}
	for range n {
		if in, ok = r.Find(in, u.rest); !ok {
			return values.Display{}, false
		}
	}
	if in, ok = r.Find(in, u.content...); !ok {
		return values.Display{}, false
	}
	return values.Display{Head: fmt.Sprintf("%s [index %d]", t, n), Members: []values.Member{{Value: in.Part(types[n], 0)}}}, true
}

// tuple describes a tuple whose elements at gives.
func tuple(at func(i int) (values.Value, bool)) values.Display {
	var list []values.Value
	for len(list) < maxTuple {
		m, ok := at(len(list))
		if !ok {
			break
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return values.Display{Head: "empty std::tuple"}
	}
	return values.Display{Head: "std::tuple containing", Items: func(yield func(values.Item, error) bool) {
		for i, m := range list {
			if !yield(values.Item{Label: number(int64(i) + 1), Value: m}, nil) {
				return
			}
		}
	}}
}

func pair(r *values.Reader, v values.Value) (values.Display, bool) {
	first, ok := r.Field(v, "first")
	second, ok1 := r.Field(v, "second")
	return values.Display{Members: []values.Member{{Name: "first", Value: first}, {Name: "second", Value: second}}}, ok && ok1
}
