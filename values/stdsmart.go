package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

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

// owned is the pointer of a unique_ptr.
func (w *World) owned(v Value) (Value, bool) {
	if ptr, ok := w.packed(v, "__ptr_"); ok { // libc++
		return ptr, true
	}
	impl, ok := w.find(v, "_M_t")
	if !ok {
		return Value{}, false
	}
	if inner, ok := w.find(impl, "_M_t"); ok {
		impl = inner
	}
	return w.head(impl, 0, 0)
}

func (p *formatter) stdUnique(v Value, t *Type) bool {
	ptr, ok := p.w.owned(v)
	elem := t.templateType("_Tp")
	if !ok || elem == nil {
		return false
	}
	p.write("std::unique_ptr<" + elem.String() + "> = {get() = ")
	p.value(ptr)
	p.write("}")
	return true
}

func (p *formatter) stdShared(v Value, t *Type) bool {
	ptr, ok := p.w.find(v, "_M_ptr")
	pi, ok1 := p.w.find(v, "_M_refcount", "_M_pi")
	if !ok || !ok1 {
		return false
	}
	counts := "(empty)"
	if a, err := p.w.uint(pi); err != nil {
		return false
	} else if a != 0 {
		block, err := p.w.deref(pi)
		if err != nil {
			return false
		}
		use, ok := p.w.findUint(block, "_M_use_count")
		weak, ok1 := p.w.findUint(block, "_M_weak_count")
		if !ok || !ok1 {
			counts = fmt.Sprintf("<error: Cannot access memory at address %#x>", a)
		} else {
			n, m := int32(use), int32(weak)
			if n > 0 {
				m--
				counts = fmt.Sprintf("(use count %d, weak count %d)", n, m)
			} else {
				counts = fmt.Sprintf("(expired, weak count %d)", m)
			}
		}
	}
	p.shared(t, counts, ptr)
	return true
}

// shared writes a shared or weak pointer with its counts.
func (p *formatter) shared(t *Type, counts string, ptr Value) {
	elem := t.templateType("_Tp")
	if elem == nil {
		elem = ptr.Type.strip().Elem()
	}
	p.write(fmt.Sprintf("std::%s<%s> %s = {get() = ", container(t), elem, counts))
	p.value(ptr)
	p.write("}")
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

func (p *formatter) stdVariant(v Value, t *Type) bool {
	index, ok := p.w.find(v, "_M_index")
	u, ok1 := p.w.find(v, "_M_u")
	if !ok || !ok1 {
		return false
	}
	n, err := p.w.uint(index)
	types := t.templatePack()
	if err != nil {
		return false
	}
	p.write(t.String())
	if n&sizeMask(index.Type.Size()) >= uint64(len(types)) {
		p.write(" [no contained value]")
		return true
	}
	for range n {
		if u, ok = p.w.find(u, "_M_rest"); !ok {
			return false
		}
	}
	first, ok := p.w.find(u, "_M_first", "_M_storage")
	if !ok {
		return false
	}
	p.write(fmt.Sprintf(" [index %d] = {", n))
	p.value(first.part(types[n], 0))
	p.write("}")
	return true
}

func (p *formatter) stdTuple(v Value, t *Type) bool {
	p.tuple(func(i int) (Value, bool) { return p.w.head(v, i, 0) })
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

func (p *formatter) stdPair(v Value, t *Type) bool {
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

// smart is the pointer in a smart pointer.
func (w *World) smart(v Value) (Value, bool) {
	switch container(v.Type.strip()) {
	case "unique_ptr":
		return w.owned(v)
	case "shared_ptr":
		if ptr, ok := w.find(v, "__ptr_"); ok {
			return ptr, true
		}
		return w.find(v, "_M_ptr")
	case "optional":
		val, ok := w.find(v, "_M_payload", "_M_payload", "_M_value")
		if !ok {
			val, ok = w.find(v, "__val_")
		}
		if ok {
			if a, ok := val.Addr(); ok {
				return number(val.Type.pointerTo(), uint64(a)), true
			}
		}
	}
	return Value{}, false
}

// element is element i of a vector, string, array or deque's like; what operator[]
// would give.
func (w *World) element(v Value, i int64) (Value, bool) {
	t := v.Type.strip()
	var ptr Value
	ok := false
	if t.isRust() {
		return w.rustElement(v, t, i)
	}
	switch container(t) {
	case "deque":
		return w.dequeElement(v, t, i)
	case "vector":
		if ptr, ok = w.find(v, "_M_impl", "_M_start"); !ok {
			ptr, ok = w.find(v, "__begin_")
		}
	case "basic_string":
		if ptr, ok = w.find(v, "_M_dataplus", "_M_p"); !ok {
			var n uint64
			ptr, n, ok = w.cxxText(v)
			if t := ptr.Type; ok && t.strip().Kind == Array {
				if i < 0 || uint64(i) > n {
					return Value{}, false
				}
				elem := t.strip().row()
				return ptr.part(elem, i*elem.Size()), true
			}
		}
	case "basic_string_view":
		ptr, ok = w.packed(v, "_M_str", "__data_", "__data")
	default:
		if strings.HasPrefix(libcxxPrefix.ReplaceAllString(t.Name, "std::"), "std::array<") {
			elems, ok := w.packed(v, "_M_elems", "__elems_")
			if !ok {
				return Value{}, false
			}
			elem := elems.Type.strip().row()
			return elems.part(elem, i*elem.Size()), true
		}
	}
	if !ok || ptr.Type.strip().Kind != Pointer {
		return Value{}, false
	}
	a, err := w.uint(ptr)
	elem := ptr.Type.strip().Elem()
	return memoryValue(elem, addr.Run(a)+addr.Run(i*elem.Size())), err == nil
}

// shortenStd leaves out what nobody writes in names of C++'s library: default
// allocators, comparisons and deleters, as gdb's type printers do.
func shortenStd(name string) string {
	if !strings.Contains(name, "std::") {
		return name
	}
	if strings.Contains(name, "std::__") {
		name = libcxxAny.ReplaceAllString(name, "std::")
		name = strings.ReplaceAll(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
	}
	name = strings.ReplaceAll(name, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
	name = strings.ReplaceAll(name, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "std::string >", "std::string>"), "std::string_view >", "std::string_view>")
	for _, arg := range []string{", std::allocator<", ", std::default_delete<", ", std::less<", ", std::hash<", ", std::equal_to<", ", std::char_traits<"} {
		for range 64 {
			i := strings.Index(name, arg)
			if i < 0 {
				break
			}
			depth, end := 0, -1
			for j := i + len(arg) - 1; j < len(name) && end < 0; j++ {
				switch name[j] {
				case '<':
					depth++
				case '>':
					if depth--; depth == 0 {
						end = j + 1
					}
				}
			}
			if end < 0 {
				return name
			}
			rest := strings.TrimPrefix(name[end:], " ")
			if !strings.HasPrefix(rest, ">") {
				rest = name[end:]
			} else if name[i-1] == '>' {
				rest = " " + rest
			}
			name = name[:i] + rest
		}
	}
	return name
}

// dequeElement is an element of libstdc++'s deque: its blocks have 512 bytes, or one
// element.
func (w *World) dequeElement(v Value, t *Type, i int64) (Value, bool) {
	val := t.templateType("_Tp")
	cur, ok1 := w.findUint(v, "_M_impl", "_M_start", "_M_cur")
	first, ok2 := w.findUint(v, "_M_impl", "_M_start", "_M_first")
	node, ok3 := w.findUint(v, "_M_impl", "_M_start", "_M_node")
	if !ok1 || !ok2 || !ok3 || val == nil || val.Size() <= 0 || i < 0 || i > 1<<40 {
		return Value{}, false
	}
	size := val.Size()
	per := max(512/size, 1)
	i += int64(cur-first) / size
	block, err := w.readUint(addr.Run(node)+addr.Run(i/per*8), 8)
	return memoryValue(val, addr.Run(block)+addr.Run(i%per*size)), err == nil
}

// rustElement is an element of a slice or Vec of Rust.
func (w *World) rustElement(v Value, t *Type, i int64) (Value, bool) {
	length, ptr, elem := "length", Value{}, (*Type)(nil)
	ptr, ok := w.field(v, "data_ptr")
	if !ok {
		if elem = t.templateType("T"); elem == nil || !strings.HasPrefix(t.Name, "alloc::vec::Vec<") {
			return Value{}, false
		}
		length = "len"
		buf, _ := w.field(v, "buf")
		if inner, ok := w.field(buf, "inner"); ok {
			buf = inner
		}
		raw, found := w.field(buf, "ptr")
		if !found {
			return Value{}, false
		}
		if ptr, ok = w.firstPointer(raw); !ok {
			return Value{}, false
		}
	}
	if elem == nil {
		elem = ptr.Type.strip().Elem()
	}
	n, ok := w.field(v, length)
	if !ok {
		return Value{}, false
	}
	count, err := w.uint(n)
	a, err2 := w.uint(ptr)
	if err != nil || err2 != nil {
		return Value{}, false
	}
	if i < 0 || uint64(i) >= count {
		return lostValue(elem, fmt.Errorf("no element %d: there are %d", i, count)), true
	}
	return memoryValue(elem, addr.Run(a)+addr.Run(i*elem.Size())), true
}
