package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

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
	p.write(prefixOf(elem) + quoted(b[:show*width], width, uint64(show) < n))
	return true
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

func (p *formatter) cxxShared(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "__ptr_")
	at, ok1 := p.w.findUint(v, "__cntrl_")
	if !ok || !ok1 {
		return false
	}
	// Behind the pointer to the virtual table, each one less than there are; the type
	// itself is often declared only.
	use, err := p.w.readUint(addr.Run(at)+8, 8)
	weak, err1 := p.w.readUint(addr.Run(at)+16, 8)
	p.shared(t, ptr, at, int64(use)+1, int64(weak)+1, err == nil && err1 == nil)
	return true
}

// cxxTree writes maps and sets, whose nodes have left, right, parent and a color of one
// byte before the value.
func (p *formatter) cxxTree(v Value, t *Type) bool {
	tree, ok := p.w.find(v, "__tree_")
	if !ok {
		return false
	}
	val := tree.Type.strip().templateType("_Tp")
	count, ok := p.w.packedUint(tree, "__size_", "__pair3_")
	first, ok1 := p.w.findUint(tree, "__begin_node_")
	return ok && ok1 && val != nil && p.tree(t, val, count, first, treeNode{left: 0, right: 8, parent: 16, value: val.aligned(25)})
}

// cxxHash writes unordered containers, whose nodes have a link and a hash before the
// value.
func (p *formatter) cxxHash(v Value, t *Type) bool {
	table, ok := p.w.find(v, "__table_")
	if !ok {
		return false
	}
	val := table.Type.strip().templateType("_Tp")
	count, ok := p.w.packedUint(table, "__size_", "__p2_")
	before, ok1 := p.w.packed(table, "__first_node_", "__p1_")
	first, ok2 := p.w.findUint(before, "__next_")
	return ok && ok1 && ok2 && val != nil && p.hash(t, val, count, first, val.aligned(16))
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
	return ok && p.variant(impl, t, "__index", "__data", "__tail", "__head", "__value")
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

// cxxBlocks is where a deque has its elements: in blocks of 4096 bytes, or of 16 large
// elements.
func (w *World) cxxBlocks(v Value, val *Type) (blocks, bool) {
	table, ok := w.findUint(v, "__map_", "__begin_")
	start, ok1 := w.findUint(v, "__start_")
	count, ok2 := w.packedUint(v, "__size_")
	if !ok || !ok1 || !ok2 || int64(count) < 0 || int64(start) < 0 {
		return blocks{}, false
	}
	per := int64(16)
	if val.Size() < 256 {
		per = 4096 / val.Size()
	}
	return blocks{val, int64(count), per, int64(start), addr.Run(table)}, true
}
