package printers

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// isTraitObject reports whether a type is a pointer to a trait object, which has a pointer
// and a virtual table.
func isTraitObject(t *values.Type) bool {
	if !strings.Contains(t.Name, "dyn ") {
		return false
	}
	_, ok := fieldNamed(t, "pointer")
	_, ok1 := fieldNamed(t, "vtable")
	return ok && ok1 && len(t.Fields()) == 2
}

// traitParts are the address of a trait object and the type that implements the trait.
func traitParts(r *values.Reader, v values.Value) (at addr.Run, t *values.Type, ok bool) {
	n, ok := integer(r, v, "pointer")
	table, ok1 := integer(r, v, "vtable")
	if !ok || !ok1 {
		return 0, nil, false
	}
	t = v.Type.Program().Implementor(addr.Run(table))
	return addr.Run(n), t, t != nil
}

// traitObject describes a pointer to a trait object by the object.
func traitObject(r *values.Reader, v values.Value) (values.Display, bool) {
	at, t, ok := traitParts(r, v)
	if !ok {
		return values.Display{}, false
	}
	name := strings.TrimPrefix(v.Type.Strip().Name, "alloc::boxed::")
	name = strings.ReplaceAll(name, ", alloc::alloc::Global>", ">")
	return holding(name, values.MemoryValue(t, at)), true
}

func traitPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	at, t, ok := traitParts(r, v)
	if !ok {
		return values.Value{}, false
	}
	return values.Number(t.PointerTo(), uint64(at)), true
}

// holding describes what holds one value.
func holding(head string, val values.Value) values.Display {
	return values.Display{Head: head, Members: []values.Member{{Name: "value", Value: val}}}
}

// countedTrait is the object in an Rc or Arc of a trait object. It is behind two counts, where its
// alignment allows.
func countedTrait(r *values.Reader, v values.Value) (val values.Value, counts addr.Run, ok bool) {
	for range 8 {
		t := v.Type.Strip()
		if isTraitObject(t) {
			at, impl, ok := traitParts(r, v)
			if !ok {
				return values.Value{}, 0, false
			}
			return values.MemoryValue(impl, at+aligned(impl, 16)), at, true
		}
		found := false
		fields := t.Fields()
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
	return values.Value{}, 0, false
}

// countedBox is the counts and the value that an Rc, an Arc or a Weak points to. It is not
// for slices.
func countedBox(r *values.Reader, v values.Value) (val values.Value, strong, weak int64, ok bool) {
	if val, at, ok := countedTrait(r, v); ok {
		s, err := r.ReadUint(at, 8)
		w, err1 := r.ReadUint(at+8, 8)
		return val, int64(s), int64(w), err == nil && err1 == nil
	}
	ptr, ok := firstPointer(r, v)
	if !ok {
		return values.Value{}, 0, 0, false
	}
	box, err := r.Deref(ptr)
	if err != nil {
		return values.Value{}, 0, 0, false
	}
	box = r.Load(box)
	strong, ok1 := integer(r, box, "strong")
	weak, ok2 := integer(r, box, "weak")
	val, ok3 := r.Field(box, "value")
	if !ok3 {
		val, ok3 = r.Field(box, "data")
	}
	return val, strong, weak, ok1 && ok2 && ok3
}

// countedPointer is the pointer to the value of an Rc or Arc.
func countedPointer(r *values.Reader, v values.Value) (values.Value, bool) {
	if _, sliced := fatLength(r, v); sliced {
		return values.Value{}, false
	}
	val, _, _, ok := countedBox(r, v)
	if !ok {
		return values.Value{}, false
	}
	return pointerTo(val)
}

// weak describes a Weak of an Rc or Arc. All strong pointers count as one weak pointer. One
// without an object points to the last address.
func weak(r *values.Reader, v values.Value) (values.Display, bool) {
	if ptr, ok := firstPointer(r, v); ok {
		if n, err := r.Uint(ptr); err == nil && n == ^uint64(0) {
			return values.Display{Head: "Weak(dangling)"}, true
		}
	}
	val, strong, weak, ok := countedBox(r, v)
	if _, sliced := fatLength(r, v); !ok || sliced {
		return values.Display{}, false
	}
	if strong == 0 {
		return values.Display{Head: fmt.Sprintf("Weak(strong=0, weak=%d)", weak)}, true
	}
	return holding(fmt.Sprintf("Weak(strong=%d, weak=%d)", strong, weak-1), val), true
}
