package values

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
)

// associative writes a map or set, sorted or not. next tells where the value of the next
// node is; false ends them, as a broken chain does.
func (p *formatter) associative(t, val *Type, count uint64, next func(i int64) (addr.Run, bool)) bool {
	if val == nil || int64(count) < 0 {
		return false
	}
	name := container(t)
	p.write(fmt.Sprintf("std::%s with %s", name, elements(int64(count))))
	if count == 0 {
		return true
	}
	isMap := strings.Contains(name, "map")
	p.children(int64(count), func(i int64) (string, Value, bool) {
		at, ok := next(i)
		if !ok {
			return "", Value{}, false
		}
		return p.keyed(i, memoryValue(val, at), isMap)
	})
	return true
}

// keyed is the label and value of an element of a map, or of a set.
func (p *formatter) keyed(i int64, v Value, isMap bool) (string, Value, bool) {
	v = p.w.load(v)
	if !isMap {
		return fmt.Sprintf("[%d] = ", i), v, true
	}
	v = p.w.pairIn(v)
	key, ok := p.w.find(v, "first")
	val, ok2 := p.w.find(v, "second")
	if !ok || !ok2 {
		return "", Value{}, false
	}
	k := p.w.formatter(p.f, p.o)
	k.depth = p.depth
	k.value(key)
	return "[" + k.b.String() + "] = ", val, true
}

// pairIn finds the pair in what libc++ wraps an element of a map in.
func (w *World) pairIn(v Value) Value {
	for range 4 {
		t := v.Type.strip()
		if t.Kind != Struct || cutTemplate(libcxxPrefix.ReplaceAllString(t.Name, "")) == "pair" {
			break
		}
		found := false
		for i, f := range t.Fields() {
			if !f.Static && !f.Base && strings.HasPrefix(f.Name, "__cc") {
				v, found = w.member(v, &t.Fields()[i]), true
				break
			}
		}
		if !found {
			break
		}
	}
	return v
}

// maxTreeHeight bounds the steps to a node's successor: trees of 2^64 nodes are not
// higher.
const maxTreeHeight = 128

// treeNode is where a node of a tree has its links and its value, in bytes.
type treeNode struct{ parent, left, right, value addr.Run }

// tree writes maps and sets: a red-black tree. The walk is bounded by the count that is
// shown.
func (p *formatter) tree(t, val *Type, count, first uint64, lay treeNode) bool {
	node := first
	return p.associative(t, val, count, func(i int64) (addr.Run, bool) {
		ok := true
		if i > 0 {
			node, ok = p.successor(node, lay)
		}
		return addr.Run(node) + lay.value, ok
	})
}

// successor is the next node of a red-black tree in order.
func (p *formatter) successor(node uint64, at treeNode) (uint64, bool) {
	link := func(n uint64, off addr.Run) (uint64, bool) {
		v, err := p.w.readUint(addr.Run(n)+off, 8)
		return v, err == nil && v != 0
	}
	if r, ok := link(node, at.right); ok {
		for range maxTreeHeight {
			l, ok := link(r, at.left)
			if !ok {
				return r, true
			}
			r = l
		}
		return 0, false
	}
	for range maxTreeHeight {
		up, ok := link(node, at.parent)
		if !ok {
			return 0, false
		}
		if r, _ := link(up, at.right); r != node {
			return up, true
		}
		node = up
	}
	return 0, false
}

// hash writes unordered containers: one list of all nodes, which begin with the link to
// the next and have their value at an offset.
func (p *formatter) hash(t, val *Type, count, first uint64, value addr.Run) bool {
	next := first
	return p.associative(t, val, count, func(int64) (addr.Run, bool) {
		if next == 0 {
			return 0, false
		}
		node := addr.Run(next)
		var err error
		next, err = p.w.readUint(node, 8)
		return node + value, err == nil
	})
}
