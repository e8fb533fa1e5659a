package printers

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

func stdString(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := r.Find(v, "_M_dataplus", "_M_p")
	n, ok2 := r.FindUint(v, "_M_string_length")
	if char := v.Type.Strip().TemplateType("_CharT"); !ok && char != nil {
		// clang leaves out what the library has debug information for, if it had. The
		// pointer comes first.
		if first, found := r.Find(v, "_M_dataplus"); found && first.Type.Strip().Incomplete() {
			if b, err := r.Bytes(v); err == nil && len(b) >= 8 {
				ptr, ok = v.Part(char.Unqualified().PointerTo(), 0), true
			}
		}
	}
	if !ok || !ok2 {
		return values.Display{}, false
	}
	return text(r, ptr, n)
}

func stringElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, ok := r.Find(v, "_M_dataplus", "_M_p")
	if !ok {
		return values.Value{}, false
	}
	return behind(r, ptr, i)
}

func stdVector(r *values.Reader, v values.Value) (values.Display, bool) {
	impl, ok := r.Find(v, "_M_impl")
	if !ok {
		return values.Display{}, false
	}
	start, ok := r.Find(impl, "_M_start")
	if !ok {
		return values.Display{}, false
	}
	if start.Type.Strip().Kind == values.Struct {
		return stdBits(r, impl)
	}
	first, err := r.Uint(start)
	last, ok1 := r.FindUint(impl, "_M_finish")
	end, ok2 := r.FindUint(impl, "_M_end_of_storage")
	if err != nil || !ok1 || !ok2 {
		return values.Display{}, false
	}
	return vector(r, start.Type.Strip().Elem(), first, last, end)
}

func stdVectorElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, ok := r.Find(v, "_M_impl", "_M_start")
	if !ok {
		return values.Value{}, false
	}
	if first, ok := r.FindUint(ptr, "_M_p"); ok {
		return bit(r, v.Type, first, i)
	}
	return behind(r, ptr, i)
}

// stdBits describes a vector<bool>, which has eight elements in a byte.
func stdBits(r *values.Reader, impl values.Value) (values.Display, bool) {
	first, ok := r.FindUint(impl, "_M_start", "_M_p")
	last, ok1 := r.FindUint(impl, "_M_finish", "_M_p")
	off, ok2 := r.FindUint(impl, "_M_finish", "_M_offset")
	end, ok3 := r.FindUint(impl, "_M_end_of_storage")
	if !ok || !ok1 || !ok2 || !ok3 || last < first || end < last || off > 64 || end-first > 1<<56 {
		return values.Display{}, false
	}
	return bits(r, first, int64(8*(last-first)+off), 8*(end-first)), true
}

func stdList(r *values.Reader, v values.Value) (values.Display, bool) {
	t := v.Type.Strip()
	head, ok := r.Find(v, "_M_impl", "_M_node")
	val := t.TemplateType("_Tp")
	if !ok || val == nil {
		return values.Display{}, false
	}
	at, ok := head.Addr()
	next, ok1 := r.FindUint(head, "_M_next")
	count, ok2 := r.FindUint(head, "_M_size")
	if !ok || !ok1 || !ok2 || int64(count) < 0 {
		return values.Display{}, false
	}
	if next == uint64(at) {
		count = 0
	}
	return chain{name: plain(t.Name), val: val, head: uint64(at), next: next, count: int64(count), link: 0, at: 16}.display(r), true
}

// stdTree describes maps and sets, whose nodes have color, parent, left and right before
// the value.
func stdTree(r *values.Reader, v values.Value) (values.Display, bool) {
	root, ok := r.Find(v, "_M_t")
	if !ok {
		return values.Display{}, false
	}
	val := root.Type.Strip().TemplateType("_Val")
	count, ok := r.FindUint(root, "_M_impl", "_M_node_count")
	first, ok1 := r.FindUint(root, "_M_impl", "_M_header", "_M_left")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return tree(r, v.Type.Strip(), val, count, first, treeNode{parent: 8, left: 16, right: 24, value: 32})
}

// stdHash describes unordered containers, whose nodes have the value behind the link to
// the next one.
func stdHash(r *values.Reader, v values.Value) (values.Display, bool) {
	table, ok := r.Find(v, "_M_h")
	if !ok {
		return values.Display{}, false
	}
	val := table.Type.Strip().TemplateType("_Value")
	count, ok := r.FindUint(table, "_M_element_count")
	first, ok1 := r.FindUint(table, "_M_before_begin", "_M_nxt")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return hash(r, v.Type.Strip(), val, count, first, 8)
}

// stdBlocks are those of a deque of libstdc++: of 512 bytes, or of one element.
func stdBlocks(r *values.Reader, impl values.Value, val *values.Type) (blocks, bool) {
	ok := true
	get := func(it, m string) uint64 {
		n, good := r.FindUint(impl, it, m)
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

func stdSharedPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	return r.Find(v, "_M_ptr")
}

func stdShared(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := r.Find(v, "_M_ptr")
	pi, ok1 := r.Find(v, "_M_refcount", "_M_pi")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	at, err := r.Uint(pi)
	if err != nil {
		return values.Display{}, false
	}
	block, err := r.Deref(pi)
	if at != 0 && err != nil {
		return values.Display{}, false
	}
	use, ok := r.FindUint(block, "_M_use_count")
	weak, ok1 := r.FindUint(block, "_M_weak_count")
	return shared(v, ptr, at, int64(int32(use)), int64(int32(weak)), ok && ok1), true
}

func stdOptional(r *values.Reader, v values.Value) (values.Display, bool) {
	payload, ok := r.Find(v, "_M_payload")
	if !ok {
		return values.Display{}, false
	}
	engaged, ok := r.FindUint(payload, "_M_engaged")
	elem := v.Type.Strip().TemplateType("_Tp")
	if !ok || elem == nil {
		return values.Display{}, false
	}
	val, ok := r.Find(payload, "_M_payload", "_M_value")
	if engaged != 0 && !ok {
		return values.Display{}, false
	}
	return optional(elem, engaged != 0, val), true
}

func stdOptionalPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	val, ok := r.Find(v, "_M_payload", "_M_payload", "_M_value")
	if !ok {
		return values.Value{}, false
	}
	return pointerTo(val)
}

func stdVariant(r *values.Reader, v values.Value) (values.Display, bool) {
	return variant(r, v, v.Type.Strip(), union{"_M_index", "_M_u", "_M_rest", []string{"_M_first", "_M_storage"}})
}

func stdTuple(r *values.Reader, v values.Value) (values.Display, bool) {
	return tuple(func(i int) (values.Value, bool) { return head(r, v, i, 0) }), true
}

// head is element i of a tuple of libstdc++: the member of its base _Head_base<i>,
// which clang calls _Head_base<iUL>.
func head(r *values.Reader, v values.Value, i int, depth int) (values.Value, bool) {
	if depth > 2*maxTuple {
		return values.Value{}, false
	}
	want := fmt.Sprintf("std::_Head_base<%d", i)
	fields := v.Type.Strip().Fields()
	for k := range fields {
		f := &fields[k]
		if !f.Base {
			continue
		}
		b := r.Member(v, f)
		if strings.HasPrefix(f.Name, want+",") || strings.HasPrefix(f.Name, want+"U") {
			if m, ok := r.Field(b, "_M_head_impl"); ok {
				return m, true
			}
			return b, true
		}
		if strings.HasPrefix(f.Name, "std::_Tuple_impl<") {
			if m, ok := head(r, b, i, depth+1); ok {
				return m, true
			}
		}
	}
	return values.Value{}, false
}
