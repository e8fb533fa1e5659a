package layout

// Objects is of objects whose structs are the same behind the head in all versions.
type Objects struct {
	Object    Object
	Type      Type
	List      List
	Tuple     Tuple
	Bytes     Bytes
	ByteArray ByteArray
	Dict      Dict
	Ordered   Ordered
	Set       Set
	Deque     Deque
	Module    Module
	Method    Method
	CFunction CFunction
	Partial   Partial
	Future    Future
	Array     Array
	Decimal   Decimal
	BytesIO   BytesIO
	Buffered  Buffered
	Element   Element
	Date      Date
	Delta     Delta
	Timezone  Timezone
	Cell      int // its reference
	Float     int // its value; of a complex number, both
	Range     int // start, stop, step, length: int objects
	Awaited   int // of FutureIter, asend() and other objects around one that is awaited
	Getter    int // the index of a _tuplegetter
	Iterated  int // of a list_iterator
}

// Object is of PyObject and PyVarObject.
type Object struct {
	Type     int
	Size     int    // of PyObject
	Count    int    // of elements: ob_size
	Immortal uint64 // bits of the reference count of which an immortal object has one, from 3.12 on
}

// Type is of PyTypeObject.
type Type struct {
	Name, Basic, Item         int
	Dealloc                   int
	Number, Sequence, Mapping int // tables of functions
	Flags                     int
	WeakAt, DictAt            int // where its objects have what refers to them weakly, and their dicts
	Methods, Members          int
	Base, Bases, Dict, MRO    int
	IsGC                      int
	Cache, Subclasses         int
	Read                      int // bytes that hold all of these
}

// Of PyNumberMethods, PyMethodDef and PyMemberDef.
const (
	NumberBool = 72

	MethodName = 0
	MethodSize = 32

	MemberName   = 0
	MemberKind   = 8
	MemberOffset = 16
	MemberSize   = 40
)

// Flags of types.
const (
	InlineValues = 1 << 2 // attributes are behind the object, from 3.13 on
	ManagedWeak  = 1 << 3 // from 3.12 on
	ManagedDict  = 1 << 4 // from 3.11 on
	IsHeapType   = 1 << 9 // made by a class statement
	IsReady      = 1 << 12
	HasGC        = 1 << 14
	IsInt        = 1 << 24
	IsList       = 1 << 25
	IsTuple      = 1 << 26
	IsBytes      = 1 << 27
	IsText       = 1 << 28
	IsDict       = 1 << 29
	IsException  = 1 << 30
	IsType       = 1 << 31
)

// The structs of objects, by their names in C without Py and Object.
type (
	List      struct{ Items, Allocated, Size int }
	Tuple     struct{ Items int }
	Bytes     struct{ Data int }
	ByteArray struct{ Allocated, Start int }
	Dict      struct{ Used, Keys, Values, Size int }
	Set       struct{ Used, Mask, Table, Small int }
	Module    struct{ Dict, Def, State, Name, StateSize int } // StateSize is of its PyModuleDef
	Method    struct{ Function, Self int }
	CFunction struct{ Def, Self int }
	Partial   struct{ Args int }
	Future    struct{ Callback, Callbacks int }                 // the first callback; a list of the others, each a tuple with its context
	Date      struct{ Zoned, Data, DatetimeZone, TimeZone int } // whether it has a time zone; the value, the highest byte first
	Delta     struct{ Days int }                                // days, seconds, microseconds
	Timezone  struct{ Offset, Name int }

	Array    struct{ Allocated, Descr int } // of the module array; the second int of descr is the size of an element
	Decimal  struct{ Flags, Allocated int } // mpd_t
	BytesIO  struct{ Buffer int }
	Buffered struct{ Buffer, Size int }
)

// Ordered is of PyODictObject, whose beginning is a dict.
type Ordered struct {
	First, Nodes int // its first node, and how many od_fast_nodes has
	Node         int // bytes of one: key, hash, next, previous
}

// Deque is of dequeobject (Modules/_collectionsmodule.c).
type Deque struct{ Left, Index, Max int }

// Blocks of a deque: a link to the left, values, and a link to the right.
const (
	DequeBlock     = 64 // values
	DequeRight     = 8 + 8*DequeBlock
	DequeBlockSize = 8 * (DequeBlock + 2)
)

// Element is of ElementObject of Modules/_elementtree.c.
type Element struct{ Extra int }

// ElementObjectExtra: attrib, length, allocated, children, and room for four.
const (
	ExtraLength    = 8
	ExtraAllocated = 16
	ExtraChildren  = 24
	ExtraStatic    = 32
	ExtraSize      = 64
)

// objects are those of builds whose PyObject has head bytes. The elements of a PyVarObject follow its count.
func objects(head int) Objects {
	elements := head + 8
	return Objects{
		Object: Object{Type: head - 8, Size: head, Count: head},
		Type: Type{Name: elements, Basic: elements + 8, Item: elements + 16, Dealloc: elements + 24,
			Number: elements + 72, Sequence: elements + 80, Mapping: elements + 88, Flags: elements + 144,
			WeakAt: elements + 184, Methods: elements + 208, Members: elements + 216, Base: elements + 232, Dict: elements + 240,
			DictAt: elements + 264, IsGC: elements + 304, Bases: elements + 312, MRO: elements + 320,
			Cache: elements + 328, Subclasses: elements + 336, Read: elements + 352},
		List:      List{Items: elements, Allocated: elements + 8, Size: elements + 16},
		Tuple:     Tuple{Items: elements},
		Bytes:     Bytes{Data: elements + 8},
		ByteArray: ByteArray{Allocated: elements, Start: elements + 16},
		Dict:      Dict{Used: head, Keys: head + 16, Values: head + 24, Size: head + 32},
		Ordered:   Ordered{First: head + 32, Nodes: head + 56, Node: 32},
		Set:       Set{Used: head + 8, Mask: head + 16, Table: head + 24, Small: head + 48},
		Deque:     Deque{Left: elements, Index: elements + 16, Max: elements + 40},
		Module:    Module{Dict: head, Def: head + 8, State: head + 16, Name: head + 32, StateSize: head + 40},
		Method:    Method{Function: head, Self: head + 8},
		CFunction: CFunction{Def: head, Self: head + 8},
		Partial:   Partial{Args: head + 8},
		Future:    Future{Callback: head + 8, Callbacks: head + 24},
		Array:     Array{Allocated: elements + 8, Descr: elements + 16},
		Decimal:   Decimal{Flags: head + 8, Allocated: head + 40},
		BytesIO:   BytesIO{Buffer: head},
		Buffered:  Buffered{Buffer: head + 40, Size: head + 104},
		Element:   Element{Extra: head + 24},
		Date:      Date{Zoned: head + 8, Data: head + 9, DatetimeZone: head + 24, TimeZone: head + 16},
		Delta:     Delta{Days: head + 8},
		Timezone:  Timezone{Offset: head, Name: head + 8},
		Cell:      head, Float: head, Range: head, Awaited: head, Getter: head, Iterated: head + 8,
	}
}
