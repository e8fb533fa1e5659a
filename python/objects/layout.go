package objects

// Offsets in bytes that all versions share: of PyObject, PyVarObject and PyTypeObject, of list, set,
// dict and others.
const (
	objectType = 8
	varSize    = 16
	headSize   = 16 // of PyObject, and of PyGC_Head before it

	typeName       = 24
	typeBasic      = 32
	typeItem       = 40
	typeFlags      = 168
	typeWeakAt     = 208
	typeMethods    = 232
	typeMembers    = 240
	typeBase       = 256
	typeDict       = 264
	typeDictAt     = 288
	typeIsGC       = 328
	typeBases      = 336
	typeMRO        = 344
	typeCache      = 352
	typeSubclasses = 360
	typeRead       = 376 // bytes of it that are read

	listItems     = 24
	listAllocated = 32
	listSize      = 40

	tupleItems = 24

	dictUsed   = 16
	dictKeys   = 32
	dictValues = 40
	dictSize   = 48

	setMask  = 32
	setTable = 40
	setSmall = 64
	setSize  = 200

	orderedFirst = 48
	orderedNodes = 72 // how many od_fast_nodes has
	orderedSize  = 112
	orderedNode  = 32 // bytes of one: key, hash, next, previous
	nodeNext     = 16

	bytearrayAlloc = 24

	dequeLeft    = 24
	dequeIndex   = 40
	dequeBlock   = 64 // elements
	dequeRight   = 8 + 8*dequeBlock
	blockOfDeque = 8 * (dequeBlock + 2)

	moduleDict  = 16
	moduleDef   = 24
	moduleState = 32
	moduleName  = 48
	defSize     = 56

	weakCallback = 24
)

// Flags of types.
const (
	inlineValues = 1 << 2 // attributes are behind the object, from 3.13 on
	managedWeak  = 1 << 3 // from 3.12 on
	managedDict  = 1 << 4 // from 3.11 on
	isHeapType   = 1 << 9
	isReady      = 1 << 12
	hasGC        = 1 << 14
	isInt        = 1 << 24
	isList       = 1 << 25
	isTuple      = 1 << 26
	isBytes      = 1 << 27
	isText       = 1 << 28
	isDict       = 1 << 29
	isException  = 1 << 30
	isType       = 1 << 31
)

// A layout is where things lie in the structures of one minor version, in bytes. Fields
// that a version does not have are 0.
type layout struct {
	minor int
	gc    int // struct _gc_runtime_state, in PyInterpreterState; of 3.8, in _PyRuntimeState

	staticType, heapType int // sizes of PyTypeObject and PyHeapTypeObject
	qualname, cachedKeys int // in PyHeapTypeObject

	ascii, compact, text int // sizes of PyASCIIObject, PyCompactUnicodeObject and PyUnicodeObject
	utf8Length, utf8     int
	wideLength, wide     int // up to 3.11

	weakref int // size of PyWeakReference

	code  codeLayout
	frame frameLayout
}

// A codeLayout is of PyCodeObject.
type codeLayout struct {
	size, stack   int
	locals        int // how many variables: with cells and free ones from 3.11 on
	names         int // a tuple of names; up to 3.10 those of cells and of free variables
	cells, free   int
	bytecode      int // up to 3.10, co_code
	extra         int
	cellArguments int // up to 3.10, co_cell2arg
	opcache       int // up to 3.10; the number of entries is 12 bytes behind
	cached        int // 3.12 on, _PyCoCached; of 3.11, _co_code
	weak          int
}

// A frameLayout is of PyFrameObject up to 3.10; from 3.11 on of _PyInterpreterFrame, which object has
// a pointer to, or in it.
type frameLayout struct {
	size             int   // of PyFrameObject, without its variables
	fast             int   // variables
	valueStack       int   // up to 3.10: the pointer to the first temporary value
	stackTop         int   // to behind the last; of 3.10 a number; from 3.11 on a number with the variables
	generator        int   // up to 3.10: f_gen, which is borrowed
	fields           []int // references
	code             int
	object, embedded int // from 3.11 on, in PyFrameObject: the pointer, and where the frame is that it owns
	inGenerator      int // from 3.11 on, in PyGenObject
	generatorState   int
}

// frameCleared is the first state of a generator in which its frame has nothing any more,
// FRAME_COMPLETED.
const frameCleared = 1

var codeUpTo310 = codeLayout{size: 176, locals: 28, stack: 32, names: 72, cells: 88, free: 80, bytecode: 48, extra: 144, cellArguments: 96, opcache: 160, weak: 136}

var layouts = []layout{
	{minor: 8, gc: 344, staticType: 416, heapType: 880, qualname: 864, cachedKeys: 872,
		ascii: 48, compact: 72, text: 80, utf8Length: 48, utf8: 56, wideLength: 64, wide: 40, weakref: 56,
		code:  codeUpTo310,
		frame: frameLayout{size: 368, fast: 360, valueStack: 64, stackTop: 72, generator: 96, code: 32, fields: []int{24, 32, 40, 48, 56, 80}}},
	{minor: 9, gc: 616, staticType: 408, heapType: 880, qualname: 856, cachedKeys: 864,
		ascii: 48, compact: 72, text: 80, utf8Length: 48, utf8: 56, wideLength: 64, wide: 40, weakref: 56,
		code:  codeUpTo310,
		frame: frameLayout{size: 368, fast: 360, valueStack: 64, stackTop: 72, generator: 96, code: 32, fields: []int{24, 32, 40, 48, 56, 80}}},
	{minor: 10, gc: 616, staticType: 408, heapType: 888, qualname: 864, cachedKeys: 872,
		ascii: 48, compact: 72, text: 80, utf8Length: 48, utf8: 56, wideLength: 64, wide: 40, weakref: 56,
		code:  codeUpTo310,
		frame: frameLayout{size: 360, fast: 352, valueStack: 64, stackTop: 80, generator: 88, code: 32, fields: []int{24, 32, 40, 48, 56, 72}}},
	{minor: 11, gc: 648, staticType: 408, heapType: 904, qualname: 864, cachedKeys: 872,
		ascii: 48, compact: 72, text: 80, utf8Length: 48, utf8: 56, wideLength: 64, wide: 40, weakref: 64,
		code:  codeLayout{size: 184, stack: 68, locals: 76, names: 96, extra: 176, cached: 152, weak: 144},
		frame: frameLayout{size: 48, fast: 72, stackTop: 64, code: 32, fields: []int{0, 24, 32, 40}, object: 24, embedded: 48, inGenerator: 80, generatorState: 75}},
	{minor: 12, gc: 112, staticType: 416, heapType: 920, qualname: 872, cachedKeys: 880,
		ascii: 40, compact: 56, text: 64, utf8Length: 40, utf8: 48, weakref: 64,
		code:  codeLayout{size: 192, stack: 64, locals: 72, names: 96, extra: 184, cached: 152, weak: 144},
		frame: frameLayout{size: 48, fast: 72, stackTop: 64, code: 0, fields: []int{0, 16, 40, 48}, object: 24, embedded: 48, inGenerator: 72, generatorState: 67}},
	{minor: 13, gc: 7400, staticType: 416, heapType: 928, qualname: 872, cachedKeys: 880,
		ascii: 40, compact: 56, text: 64, utf8Length: 40, utf8: 48, weakref: 64,
		code:  codeLayout{size: 200, stack: 64, locals: 72, names: 96, extra: 192, cached: 160, weak: 144},
		frame: frameLayout{size: 64, fast: 72, stackTop: 64, code: 0, fields: []int{0, 16, 40, 48}, object: 24, embedded: 64, inGenerator: 72, generatorState: 67}},
}
