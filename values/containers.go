package values

import (
	"fmt"
	"regexp"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
)

// libcxxPrefix is the inline namespace of libc++: __1, __ndk1 on Android.
var libcxxPrefix = regexp.MustCompile(`^std::__(ndk)?[0-9]+::`)

// libcxxAny finds it anywhere in a name.
var libcxxAny = regexp.MustCompile(`\bstd::__(ndk)?[0-9]+::`)

// containerWriter writes a container as what it holds. It reports false for what does not
// have the members that its library gives it: it is shown as a struct then.
type containerWriter func(p *formatter, v Value, t *Type) bool

// containerWriters is what writes a class of that name, without std::, of libstdc++ and
// of libc++, whose members have other names.
func containerWriters(name string) (gnu, llvm containerWriter) {
	switch name {
	case "basic_string":
		return (*formatter).stdString, (*formatter).cxxString
	case "basic_string_view":
		return (*formatter).stringView, (*formatter).stringView
	case "vector":
		return (*formatter).stdVector, (*formatter).cxxVector
	case "map", "multimap", "set", "multiset":
		return (*formatter).stdTree, (*formatter).cxxTree
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return (*formatter).stdHash, (*formatter).cxxHash
	case "unique_ptr":
		return (*formatter).unique, (*formatter).unique
	case "shared_ptr", "weak_ptr":
		return (*formatter).stdShared, (*formatter).cxxShared
	case "optional":
		return (*formatter).stdOptional, (*formatter).cxxOptional
	case "variant":
		return (*formatter).stdVariant, (*formatter).cxxVariant
	case "tuple":
		return (*formatter).stdTuple, (*formatter).cxxTuple
	case "pair":
		return (*formatter).pair, (*formatter).pair
	case "list":
		return (*formatter).stdList, (*formatter).cxxList
	case "deque":
		return (*formatter).deque, (*formatter).deque
	}
	return nil, nil
}

// containerOf is the name of a class of libstdc++ or libc++ that is shown as what it
// holds, without std:: and template arguments, and what writes it; "" for others.
func containerOf(t *Type) (string, containerWriter) {
	if t.isRust() || t.Kind != Struct {
		return "", nil
	}
	name, write := "", containerWriter(nil)
	if prefix := libcxxPrefix.FindString(t.Name); prefix != "" {
		name = cutTemplate(t.Name[len(prefix):])
		_, write = containerWriters(name)
	} else if std, ok := strings.CutPrefix(cutTemplate(t.Name), "std::"); ok {
		name = strings.TrimPrefix(strings.TrimPrefix(std, "__cxx11::"), "__debug::")
		write, _ = containerWriters(name)
	}
	if write == nil {
		return "", nil
	}
	return name, write
}

// container is the name that containerOf gives.
func container(t *Type) string {
	name, _ := containerOf(t)
	return name
}

// library writes a container of a C++ library as what it holds; false when t is none.
func (p *formatter) library(v Value, t *Type) bool {
	_, write := containerOf(t)
	if write == nil {
		return false
	}
	before := p.b.Len()
	if write(p, v, t) {
		return true
	}
	p.b.Truncate(before) // it turned out to be another
	return false
}

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
	var out []*Type
	in := false
	w := t.complete().die.Walk()
	for w.Next() && len(out) < 256 {
		switch {
		case w.Depth == 1:
			if in = w.DIE.Tag() == dwarf.TagGNUTemplatePack; !in {
				w.SkipChildren()
			}
		case in && w.DIE.Tag() == dwarf.TagTemplateType:
			out = append(out, t.mod.typeOf(t.w, w.DIE))
		}
	}
	return out
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

// packed is a member under one of the names that it had in some version, out of the
// pair with an allocator that it is in where versions before 20 compress one.
func (w *World) packed(v Value, names ...string) (Value, bool) {
	for _, n := range names {
		m, ok := w.search(v, n, 0)
		if !ok || m.err != nil {
			continue
		}
		if t := m.Type.strip(); t.Kind == Struct && strings.Contains(t.Name, "::__compressed_pair<") {
			return w.find(m, "__value_")
		}
		return m, true
	}
	return Value{}, false
}

func (w *World) packedUint(v Value, names ...string) (uint64, bool) {
	m, ok := w.packed(v, names...)
	if !ok {
		return 0, false
	}
	n, err := w.uint(m)
	return n, err == nil
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
	p.write(prefixOf(elem) + quoted(b, width, uint64(show) < n))
	return true
}

func (p *formatter) stringView(v Value, _ *Type) bool {
	ptr, ok := p.w.packed(v, "_M_str", "__data_", "__data")
	n, ok1 := p.w.packedUint(v, "_M_len", "__size_", "__size")
	return ok && ok1 && p.text(ptr, n)
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

// deque writes a deque of either library.
func (p *formatter) deque(v Value, t *Type) bool {
	b, ok := p.w.blocks(v, t)
	if !ok {
		return false
	}
	p.write("std::deque with " + elements(b.count))
	if b.count == 0 {
		return true
	}
	p.write(" = {")
	p.depth++
	p.sequence(b.count, func(i int64) Value { return p.w.inBlocks(b, i) })
	p.depth--
	p.write("}")
	return true
}

// blocks is where a deque has its elements.
type blocks struct {
	elem  *Type
	count int64    // of the elements
	per   int64    // elements in each block
	skip  int64    // places before the first element
	table addr.Run // of the blocks' addresses
}

func (w *World) blocks(v Value, t *Type) (blocks, bool) {
	val := t.templateType("_Tp")
	if val == nil || val.Size() <= 0 {
		return blocks{}, false
	}
	if impl, ok := w.find(v, "_M_impl"); ok {
		return w.stdBlocks(impl, val)
	}
	return w.cxxBlocks(v, val)
}

// inBlocks is element i of a deque.
func (w *World) inBlocks(b blocks, i int64) Value {
	i += b.skip
	at, err := w.readUint(b.table+addr.Run(8*(i/b.per)), 8)
	if err != nil {
		return lostValue(b.elem, err)
	}
	return memoryValue(b.elem, addr.Run(at)+addr.Run(i%b.per*b.elem.Size()))
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

// shared writes a shared or weak pointer. Its counts are at an address that is 0 where
// nothing is shared; they are true when known. All shared pointers of an object count as
// one weak one.
func (p *formatter) shared(t *Type, ptr Value, at uint64, use, weak int64, known bool) {
	elem := t.templateType("_Tp")
	if elem == nil {
		elem = ptr.Type.strip().Elem()
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
	p.write(fmt.Sprintf("std::%s<%s> %s = {get() = ", container(t), elem, counts))
	p.value(ptr)
	p.write("}")
}

func (p *formatter) optional(elem *Type, engaged bool, val Value) {
	name := "std::optional<" + elem.String() + ">"
	if !engaged {
		p.write(name + " [no contained value]")
		return
	}
	p.write(name + " = {[contained value] = ")
	p.value(val)
	p.write("}")
}

// variant writes which of its types a variant holds and the value: in the member u, or
// as often in the member rest of that as the index says, at content.
func (p *formatter) variant(v Value, t *Type, index, u, rest string, content ...string) bool {
	which, ok := p.w.find(v, index)
	in, ok1 := p.w.find(v, u)
	if !ok || !ok1 {
		return false
	}
	n, err := p.w.uint(which)
	types := t.templatePack()
	if err != nil {
		return false
	}
	p.write(t.String())
	if n &= sizeMask(which.Type.Size()); n >= uint64(len(types)) {
		p.write(" [no contained value]")
		return true
	}
	for range n {
		if in, ok = p.w.find(in, rest); !ok {
			return false
		}
	}
	if in, ok = p.w.find(in, content...); !ok {
		return false
	}
	p.write(fmt.Sprintf(" [index %d] = {", n))
	p.value(in.part(types[n], 0))
	p.write("}")
	return true
}

func (p *formatter) tuple(at func(i int) (Value, bool)) {
	n := 0
	for ; n < maxDepth; n++ {
		if _, ok := at(n); !ok {
			break
		}
	}
	if n == 0 {
		p.write("empty std::tuple")
		return
	}
	p.write("std::tuple containing")
	p.children(int64(n), func(i int64) (string, Value, bool) {
		m, ok := at(int(i))
		return fmt.Sprintf("[%d] = ", i+1), m, ok
	})
}

func (p *formatter) pair(v Value, _ *Type) bool {
	first, ok := p.w.field(v, "first")
	second, ok1 := p.w.field(v, "second")
	if !ok || !ok1 {
		return false
	}
	p.write("{first = ")
	p.value(first)
	p.write(", second = ")
	p.value(second)
	p.write("}")
	return true
}
