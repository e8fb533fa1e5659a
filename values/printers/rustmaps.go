package printers

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/values"
)

// Limits of walks through what may be no map at all.
const (
	maxBuckets    = 1 << 22 // of a hash table, full or not
	maxTreeNodes  = 1 << 14
	maxTreeLevels = 24
	treeCapacity  = 11 // keys of a node (alloc::collections::btree::node::CAPACITY)
)

// errMissing is the error of a collection with fewer elements than its length.
var errMissing = errors.New("some elements were not found")

// cell describes the value in an UnsafeCell.
func cell(r *values.Reader, v values.Value, name string) (values.Display, bool) {
	inner, ok := r.Field(v, "value")
	if !ok {
		return values.Display{}, false
	}
	val, ok := r.Field(inner, "value")
	return values.Display{Head: name, Members: []values.Member{{Name: "value", Value: val}}}, ok
}

// collection describes n elements, which walk finds. walk calls its function for one
// element after the other until that reports false.
func collection(name string, n int64, walk func(yield func(values.Item) bool)) values.Display {
	return values.Display{Head: fmt.Sprintf("%s(size=%d)", name, n), Len: &n, Items: func(yield func(values.Item, error) bool) {
		found, enough := int64(0), n == 0
		if !enough {
			walk(func(item values.Item) bool {
				found++
				enough = !yield(item, nil) || found == n
				return !enough
			})
		}
		if !enough {
			yield(values.Item{}, errMissing)
		}
	}}
}

// element is an element of a map, or, without pairs, of a set.
func element(key, val values.Value, pairs bool) values.Item {
	if pairs {
		return values.Item{Key: &key, Value: val}
	}
	return values.Item{Value: key}
}

func hashMap(r *values.Reader, v values.Value) (values.Display, bool) {
	base, ok := r.Field(v, "base")
	if !ok {
		return values.Display{}, false
	}
	return hashTable(r, base, "HashMap", true)
}

func hashSet(r *values.Reader, v values.Value) (values.Display, bool) {
	base, ok := r.Field(v, "base")
	if !ok {
		return values.Display{}, false
	}
	if inner, ok := r.Field(base, "map"); ok {
		base = inner
	}
	return hashTable(r, base, "HashSet", false)
}

// hashTable describes a table of hashbrown. It has a pointer to control bytes, of which those below
// 128 represent full buckets. The buckets are before them, the first one last.
func hashTable(r *values.Reader, base values.Value, name string, pairs bool) (values.Display, bool) {
	table, ok := r.Field(base, "table")
	if !ok {
		return values.Display{}, false
	}
	entry := table.Type.Strip().TemplateType("T")
	raw := table
	if inner, ok := r.Field(table, "table"); ok {
		raw = inner
	}
	mask, ok := integer(r, raw, "bucket_mask")
	items, ok1 := integer(r, raw, "items")
	ctrl, ok2 := r.Field(raw, "ctrl")
	if !ok || !ok1 || !ok2 || entry == nil || items < 0 || mask < 0 {
		return values.Display{}, false
	}
	ptr, ok := firstPointer(r, ctrl)
	if !ok {
		return values.Display{}, false
	}
	at, err := r.Uint(ptr)
	if err != nil {
		return values.Display{}, false
	}
	return collection(name, items, func(yield func(values.Item) bool) {
		buckets(r, addr.Run(at), mask, entry, func(key, val values.Value) bool { return yield(element(key, val, pairs)) })
	}), true
}

// buckets calls yield for the full buckets of a table with control bytes at ctrl, until
// that reports false.
func buckets(r *values.Reader, ctrl addr.Run, mask int64, entry *values.Type, yield func(key, val values.Value) bool) {
	const chunk = 1024
	size := entry.Size()
	for i := int64(0); i <= mask && i < maxBuckets; i += chunk {
		bytes, err := r.ReadMemory(ctrl+addr.Run(i), int(min(chunk, mask+1-i)))
		if err != nil {
			return
		}
		for k, c := range bytes {
			if c >= 0x80 {
				continue
			}
			e := r.Load(values.MemoryValue(entry, ctrl-addr.Run((i+int64(k)+1)*size)))
			key, ok := r.Field(e, "__0")
			val, ok1 := r.Field(e, "__1")
			if !ok || !ok1 || !yield(key, val) {
				return
			}
		}
	}
}

// payload is the type in a Some of an Option.
func payload(t *values.Type) *values.Type {
	s := t.Strip()
	for _, x := range s.Variants() {
		if fields := x.Type.Strip().Fields(); len(fields) > 0 {
			return fields[0].Type.Strip()
		}
	}
	return s
}

// pointee is the target of the first pointer in a type.
func pointee(t *values.Type) *values.Type {
	for range 8 {
		t = payload(t)
		if t.Kind == values.Pointer {
			return t.Elem().Strip()
		}
		fields := t.Fields()
		if len(fields) == 0 {
			return nil
		}
		t = fields[0].Type.Strip()
	}
	return nil
}

func fieldNamed(t *values.Type, name string) (values.Field, bool) {
	for _, f := range t.Fields() {
		if f.Name == name && !f.Static {
			return f, true
		}
	}
	return values.Field{}, false
}

// A btreeLayout says where the nodes of a B-tree have their parts, in bytes.
type btreeLayout struct {
	key, val        *values.Type
	len, keys, vals int64
	edges           int64 // in an inner node
	leavesOnly      bool  // the debug information describes no inner nodes
}

// layoutOf finds the layout by the type of a leaf.
func layoutOf(leaf, key, val *values.Type) (btreeLayout, bool) {
	count, ok := fieldNamed(leaf, "len")
	keys, ok1 := fieldNamed(leaf, "keys")
	vals, ok2 := fieldNamed(leaf, "vals")
	parent, ok3 := fieldNamed(leaf, "parent")
	lay := btreeLayout{key: key, val: val, len: count.Offset, keys: keys.Offset, vals: vals.Offset}
	if !ok || !ok1 || !ok2 || !ok3 {
		return lay, false
	}
	inner := pointee(parent.Type)
	if inner == nil {
		lay.leavesOnly = true
		return lay, true
	}
	edges, ok := fieldNamed(inner, "edges")
	data, ok1 := fieldNamed(inner, "data")
	lay.edges, lay.leavesOnly = edges.Offset, !ok || !ok1 || data.Offset != 0
	return lay, true
}

// A btreeWalk goes through a B-tree in order, until yield reports false or the memory does not hold
// a tree.
type btreeWalk struct {
	btreeLayout
	r     *values.Reader
	nodes int
	yield func(key, val values.Value) bool
}

// visit reports whether the walk continues.
func (w *btreeWalk) visit(node addr.Run, height int64) bool {
	if w.nodes++; w.nodes > maxTreeNodes || height > 0 && w.leavesOnly {
		return false
	}
	n, err := w.r.ReadUint(node+addr.Run(w.len), 2)
	if err != nil || n > treeCapacity {
		return false
	}
	for i := int64(0); i <= int64(n); i++ {
		if height > 0 {
			child, err := w.r.ReadUint(node+addr.Run(w.edges+8*i), 8)
			if err != nil || !w.visit(addr.Run(child), height-1) {
				return false
			}
		}
		if i < int64(n) && !w.yield(w.at(node, w.keys, w.key, i), w.at(node, w.vals, w.val, i)) {
			return false
		}
	}
	return true
}

// at is entry i of an array in a node.
func (w *btreeWalk) at(node addr.Run, off int64, t *values.Type, i int64) values.Value {
	return values.MemoryValue(t, node+addr.Run(off+i*t.Size()))
}

// btree describes a BTreeMap. Inner nodes have the layout of a leaf, followed by the edges.
func btree(r *values.Reader, v values.Value, name string, pairs bool) (values.Display, bool) {
	t := v.Type.Strip()
	length, ok := integer(r, v, "length")
	root, ok1 := r.Field(v, "root")
	key, val := t.TemplateType("K"), t.TemplateType("V")
	if !ok || !ok1 || length < 0 || key == nil || val == nil {
		return values.Display{}, false
	}
	if length == 0 {
		return collection(name, 0, nil), true
	}
	some, ok := r.Variant(root)
	if !ok {
		return values.Display{}, false
	}
	ref, ok := r.Field(some, "__0")
	if !ok {
		return values.Display{}, false
	}
	height, ok := integer(r, ref, "height")
	to, ok1 := r.Field(ref, "node")
	if !ok || !ok1 || height < 0 || height > maxTreeLevels {
		return values.Display{}, false
	}
	ptr, ok := firstPointer(r, to)
	if !ok {
		return values.Display{}, false
	}
	node, err := r.Uint(ptr)
	lay, ok := layoutOf(ptr.Type.Strip().Elem().Strip(), key, val)
	if err != nil || !ok {
		return values.Display{}, false
	}
	return collection(name, length, func(yield func(values.Item) bool) {
		w := btreeWalk{btreeLayout: lay, r: r, yield: func(key, val values.Value) bool { return yield(element(key, val, pairs)) }}
		w.visit(addr.Run(node), height)
	}), true
}

// vecDeque describes a VecDeque, a ring buffer whose first element is at head.
func vecDeque(r *values.Reader, v values.Value) (values.Display, bool) {
	elem := v.Type.Strip().TemplateType("T")
	ptr, raw, ok := buffer(r, v)
	if !ok || elem == nil {
		return values.Display{}, false
	}
	capacity, ok1 := integer(r, raw, "cap")
	head, ok2 := integer(r, v, "head")
	if !ok1 || !ok2 {
		return values.Display{}, false
	}
	n, ok := integer(r, v, "len")
	if tail, old := integer(r, v, "tail"); old && !ok { // before Rust 1.67 head was the end
		n, head, ok = (head-tail)&(capacity-1), tail, true
	}
	at, err := r.Uint(ptr)
	size := elem.Size()
	if !ok || err != nil || n < 0 || head < 0 || size > 0 && (n > capacity || head > capacity) {
		return values.Display{}, false
	}
	return values.Display{Head: fmt.Sprintf("VecDeque(size=%d)", n), Elements: &values.Elements{Count: n, At: func(i int64) values.Value {
		k := head + i
		if k >= capacity {
			k -= capacity
		}
		return values.MemoryValue(elem, addr.Run(at)+addr.Run(k*size))
	}}}, true
}
