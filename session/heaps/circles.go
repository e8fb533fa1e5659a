package heaps

import (
	"strings"

	"hdb/heap/graph"
	"hdb/memory"
)

// nodes begin the names of the nodes of containers of libstdc++ and libc++, which link each other and the container.
var nodes = []string{
	"std::_List_node<", "std::_Rb_tree_node<", "std::__detail::_Hash_node<",
	"std::__1::__list_node<", "std::__1::__tree_node<", "std::__1::__hash_node<",
}

// nodeLinks is how many bytes the links at the start of a node have at most.
const nodeLinks = 32

// holds reports whether what an edge between lost blocks is in keeps what it leads to. A weak pointer does not, nor does the link of
// a container's node to the container. A block holds itself only by a shared pointer: a pointer to itself is mostly an empty list.
func (t *BlockTypes) holds(m *memory.Image) func(graph.Edge) bool {
	return func(e graph.Edge) bool {
		b := m.Block(e.From)
		typ := t.Of(&b)
		if typ == nil {
			return e.From != e.To
		}
		off := e.At - b.Addr
		if typ.Weak(off) {
			return false
		}
		if e.From == e.To {
			name, _ := typ.Field(off)
			return strings.HasSuffix(name, "._M_refcount._M_pi") || strings.HasSuffix(name, ".__cntrl_")
		}
		for _, node := range nodes {
			if strings.HasPrefix(typ.Name, node) && off < nodeLinks {
				to := m.Block(e.To)
				other := t.Of(&to)
				return other != nil && other.Name == typ.Name
			}
		}
		return true
	}
}
