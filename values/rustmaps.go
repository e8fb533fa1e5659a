package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

// Limits of walks through what may be no map at all.
const (
	maxBuckets   = 1 << 22 // of a hash table, full or not
	maxTreeNodes = 1 << 14
	treeCapacity = 11 // keys of a node (alloc::collections::btree::node::CAPACITY)
)

// rustCollection writes a map, set, deque or cell of Rust's library; false for others.
func (p *formatter) rustCollection(v Value, t *Type) bool {
	kind := cutTemplate(t.Name)
	switch kind {
	case "std::collections::hash::map::HashMap", "std::collections::hash::set::HashSet":
		return p.rustHash(v, kind[strings.LastIndex(kind, ":")+1:])
	case "alloc::collections::btree::map::BTreeMap":
		return p.rustTree(v, "BTreeMap", true)
	case "alloc::collections::btree::set::BTreeSet":
		m, ok := p.w.field(v, "map")
		return ok && p.rustTree(m, "BTreeSet", false)
	case "alloc::collections::vec_deque::VecDeque", "alloc::collections::vec_deque::vec_deque::VecDeque":
		return p.rustDeque(v, t)
	case "core::cell::Cell":
		return p.rustCell(v, "Cell")
	case "core::cell::RefCell":
		n, ok := p.w.number(v, "borrow")
		return ok && p.rustCell(v, fmt.Sprintf("RefCell(borrow=%d)", n))
	}
	return false
}

// rustCell writes the value in an UnsafeCell.
func (p *formatter) rustCell(v Value, name string) bool {
	cell, ok := p.w.field(v, "value")
	if !ok {
		return false
	}
	val, ok := p.w.field(cell, "value")
	if !ok {
		return false
	}
	p.write(name + " {value = ")
	p.value(val)
	p.write("}")
	return true
}

// entries writes what each tells: n keys and values, or keys alone. each calls its
// function for one after the other, until that says stop, and reports false when it
// found fewer.
func (p *formatter) entries(name string, n int64, pairs bool, each func(yield func(key, val Value) bool) bool) {
	p.write(fmt.Sprintf("%s(size=%d) {", name, n))
	p.depth++
	shown := int64(0)
	complete := each(func(key, val Value) bool {
		if shown >= n {
			return false
		}
		if shown > 0 {
			p.write(", ")
		}
		if shown >= int64(p.o.Elements) || p.full() {
			p.write("...")
			shown = n
			return false
		}
		shown++
		p.value(key)
		if pairs {
			p.write(": ")
			p.value(val)
		}
		return shown < n
	})
	if !complete && shown < n {
		p.write("<error: not all of the elements are found>")
	}
	p.depth--
	p.write("}")
}

// rustHash writes a table of hashbrown: behind a pointer to control bytes, of which
// those below 128 stand for full buckets; the buckets lie before them, the first one
// last.
func (p *formatter) rustHash(v Value, name string) bool {
	base, ok := p.w.field(v, "base")
	if !ok {
		return false
	}
	if inner, ok := p.w.field(base, "map"); ok { // of a set
		base = inner
	}
	table, ok := p.w.field(base, "table")
	if !ok {
		return false
	}
	entry := table.Type.strip().templateType("T")
	raw := table
	if inner, ok := p.w.field(table, "table"); ok {
		raw = inner
	}
	mask, ok := p.w.number(raw, "bucket_mask")
	items, ok1 := p.w.number(raw, "items")
	ctrl, ok2 := p.w.field(raw, "ctrl")
	if !ok || !ok1 || !ok2 || entry == nil || items < 0 || mask < 0 {
		return false
	}
	ptr, ok := p.w.firstPointer(ctrl)
	at, err := p.w.uint(ptr)
	if !ok || err != nil {
		return false
	}
	size := entry.Size()
	p.entries(name, items, name == "HashMap", func(yield func(key, val Value) bool) bool {
		const chunk = 1024
		for i := int64(0); i <= mask && i < maxBuckets && items > 0; i += chunk {
			bytes, err := p.w.read(addr.Run(at)+addr.Run(i), int(min(chunk, mask+1-i)))
			if err != nil {
				return false
			}
			for k, c := range bytes {
				if c >= 0x80 {
					continue
				}
				e := p.w.load(memoryValue(entry, addr.Run(at)-addr.Run((i+int64(k)+1)*size)))
				key, ok := p.w.field(e, "__0")
				val, ok1 := p.w.field(e, "__1")
				if !ok || !ok1 {
					return false
				}
				if !yield(key, val) {
					return true
				}
			}
		}
		return false
	})
	return true
}

// payload is the type in a Some of an Option.
func (t *Type) payload() *Type {
	s := t.strip()
	s.read()
	if s.parts == nil {
		return s
	}
	for i := range s.parts.variants {
		if x := &s.parts.variants[i]; x.hasPayload {
			if fields := x.member.Type.strip().Fields(); len(fields) > 0 {
				return fields[0].Type.strip()
			}
		}
	}
	return s
}

// pointee is what the first pointer in a type points to.
func (t *Type) pointee() *Type {
	for range 8 {
		t = t.payload()
		if t.Kind == Pointer {
			return t.Elem().strip()
		}
		fields := t.Fields()
		if len(fields) == 0 {
			return nil
		}
		t = fields[0].Type.strip()
	}
	return nil
}

func (t *Type) fieldNamed(name string) (Field, bool) {
	for _, f := range t.Fields() {
		if f.Name == name && !f.Static {
			return f, true
		}
	}
	return Field{}, false
}

// rustTreeWalk goes through a B-tree in order.
type rustTreeWalk struct {
	w                       *World
	key, val                *Type
	lenAt, keysAt, valsAt   int64
	edgesAt                 int64 // in an inner node
	nodes                   int
	yield                   func(key, val Value) bool
	stopped, broken, leaves bool
}

func (r *rustTreeWalk) visit(node addr.Run, height int64) {
	if r.nodes++; r.nodes > maxTreeNodes || height > 0 && r.leaves {
		r.broken = true
		return
	}
	n, err := r.w.readUint(node+addr.Run(r.lenAt), 2)
	if err != nil || n > treeCapacity {
		r.broken = true
		return
	}
	for i := int64(0); i <= int64(n) && !r.stopped && !r.broken; i++ {
		if height > 0 {
			child, err := r.w.readUint(node+addr.Run(r.edgesAt+8*i), 8)
			if err != nil {
				r.broken = true
				return
			}
			r.visit(addr.Run(child), height-1)
		}
		if i < int64(n) && !r.stopped && !r.broken {
			r.stopped = !r.yield(memoryValue(r.key, node+addr.Run(r.keysAt+i*r.key.Size())), memoryValue(r.val, node+addr.Run(r.valsAt+i*r.val.Size())))
		}
	}
}

// rustTree writes a BTreeMap: nodes of up to eleven keys, in which inner ones have the
// edges behind what leaves have.
func (p *formatter) rustTree(v Value, name string, pairs bool) bool {
	t := v.Type.strip()
	length, ok := p.w.number(v, "length")
	root, ok1 := p.w.field(v, "root")
	r := rustTreeWalk{w: p.w, key: t.templateType("K"), val: t.templateType("V")}
	if !ok || !ok1 || length < 0 || r.key == nil || r.val == nil {
		return false
	}
	var node addr.Run
	height := int64(0)
	if length > 0 {
		enum := root.Type.strip()
		if enum.read(); enum.parts == nil {
			return false
		}
		x, err := p.w.variantOf(root, enum)
		if err != nil || !x.hasPayload {
			return false
		}
		some := p.w.member(root, &x.member)
		ref, ok := p.w.field(some, "__0")
		if !ok {
			return false
		}
		height, ok = p.w.number(ref, "height")
		to, ok1 := p.w.field(ref, "node")
		if !ok || !ok1 || height < 0 || height > 24 {
			return false
		}
		ptr, ok := p.w.firstPointer(to)
		a, err := p.w.uint(ptr)
		if !ok || err != nil || !r.layout(ptr.Type.strip().Elem().strip()) {
			return false
		}
		node = addr.Run(a)
	}
	p.entries(name, length, pairs, func(yield func(key, val Value) bool) bool {
		if r.yield = yield; length > 0 {
			r.visit(node, height)
		}
		return r.stopped
	})
	return true
}

// layout finds where a node has its parts.
func (r *rustTreeWalk) layout(leaf *Type) bool {
	count, ok := leaf.fieldNamed("len")
	keys, ok1 := leaf.fieldNamed("keys")
	vals, ok2 := leaf.fieldNamed("vals")
	parent, ok3 := leaf.fieldNamed("parent")
	if !ok || !ok1 || !ok2 || !ok3 {
		return false
	}
	r.lenAt, r.keysAt, r.valsAt = count.Offset, keys.Offset, vals.Offset
	inner := parent.Type.pointee()
	if inner == nil {
		r.leaves = true
		return true
	}
	edges, ok := inner.fieldNamed("edges")
	data, ok1 := inner.fieldNamed("data")
	r.edgesAt, r.leaves = edges.Offset, !ok || !ok1 || data.Offset != 0
	return true
}

// rustDeque writes a ring: from head on, and from the beginning of the buffer again.
func (p *formatter) rustDeque(v Value, t *Type) bool {
	elem := t.templateType("T")
	buf, ok := p.w.field(v, "buf")
	if !ok || elem == nil {
		return false
	}
	if inner, ok := p.w.field(buf, "inner"); ok {
		buf = inner
	}
	raw, ok := p.w.field(buf, "ptr")
	capacity, ok1 := p.w.number(buf, "cap")
	head, ok2 := p.w.number(v, "head")
	if !ok || !ok1 || !ok2 {
		return false
	}
	n, ok := p.w.number(v, "len")
	if tail, old := p.w.number(v, "tail"); old && !ok { // before Rust 1.67 head was the end
		n, head, ok = (head-tail)&(capacity-1), tail, true
	}
	ptr, ok1 := p.w.firstPointer(raw)
	at, err := p.w.uint(ptr)
	size := elem.Size()
	if !ok || !ok1 || err != nil || n < 0 || head < 0 || size > 0 && (n > capacity || head > capacity) {
		return false
	}
	p.write(fmt.Sprintf("VecDeque(size=%d) [", n))
	p.depth++
	p.sequence(n, func(i int64) Value {
		k := head + i
		if k >= capacity {
			k -= capacity
		}
		return memoryValue(elem, addr.Run(at)+addr.Run(k*size))
	})
	p.depth--
	p.write("]")
	return true
}
