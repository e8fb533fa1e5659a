package layout

// Pymalloc is of the allocator of small blocks.
type Pymalloc struct {
	Arena, Pool          int    // bytes of each
	InnerNode, OuterNode uint64 // bytes of nodes of the tree by which addresses are looked up, from 3.10 on
	State                PymallocState
}

// PymallocState is of struct _obmalloc_state, from 3.12 on. It begins with usedpools.
type PymallocState struct {
	Arenas, MaxArenas    int
	Allocated, Highwater int
	Mid, Bottom          int
}

// Blocks and the table of pools with free ones.
const (
	Alignment = 16
	Classes   = 32 // size classes: of blocks of 16 to 512 bytes
	UsedPools = Classes * 2 * 8
)

// struct pool_header.
const (
	PoolUsed     = 0
	PoolFree     = 8 // the first block that was freed
	PoolNext     = 16
	PoolPrevious = 24
	PoolClass    = 36
	PoolCut      = 40 // where the next block would be cut
	PoolHeader   = 48 // bytes of it
)

// struct arena_object.
const (
	ArenaAddress   = 0
	ArenaNextPool  = 8
	ArenaFreePools = 16
	ArenaPools     = 20
	ArenaSize      = 48
)

// PyMemAllocatorEx: a context, malloc, calloc, realloc and free; and debug_alloc_api_t, which the context of the
// debug hooks points to: a letter and such a table.
const (
	AllocatorContext = 0
	AllocatorMalloc  = 8
	AllocatorCalloc  = 16
	AllocatorRealloc = 24
	AllocatorFree    = 32
	AllocatorSize    = 40 // from one domain's to the next in _PyRuntime, too
	DebugAllocator   = 8
)

// A FreeList has objects of one class that CPython keeps to use again: it is in the state of an interpreter, up to
// 3.9 in static variables.
type FreeList struct {
	Class     string
	Size, Max int    // bytes of an object, and how many there may be
	Function  string // up to 3.9: the one that prints it reads first how many there are
	Count     int    // int
	Items     int    // array of pointers, or the pointer to the first
	Array     bool
	Object    string // the class that the last item of the array has
}

// FreeLists are the free lists of a version. The lists of tuples are by length: twenty counts, of which the first
// is for the length FirstTuple.
type FreeLists struct {
	Static                         bool // up to 3.9
	Lists                          []FreeList
	TupleItems, Tuples, FirstTuple int
}

// staticLists are those of 3.8 and 3.9. Two of them ended with 3.8.
var staticLists = FreeLists{Static: true, Lists: []FreeList{
	{Function: "_PyCFunction_DebugMallocStats", Class: "PyCFunctionObject", Size: 56, Max: 256},
	{Function: "_PyDict_DebugMallocStats", Class: "PyDictObject", Size: 48, Max: 80},
	{Function: "_PyFloat_DebugMallocStats", Class: "PyFloatObject", Size: 24, Max: 100},
	{Function: "_PyFrame_DebugMallocStats", Class: "PyFrameObject", Size: 368, Max: 200},
	{Function: "_PyList_DebugMallocStats", Class: "PyListObject", Size: 40, Max: 80},
	{Function: "_PyMethod_DebugMallocStats", Class: "PyMethodObject", Size: 48, Max: 256},
}}

// Free lists in an interpreter's state: where they count, and have their items.
func freeDicts(count, items int) FreeList {
	return FreeList{Class: "PyDictObject", Size: 48, Max: 80, Count: count, Items: items, Array: true, Object: "PyDict_Type"}
}

func freeFloats(count int) FreeList {
	return FreeList{Class: "PyFloatObject", Size: 24, Max: 100, Count: count, Items: count + 8}
}

func freeLists(count, items int) FreeList {
	return FreeList{Class: "PyListObject", Size: 40, Max: 80, Count: count, Items: items, Array: true, Object: "PyList_Type"}
}
