package pymalloc

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"

	"golang.org/x/arch/x86/x86asm"
)

// A FreeList has objects of one class that CPython keeps to use again: they are blocks in use
// to the allocator.
type FreeList struct {
	Class       string // as its C type is called: PyDictObject, or 3-sized PyTupleObject
	Size, Count int    // bytes of an object, and how many there are
}

const (
	tupleLists = 20
	maxTuples  = 2000
)

// FreeLists are the free lists that sys._debugmallocstats() prints of an interpreter, in its
// order. From 3.10 on they are in the interpreter's state: an error tells that they are
// not where they should be.
func FreeLists(rt python.Runtime, mem python.Memory, symbols python.Symbols, interpreter addr.Run) ([]FreeList, error) {
	where := &rt.Layout.FreeLists
	if where.Static {
		return staticLists(rt, mem, symbols)
	}
	var all []FreeList
	for _, l := range where.Lists {
		n, err := countOf(l, rt, mem, symbols, interpreter)
		if err != nil {
			return nil, fmt.Errorf("CPython %s: free list of %s: %w", rt.Version, l.Class, err)
		}
		all = append(all, FreeList{l.Class, l.Size, n})
	}
	b, err := read(mem, interpreter+addr.Run(where.Tuples), 4*tupleLists)
	if err != nil {
		return nil, err
	}
	items, err := read(mem, interpreter+addr.Run(where.TupleItems), 8*tupleLists)
	if err != nil {
		return nil, err
	}
	for i := range tupleLists {
		n, length := int(int32(uint32In(b, 4*i))), i+where.FirstTuple
		if length == 0 {
			continue // the empty tuple
		}
		if n < 0 || n > maxTuples || (n == 0) != (pointerIn(items, 8*i) == 0) {
			return nil, fmt.Errorf("CPython %s: %d tuples of length %d in a free list: this does not hold together", rt.Version, n, length)
		}
		all = append(all, tupleList(rt, length, n))
	}
	return all, nil
}

func tupleList(rt python.Runtime, length, n int) FreeList {
	return FreeList{fmt.Sprintf("%d-sized PyTupleObject", length), rt.Layout.Tuple.Items + 8*length, n}
}

// countOf is the count of a list, if its items look like what they should be.
func countOf(l layout.FreeList, rt python.Runtime, mem python.Memory, symbols python.Symbols, interpreter addr.Run) (int, error) {
	b, err := read(mem, interpreter+addr.Run(l.Count), 4)
	if err != nil {
		return 0, err
	}
	n := int(int32(uint32In(b, 0)))
	if n < 0 || n > l.Max {
		return 0, fmt.Errorf("a count of %d", n)
	}
	if !l.Array {
		first, err := word(mem, interpreter+addr.Run(l.Items))
		if err == nil && (first == 0) != (n == 0) {
			err = fmt.Errorf("%d objects, the first at %#x", n, first)
		}
		return n, err
	}
	if n == 0 {
		return 0, nil
	}
	last, err := word(mem, interpreter+addr.Run(l.Items+8*(n-1)))
	if err != nil {
		return 0, err
	}
	if l.Object == "" {
		return n, nil
	}
	class, err := word(mem, addr.Run(last)+addr.Run(rt.Layout.Object.Type))
	if at, ok := symbols(l.Object); err == nil && ok && addr.Run(class) != at {
		err = fmt.Errorf("no object of it at %#x", last)
	}
	return n, err
}

// staticLists are those of 3.8 and 3.9: static variables that the functions read which print them.
func staticLists(rt python.Runtime, mem python.Memory, symbols python.Symbols) ([]FreeList, error) {
	l := locator{mem: mem, rt: rt}
	var all []FreeList
	for _, f := range rt.Layout.FreeLists.Lists {
		at, ok := symbols(f.Function)
		if !ok {
			continue // two of them ended with 3.8
		}
		loads := l.loads(at)
		if len(loads) == 0 || loads[0].size != 4 {
			return nil, fmt.Errorf("CPython %s: %s reads no count", rt.Version, f.Function)
		}
		b, err := read(mem, loads[0].at, 4)
		if err != nil {
			return nil, err
		}
		n := int(int32(uint32In(b, 0)))
		if n < 0 || n > f.Max {
			return nil, fmt.Errorf("CPython %s: a free list of %d of %s", rt.Version, n, f.Class)
		}
		all = append(all, FreeList{f.Class, f.Size, n})
	}
	counts, err := l.tupleCounts(symbols)
	if err != nil {
		return nil, err
	}
	for length := 1; length < tupleLists; length++ {
		all = append(all, tupleList(rt, length, int(uint32In(counts, 4*length))))
	}
	return all, nil
}

// tupleCounts reads the array whose address, or its second element's, the function takes.
func (l locator) tupleCounts(symbols python.Symbols) ([]byte, error) {
	const function = "_PyTuple_DebugMallocStats"
	at, ok := symbols(function)
	if !ok {
		return nil, fmt.Errorf("CPython %s: it does not export %s", l.rt.Version, function)
	}
	b, err := read(l.mem, at, 128)
	if err != nil {
		return nil, err
	}
	for i := 0; i+16 <= len(b); {
		inst, err := x86asm.Decode(b[i:], 64)
		if err != nil || inst.Len == 0 || inst.Op == x86asm.RET {
			break
		}
		i += inst.Len
		m, ok := inst.Args[1].(x86asm.Mem)
		if inst.Op != x86asm.LEA || !ok || m.Base != x86asm.RIP {
			continue
		}
		array := at + addr.Run(i) + addr.Run(m.Disp)
		if array%16 == 4 { // numfree[1]: arrays of this size are aligned to 16 bytes or more
			array -= 4
		}
		if counts, err := read(l.mem, array, 4*tupleLists); err == nil && array%16 == 0 && areCounts(counts) {
			return counts, nil
		}
	}
	return nil, fmt.Errorf("CPython %s: %s takes the address of no array", l.rt.Version, function)
}

// areCounts tells an array of counts from a text, which the function takes the address of too.
func areCounts(b []byte) bool {
	for i := 0; i < len(b); i += 4 {
		if uint32In(b, i) > maxTuples {
			return false
		}
	}
	return true
}
