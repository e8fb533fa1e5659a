package memory

import (
	"hdb/capture"
	"hdb/heap/graph"
	"hdb/internal/addr"
)

// A family is blocks that are made alike.
type family struct {
	by    byFamily
	stack capture.StackID
	calls [3]addr.Run // the innermost ones
	class uint64
}

// byFamily is what the blocks of a family have in common.
type byFamily uint8

const (
	byStack byFamily = iota
	byCaller
	byCallerAndClass
	byCallersAndClass
	byClass
)

// A kind is blocks of the same families.
type kind struct {
	stack capture.StackID
	class uint64
}

// sizeClass numbers the sizes of the chunks of glibc's malloc, in units of 16 bytes. Objects of a type have the same,
// in every allocator.
func sizeClass(size uint64) uint64 { return max(size+8+15, 32) / 16 }

// families are the blocks by the code that made them: by the whole stack; by the caller of the allocator; by the caller, for wrappers, with
// the size; by three callers with the size. Blocks without a stack are alike by their sizes.
func (m *Image) families() (*graph.Families, error) {
	out := &graph.Families{Of: make([]uint32, m.Len())}
	kinds, numbers := map[kind]uint32{}, map[family]uint32{}
	number := func(f family) uint32 {
		n, ok := numbers[f]
		if !ok {
			n = uint32(len(numbers))
			numbers[f] = n
		}
		return n
	}
	var last kind
	n, ok := uint32(0), false
	for i, b := range m.Blocks() {
		if k := (kind{b.Stack, sizeClass(b.Size)}); !ok || k != last {
			last = k
			if n, ok = kinds[k]; !ok {
				n, ok = uint32(len(out.Kinds)), true
				kinds[k] = n
				out.Kinds = append(out.Kinds, m.kind(k, number))
			}
		}
		out.Of[i] = n
	}
	return out, nil
}

// kind is one of Families.Kinds.
func (m *Image) kind(k kind, number func(family) uint32) graph.Kind {
	var calls []addr.Run
	if m.src.Calls != nil && k.stack != 0 {
		calls = m.src.Calls(k.stack)
	}
	if len(calls) == 0 {
		return graph.Kind{Bare: true, Families: []uint32{number(family{by: byClass, class: k.class})}}
	}
	caller, callers := [3]addr.Run{calls[0]}, [3]addr.Run{}
	copy(callers[:], calls)
	return graph.Kind{Families: []uint32{
		number(family{by: byStack, stack: k.stack}), number(family{by: byCaller, calls: caller}),
		number(family{by: byCallerAndClass, calls: caller, class: k.class}), number(family{by: byCallersAndClass, calls: callers, class: k.class}),
	}}
}
