package printers

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// rustPrinter is the printer of a type of Rust.
func rustPrinter(t *values.Type) *values.Printer {
	name := t.Name
	switch {
	case name == "&str" || name == "&mut str" || strings.HasSuffix(name, "Box<str>") || strings.HasPrefix(name, "*const str"):
		return &rustStr
	case isTraitObject(t):
		return &rustTrait
	case strings.HasSuffix(name, "::CStr") && strings.HasPrefix(name, "&"):
		return &rustCStr
	case strings.HasPrefix(name, "&") && (strings.HasSuffix(name, "std::path::Path") || strings.HasSuffix(name, "::OsStr")):
		return &rustStr
	case strings.HasPrefix(name, "core::num::nonzero::NonZero"):
		return &rustNonZero
	case strings.HasPrefix(name, "core::sync::atomic::Atomic"):
		return &rustAtomicNumber
	case strings.HasPrefix(name, "&[") || strings.HasPrefix(name, "&mut ["):
		return &rustSlice
	case strings.HasPrefix(name, "alloc::string::String"):
		return &rustString
	case strings.HasPrefix(name, "alloc::vec::Vec<"):
		return &rustVec
	case strings.HasPrefix(name, "alloc::rc::Rc<") || strings.HasPrefix(name, "alloc::sync::Arc<"):
		return &rustCounted
	}
	if p := rustCollections[plain(name)]; p != nil {
		return p
	}
	return &rustOther
}

var (
	rustStr     = values.Printer{Display: str, Element: fatElement}
	rustSlice   = values.Printer{Display: slice, Element: fatElement}
	rustString  = values.Printer{Display: ownedString}
	rustVec     = values.Printer{Display: vec, Element: vecElement}
	rustCounted = values.Printer{Display: counted, Pointer: countedPointer}
	rustTrait   = values.Printer{Display: traitObject, Pointer: traitPointer}
	rustCStr    = values.Printer{Display: cString}
	rustNonZero = values.Printer{Display: nonZero, Method: atomicMethods}

	rustAtomicNumber = values.Printer{Display: rustAtomic, Method: atomicMethods}
	// rustOther is for fat pointers with other names, and for all other types.
	rustOther = values.Printer{Element: fatElement}
)

// rustCollections are the printers of Rust's collections and cells.
var rustCollections = map[string]*values.Printer{
	"std::collections::hash::map::HashMap": {Display: hashMap, Keyed: true},
	"std::collections::hash::set::HashSet": {Display: hashSet},
	"alloc::collections::btree::map::BTreeMap": {Keyed: true, Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
		return btree(r, v, "BTreeMap", true)
	}},
	"alloc::collections::btree::set::BTreeSet": {Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
		m, ok := r.Field(v, "map")
		if !ok {
			return values.Display{}, false
		}
		return btree(r, m, "BTreeSet", false)
	}},
	"alloc::collections::vec_deque::VecDeque":            {Display: vecDeque},
	"alloc::collections::vec_deque::vec_deque::VecDeque": {Display: vecDeque},
	"alloc::collections::linked_list::LinkedList":        {Display: linkedList},
	"alloc::rc::Weak":                             {Display: weak},
	"alloc::sync::Weak":                           {Display: weak},
	"std::path::PathBuf":                          {Display: osString},
	"std::ffi::os_str::OsString":                  {Display: osString},
	"alloc::ffi::c_str::CString":                  {Display: cString},
	"std::sync::poison::mutex::Mutex":             {Display: lock("Mutex"), Method: cellMethods("data")},
	"std::sync::mutex::Mutex":                     {Display: lock("Mutex"), Method: cellMethods("data")},
	"std::sync::poison::rwlock::RwLock":           {Display: lock("RwLock"), Method: cellMethods("data")},
	"std::sync::rwlock::RwLock":                   {Display: lock("RwLock"), Method: cellMethods("data")},
	"std::sync::poison::mutex::MutexGuard":        guard("MutexGuard"),
	"std::sync::mutex::MutexGuard":                guard("MutexGuard"),
	"std::sync::poison::rwlock::RwLockReadGuard":  guard("RwLockReadGuard"),
	"std::sync::rwlock::RwLockReadGuard":          guard("RwLockReadGuard"),
	"std::sync::poison::rwlock::RwLockWriteGuard": guard("RwLockWriteGuard"),
	"std::sync::rwlock::RwLockWriteGuard":         guard("RwLockWriteGuard"),
	"core::cell::Ref":                             guard("Ref"),
	"core::cell::RefMut":                          guard("RefMut"),
	"core::time::Duration":                        {Display: rustDuration},
	"std::time::Instant":                          {Display: rustTime("Instant")},
	"std::time::SystemTime":                       {Display: rustTime("SystemTime")},
	"core::option::Option":                        {Method: optionMethods},
	"core::cell::Cell":                            {Method: cellMethods("value"), Display: func(r *values.Reader, v values.Value) (values.Display, bool) { return cell(r, v, "Cell") }},
	"core::cell::RefCell": {Method: cellMethods("value"), Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
		n, ok := integer(r, v, "borrow")
		if !ok {
			return values.Display{}, false
		}
		return cell(r, v, fmt.Sprintf("RefCell(borrow=%d)", n))
	}},
}

// fatPointer is the parts of a fat pointer: data_ptr and length.
func fatPointer(r *values.Reader, v values.Value) (data values.Value, n int64, ok bool) {
	d, okData := r.Field(v, "data_ptr")
	l, okLen := r.Field(v, "length")
	if !okData || !okLen {
		return values.Value{}, 0, false
	}
	count, err := r.Uint(l)
	if err != nil || int64(count) < 0 {
		return values.Value{}, 0, false
	}
	return d, int64(count), true
}

func str(r *values.Reader, v values.Value) (values.Display, bool) {
	data, n, ok := fatPointer(r, v)
	if !ok {
		return values.Display{}, false
	}
	return utf8(r, data, n), true
}

func slice(r *values.Reader, v values.Value) (values.Display, bool) {
	data, n, ok := fatPointer(r, v)
	if !ok {
		return values.Display{}, false
	}
	return sequence(r, strings.TrimSpace(v.Type.Strip().Name), data, data.Type.Strip().Elem(), n), true
}

// utf8 is the string of n bytes at a pointer.
func utf8(r *values.Reader, data values.Value, n int64) values.Display {
	a, err := r.Uint(data)
	if err != nil {
		return values.Display{Err: err}
	}
	return values.Display{Text: &values.Text{Addr: addr.Run(a), Len: uint64(n)}}
}

// sequence has n elements behind a pointer.
func sequence(r *values.Reader, head string, data values.Value, elem *values.Type, n int64) values.Display {
	a, err := r.Uint(data)
	if err != nil {
		return values.Display{Head: head, Err: err}
	}
	size := elem.Size()
	at := func(i int64) values.Value { return values.MemoryValue(elem, addr.Run(a)+addr.Run(i*size)) }
	return values.Display{Head: head, Elements: &values.Elements{Count: n, At: at}}
}

// firstPointer descends into the only or first member until there is a pointer.
func firstPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	for range 8 {
		t := v.Type.Strip()
		if t.Kind == values.Pointer {
			return v, true
		}
		fields := t.Fields()
		found := false
		for i := range fields {
			if s := fields[i].Type.Size(); s == 8 || s == 16 {
				v, found = r.Member(v, &fields[i]), true
				break
			}
		}
		if !found {
			return values.Value{}, false
		}
	}
	return values.Value{}, false
}

// buffer is the pointer in the RawVec of a Vec or VecDeque, and the RawVec's innermost
// struct.
func buffer(r *values.Reader, v values.Value) (ptr, raw values.Value, ok bool) {
	raw, ok = r.Field(v, "buf")
	if !ok {
		return ptr, raw, false
	}
	if inner, ok := r.Field(raw, "inner"); ok {
		raw = inner
	}
	first, ok := r.Field(raw, "ptr")
	if !ok {
		return ptr, raw, false
	}
	ptr, ok = firstPointer(r, first)
	return ptr, raw, ok
}

// contents is the pointer and the length of a Vec.
func contents(r *values.Reader, v values.Value) (ptr values.Value, n int64, ok bool) {
	length, ok := r.Field(v, "len")
	if !ok {
		return ptr, 0, false
	}
	ptr, _, ok = buffer(r, v)
	count, err := r.Uint(length)
	return ptr, int64(count), ok && err == nil && int64(count) >= 0
}

// ownedString describes a String, which has a Vec of bytes.
func ownedString(r *values.Reader, v values.Value) (values.Display, bool) {
	bytes, ok := r.Field(v, "vec")
	if !ok {
		return values.Display{}, false
	}
	ptr, n, ok := contents(r, bytes)
	if !ok {
		return values.Display{}, false
	}
	return utf8(r, ptr, n), true
}

// vec describes a Vec<T>. The pointer of a RawVec is one to bytes since Rust 1.80: the
// element type is a template parameter.
func vec(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, n, ok := contents(r, v)
	if !ok {
		return values.Display{}, false
	}
	elem := v.Type.Strip().TemplateType("T")
	if elem == nil {
		elem = ptr.Type.Strip().Elem()
	}
	return sequence(r, fmt.Sprintf("Vec(size=%d)", n), ptr, elem, n), true
}

// counted describes an Rc or Arc with its counts.
func counted(r *values.Reader, v values.Value) (values.Display, bool) {
	val, strong, weak, ok := countedBox(r, v)
	if !ok {
		return values.Display{}, false
	}
	name, word := v.Type.Strip().Name, "Rc"
	if strings.HasPrefix(name, "alloc::sync") {
		word = "Arc"
	}
	d := values.Display{Head: fmt.Sprintf("%s(strong=%d, weak=%d)", word, strong, weak-1)}
	m := values.Member{Name: "value", Value: val}
	if n, ok := fatLength(r, v); ok {
		m.Display = &values.Display{}
		if at, ok := val.Addr(); ok && n >= 0 {
			data := values.Number(val.Type.PointerTo(), uint64(at))
			if strings.Contains(name, "<str,") || strings.HasSuffix(name, "<str>") {
				*m.Display = utf8(r, data, n)
			} else {
				*m.Display = sequence(r, fmt.Sprintf("[..](size=%d)", n), data, val.Type, n)
			}
		}
	}
	d.Members = []values.Member{m}
	return d, true
}

// fatLength is the number of elements that an Rc or Arc of a slice or str keeps next to its
// pointer; false for one of a sized type.
func fatLength(r *values.Reader, v values.Value) (int64, bool) {
	for range 8 {
		if l, ok := r.Field(v, "length"); ok {
			n, err := r.Uint(l)
			return int64(n), err == nil
		}
		fields := v.Type.Strip().Fields()
		found := false
		for i := range fields {
			if fields[i].Type.Size() == 16 {
				v, found = r.Member(v, &fields[i]), true
				break
			}
		}
		if !found {
			break
		}
	}
	return 0, false
}

// integer is the number in a member, which may be wrapped in structs of one member.
func integer(r *values.Reader, v values.Value, name string) (int64, bool) {
	m, ok := r.Field(v, name)
	for i := 0; ok && i < 8; i++ {
		t := m.Type.Strip()
		if t.Kind != values.Struct {
			n, err := r.Uint(m)
			return int64(n), err == nil
		}
		fields := t.Fields()
		if len(fields) == 0 {
			return 0, false
		}
		m = r.Member(m, &fields[0])
	}
	return 0, false
}

// fatElement is an element of a slice.
func fatElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	ptr, ok := r.Field(v, "data_ptr")
	if !ok {
		return values.Value{}, false
	}
	return checked(r, v, "length", ptr, ptr.Type.Strip().Elem(), i)
}

// vecElement is an element of a Vec.
func vecElement(r *values.Reader, v values.Value, i int64) (values.Value, bool) {
	elem := v.Type.Strip().TemplateType("T")
	ptr, _, ok := buffer(r, v)
	if elem == nil || !ok {
		return values.Value{}, false
	}
	return checked(r, v, "len", ptr, elem, i)
}

// checked is element i behind a pointer. The length is in a member.
func checked(r *values.Reader, v values.Value, length string, ptr values.Value, elem *values.Type, i int64) (values.Value, bool) {
	n, ok := r.Field(v, length)
	if !ok {
		return values.Value{}, false
	}
	count, err := r.Uint(n)
	a, err2 := r.Uint(ptr)
	if err != nil || err2 != nil {
		return values.Value{}, false
	}
	if i < 0 || uint64(i) >= count {
		return values.LostValue(elem, fmt.Errorf("no element %d: there are %d", i, count)), true
	}
	return values.MemoryValue(elem, addr.Run(a)+addr.Run(i*elem.Size())), true
}
