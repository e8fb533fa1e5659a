package printers

import (
	"strings"

	"hdb/heap/glibc"
	"hdb/internal/addr"
	"hdb/values"
)

// A cursor finds the element that an iterator points to. state tells in words why there is
// none. It reports false for a value without the expected members.
type cursor func(r *values.Reader, v values.Value) (elem values.Value, state string, ok bool)

// iterator is the printer of the iterators that a cursor reads. They are shown as their
// element, and followed like pointers.
func iterator(find cursor) *values.Printer {
	return &values.Printer{
		Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
			elem, state, ok := find(r, v)
			if !ok || state != "" {
				return values.Display{Head: state}, ok
			}
			return values.Display{Value: &elem}, true
		},
		Pointer: func(r *values.Reader, v values.Value) (values.Value, bool) {
			elem, state, ok := find(r, v)
			if !ok || state != "" {
				return values.Value{}, false
			}
			return pointerTo(elem)
		},
	}
}

// elementType is the type of an iterator's elements: a template parameter, or what the
// typedef reference refers to, as gcc leaves the parameters of some classes out.
func elementType(v values.Value, param string) *values.Type {
	t := v.Type.Strip()
	if val := t.TemplateType(param); val != nil {
		return val
	}
	ref := t.Nested("reference")
	if ref == nil || ref.Strip().Kind != values.Reference {
		return nil
	}
	return ref.Strip().Elem()
}

// notDereferenceable is what an iterator without a container is called.
func notDereferenceable(container string) string {
	return "non-dereferenceable iterator for " + container
}

// atEnd is what an iterator behind the last element is called.
func atEnd(container string) string { return "end iterator for " + container }

// pointerCursor reads iterators that have a pointer to the element in one of the members.
func pointerCursor(container string, members ...string) cursor {
	return func(r *values.Reader, v values.Value) (values.Value, string, bool) {
		for _, m := range members {
			ptr, ok := r.Find(v, m)
			if !ok || ptr.Type.Strip().Kind != values.Pointer {
				continue
			}
			a, err := r.Uint(ptr)
			if err != nil {
				return values.Value{}, "", false
			}
			if a == 0 {
				return values.Value{}, notDereferenceable(container), true
			}
			elem, err := r.Deref(ptr)
			return elem, "", err == nil
		}
		return values.Value{}, "", false
	}
}

// node is the address in a member of an iterator.
func node(r *values.Reader, v values.Value, member string) (addr.Run, bool) {
	n, ok := r.FindUint(v, member)
	return addr.Run(n), ok
}

// listCursor reads iterators of circular lists. link is the offset of the link to the next
// node.
func listCursor(member, param string, link addr.Run) cursor {
	return func(r *values.Reader, v values.Value) (values.Value, string, bool) {
		at, ok := node(r, v, member)
		val := elementType(v, param)
		switch {
		case !ok || val == nil:
			return values.Value{}, "", false
		case at == 0:
			return values.Value{}, notDereferenceable("std::list"), true
		case listHead(r, at, link, int64(aligned(val, 16))+val.Size()):
			return values.Value{}, atEnd("std::list"), true
		}
		return values.MemoryValue(val, at+aligned(val, 16)), "", true
	}
}

// maxRing bounds the nodes of a list that is searched for its head.
const maxRing = 1 << 16

// listHead reports whether a node is the head of its list, which is in the list object with the
// number of elements behind it. An element can look like the head: then the head is the one that
// malloc has not allocated. size is the size of a node with an element.
func listHead(r *values.Reader, at, link addr.Run, size int64) bool {
	count, err := r.ReadUint(at+16, 8)
	if err != nil || count > maxRing {
		return false
	}
	alike := false
	n := at
	for i := uint64(0); ; i++ {
		next, err := r.ReadUint(n+link, 8)
		if err != nil || next == 0 {
			return false
		}
		if n = addr.Run(next); n == at {
			return i == count && (!alike || !chunk(r, at, size))
		}
		if i == count {
			return false
		}
		if other, err := r.ReadUint(n+16, 8); err != nil {
			return false
		} else if other == count {
			alike = true
			if !chunk(r, n, size) {
				return false
			}
		}
	}
}

// chunk reports whether the word before an address can be the size of a block of size bytes
// that glibc's malloc allocated.
func chunk(r *values.Reader, at addr.Run, size int64) bool {
	n, err := r.ReadUint(at-8, 8)
	return err == nil && n&^7 == glibc.ChunkSize(uint64(size))
}

// forwardCursor reads iterators of a list with links in one direction, whose end is null.
func forwardCursor(container, member string, value func(r *values.Reader, v values.Value) (*values.Type, addr.Run)) cursor {
	return func(r *values.Reader, v values.Value) (values.Value, string, bool) {
		at, ok := node(r, v, member)
		if !ok {
			return values.Value{}, "", false
		}
		if at == 0 {
			return values.Value{}, notDereferenceable(container), true
		}
		val, off := value(r, v)
		if val == nil {
			return values.Value{}, "", false
		}
		return values.MemoryValue(val, at+off), "", true
	}
}

// behindHead is the type of a template parameter, whose value is behind n bytes of a node.
func behindHead(param string, n int64) func(*values.Reader, values.Value) (*values.Type, addr.Run) {
	return func(_ *values.Reader, v values.Value) (*values.Type, addr.Run) {
		val := elementType(v, param)
		if val == nil {
			return nil, 0
		}
		return val, aligned(val, n)
	}
}

// stdTreeCursor reads iterators of maps and sets of libstdc++. The header of a tree is red,
// and the parent of the root, whose parent is the header; the root is black.
func stdTreeCursor(r *values.Reader, v values.Value) (values.Value, string, bool) {
	const what = "associative container"
	at, ok := node(r, v, "_M_node")
	val := elementType(v, "_Tp")
	if !ok || val == nil {
		return values.Value{}, "", false
	}
	if at == 0 {
		return values.Value{}, notDereferenceable(what), true
	}
	color, err := r.ReadUint(at, 4)
	parent, err1 := r.ReadUint(at+8, 8)
	if err == nil && err1 == nil && color == 0 {
		if up, err := r.ReadUint(addr.Run(parent)+8, 8); parent == 0 || err == nil && up == uint64(at) {
			return values.Value{}, atEnd(what), true
		}
	}
	return values.MemoryValue(val, at+aligned(val, 32)), "", true
}

// cxxTreeCursor reads iterators of maps and sets of libc++.
func cxxTreeCursor(r *values.Reader, v values.Value) (values.Value, string, bool) {
	const what = "associative container"
	at, ok := node(r, v, "__ptr_")
	val := elementType(v, "_Tp")
	if !ok || val == nil {
		return values.Value{}, "", false
	}
	switch {
	case at == 0:
		return values.Value{}, notDereferenceable(what), true
	case cxxTreeEnd(r, at):
		return values.Value{}, atEnd(what), true
	}
	elem := r.Load(values.MemoryValue(val, at+aligned(val, 25)))
	return pairIn(r, elem), "", true
}

// cxxTreeEnd reports whether a node is the end node in a tree object: the pointer to the first node
// is before it, and the number of elements behind it.
func cxxTreeEnd(r *values.Reader, at addr.Run) bool {
	first, err := r.ReadUint(at-8, 8)
	size, err1 := r.ReadUint(at+8, 8)
	if err != nil || err1 != nil || size > 1<<40 {
		return false
	}
	left := uint64(at)
	for range maxTreeHeight {
		next, err := r.ReadUint(addr.Run(left), 8)
		if err != nil {
			return false
		}
		if next == 0 {
			return first == left && (left == uint64(at)) == (size == 0)
		}
		left = next
	}
	return false
}

// cxxHashCursor reads iterators of unordered containers of libc++. Their template parameter
// is the pointer to a node.
func cxxHashCursor(r *values.Reader, v values.Value) (values.Value, string, bool) {
	const what = "unordered container"
	ptr, ok := r.Find(v, "__node_")
	if !ok {
		return values.Value{}, "", false
	}
	at, err := r.Uint(ptr)
	if err != nil {
		return values.Value{}, "", false
	}
	if at == 0 {
		return values.Value{}, notDereferenceable(what), true
	}
	nodes := v.Type.Strip().TemplateType("_NodePtr")
	if nodes == nil || nodes.Strip().Kind != values.Pointer {
		return values.Value{}, "", false
	}
	val := nodes.Strip().Elem().Strip().TemplateType("_Tp")
	if val == nil {
		return values.Value{}, "", false
	}
	elem := r.Load(values.MemoryValue(val, addr.Run(at)+aligned(val, 16)))
	return pairIn(r, elem), "", true
}

// wrapped is a cursor of an iterator that has another one as its member.
func wrapped(member string, inner cursor) cursor {
	return func(r *values.Reader, v values.Value) (values.Value, string, bool) {
		it, ok := r.Find(v, member)
		if !ok {
			return values.Value{}, "", false
		}
		return inner(r, it)
	}
}

// cxxForwardValue is the type of the values in a node of a forward_list of libc++, and
// where they are.
func cxxForwardValue(_ *values.Reader, v values.Value) (*values.Type, addr.Run) {
	nodes := v.Type.Strip().TemplateType("_NodePtr")
	if nodes == nil {
		nodes = v.Type.Strip().TemplateType("_NodeConstPtr")
	}
	if nodes == nil || nodes.Strip().Kind != values.Pointer {
		return nil, 0
	}
	val := nodes.Strip().Elem().Strip().TemplateType("_Tp")
	if val == nil {
		return nil, 0
	}
	return val, aligned(val, 8)
}

// bitIterator shows the bit that an iterator of a vector<bool> points to. offset and mask
// are the members that select it, the mask of a reference.
func bitIterator(nothing, word, offset, mask string) *values.Printer {
	return &values.Printer{Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
		at, ok := node(r, v, word)
		if !ok {
			return values.Display{}, false
		}
		if at == 0 {
			return values.Display{Head: nothing}, true
		}
		bits := uint64(0)
		if mask != "" {
			if bits, ok = r.FindUint(v, mask); !ok {
				return values.Display{}, false
			}
		} else if n, ok := r.FindUint(v, offset); ok && n < 64 {
			bits = 1 << n
		} else {
			return values.Display{}, false
		}
		w, err := r.ReadUint(at, 8)
		if err != nil {
			return values.Display{Err: err}, true
		}
		bit := v.Type.Program().Boolean(w&bits != 0)
		return values.Display{Value: &bit}, true
	}}
}

// ordering shows a result of <=>.
func ordering(name string) *values.Printer {
	return &values.Printer{Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
		n, ok := r.FindUint(v, "_M_value")
		if !ok {
			n, ok = r.FindUint(v, "__value_")
		}
		word := map[int8]string{-1: "less", 0: "equivalent", 1: "greater", 2: "unordered", -127: "unordered"}[int8(n)]
		if n == 0 && strings.HasPrefix(name, "strong") {
			word = "equal"
		}
		return values.Display{Head: "std::" + name + "::" + word}, ok && word != ""
	}}
}
