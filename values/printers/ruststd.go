package printers

import (
	"fmt"
	"strings"
	"time"

	"hdb/internal/addr"
	"hdb/values"
)

// linkedList describes a LinkedList, whose nodes have links and an element.
func linkedList(r *values.Reader, v values.Value) (values.Display, bool) {
	head, ok := r.Field(v, "head")
	n, ok1 := integer(r, v, "len")
	if !ok || !ok1 || n < 0 || head.Type.Size() != 8 {
		return values.Display{}, false
	}
	node := pointee(head.Type)
	if node == nil {
		return values.Display{}, false
	}
	next, ok := fieldNamed(node, "next")
	elem, ok1 := fieldNamed(node, "element")
	first, err := r.Uint(head.Part(v.Type.Program().UnsignedLong(), 0))
	if !ok || !ok1 || err != nil {
		return values.Display{}, false
	}
	return collection("LinkedList", n, func(yield func(values.Item) bool) {
		for at := first; at != 0; {
			if !yield(values.Item{Value: values.MemoryValue(elem.Type, addr.Run(at)+addr.Run(elem.Offset))}) {
				return
			}
			var err error
			if at, err = r.ReadUint(addr.Run(at)+addr.Run(next.Offset), 8); err != nil {
				return
			}
		}
	}), true
}

// osString describes a PathBuf or OsString, which have a Vec of bytes in one or two structs.
func osString(r *values.Reader, v values.Value) (values.Display, bool) {
	for range 4 {
		if strings.HasPrefix(v.Type.Strip().Name, "alloc::vec::Vec<u8") {
			ptr, n, ok := contents(r, v)
			if !ok {
				return values.Display{}, false
			}
			return utf8(r, ptr, n), true
		}
		inner, ok := r.Field(v, "inner")
		if !ok {
			break
		}
		v = inner
	}
	return values.Display{}, false
}

// cString describes a CString, a Box of bytes that end with 0, or a reference to such bytes.
func cString(r *values.Reader, v values.Value) (values.Display, bool) {
	if inner, ok := r.Field(v, "inner"); ok {
		v = inner
	}
	data, n, ok := fatPointer(r, v)
	if !ok || n == 0 {
		return values.Display{}, false
	}
	return utf8(r, data, n-1), true
}

// cellValue is the value in a cell or lock: the value of its UnsafeCell.
func cellValue(r *values.Reader, v values.Value, member string) (values.Value, bool) {
	inner, ok := r.Field(v, member)
	if !ok {
		return values.Value{}, false
	}
	return r.Field(inner, "value")
}

// cellMethods give the value of a cell or lock, as the functions that lend it.
func cellMethods(member string) func(*values.Reader, values.Value, string) (values.Value, error, bool) {
	return func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
		switch name {
		case "get", "get_mut", "borrow", "borrow_mut", "lock", "read", "write", "into_inner":
			val, ok := cellValue(r, v, member)
			return val, nil, ok
		}
		return values.Value{}, nil, false
	}
}

// The states of a futex that std's RwLock has: the number of readers, or all bits for a
// writer (library/std/src/sys/sync/rwlock/futex.rs).
const rwLockMask = 1<<30 - 1

// lock describes a Mutex or RwLock: whether it is locked and poisoned, and its value. Only the
// futexes of Linux report whether it is locked.
func lock(name string) func(r *values.Reader, v values.Value) (values.Display, bool) {
	return func(r *values.Reader, v values.Value) (values.Display, bool) {
		val, ok := cellValue(r, v, "data")
		inner, ok1 := r.Field(v, "inner")
		if !ok || !ok1 {
			return values.Display{}, false
		}
		var states []string
		if n, ok := integer(r, v, "inner"); ok && strings.Contains(inner.Type.Strip().Name, "futex") {
			state := lockState(name, uint32(n))
			if state == "" {
				return values.Display{}, false
			}
			states = append(states, state)
		}
		switch n, ok := integer(r, v, "poison"); {
		case ok && n == 1:
			states = append(states, "poisoned")
		case !ok || n != 0:
			return values.Display{}, false
		}
		head := name
		if len(states) > 0 {
			head += "(" + strings.Join(states, ", ") + ")"
		}
		return holding(head, val), true
	}
}

// lockState is the state of a futex in words, "" for one that it cannot have.
func lockState(name string, n uint32) string {
	if name == "RwLock" {
		switch n &= rwLockMask; n {
		case 0:
			return "unlocked"
		case 1:
			return "1 reader"
		case rwLockMask:
			return "locked"
		}
		return fmt.Sprintf("%d readers", n)
	}
	switch n {
	case 0:
		return "unlocked"
	case 1, 2: // 2: others may wait
		return "locked"
	}
	return ""
}

// guarded is the value that a guard of a lock or cell lends.
func guarded(r *values.Reader, v values.Value) (values.Value, bool) {
	for _, name := range []string{"data", "value"} { // RwLockReadGuard, Ref
		if m, ok := r.Field(v, name); ok {
			ptr, ok := firstPointer(r, m)
			if !ok {
				return values.Value{}, false
			}
			val, err := r.Deref(ptr)
			return val, err == nil
		}
	}
	ptr, ok := r.Field(v, "lock")
	if !ok || ptr.Type.Strip().Kind != values.Pointer {
		return values.Value{}, false
	}
	lock, err := r.Deref(ptr)
	if err != nil {
		return values.Value{}, false
	}
	return cellValue(r, lock, "data")
}

// guard is the printer of guards.
func guard(name string) *values.Printer {
	return &values.Printer{
		Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
			val, ok := guarded(r, v)
			return holding(name, val), ok
		},
		Pointer: func(r *values.Reader, v values.Value) (values.Value, bool) {
			val, ok := guarded(r, v)
			if !ok {
				return values.Value{}, false
			}
			return pointerTo(val)
		},
	}
}

// rustDuration describes a Duration as Rust's {:?} does.
func rustDuration(r *values.Reader, v values.Value) (values.Display, bool) {
	secs, ok := integer(r, v, "secs")
	nanos, ok1 := integer(r, v, "nanos")
	if !ok || !ok1 || nanos < 0 || nanos >= 1e9 {
		return values.Display{}, false
	}
	text := ""
	switch {
	case secs != 0:
		text = decimal(uint64(secs), nanos, 9) + "s"
	case nanos >= 1e6:
		text = decimal(uint64(nanos/1e6), nanos%1e6, 6) + "ms"
	case nanos >= 1e3:
		text = decimal(uint64(nanos/1e3), nanos%1e3, 3) + "µs"
	default:
		text = fmt.Sprintf("%dns", nanos)
	}
	return values.Display{Head: "Duration(" + text + ")"}, true
}

// decimal is a number with a fraction of some digits, without zeros at the end.
func decimal(n uint64, fraction int64, digits int) string {
	f := strings.TrimRight(fmt.Sprintf("%0*d", digits, fraction), "0")
	if f == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d.%s", n, f)
}

// rustTime describes an Instant or SystemTime by the timespec in it.
func rustTime(name string) func(r *values.Reader, v values.Value) (values.Display, bool) {
	return func(r *values.Reader, v values.Value) (values.Display, bool) {
		for range 4 {
			secs, ok := integer(r, v, "tv_sec")
			nanos, ok1 := integer(r, v, "tv_nsec")
			if ok && ok1 {
				if nanos < 0 || nanos >= 1e9 {
					return values.Display{}, false
				}
				text := fmt.Sprintf("%ss", decimal(uint64(secs), nanos, 9))
				if name == "SystemTime" {
					t := time.Unix(secs, nanos).UTC()
					if t.Year() < 1 || t.Year() > 9999 {
						return values.Display{}, false
					}
					text = t.Format("2006-01-02 15:04:05.999999999")
				} else if secs < 0 {
					return values.Display{}, false
				}
				return values.Display{Head: name + "(" + text + ")"}, true
			}
			fields := v.Type.Strip().Fields()
			if len(fields) == 0 {
				break
			}
			v = r.Member(v, &fields[0])
		}
		return values.Display{}, false
	}
}

// innermost is the number in structs of one member.
func innermost(r *values.Reader, v values.Value) (values.Value, bool) {
	for range 8 {
		t := v.Type.Strip()
		if t.Kind != values.Struct {
			return v, true
		}
		fields := t.Fields()
		if len(fields) != 1 {
			break
		}
		v = r.Member(v, &fields[0])
	}
	return values.Value{}, false
}

// nonZero describes a NonZero as its number, as rust-gdb does.
func nonZero(r *values.Reader, v values.Value) (values.Display, bool) {
	n, ok := innermost(r, v)
	return values.Display{Value: &n}, ok
}

// rustAtomic describes AtomicBool, AtomicI32 and so on.
func rustAtomic(r *values.Reader, v values.Value) (values.Display, bool) {
	n, ok := innermost(r, v)
	if !ok {
		return values.Display{}, false
	}
	name := strings.TrimPrefix(plain(v.Type.Strip().Name), "core::sync::atomic::")
	if b, err := r.Uint(n); name == "AtomicBool" && err == nil && b < 2 {
		n = v.Type.Program().Boolean(b == 1)
	}
	return values.Display{Head: name + "(", Value: &n, Tail: ")"}, true
}

// atomicMethods give the value of an atomic.
func atomicMethods(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	if name != "load" && name != "get" {
		return values.Value{}, nil, false
	}
	n, ok := innermost(r, v)
	return n, nil, ok
}

// optionMethods are functions of an Option.
func optionMethods(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	some, has := r.Variant(v)
	fields := []values.Field(nil)
	if has {
		fields = some.Type.Strip().Fields()
		has = len(fields) > 0
	}
	switch name {
	case "is_some", "is_none":
		return v.Type.Program().Boolean(has == (name == "is_some")), nil, true
	case "unwrap", "expect", "as_ref":
		if !has {
			return values.Value{}, fmt.Errorf("the Option is None"), true
		}
		return r.Member(some, &fields[0]), nil, true
	}
	return values.Value{}, nil, false
}
