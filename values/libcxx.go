package values

import (
	"fmt"
	"regexp"
	"strings"

	"hdb/internal/addr"
)

// libcxxPrefix is the inline namespace of libc++: __1, __ndk1 on Android.
var libcxxPrefix = regexp.MustCompile(`^std::__(ndk)?[0-9]+::`)

// libcxxAny finds it anywhere in a name.
var libcxxAny = regexp.MustCompile(`\bstd::__(ndk)?[0-9]+::`)

// libcxxWriter is containerWriter for libc++, whose members have other names. They
// are those of its versions 14, 16 and 19.
func libcxxWriter(name string) func(p *formatter, v Value, t *Type) bool {
	switch name {
	case "basic_string":
		return (*formatter).cxxString
	case "basic_string_view":
		return (*formatter).cxxStringView
	case "vector":
		return (*formatter).cxxVector
	case "map", "multimap", "set", "multiset":
		return (*formatter).cxxTree
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return (*formatter).cxxHash
	case "unique_ptr":
		return (*formatter).stdUnique
	case "shared_ptr", "weak_ptr":
		return (*formatter).cxxShared
	case "optional":
		return (*formatter).cxxOptional
	case "variant":
		return (*formatter).cxxVariant
	case "tuple":
		return (*formatter).cxxTuple
	case "pair":
		return (*formatter).stdPair
	case "list":
		return (*formatter).cxxList
	case "deque":
		return (*formatter).cxxDeque
	}
	return nil
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

// cxxText is where the characters of a string are and how many: in the string itself
// when there are few.
func (w *World) cxxText(v Value) (data Value, n uint64, ok bool) {
	rep, ok := w.packed(v, "__r_", "__rep_")
	if !ok {
		return Value{}, 0, false
	}
	short, ok := w.find(rep, "__s")
	long, ok1 := w.find(rep, "__l")
	size, ok2 := w.findUint(short, "__size_")
	if !ok || !ok1 || !ok2 {
		return Value{}, 0, false
	}
	isLong, bit := false, uint64(0)
	if bit, ok = w.findUint(short, "__is_long_"); ok {
		isLong = bit != 0
	} else { // before version 15 a bit of the size
		isLong, size = size&1 != 0, size>>1
	}
	if isLong {
		n, ok = w.findUint(long, "__size_")
		ptr, ok1 := w.find(long, "__data_")
		return ptr, n, ok && ok1
	}
	chars, ok := w.find(short, "__data_")
	return chars, size, ok && chars.Type.strip().Kind == Array
}

func (p *formatter) cxxString(v Value, _ *Type) bool {
	data, n, ok := p.w.cxxText(v)
	if !ok {
		return false
	}
	if data.Type.strip().Kind == Pointer {
		return p.text(data, n)
	}
	elem := data.Type.strip().row()
	b, err := p.w.bytes(data)
	if err != nil {
		p.write(fault(err))
		return true
	}
	width := int(elem.Size())
	if width < 1 || n > uint64(len(b)/width) {
		return false
	}
	show := min(int(n), p.o.Elements)
	p.write(prefixOf(elem) + p.quoted(b[:show*width], width, uint64(show) < n))
	return true
}

func (p *formatter) cxxStringView(v Value, _ *Type) bool {
	ptr, ok := p.w.packed(v, "__data_", "__data")
	n, ok1 := p.w.packedUint(v, "__size_", "__size")
	return ok && ok1 && p.text(ptr, n)
}

func (p *formatter) cxxVector(v Value, _ *Type) bool {
	begin, ok := p.w.find(v, "__begin_")
	if !ok {
		return false
	}
	first, err := p.w.uint(begin)
	if err != nil {
		return false
	}
	if n, ok := p.w.packedUint(v, "__size_"); ok { // vector<bool>
		words, ok := p.w.packedUint(v, "__cap_", "__cap_alloc_")
		if !ok || int64(n) < 0 || n/64 > words {
			return false
		}
		p.bits(first, int64(n), words*64)
		return true
	}
	last, ok1 := p.w.findUint(v, "__end_")
	end, ok2 := p.w.packedUint(v, "__cap_", "__end_cap_")
	return ok1 && ok2 && p.vector(begin.Type.strip().Elem(), first, last, end)
}

// alignment is that of a type without alignas, in bytes: what the members' need.
func (t *Type) alignment(depth int) int64 {
	if depth > maxDepth {
		return 1
	}
	s := t.strip()
	switch s.Kind {
	case Array:
		return s.Elem().alignment(depth + 1)
	case Struct:
		if s.align == 0 {
			s.align = 1 // of a struct in itself
			most := int64(1)
			for _, f := range s.Fields() {
				if !f.Static {
					most = max(most, f.Type.alignment(depth+1))
				}
				if f.Virtual {
					most = 8
				}
			}
			s.align = most
		}
		return s.align
	}
	return min(max(s.Size(), 1), 16)
}

// aligned is where a value of a type lies that follows n bytes.
func (t *Type) aligned(n int64) addr.Run {
	a := t.alignment(0)
	return addr.Run((n + a - 1) / a * a)
}

// pairIn finds the pair in what libc++ wraps an element of a map in.
func (w *World) pairIn(v Value) Value {
	for range 4 {
		t := v.Type.strip()
		if t.Kind != Struct || cutTemplate(libcxxPrefix.ReplaceAllString(t.Name, "")) == "pair" {
			break
		}
		found := false
		for i, f := range t.Fields() {
			if !f.Static && !f.Base && strings.HasPrefix(f.Name, "__cc") {
				v, found = w.member(v, &t.Fields()[i]), true
				break
			}
		}
		if !found {
			break
		}
	}
	return v
}

// cxxTree writes maps and sets: a red-black tree, whose nodes have left, right,
// parent and a color of one byte before the value.
func (p *formatter) cxxTree(v Value, t *Type) bool {
	tree, ok := p.w.find(v, "__tree_")
	if !ok {
		return false
	}
	val := tree.Type.strip().templateType("_Tp")
	count, ok := p.w.packedUint(tree, "__size_", "__pair3_")
	next, ok1 := p.w.findUint(tree, "__begin_node_")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return false
	}
	p.write(fmt.Sprintf("std::%s with %s", container(t), elements(int64(count))))
	if count == 0 {
		return true
	}
	isMap := strings.Contains(container(t), "map")
	at := val.aligned(25)
	links := nodeLinks{left: 0, right: 8, parent: 16}
	p.children(int64(count), func(i int64) (string, Value, bool) {
		if i > 0 {
			var ok bool
			if next, ok = p.successor(next, links); !ok {
				return "", Value{}, false
			}
		}
		return p.keyed(i, p.w.pairIn(memoryValue(val, addr.Run(next)+at)), isMap)
	})
	return true
}

// cxxHash writes unordered containers: one list of all nodes, which have a link and a
// hash before the value.
func (p *formatter) cxxHash(v Value, t *Type) bool {
	table, ok := p.w.find(v, "__table_")
	if !ok {
		return false
	}
	val := table.Type.strip().templateType("_Tp")
	count, ok := p.w.packedUint(table, "__size_", "__p2_")
	first, ok1 := p.w.packed(table, "__first_node_", "__p1_")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return false
	}
	next, ok := p.w.findUint(first, "__next_")
	if !ok {
		return false
	}
	p.write(fmt.Sprintf("std::%s with %s", container(t), elements(int64(count))))
	if count == 0 {
		return true
	}
	isMap := strings.Contains(container(t), "map")
	at := val.aligned(16)
	p.children(int64(count), func(i int64) (string, Value, bool) {
		if next == 0 {
			return "", Value{}, false
		}
		node := next
		var err error
		if next, err = p.w.readUint(addr.Run(node), 8); err != nil {
			return "", Value{}, false
		}
		return p.keyed(i, p.w.pairIn(memoryValue(val, addr.Run(node)+at)), isMap)
	})
	return true
}

func (p *formatter) cxxShared(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "__ptr_")
	block, ok1 := p.w.find(v, "__cntrl_")
	if !ok || !ok1 {
		return false
	}
	a, err := p.w.uint(block)
	if err != nil {
		return false
	}
	counts := "(empty)"
	if a != 0 {
		// Behind the pointer to the virtual table; the type itself is often declared only.
		use, err := p.w.readUint(addr.Run(a)+8, 8) // one less than there are
		weak, err1 := p.w.readUint(addr.Run(a)+16, 8)
		switch n := int64(use) + 1; {
		case err != nil || err1 != nil:
			counts = fmt.Sprintf("<error: Cannot access memory at address %#x>", a)
		case n > 0:
			counts = fmt.Sprintf("(use count %d, weak count %d)", n, int64(weak))
		default:
			counts = fmt.Sprintf("(expired, weak count %d)", int64(weak)+1)
		}
	}
	p.shared(t, counts, ptr)
	return true
}

func (p *formatter) cxxOptional(v Value, t *Type) bool {
	engaged, ok := p.w.findUint(v, "__engaged_")
	val, ok1 := p.w.find(v, "__val_")
	elem := t.templateType("_Tp")
	if !ok || !ok1 || elem == nil {
		return false
	}
	p.optional(elem, engaged != 0, val)
	return true
}

func (p *formatter) cxxVariant(v Value, t *Type) bool {
	impl, ok := p.w.packed(v, "__impl_", "__impl")
	if !ok {
		return false
	}
	index, ok := p.w.find(impl, "__index")
	u, ok1 := p.w.find(impl, "__data")
	types := t.templatePack()
	if !ok || !ok1 {
		return false
	}
	n, err := p.w.uint(index)
	if err != nil {
		return false
	}
	p.write(t.String())
	if n&sizeMask(index.Type.Size()) >= uint64(len(types)) {
		p.write(" [no contained value]")
		return true
	}
	for range n {
		if u, ok = p.w.find(u, "__tail"); !ok {
			return false
		}
	}
	val, ok := p.w.find(u, "__head", "__value")
	if !ok {
		return false
	}
	p.write(fmt.Sprintf(" [index %d] = {", n))
	p.value(val)
	p.write("}")
	return true
}

// leaf is element i of a tuple: the member of its base __tuple_leaf<i, T>, or that base
// when the element is an empty class.
func (w *World) leaf(v Value, i int) (Value, bool) {
	impl, ok := w.find(v, "__base_")
	if !ok {
		return Value{}, false
	}
	fields := impl.Type.strip().Fields()
	for k := range fields {
		_, args, ok := strings.Cut(fields[k].Name, "::__tuple_leaf<")
		if !ok || !fields[k].Base {
			continue
		}
		digits := args[:len(args)-len(strings.TrimLeft(args, "0123456789"))]
		if digits != fmt.Sprint(i) {
			continue
		}
		b := w.member(impl, &fields[k])
		if m, ok := w.field(b, "__value_"); ok {
			return m, true
		}
		return b, true
	}
	return Value{}, false
}

func (p *formatter) cxxTuple(v Value, _ *Type) bool {
	p.tuple(func(i int) (Value, bool) { return p.w.leaf(v, i) })
	return true
}

// cxxList writes a list: nodes have links to the one before and the one behind before
// the value.
func (p *formatter) cxxList(v Value, t *Type) bool {
	head, ok := p.w.find(v, "__end_")
	val := t.templateType("_Tp")
	count, ok1 := p.w.packedUint(v, "__size_", "__size_alloc_")
	if !ok || !ok1 || val == nil || int64(count) < 0 {
		return false
	}
	at, ok := head.Addr()
	next, ok1 := p.w.findUint(head, "__next_")
	if !ok || !ok1 {
		return false
	}
	p.linked("std::list", val, uint64(at), next, int64(count), 8, val.aligned(16))
	return true
}

// cxxDeque writes a deque: blocks of 4096 bytes, or of 16 large elements, in a table.
func (p *formatter) cxxDeque(v Value, t *Type) bool {
	val := t.templateType("_Tp")
	table, ok := p.w.find(v, "__map_", "__begin_")
	start, ok1 := p.w.findUint(v, "__start_")
	count, ok2 := p.w.packedUint(v, "__size_")
	if !ok || !ok1 || !ok2 || val == nil || val.Size() <= 0 || int64(count) < 0 || int64(start) < 0 {
		return false
	}
	blocks, err := p.w.uint(table)
	if err != nil {
		return false
	}
	per := int64(16)
	if val.Size() < 256 {
		per = 4096 / val.Size()
	}
	p.write("std::deque with " + elements(int64(count)))
	if count == 0 {
		return true
	}
	p.write(" = {")
	p.depth++
	p.sequence(int64(count), func(i int64) Value {
		i += int64(start)
		at, err := p.w.readUint(addr.Run(blocks)+addr.Run(8*(i/per)), 8)
		if err != nil {
			return lostValue(val, err)
		}
		return memoryValue(val, addr.Run(at)+addr.Run(i%per*val.Size()))
	})
	p.depth--
	p.write("}")
	return true
}
