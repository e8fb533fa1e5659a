package goruntime

// A HeapLayout has offsets, in bytes, in the structures that a Go runtime keeps its heap and its
// roots by, and what its numbers mean. 0 is not there in this version but for first members.
type HeapLayout struct {
	Layout

	AllSpans int // in runtime.mheap: []*mspan
	Arenas   int // [1]*[1<<22]*heapArena, by address >> ArenaShift

	NPages    int // in runtime.mspan: pages of PageSize
	State     int // uint8: 1 in use for blocks, 2 for stacks and the like
	Specials  int // *special
	LargeType int // *_type of the one block, since 1.22

	// Before 1.22 runtime.heapArena begins with a bitmap, of this number of bits for each word: in
	// 1.18 and 1.19 a byte has four bits that tell pointers and above them four that report whether
	// more follow.
	ArenaBits int
	// Since 1.22 spans of small blocks with pointers have their bitmap at their end. Since 1.25 mark bits
	// may be behind it (GOEXPERIMENT=greenteagc, usual since 1.26).
	InlineMarks bool

	SpecialWide bool // in runtime.special offset is 8 bytes, not 2
	SpecialKind int  // uint8
	SpecialBody int  // where what follows a special begins: a pointer to a closure or a handle
	Finalizer   int  // kinds
	WeakHandle  int
	Cleanup     int

	// In runtime.moduledata. From NoPtrData on there are eight words: beginnings and ends of
	// noptrdata, data, bss and noptrbss.
	NoPtrData  int
	FuncNames  int // funcnametab, pctab and what follows
	PCTab      int // are slices: pctab, pclntable and ftab
	Types      int // where descriptors of types begin,
	ETypes     int // and where they end
	ROData     int // where read-only data begins, and behind it where the data of functions does (gofunc)
	GCDataMask int // bitvector of data
	GCBSSMask  int // bitvector of bss
	NextModule int // *moduledata

	FuncHead int // bytes of runtime._func before the places of its tables

	GPanic       int // in runtime.g: _panic, and behind it _defer
	SchedContext int // in its sched: ctxt
	DeferFn      int // in runtime._defer
	DeferLink    int

	FieldBit bool // the offset of a field in a type of structs has a bit behind it: whether it is embedded
}

// Constants of all these versions on amd64.
const (
	PageSize   = 8192
	ArenaShift = 26      // arenas are of 64 MiB
	ArenaBase  = 1 << 47 // added to an address before it is shifted (less arenaBaseOffset)

	SpanInUse  = 1 // mspan.state
	SpanManual = 2

	InlineMarkBytes = 128 // at the end of a span of blocks of 16 to 512 bytes, if there are any (spanInlineMarkBits)

	FinAllLink = 0  // in runtime.finblock: the next of all
	FinCount   = 16 // uint32
	FinFirst   = 24 // of finalizers,
	FinSize    = 40 // each: function, argument, ...

	// In runtime._func, which begins with the entry:
	FuncName    = 4  // int32, in funcnametab
	FuncArgs    = 8  // uint32: bytes of arguments and results
	FuncPCSP    = 16 // uint32, in pctab: the bytes of the frame
	FuncNPCData = 28 // uint32: how many tables of pcdata follow; the last byte is how many of funcdata
	FuncFlag    = -3 // from the end on: uint8

	// g.atomicstatus, and the bit that a collection sets in it while it scans the stack.
	GIdle      = 0
	GRunning   = 2
	GDead      = 6
	GCopyStack = 8
	GDeadExtra = 11 // since 1.26: for threads of C that will call Go; it has run nothing
	GScanBit   = 0x1000
)

// Heap is the layout of the heap.
func (l Layout) Heap() HeapLayout {
	h := HeapLayout{
		Layout: l, AllSpans: 65864, Arenas: 66008, NPages: 32, State: 99, Specials: 128, LargeType: 152,
		SpecialKind: 10, SpecialBody: 16, Finalizer: 1,
		FuncNames: 8, PCTab: 80, FuncHead: 44, GPanic: 32, SchedContext: 24, DeferFn: 24, DeferLink: 32,
		NoPtrData: 192, Types: 296, ETypes: 304, GCDataMask: 536, GCBSSMask: 552, NextModule: 576,
	}
	h.heap()
	h.module()
	h.ROData = h.ETypes + 8
	if l.Minor == 27 {
		h.ROData += 16
	}
	if l.Minor < 20 {
		h.FuncHead = 40
	}
	if l.Minor < 22 {
		h.DeferLink = 40
	}
	h.FieldBit = l.Minor == 18
	return h
}

func (h *HeapLayout) heap() {
	switch {
	case h.Minor == 18:
		h.AllSpans, h.Arenas = 65848, 65936
	case h.Minor == 19:
		h.AllSpans, h.Arenas = 65856, 65936
	case h.Minor == 20:
		h.AllSpans, h.Arenas = 65824, 65904
	case h.Minor == 21:
		h.Arenas, h.State, h.Specials = 65944, 107, 136
	}
	if h.Minor < 22 {
		h.LargeType, h.ArenaBits = 0, 1
	}
	if h.Minor < 20 {
		h.ArenaBits = 2
	}
	h.InlineMarks = h.Minor >= 25
	if h.Minor >= 24 {
		h.SpecialWide, h.SpecialKind, h.SpecialBody, h.Cleanup = true, 16, 24, 6
	}
	if h.Minor >= 23 {
		h.WeakHandle = 2
	}
	if h.Minor >= 25 {
		h.Finalizer, h.WeakHandle, h.Cleanup = 2, 3, 7
	}
}

func (h *HeapLayout) module() {
	switch {
	case h.Minor < 20:
		h.Types, h.ETypes, h.GCDataMask, h.GCBSSMask, h.NextModule = 280, 288, 496, 512, 544
	case h.Minor == 20:
		h.GCDataMask, h.GCBSSMask, h.NextModule = 512, 528, 560
	case h.Minor < 23:
		h.NextModule = 584
	case h.Minor == 26:
		h.GCDataMask, h.GCBSSMask, h.NextModule = 544, 560, 584
	case h.Minor == 27:
		h.ETypes, h.GCDataMask, h.GCBSSMask, h.NextModule = 312, 520, 536, 560
	}
}
