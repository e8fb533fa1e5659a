package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

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

// stdTree writes maps and sets, whose nodes have color, parent, left and right before
// the value.
func (p *formatter) stdTree(v Value, t *Type) bool {
	tree, ok := p.w.find(v, "_M_t")
	if !ok {
		return false
	}
	val := tree.Type.strip().templateType("_Val")
	count, ok := p.w.findUint(tree, "_M_impl", "_M_node_count")
	first, ok1 := p.w.findUint(tree, "_M_impl", "_M_header", "_M_left")
	return ok && ok1 && p.tree(t, val, count, first, treeNode{parent: 8, left: 16, right: 24, value: 32})
}

// stdHash writes unordered containers, whose nodes have the value behind the link to the
// next.
func (p *formatter) stdHash(v Value, t *Type) bool {
	table, ok := p.w.find(v, "_M_h")
	if !ok {
		return false
	}
	val := table.Type.strip().templateType("_Value")
	count, ok := p.w.findUint(table, "_M_element_count")
	first, ok1 := p.w.findUint(table, "_M_before_begin", "_M_nxt")
	return ok && ok1 && p.hash(t, val, count, first, 8)
}

// stdBlocks is where a deque has its elements: in blocks of 512 bytes, or of one.
func (w *World) stdBlocks(impl Value, val *Type) (blocks, bool) {
	ok := true
	get := func(it, m string) uint64 {
		n, good := w.findUint(impl, it, m)
		ok = ok && good
		return n
	}
	cur, first, last, node := get("_M_start", "_M_cur"), get("_M_start", "_M_first"), get("_M_start", "_M_last"), get("_M_start", "_M_node")
	endCur, endFirst, endNode := get("_M_finish", "_M_cur"), get("_M_finish", "_M_first"), get("_M_finish", "_M_node")
	size := val.Size()
	per := max(512/size, 1)
	n := per*(int64(endNode-node)/8-1) + int64(endCur-endFirst)/size + int64(last-cur)/size
	return blocks{val, n, per, int64(cur-first) / size, addr.Run(node)}, ok && n >= 0
}

func (p *formatter) stdShared(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "_M_ptr")
	pi, ok1 := p.w.find(v, "_M_refcount", "_M_pi")
	if !ok || !ok1 {
		return false
	}
	at, err := p.w.uint(pi)
	if err != nil {
		return false
	}
	block, err := p.w.deref(pi)
	if at != 0 && err != nil {
		return false
	}
	use, ok := p.w.findUint(block, "_M_use_count")
	weak, ok1 := p.w.findUint(block, "_M_weak_count")
	p.shared(t, ptr, at, int64(int32(use)), int64(int32(weak)), ok && ok1)
	return true
}

func (p *formatter) stdOptional(v Value, t *Type) bool {
	payload, ok := p.w.find(v, "_M_payload")
	if !ok {
		return false
	}
	engaged, ok := p.w.findUint(payload, "_M_engaged")
	elem := t.templateType("_Tp")
	if !ok || elem == nil {
		return false
	}
	val, ok := p.w.find(payload, "_M_payload", "_M_value")
	if engaged != 0 && !ok {
		return false
	}
	p.optional(elem, engaged != 0, val)
	return true
}

func (p *formatter) stdVariant(v Value, t *Type) bool {
	return p.variant(v, t, "_M_index", "_M_u", "_M_rest", "_M_first", "_M_storage")
}

func (p *formatter) stdTuple(v Value, t *Type) bool {
	p.tuple(func(i int) (Value, bool) { return p.w.head(v, i, 0) })
	return true
}

// head is element i of a tuple of libstdc++: the member of its base _Head_base<i>,
// which clang calls _Head_base<iUL>.
func (w *World) head(v Value, i int, depth int) (Value, bool) {
	if depth > 2*maxDepth {
		return Value{}, false
	}
	want := fmt.Sprintf("std::_Head_base<%d", i)
	fields := v.Type.strip().Fields()
	for k := range fields {
		f := &fields[k]
		if !f.Base {
			continue
		}
		b := w.member(v, f)
		if strings.HasPrefix(f.Name, want+",") || strings.HasPrefix(f.Name, want+"U") {
			if m, ok := w.field(b, "_M_head_impl"); ok {
				return m, true
			}
			return b, true
		}
		if strings.HasPrefix(f.Name, "std::_Tuple_impl<") {
			if m, ok := w.head(b, i, depth+1); ok {
				return m, true
			}
		}
	}
	return Value{}, false
}
