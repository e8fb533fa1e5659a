package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

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

func (p *formatter) unique(v Value, t *Type) bool {
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
		b, ok := w.blocks(v, t)
		if !ok || i < 0 || i > 1<<40 {
			return Value{}, false
		}
		e := w.inBlocks(b, i)
		return e, e.err == nil
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
