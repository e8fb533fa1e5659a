package printers

import (
	"fmt"
	"iter"
	"strings"

	"hdb/internal/addr"
	"hdb/values"
)

// associative describes a map or set, ordered or not. nodes are the addresses of the
// values. They end early if the links are broken.
func associative(r *values.Reader, t, val *values.Type, count uint64, nodes iter.Seq[addr.Run]) (values.Display, bool) {
	if val == nil || int64(count) < 0 {
		return values.Display{}, false
	}
	name, _ := className(t)
	d := values.Display{Head: fmt.Sprintf("std::%s with %s", name, elements(int64(count))), Len: new(int64(count))}
	if count == 0 {
		return d, true
	}
	isMap := strings.Contains(name, "map")
	d.Items = func(yield func(values.Item, error) bool) {
		i := int64(0)
		for at := range nodes {
			item, ok := keyed(r, i, values.MemoryValue(val, at), isMap)
			if !ok {
				break
			}
			if i++; !yield(item, nil) || i == int64(count) {
				return
			}
		}
		yield(values.Item{}, errBroken)
	}
	return d, true
}

// keyed is an element of a map, or of a set.
func keyed(r *values.Reader, i int64, v values.Value, isMap bool) (values.Item, bool) {
	v = r.Load(v)
	if !isMap {
		return values.Item{Label: number(i), Value: v}, true
	}
	v = pairIn(r, v)
	key, ok := r.Find(v, "first")
	val, ok2 := r.Find(v, "second")
	return values.Item{Key: &key, Value: val}, ok && ok2
}

// pairIn is the pair in a wrapper that libc++ has around the elements of maps.
func pairIn(r *values.Reader, v values.Value) values.Value {
	for range 4 {
		t := v.Type.Strip()
		if t.Kind != values.Struct || plain(inlineNamespace().ReplaceAllString(t.Name, "")) == "pair" {
			break
		}
		found := false
		for i, f := range t.Fields() {
			if !f.Static && !f.Base && strings.HasPrefix(f.Name, "__cc") {
				v, found = r.Member(v, &t.Fields()[i]), true
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

// A treeNode is the offsets of the links and the value in a node of a red-black tree.
type treeNode struct{ parent, left, right, value addr.Run }

// tree describes a map or set that is a red-black tree. The walk is bounded by the count
// of elements that is shown.
func tree(r *values.Reader, t, val *values.Type, count, first uint64, lay treeNode) (values.Display, bool) {
	return associative(r, t, val, count, func(yield func(addr.Run) bool) {
		for node, ok := first, true; ok && yield(addr.Run(node)+lay.value); {
			node, ok = lay.successor(r, node)
		}
	})
}

// successor is the next node of the tree in order.
func (lay treeNode) successor(r *values.Reader, node uint64) (uint64, bool) {
	link := func(n uint64, off addr.Run) (uint64, bool) {
		v, err := r.ReadUint(addr.Run(n)+off, 8)
		return v, err == nil && v != 0
	}
	if right, ok := link(node, lay.right); ok {
		for range maxTreeHeight {
			left, ok := link(right, lay.left)
			if !ok {
				return right, true
			}
			right = left
		}
		return 0, false
	}
	for range maxTreeHeight {
		up, ok := link(node, lay.parent)
		if !ok {
			return 0, false
		}
		if right, _ := link(up, lay.right); right != node {
			return up, true
		}
		node = up
	}
	return 0, false
}

// hash describes an unordered container: a singly linked list of all nodes. Nodes begin
// with the link to the next one. value is the offset of the value.
func hash(r *values.Reader, t, val *values.Type, count, first uint64, value addr.Run) (values.Display, bool) {
	return associative(r, t, val, count, func(yield func(addr.Run) bool) {
		for next := first; next != 0; {
			node := addr.Run(next)
			var err error
			if next, err = r.ReadUint(node, 8); err != nil || !yield(node+value) {
				return
			}
		}
	})
}
