package pymalloc

import (
	"fmt"
	"slices"

	"hdb/internal/addr"
	"hdb/python"

	"golang.org/x/arch/x86/x86asm"
)

// A FreeList has objects of one class that CPython keeps to use again: they are blocks in use
// to the allocator.
type FreeList struct {
	Class       string // as its C type is called: PyDictObject, or 3-sized PyTupleObject
	Size, Count int    // bytes of an object, and how many there are
}

// A freeList is where one is in the state of an interpreter.
type freeList struct {
	class     string
	size, max int
	count     int // int
	items     int // array of pointers, or the pointer to the first
	array     bool
	object    string // the class that the last item of the array has
}

// The lists of tuples are by length: twenty counts, of which the first is that of the length
// firstTuple.
type freeLists struct {
	lists                          []freeList
	tupleItems, tuples, firstTuple int
}

const (
	tupleSize  = 24
	tupleLists = 20
	maxTuples  = 2000
)

func listsOf(dict, dictItems, float, list, listItems int) []freeList {
	return []freeList{
		{class: "PyDictObject", size: 48, max: 80, count: dict, items: dictItems, array: true, object: "PyDict_Type"},
		{class: "PyFloatObject", size: 24, max: 100, count: float, items: float + 8},
		{class: "PyListObject", size: 40, max: 80, count: list, items: listItems, array: true, object: "PyList_Type"},
	}
}

var freeListsOf = map[int]freeLists{
	10: {lists: listsOf(0x2c40, 0x29c0, 0x2630, 0x29b8, 0x2738), tupleItems: 0x2648, tuples: 0x26e8},
	11: {lists: listsOf(0x1428, 0x11a8, 0xe18, 0x11a0, 0xf20), tupleItems: 0xe30, tuples: 0xed0, firstTuple: 1},
	12: {lists: listsOf(0x42690, 0x42190, 0x41490, 0x42178, 0x41ef8), tupleItems: 0x41e08, tuples: 0x41ea8, firstTuple: 1},
	13: {lists: listsOf(0x2ac8+1544, 0x2ac8+904, 0x2ac8, 0x2ac8+896, 0x2ac8+256), tupleItems: 0x2ac8 + 16, tuples: 0x2ac8 + 176, firstTuple: 1},
}

func init() {
	with := func(minor, at int, l freeList) {
		x := freeListsOf[minor]
		x.lists = slices.Insert(slices.Clone(x.lists), at, l)
		freeListsOf[minor] = x
	}
	with(10, 2, freeList{class: "PyFrameObject", size: 360, max: 200, count: 0x2ed8, items: 0x2ed0})
	with(13, 1, freeList{class: "PyDictKeysObject", size: 32, max: 80, count: 0x2ac8 + 2192, items: 0x2ac8 + 1552, array: true})
}

// FreeLists are the free lists that sys._debugmallocstats() prints of an interpreter, in its
// order. From 3.10 on they are in the interpreter's state: an error tells that they are
// not where they should be.
func FreeLists(rt python.Runtime, mem python.Memory, symbols python.Symbols, interpreter addr.Run) ([]FreeList, error) {
	if rt.Minor < 10 {
		return staticLists(rt, mem, symbols)
	}
	where, ok := freeListsOf[rt.Minor]
	if !ok {
		return nil, fmt.Errorf("CPython %s: its free lists were not found", rt.Version)
	}
	var all []FreeList
	for _, l := range where.lists {
		n, err := l.read(mem, symbols, interpreter)
		if err != nil {
			return nil, fmt.Errorf("CPython %s: free list of %s: %w", rt.Version, l.class, err)
		}
		all = append(all, FreeList{l.class, l.size, n})
	}
	b, err := read(mem, interpreter+addr.Run(where.tuples), 4*tupleLists)
	if err != nil {
		return nil, err
	}
	items, err := read(mem, interpreter+addr.Run(where.tupleItems), 8*tupleLists)
	if err != nil {
		return nil, err
	}
	for i := range tupleLists {
		n, length := int(int32(uint32In(b, 4*i))), i+where.firstTuple
		if length == 0 {
			continue // the empty tuple
		}
		if n < 0 || n > maxTuples || (n == 0) != (pointerIn(items, 8*i) == 0) {
			return nil, fmt.Errorf("CPython %s: %d tuples of length %d in a free list: this does not hold together", rt.Version, n, length)
		}
		all = append(all, tupleList(length, n))
	}
	return all, nil
}

func tupleList(length, n int) FreeList {
	return FreeList{fmt.Sprintf("%d-sized PyTupleObject", length), tupleSize + 8*length, n}
}

// read is the count of a list, if its items look like what they should be.
func (l freeList) read(mem python.Memory, symbols python.Symbols, interpreter addr.Run) (int, error) {
	b, err := read(mem, interpreter+addr.Run(l.count), 4)
	if err != nil {
		return 0, err
	}
	n := int(int32(uint32In(b, 0)))
	if n < 0 || n > l.max {
		return 0, fmt.Errorf("a count of %d", n)
	}
	if !l.array {
		first, err := word(mem, interpreter+addr.Run(l.items))
		if err == nil && (first == 0) != (n == 0) {
			err = fmt.Errorf("%d objects, the first at %#x", n, first)
		}
		return n, err
	}
	if n == 0 {
		return 0, nil
	}
	last, err := word(mem, interpreter+addr.Run(l.items+8*(n-1)))
	if err != nil {
		return 0, err
	}
	if l.object == "" {
		return n, nil
	}
	class, err := word(mem, addr.Run(last)+8) // ob_type
	if at, ok := symbols(l.object); err == nil && ok && addr.Run(class) != at {
		err = fmt.Errorf("no object of it at %#x", last)
	}
	return n, err
}

// staticLists are those of 3.8 and 3.9: static variables that the functions read which print them.
func staticLists(rt python.Runtime, mem python.Memory, symbols python.Symbols) ([]FreeList, error) {
	l := locator{mem: mem, rt: rt}
	var all []FreeList
	for _, f := range []struct {
		function, class string
		size, max       int
	}{
		{"_PyCFunction_DebugMallocStats", "PyCFunctionObject", 56, 256},
		{"_PyDict_DebugMallocStats", "PyDictObject", 48, 80},
		{"_PyFloat_DebugMallocStats", "PyFloatObject", 24, 100},
		{"_PyFrame_DebugMallocStats", "PyFrameObject", 368, 200},
		{"_PyList_DebugMallocStats", "PyListObject", 40, 80},
		{"_PyMethod_DebugMallocStats", "PyMethodObject", 48, 256},
	} {
		at, ok := symbols(f.function)
		if !ok {
			continue // two of them ended with 3.8
		}
		loads := l.loads(at)
		if len(loads) == 0 || loads[0].size != 4 {
			return nil, fmt.Errorf("CPython %s: %s reads no count", rt.Version, f.function)
		}
		b, err := read(mem, loads[0].at, 4)
		if err != nil {
			return nil, err
		}
		n := int(int32(uint32In(b, 0)))
		if n < 0 || n > f.max {
			return nil, fmt.Errorf("CPython %s: a free list of %d of %s", rt.Version, n, f.class)
		}
		all = append(all, FreeList{f.class, f.size, n})
	}
	counts, err := l.tupleCounts(symbols)
	if err != nil {
		return nil, err
	}
	for length := 1; length < tupleLists; length++ {
		all = append(all, tupleList(length, int(uint32In(counts, 4*length))))
	}
	return all, nil
}

// tupleCounts reads the array whose address, or that of its second element, the function takes.
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
