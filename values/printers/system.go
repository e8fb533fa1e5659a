package printers

import (
	"bytes"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// Limits of what is read for a path or an error.
const (
	maxPathParts = 1 << 12
	maxTypeName  = 256
	maxThreadID  = 1 << 22 // PID_MAX_LIMIT of the kernel
)

// stdPath describes a path of libstdc++. The low bits of the pointer to its components tell
// what it is if it has only one.
func stdPath(r *values.Reader, v values.Value) (values.Display, bool) {
	name, ok := r.Find(v, "_M_pathname")
	cmpts, ok1 := r.Find(v, "_M_cmpts", "_M_impl")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	d, ok := r.Describe(name)
	if !ok || d.Text == nil {
		return values.Display{}, false
	}
	d.Head = "filesystem::path "
	ptr, ok := owned(r, cmpts)
	if !ok {
		return d, true
	}
	impl, err := r.Uint(ptr)
	switch {
	case err == nil && impl&3 == 1:
		d.Tail = " [root-name]"
	case err == nil && impl&3 == 2:
		d.Tail = " [root-directory]"
	}
	part := v.Type.Program().Named("std::filesystem::__cxx11::path::_Cmpt")
	if err != nil || impl == 0 || impl&3 != 0 || part == nil || part.Strip().Incomplete() {
		return d, true
	}
	n, err := r.ReadUint(addr.Run(impl), 4)
	size := part.Size()
	if err != nil || n == 0 || n > maxPathParts || size <= 0 {
		return d, true
	}
	d.Items = func(yield func(values.Item, error) bool) {
		for i := range int64(n) {
			c := r.Load(values.MemoryValue(part, addr.Run(impl)+8+addr.Run(i*size)))
			text, ok := r.Find(c, "_M_pathname")
			if !ok {
				yield(values.Item{}, errBroken)
				return
			}
			if !yield(values.Item{Label: partLabel(r, c, i), Value: text}, nil) {
				return
			}
		}
	}
	return d, true
}

// partLabel is the label of component i of a path.
func partLabel(r *values.Reader, c values.Value, i int64) string {
	if cmpts, ok := r.Find(c, "_M_cmpts", "_M_impl"); ok {
		if ptr, ok := owned(r, cmpts); ok {
			switch n, err := r.Uint(ptr); {
			case err != nil:
			case n&3 == 1:
				return "[root-name]"
			case n&3 == 2:
				return "[root-directory]"
			}
		}
	}
	return number(i)
}

func cxxPath(r *values.Reader, v values.Value) (values.Display, bool) {
	name, ok := packed(r, v, "__pn_")
	if !ok {
		return values.Display{}, false
	}
	d, ok := r.Describe(name)
	d.Head = "filesystem::path "
	return d, ok && d.Text != nil
}

// pathMethods are the functions of a path: its text is a string's.
func pathMethods(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	if name != "string" && name != "native" {
		return values.Value{}, nil, false
	}
	m, ok := packed(r, v, "_M_pathname", "__pn_")
	return m, nil, ok
}

// typeNameAt is the mangled name of the class of the object at an address, by its type
// information (Itanium C++ ABI, section 2.9.5). It is "" if there is none.
func typeNameAt(r *values.Reader, object addr.Run) string {
	at := uint64(object)
	for _, off := range []int64{0, -8, 8} {
		var err error
		if at, err = r.ReadUint(addr.Run(at)+addr.Run(off), 8); err != nil || at == 0 {
			return ""
		}
	}
	const chunk = 64
	var name []byte
	for len(name) < maxTypeName {
		b, err := r.ReadMemory(addr.Run(at)+addr.Run(len(name)), chunk)
		if err != nil {
			return ""
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return strings.TrimPrefix(string(append(name, b[:i]...)), "*")
		}
		name = append(name, b...)
	}
	return ""
}

// errorCode describes an error_code or error_condition: category and number. usual is the
// category of one without an error.
func errorCode(usual string) func(r *values.Reader, v values.Value) (values.Display, bool) {
	return func(r *values.Reader, v values.Value) (values.Display, bool) {
		val, ok := packedUint(r, v, "_M_value", "__val_")
		cat, ok1 := packedUint(r, v, "_M_cat", "__cat_")
		if !ok || !ok1 {
			return values.Display{}, false
		}
		n := int32(val)
		mangled := typeNameAt(r, addr.Run(cat))
		name, text := "", fmt.Sprint(n)
		for _, c := range []string{"generic", "system", "future", "io"} {
			if strings.HasSuffix(mangled, c+"_error_categoryE") || strings.HasSuffix(mangled, "__iostream_categoryE") && c == "io" {
				name = c
			}
		}
		class, _ := className(v.Type.Strip())
		head := "std::" + class + " = "
		switch {
		case name == usual && n == 0:
			return values.Display{Head: head + "{ }"}, true
		case (name == "generic" || name == "system") && errnoNames[n] != "":
			text = errnoNames[n]
		case name == "":
			name = v.Type.Program().ClassAt(addr.Run(cat))
			if name == "" {
				return values.Display{}, false
			}
			return values.Display{Head: fmt.Sprintf("%s{%s: %s}", head, name, text)}, true
		}
		return values.Display{Head: fmt.Sprintf("%s{%q: %s}", head, name, text)}, true
	}
}

// mutex describes a mutex by the pthread_mutex_t in it.
func mutex(r *values.Reader, v values.Value) (values.Display, bool) {
	m, ok := packed(r, v, "_M_mutex", "__m_")
	lock, ok1 := r.FindUint(m, "__data", "__lock")
	owner, ok2 := r.FindUint(m, "__data", "__owner")
	count, ok3 := r.FindUint(m, "__data", "__count")
	if !ok || !ok1 || !ok2 || !ok3 {
		return values.Display{}, false
	}
	name, _ := className(v.Type.Strip())
	state := "unlocked"
	switch lock, owner := int32(lock), int32(owner); {
	case lock < 0 || lock > 2 || owner < 0 || owner > maxThreadID:
		return values.Display{}, false // of a kind that std::mutex does not use
	case lock == 0:
	case owner == 0:
		state = "locked" // the owner is written later
	case count > 1:
		state = fmt.Sprintf("locked %d times by thread %d", uint32(count), owner)
	default:
		state = fmt.Sprintf("locked by thread %d", owner)
	}
	if int32(lock) == 2 {
		state += ", others may wait"
	}
	return values.Display{Head: fmt.Sprintf("std::%s (%s)", name, state)}, true
}

// Bits of the number of readers of a pthread_rwlock_t (glibc, nptl/pthread_rwlock_common.c).
const (
	rwWritePhase  = 1
	rwWriteLocked = 2
	rwReaderShift = 3
)

// stdSharedMutex describes a shared_mutex of libstdc++ by the pthread_rwlock_t in it.
func stdSharedMutex(r *values.Reader, v values.Value) (values.Display, bool) {
	m, ok := r.Find(v, "_M_impl", "_M_rwlock")
	if !ok {
		m, ok = r.Find(v, "_M_rwlock")
	}
	readers, ok1 := r.FindUint(m, "__data", "__readers")
	writer, ok2 := r.FindUint(m, "__data", "__cur_writer")
	if !ok || !ok1 || !ok2 {
		return values.Display{}, false
	}
	name, _ := className(v.Type.Strip())
	n := uint32(readers)
	state := "unlocked"
	switch {
	case n&(rwWritePhase|rwWriteLocked) == rwWritePhase|rwWriteLocked:
		state = fmt.Sprintf("locked by thread %d", int32(writer))
	case n>>rwReaderShift == 1:
		state = "1 reader"
	case n>>rwReaderShift > 1:
		state = fmt.Sprintf("%d readers", n>>rwReaderShift)
	}
	return values.Display{Head: fmt.Sprintf("std::%s (%s)", name, state)}, true
}

// thread describes a thread or the ID of one by its pthread_t, which info threads has, too.
func thread(r *values.Reader, v values.Value) (values.Display, bool) {
	var id uint64
	ok := false
	for _, path := range [][]string{{"_M_id", "_M_thread"}, {"_M_thread"}, {"__t_"}, {"__id_"}} {
		if id, ok = r.FindUint(v, path...); ok {
			break
		}
	}
	name, _ := className(v.Type.Strip())
	state := fmt.Sprintf("%#x", id)
	if id == 0 {
		state = "no thread"
	}
	return values.Display{Head: fmt.Sprintf("std::%s (%s)", name, state)}, ok
}

// condition describes a condition variable by the number of threads that wait for it. The
// low bits of __wrefs are flags (glibc, nptl/pthread_cond_common.c).
func condition(r *values.Reader, v values.Value) (values.Display, bool) {
	m, ok := packed(r, v, "_M_cond", "__cv_")
	if inner, found := r.Find(m, "_M_cond"); found {
		m = inner
	}
	n, ok1 := r.FindUint(m, "__data", "__wrefs")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	state := "no waiters"
	switch n := uint32(n) >> 3; {
	case n > maxThreadID:
		return values.Display{}, false
	case n == 1:
		state = "1 waiter"
	case n > 1:
		state = fmt.Sprintf("%d waiters", n)
	}
	name, _ := className(v.Type.Strip())
	return values.Display{Head: fmt.Sprintf("std::%s (%s)", name, state)}, true
}
