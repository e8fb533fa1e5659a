package printers

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// containing describes a value that holds another one of any type, as gdb's printers do: a
// container is shown in its place.
func containing(r *values.Reader, head string, val values.Value, typed bool) values.Display {
	if d, ok := r.Describe(val); ok && d.Text == nil && d.Value == nil && d.Head != "" && d.Err == nil {
		d.Head = head + " containing " + d.Head
		return d
	}
	if typed {
		head += " containing " + val.Type.String()
	}
	return values.Display{Head: head, Members: []values.Member{{Name: "[contained value]", Value: val}}}
}

// stdAnyValue is the value in a std::any of libstdc++. Its manager is a member function of a
// class template, whose argument is the type of the value.
func stdAnyValue(r *values.Reader, v values.Value) (val values.Value, has, ok bool) {
	manager, ok := r.FindUint(v, "_M_manager")
	if !ok || manager == 0 {
		return values.Value{}, false, ok
	}
	class, name := v.Type.Program().Method(addr.Run(manager))
	if class == nil || !strings.HasPrefix(name, "_S_manage") {
		return values.Value{}, false, false
	}
	t := class.TemplateType("_Tp")
	storage, ok := r.Find(v, "_M_storage")
	if !ok || t == nil {
		return values.Value{}, false, false
	}
	if strings.Contains(class.Name, "::_Manager_internal<") {
		if t.Size() > storage.Type.Size() {
			return values.Value{}, false, false
		}
		return storage.Part(t, 0), true, true
	}
	at, err := r.Uint(storage.Part(v.Type.Program().UnsignedLong(), 0))
	return values.MemoryValue(t, addr.Run(at)), true, err == nil
}

// cxxAnyValue is the value in a std::any of libc++.
func cxxAnyValue(r *values.Reader, v values.Value) (val values.Value, has, ok bool) {
	handler, ok := packed(r, v, "__h_", "__h")
	if !ok {
		return values.Value{}, false, false
	}
	at, err := r.Uint(handler)
	if err != nil || at == 0 {
		return values.Value{}, false, err == nil
	}
	class, _ := v.Type.Program().Method(addr.Run(at))
	storage, ok := packed(r, v, "__s_", "__s")
	if class == nil || !ok {
		return values.Value{}, false, false
	}
	t := class.TemplateType("_Tp")
	if t == nil {
		return values.Value{}, false, false
	}
	if strings.Contains(class.Name, "_SmallHandler<") {
		if t.Size() > storage.Type.Size() {
			return values.Value{}, false, false
		}
		return storage.Part(t, 0), true, true
	}
	p, err := r.Uint(storage.Part(v.Type.Program().UnsignedLong(), 0))
	return values.MemoryValue(t, addr.Run(p)), true, err == nil
}

// anyOf is the printer of std::any. find is the value in it.
func anyOf(find func(r *values.Reader, v values.Value) (val values.Value, has, ok bool)) *values.Printer {
	return &values.Printer{
		Display: func(r *values.Reader, v values.Value) (values.Display, bool) {
			val, has, ok := find(r, v)
			if !ok || !has {
				return values.Display{Head: "std::any [no contained value]"}, ok
			}
			return containing(r, "std::any", val, true), true
		},
		Method: func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
			_, has, ok := find(r, v)
			if !ok || name != "has_value" {
				return values.Value{}, nil, false
			}
			return v.Type.Program().Boolean(has), nil, true
		},
	}
}

// stdFunction describes a std::function of libstdc++: the type of its target, and the target
// itself if it is a pointer or is known to be in the function object.
func stdFunction(r *values.Reader, v values.Value) (values.Display, bool) {
	manager, ok := r.FindUint(v, "_M_manager")
	invoker, ok1 := r.FindUint(v, "_M_invoker")
	store, ok2 := r.Find(v, "_M_functor")
	if !ok || !ok1 || !ok2 {
		return values.Display{}, false
	}
	head := v.Type.Strip().String()
	if manager == 0 {
		return values.Display{Head: head + " [no target]"}, true
	}
	class, _ := v.Type.Program().Method(addr.Run(invoker))
	if class == nil {
		return values.Display{}, false
	}
	target := class.TemplateType("_Functor")
	if target == nil {
		return values.Display{}, false
	}
	name := target.String()
	if target.Strip().Name == "" && target.Strip().Kind == values.Struct { // a lambda
		if args := templateArgs(v.Type.Program().SymbolAt(addr.Run(invoker)), "std::_Function_handler<"); len(args) == 2 {
			name = args[1]
		}
	}
	d := values.Display{Head: head + " containing " + name}
	if in := class.Strip(); target.Strip().Kind != values.Pointer && !storedLocally(in) || target.Size() > store.Type.Size() {
		at, err := r.Uint(store.Part(v.Type.Program().UnsignedLong(), 0))
		if known := storage(in); err != nil || known == "" {
			return d, true
		}
		d.Members = []values.Member{{Name: "[target]", Value: values.MemoryValue(target, addr.Run(at))}}
		return d, true
	}
	d.Members = []values.Member{{Name: "[target]", Value: store.Part(target, 0)}}
	return d, true
}

// storage is "true" or "false" as the base class of a function handler says whether its
// target is in the function object, "" if debug information does not say it.
func storage(handler *values.Type) string {
	for _, f := range handler.Fields() {
		if !f.Base {
			continue
		}
		for _, m := range f.Type.Strip().Fields() {
			if m.Name == "__stored_locally" && m.Static {
				if n, ok := m.Constant(); ok {
					return fmt.Sprint(n != 0)
				}
			}
		}
	}
	return ""
}

func storedLocally(handler *values.Type) bool { return storage(handler) == "true" }

// cxxFunction describes a std::function of libc++. The virtual table of the object that it
// points to says what the target is.
func cxxFunction(r *values.Reader, v values.Value) (values.Display, bool) {
	at, ok := r.FindUint(v, "__f_", "__f_")
	if !ok {
		return values.Display{}, false
	}
	head := v.Type.Strip().String()
	if at == 0 {
		return values.Display{Head: head + " [no target]"}, true
	}
	class := v.Type.Program().ClassAt(addr.Run(at))
	if !strings.Contains(class, "__function::__func<") {
		return values.Display{}, false
	}
	t := v.Type.Program().Named(class)
	if t == nil {
		if args := templateArgs(class[strings.Index(class, "__func<"):], "__func<"); len(args) > 0 {
			return values.Display{Head: head + " containing " + args[0]}, true
		}
		return values.Display{}, false
	}
	target := t.TemplateType("_FD") // the name in the template that is specialized
	if target == nil {
		if target = t.TemplateType("_Fp"); target == nil {
			return values.Display{}, false
		}
	}
	d := values.Display{Head: head + " containing " + target.String()}
	d.Members = []values.Member{{Name: "[target]", Value: values.MemoryValue(target, addr.Run(at)+aligned(target, 8))}}
	return d, true
}

// reference describes a std::reference_wrapper as the object that it refers to.
func reference(r *values.Reader, v values.Value) (values.Display, bool) {
	ptr, ok := referenced(r, v)
	if !ok {
		return values.Display{}, false
	}
	target, err := r.Deref(ptr)
	if err != nil {
		return values.Display{}, false
	}
	d := values.Display{Head: v.Type.Strip().String(), Members: []values.Member{{Name: "get()", Value: target}}}
	return d, true
}

func referenced(r *values.Reader, v values.Value) (values.Value, bool) {
	ptr, ok := packed(r, v, "_M_data", "__f_")
	return ptr, ok && ptr.Type.Strip().Kind == values.Pointer
}

// referencedObject is the object that get() of a reference_wrapper gives.
func referencedObject(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	ptr, ok := referenced(r, v)
	if !ok || name != "get" {
		return values.Value{}, nil, false
	}
	target, err := r.Deref(ptr)
	return target, err, true
}

// useCount is the function of a shared_ptr that tells the number of its owners.
func useCount(counts func(r *values.Reader, v values.Value) (int64, error, bool)) func(*values.Reader, values.Value, string) (values.Value, error, bool) {
	return func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
		if name != "use_count" {
			return values.Value{}, nil, false
		}
		n, err, ok := counts(r, v)
		return values.Number(v.Type.Program().UnsignedLong(), uint64(n)), err, ok
	}
}

func stdCounts(r *values.Reader, v values.Value) (int64, error, bool) {
	at, ok := r.FindUint(v, "_M_refcount", "_M_pi")
	if !ok || at == 0 {
		return 0, nil, ok
	}
	n, err := r.ReadUint(addr.Run(at)+8, 4)
	return int64(int32(n)), err, true
}

func cxxCounts(r *values.Reader, v values.Value) (int64, error, bool) {
	at, ok := r.FindUint(v, "__cntrl_")
	if !ok || at == 0 {
		return 0, nil, ok
	}
	n, err := r.ReadUint(addr.Run(at)+8, 8)
	return int64(n) + 1, err, true
}

// atomicValue is the value in a std::atomic of either library.
func atomicValue(r *values.Reader, v values.Value) (values.Value, bool) {
	for _, path := range [][]string{{"_M_base", "_M_i"}, {"_M_b", "_M_p"}, {"_M_fp"}, {"_M_i"}, {"__a_", "__a_value"}} {
		if m, ok := r.Find(v, path...); ok {
			return m, true
		}
	}
	return values.Value{}, false
}

func atomic(r *values.Reader, v values.Value) (values.Display, bool) {
	if impl, ok := r.Find(v, "_M_impl"); ok {
		return atomicShared(r, v, impl)
	}
	val, ok := atomicValue(r, v)
	if !ok {
		return values.Display{}, false
	}
	t := v.Type.Strip().TemplateType("_Tp")
	if t == nil {
		t = val.Type
	}
	return values.Display{Head: "std::atomic<" + t.String() + "> = { ", Value: &val, Tail: " }"}, true
}

// atomicShared describes an atomic shared_ptr or weak_ptr. The low bit of the pointer to its
// counts is a lock.
func atomicShared(r *values.Reader, v, impl values.Value) (values.Display, bool) {
	ptr, ok := r.Find(impl, "_M_ptr")
	at, ok1 := r.FindUint(impl, "_M_refcount", "_M_val", "_M_i")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	at &^= 1
	use, err := r.ReadUint(addr.Run(at)+8, 4)
	weak, err1 := r.ReadUint(addr.Run(at)+12, 4)
	return shared(v, ptr, at, int64(int32(use)), int64(int32(weak)), err == nil && err1 == nil), true
}

// loaded is the value of an atomic, by the functions that give it.
func loaded(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	if name != "load" {
		return values.Value{}, nil, false
	}
	val, ok := atomicValue(r, v)
	return val, nil, ok
}

// complexNumber describes a std::complex of either library.
func complexNumber(r *values.Reader, v values.Value) (values.Display, bool) {
	val, ok := r.Find(v, "_M_value")
	if ok {
		return values.Display{Head: v.Type.Strip().String() + " = ", Value: &val}, true
	}
	re, ok := r.Find(v, "__re_")
	im, ok1 := r.Find(v, "__im_")
	if !ok || !ok1 {
		return values.Display{}, false
	}
	return values.Display{Head: v.Type.Strip().String(), Members: []values.Member{{Name: "real", Value: re}, {Name: "imag", Value: im}}}, true
}

// engagedMethods are the functions of an optional.
func engagedMethods(show func(r *values.Reader, v values.Value) (values.Display, bool)) func(*values.Reader, values.Value, string) (values.Value, error, bool) {
	return func(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
		d, ok := show(r, v)
		if !ok {
			return values.Value{}, nil, false
		}
		switch name {
		case "has_value":
			return v.Type.Program().Boolean(d.Members != nil), nil, true
		case "value":
			if d.Members == nil {
				return values.Value{}, fmt.Errorf("the optional has no value"), true
			}
			return d.Members[0].Value, nil, true
		}
		return values.Value{}, nil, false
	}
}

// templateArgs are the arguments of the template that a name begins with, nil for another
// name.
func templateArgs(name, template string) []string {
	rest, ok := strings.CutPrefix(name, template)
	if !ok {
		return nil
	}
	var out []string
	depth, start := 0, 0
	for i, c := range rest {
		switch c {
		case '<', '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '>':
			if depth == 0 {
				return append(out, strings.TrimSpace(rest[start:i]))
			}
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(rest[start:i]))
				start = i + 1
			}
		}
	}
	return nil
}
