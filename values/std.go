package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// templateType is the type that a template parameter stands for, nil without.
func (t *Type) templateType(name string) *Type {
	t = t.complete()
	w := t.die.Walk()
	for w.Next() {
		if w.Depth == 1 && w.DIE.Tag() == dwarf.TagTemplateType {
			if n, _ := w.DIE.Attr(dwarf.AtName); string(n.Str()) == name {
				return t.mod.typeOf(t.w, w.DIE)
			}
		}
		w.SkipChildren()
	}
	return nil
}

// templatePack lists the types of a template's parameter pack.
func (t *Type) templatePack() []*Type {
	const tagGNUTemplateParameterPack dwarf.Tag = 0x4107
	var out []*Type
	in := false
	w := t.complete().die.Walk()
	for w.Next() && len(out) < 256 {
		switch {
		case w.Depth == 1:
			if in = w.DIE.Tag() == tagGNUTemplateParameterPack; !in {
				w.SkipChildren()
			}
		case in && w.DIE.Tag() == dwarf.TagTemplateType:
			out = append(out, t.mod.typeOf(t.w, w.DIE))
		}
	}
	return out
}

// container is the name of a class of libstdc++ or libc++ that is shown as what it
// holds, without std:: and template arguments; "" for others.
func container(t *Type) string {
	if t.isRust() || t.Kind != Struct {
		return ""
	}
	if cxx := libcxxPrefix.FindString(t.Name); cxx != "" {
		name := cutTemplate(t.Name[len(cxx):])
		if libcxxWriter(name) == nil {
			return ""
		}
		return name
	}
	name, ok := strings.CutPrefix(cutTemplate(t.Name), "std::")
	if !ok {
		return ""
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "__cxx11::"), "__debug::")
	if containerWriter(name) == nil {
		return ""
	}
	return name
}

// containerWriter is what writes a container. It reports false for what does not have
// the members that libstdc++ gives it: it is shown as a struct then.
func containerWriter(name string) func(p *formatter, v Value, t *Type) bool {
	switch name {
	case "basic_string":
		return (*formatter).stdString
	case "basic_string_view":
		return (*formatter).stdStringView
	case "vector":
		return (*formatter).stdVector
	case "map", "multimap", "set", "multiset":
		return (*formatter).stdTree
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return (*formatter).stdHash
	case "unique_ptr":
		return (*formatter).stdUnique
	case "shared_ptr", "weak_ptr":
		return (*formatter).stdShared
	case "optional":
		return (*formatter).stdOptional
	case "variant":
		return (*formatter).stdVariant
	case "tuple":
		return (*formatter).stdTuple
	case "pair":
		return (*formatter).stdPair
	case "list":
		return (*formatter).stdList
	case "deque":
		return (*formatter).stdDeque
	}
	return nil
}

// library writes a container of a C++ library as what it holds; false when t is none.
func (p *formatter) library(v Value, t *Type) bool {
	name := container(t)
	if name == "" {
		return false
	}
	write := containerWriter(name)
	if libcxxPrefix.MatchString(t.Name) {
		write = libcxxWriter(name)
	}
	before := p.b.Len()
	if write(p, v, t) {
		return true
	}
	p.b.Truncate(before) // it turned out to be another
	return false
}

// find is a member, searched in bases too, and members of it by further names.
func (w *World) find(v Value, names ...string) (Value, bool) {
	for _, n := range names {
		m, ok := w.search(v, n, 0)
		if !ok || m.err != nil {
			return Value{}, false
		}
		v = m
	}
	return v, true
}

func (w *World) findUint(v Value, names ...string) (uint64, bool) {
	m, ok := w.find(v, names...)
	if !ok {
		return 0, false
	}
	n, err := w.uint(m)
	return n, err == nil
}

func (p *formatter) stdString(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "_M_dataplus", "_M_p")
	n, ok2 := p.w.findUint(v, "_M_string_length")
	if char := t.templateType("_CharT"); !ok && char != nil {
		// clang leaves out what the library has debug information for, if it had. The
		// pointer comes first.
		plain := char.unqualified().pointerTo()
		if first, found := p.w.search(v, "_M_dataplus", 0); found && len(v.data) >= 8 && first.Type.strip().decl {
			ptr, ok = v.part(plain, 0), true
		}
	}
	return ok && ok2 && p.text(ptr, n)
}

func (p *formatter) stdStringView(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "_M_str")
	n, ok2 := p.w.findUint(v, "_M_len")
	return ok && ok2 && p.text(ptr, n)
}

// text writes n characters at a pointer.
func (p *formatter) text(ptr Value, n uint64) bool {
	a, err := p.w.uint(ptr)
	elem := ptr.Type.strip().Elem()
	width := int(elem.Size())
	if err != nil || width < 1 || width > 4 || int64(n) < 0 {
		return false
	}
	show := min(int(min(n, maxElements)), p.o.Elements, maxRead/width)
	b, err := p.w.read(addr.Run(a), show*width)
	if err != nil {
		p.write(fault(err))
		return true
	}
	p.write(prefixOf(elem) + p.quoted(b, width, uint64(show) < n))
	return true
}

// children writes n values, each behind a label. at tells a label and a value; a false
// one ends them, as a broken chain does.
func (p *formatter) children(n int64, at func(i int64) (string, Value, bool)) {
	p.write(" = {")
	p.depth++
	for i := int64(0); i < n; i++ {
		if i > 0 {
			p.write(", ")
		}
		if i >= int64(p.o.Elements) || p.full() {
			p.write("...")
			break
		}
		label, v, ok := at(i)
		if !ok {
			p.write("<error: the chain of elements is broken>")
			break
		}
		p.write(label)
		p.value(v)
	}
	p.depth--
	p.write("}")
}

func elements(n int64) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}

func (p *formatter) stdVector(v Value, t *Type) bool {
	impl, ok := p.w.find(v, "_M_impl")
	if !ok {
		return false
	}
	start, ok := p.w.find(impl, "_M_start")
	if !ok {
		return false
	}
	if start.Type.strip().Kind == Struct {
		return p.stdBits(impl)
	}
	first, err := p.w.uint(start)
	last, ok1 := p.w.findUint(impl, "_M_finish")
	end, ok2 := p.w.findUint(impl, "_M_end_of_storage")
	return err == nil && ok1 && ok2 && p.vector(start.Type.strip().Elem(), first, last, end)
}

// vector writes the elements from first up to last, where end is that of the storage.
func (p *formatter) vector(elem *Type, first, last, end uint64) bool {
	size := uint64(elem.Size())
	if size == 0 || last < first || end < last || (last-first)%size != 0 {
		return false
	}
	n := int64((last - first) / size)
	p.write(fmt.Sprintf("std::vector of length %d, capacity %d", n, (end-first)/size))
	if n == 0 {
		return true
	}
	whole := p.w.load(memoryValue(elem.arrayOf(n), addr.Run(first)))
	p.write(" = {")
	p.depth++
	p.sequence(n, func(i int64) Value { return whole.part(elem, i*int64(size)) })
	p.depth--
	p.write("}")
	return true
}

// stdBits writes vector<bool>, which has eight elements in a byte.
func (p *formatter) stdBits(impl Value) bool {
	first, ok := p.w.findUint(impl, "_M_start", "_M_p")
	last, ok1 := p.w.findUint(impl, "_M_finish", "_M_p")
	off, ok2 := p.w.findUint(impl, "_M_finish", "_M_offset")
	end, ok3 := p.w.findUint(impl, "_M_end_of_storage")
	if !ok || !ok1 || !ok2 || !ok3 || last < first || end < last || off > 64 || end-first > 1<<56 {
		return false
	}
	p.bits(first, int64(8*(last-first)+off), 8*(end-first))
	return true
}

// bits writes the n elements of a vector<bool>.
func (p *formatter) bits(first uint64, n int64, capacity uint64) {
	p.write(fmt.Sprintf("std::vector<bool> of length %d, capacity %d", n, capacity))
	if n == 0 {
		return
	}
	p.write(" = {")
	for i := range n {
		if i > 0 {
			p.write(", ")
		}
		if i >= int64(p.o.Elements) {
			p.write("...")
			break
		}
		b, err := p.w.readUint(addr.Run(first)+addr.Run(i/8), 1)
		if err != nil {
			p.write(fault(err))
			break
		}
		p.write(fmt.Sprint(b>>(i%8)&1 == 1))
	}
	p.write("}")
}

// keyed is the label and value of an element of a map, or of a set.
func (p *formatter) keyed(i int64, v Value, isMap bool) (string, Value, bool) {
	v = p.w.load(v)
	if !isMap {
		return fmt.Sprintf("[%d] = ", i), v, true
	}
	key, ok := p.w.find(v, "first")
	val, ok2 := p.w.find(v, "second")
	if !ok || !ok2 {
		return "", Value{}, false
	}
	k := p.w.formatter(p.f, p.o)
	k.depth = p.depth
	k.value(key)
	return "[" + k.b.String() + "] = ", val, true
}

// stdTree writes maps and sets: a red-black tree, whose nodes have color, parent, left
// and right before the value. The walk is bounded by the count that is shown.
func (p *formatter) stdTree(v Value, t *Type) bool {
	tree, ok := p.w.find(v, "_M_t")
	if !ok {
		return false
	}
	val := tree.Type.strip().templateType("_Val")
	count, ok := p.w.findUint(tree, "_M_impl", "_M_node_count")
	next, ok1 := p.w.findUint(tree, "_M_impl", "_M_header", "_M_left")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return false
	}
	p.write(fmt.Sprintf("std::%s with %s", container(t), elements(int64(count))))
	if count == 0 {
		return true
	}
	isMap := strings.Contains(container(t), "map")
	p.children(int64(count), func(i int64) (string, Value, bool) {
		if i > 0 {
			var ok bool
			if next, ok = p.successor(next, nodeLinks{parent: 8, left: 16, right: 24}); !ok {
				return "", Value{}, false
			}
		}
		return p.keyed(i, memoryValue(val, addr.Run(next)+32), isMap)
	})
	return true
}

// maxTreeHeight bounds the steps to a node's successor: trees of 2^64 nodes are not
// higher.
const maxTreeHeight = 128

// nodeLinks are where a tree's node has its links, in bytes.
type nodeLinks struct{ parent, left, right addr.Run }

// successor is the next node of a red-black tree in order.
func (p *formatter) successor(node uint64, at nodeLinks) (uint64, bool) {
	link := func(n uint64, off addr.Run) (uint64, bool) {
		v, err := p.w.readUint(addr.Run(n)+off, 8)
		return v, err == nil && v != 0
	}
	if r, ok := link(node, at.right); ok {
		for range maxTreeHeight {
			l, ok := link(r, at.left)
			if !ok {
				return r, true
			}
			r = l
		}
		return 0, false
	}
	for range maxTreeHeight {
		up, ok := link(node, at.parent)
		if !ok {
			return 0, false
		}
		if r, _ := link(up, at.right); r != node {
			return up, true
		}
		node = up
	}
	return 0, false
}

// stdHash writes unordered containers: one list of all nodes, the value behind the
// link to the next.
func (p *formatter) stdHash(v Value, t *Type) bool {
	table, ok := p.w.find(v, "_M_h")
	if !ok {
		return false
	}
	val := table.Type.strip().templateType("_Value")
	count, ok := p.w.findUint(table, "_M_element_count")
	next, ok1 := p.w.findUint(table, "_M_before_begin", "_M_nxt")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return false
	}
	p.write(fmt.Sprintf("std::%s with %s", container(t), elements(int64(count))))
	if count == 0 {
		return true
	}
	isMap := strings.Contains(container(t), "map")
	p.children(int64(count), func(i int64) (string, Value, bool) {
		if next == 0 {
			return "", Value{}, false
		}
		node := next
		var err error
		if next, err = p.w.readUint(addr.Run(node), 8); err != nil {
			return "", Value{}, false
		}
		return p.keyed(i, memoryValue(val, addr.Run(node)+8), isMap)
	})
	return true
}

func (p *formatter) stdList(v Value, t *Type) bool {
	head, ok := p.w.find(v, "_M_impl", "_M_node")
	val := t.templateType("_Tp")
	if !ok || val == nil {
		return false
	}
	at, ok := head.Addr()
	next, ok1 := p.w.findUint(head, "_M_next")
	count, ok2 := p.w.findUint(head, "_M_size")
	if !ok || !ok1 || !ok2 {
		return false
	}
	name := cutTemplate(t.Name)
	if next == uint64(at) {
		count = 0
	}
	p.linked(name, val, uint64(at), next, int64(count), 0, 16)
	return true
}

// linked writes a list of so many nodes, of which the last has a link to the head
// again. A node has its link to the next, and its value, at the offsets.
func (p *formatter) linked(name string, val *Type, head, next uint64, count int64, link, at addr.Run) {
	if count == 0 {
		p.write("empty " + name)
		return
	}
	p.write(name)
	p.children(count, func(i int64) (string, Value, bool) {
		node := next
		var err error
		if next, err = p.w.readUint(addr.Run(node)+link, 8); err != nil || node == head {
			return "", Value{}, false
		}
		return fmt.Sprintf("[%d] = ", i), memoryValue(val, addr.Run(node)+at), true
	})
}

// stdDeque writes a deque: blocks of 512 bytes, or of one element, in a table.
func (p *formatter) stdDeque(v Value, t *Type) bool {
	impl, ok := p.w.find(v, "_M_impl")
	val := t.templateType("_Tp")
	if !ok || val == nil || val.Size() == 0 {
		return false
	}
	get := func(it, m string) uint64 {
		n, good := p.w.findUint(impl, it, m)
		ok = ok && good
		return n
	}
	cur, last, node := get("_M_start", "_M_cur"), get("_M_start", "_M_last"), get("_M_start", "_M_node")
	endCur, endFirst, endNode := get("_M_finish", "_M_cur"), get("_M_finish", "_M_first"), get("_M_finish", "_M_node")
	size := val.Size()
	per := max(512/size, 1)
	n := per*(int64(endNode-node)/8-1) + int64(endCur-endFirst)/size + int64(last-cur)/size
	if !ok || n < 0 {
		return false
	}
	p.write("std::deque with " + elements(n))
	if n == 0 {
		return true
	}
	block := int64(0)
	p.write(" = {")
	p.depth++
	p.sequence(n, func(i int64) Value {
		first := int64(last-cur) / size
		if i < first {
			return memoryValue(val, addr.Run(cur)+addr.Run(i*size))
		}
		block = (i-first)/per + 1
		at, err := p.w.readUint(addr.Run(node)+addr.Run(8*block), 8)
		if err != nil {
			return lostValue(val, err)
		}
		return memoryValue(val, addr.Run(at)+addr.Run((i-first)%per*size))
	})
	p.depth--
	p.write("}")
	return true
}
