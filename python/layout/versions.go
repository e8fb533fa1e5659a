package layout

import (
	"fmt"
	"maps"
	"slices"
)

// What several versions share.
var (
	gc = GC{Head: 16, Previous: 8, Enabled: 12, Debug: 16, Generations: 24, Generation: 24, Threshold: 16, Count: 20,
		Permanent: 104, Stats: 128, Stat: 24, Collecting: 200, Garbage: 208, Size: 240}
	lock = Lock{Holder: 8, Taken: 16}

	frame38 = Frame{Size: 368, Previous: 24, Code: 32, Instruction: 104, Units: 1, Resume: 2, Locals: 56, Fast: 360,
		Globals: 48, Builtins: 40, StackTop: 72, ValueStack: 64, References: []int{24, 32, 40, 48, 56, 80}}
	frame312 = Frame{Size: 72, Previous: 8, Code: 0, Instruction: 56, Resume: 2, Owner: 70, Shim: 3, Locals: 40, Fast: 72,
		Globals: 24, Builtins: 32, StackTop: 64, References: []int{0, 16, 40, 48}}
	code38 = Code{Size: 176, Name: 112, File: 104, FirstLine: 40, Lines: 120, Flags: 36, Consts: 56, Bytecode: 48,
		Locals: 28, Stack: 32, Names: 72, Cells: 88, Free: 80, Extra: 144, Weak: 136, CellArguments: 96, Opcache: 160}

	function38 = Function{Code: 16, Globals: 24, Defaults: 32, KwDefaults: 40, Closure: 48, Doc: 56, Name: 64, Dict: 72,
		Module: 88, Annotations: 96, Qualname: 104}
	function310 = Function{Globals: 16, Builtins: 24, Name: 32, Qualname: 40, Code: 48, Defaults: 56, KwDefaults: 64,
		Closure: 72, Doc: 80, Dict: 88, Module: 104, Annotations: 112}
	exception38  = Exception{Args: 24, Traceback: 32, Context: 40, Cause: 48}
	exception311 = Exception{Args: 24, Notes: 32, Traceback: 40, Context: 48, Cause: 56}

	text38 = Text{Length: 16, Hash: 24, State: 32, ASCII: 48, Compact: 72, Size: 80,
		UTF8Length: 48, UTF8: 56, WideLength: 64, Wide: 40}
	text312 = Text{Length: 16, Hash: 24, State: 32, ASCII: 40, Compact: 56, Size: 64, UTF8Length: 40, UTF8: 48}
	keys38  = Keys{Head: 40, Size: 8, Usable: 24, Entries: 32}
	keys311 = Keys{Head: 32, Log2: 8, Log2Index: 9, Kind: 10, Usable: 16, Entries: 24}

	pymalloc38  = Pymalloc{Arena: 256 << 10, Pool: 4 << 10}
	pymalloc311 = Pymalloc{Arena: 1 << 20, Pool: 16 << 10, InnerNode: 8 << 15, OuterNode: 8 << 14} // addresses of 64 bits
	pymalloc312 = Pymalloc{Arena: 1 << 20, Pool: 16 << 10, InnerNode: 8 << 15, OuterNode: 8 << 14,
		State: PymallocState{Arenas: UsedPools, MaxArenas: UsedPools + 8, Allocated: UsedPools + 560, Highwater: UsedPools + 568,
			Mid: UsedPools + 584 + 8<<15, Bottom: UsedPools + 588 + 8<<15}} // behind the root of the tree
)

// immortal312 is objects from 3.12 on, where the lower half of the reference count of an immortal one is negative.
func immortal312() Objects {
	o := objects(16)
	o.Object.Immortal = 1 << 31
	return o
}

// versions are the layouts by minor version.
var versions = map[int]*Layout{
	8: {Minor: 8,
		Runtime:     Runtime{Current: 1368, Key: 1392, Interpreters: 32, GC: 344},
		Interpreter: Interpreter{Next: 0, Threads: 8, ID: 16, Modules: 56, Sys: 72},
		Thread:      Thread{Next: 8, ID: 176, Frame: 24},
		GC:          gc, Frame: frame38, Code: code38,
		Generator: Generator{Frame: 16, State: 24, Qualname: 56, Finished: 1},
		Task:      Task{State: 72, Waiter: 104, Coroutine: 112, Name: 120},
		Function:  function38,
		HeapType:  HeapType{Static: 416, Size: 880, Name: 848, Slots: 856, Qualname: 864, CachedKeys: 872},
		Text:      text38, Int: Int{Digits: 24}, Keys: keys38, Exception: exception38,
		Weakref: Weakref{Object: 16, Callback: 24, Size: 56}, Objects: objects(16),
		Pymalloc: pymalloc38, FreeLists: staticLists},
	9: {Minor: 9,
		Runtime:     Runtime{Current: 568, Key: 584, Interpreters: 32},
		Interpreter: Interpreter{Next: 0, Threads: 8, ID: 24, Modules: 856, Sys: 872, GC: 616},
		Thread:      Thread{Next: 8, ID: 176, Frame: 24},
		GC:          gc, Frame: frame38, Code: code38,
		Generator: Generator{Frame: 16, State: 24, Qualname: 56, Finished: 1},
		Task:      Task{State: 80, Waiter: 144, Coroutine: 152, Name: 160},
		Function:  function38,
		HeapType:  HeapType{Static: 408, Size: 880, Name: 840, Slots: 848, Qualname: 856, CachedKeys: 864, Module: 872},
		Text:      text38, Int: Int{Digits: 24}, Keys: keys38, Exception: exception38,
		Weakref: Weakref{Object: 16, Callback: 24, Size: 56}, Objects: objects(16),
		Pymalloc: pymalloc38, FreeLists: staticLists},
	10: {Minor: 10,
		Runtime:     Runtime{Current: 568, Key: 584, Interpreters: 32},
		Interpreter: Interpreter{Next: 0, Threads: 8, ID: 24, Modules: 856, Sys: 872, GC: 616},
		Thread:      Thread{Next: 8, ID: 176, Frame: 24, OnStack: 48},
		GC:          gc,
		Frame: Frame{Size: 360, Previous: 24, Code: 32, Instruction: 96, Units: 2, Resume: 2, Locals: 56, Fast: 352,
			Globals: 48, Builtins: 40, ValueStack: 64, StackDepth: 80, State: 108, References: []int{24, 32, 40, 48, 56, 72}},
		Code:      code38,
		Generator: Generator{Frame: 16, State: 0, Qualname: 48, Finished: 1},
		Task:      Task{State: 88, Waiter: 152, Coroutine: 160, Name: 168},
		Function:  function310,
		HeapType:  HeapType{Static: 408, Size: 888, Name: 848, Slots: 856, Qualname: 864, CachedKeys: 872, Module: 880},
		Text:      text38, Int: Int{Digits: 24}, Keys: keys38, Exception: exception38,
		Weakref: Weakref{Object: 16, Callback: 24, Size: 56}, Objects: objects(16),
		Pymalloc: Pymalloc{Arena: 1 << 20, Pool: 16 << 10, InnerNode: 8 << 10, OuterNode: 8 << 8}, // addresses of 48 bits
		FreeLists: FreeLists{Lists: []FreeList{freeDicts(0x2c40, 0x29c0), freeFloats(0x2630),
			{Class: "PyFrameObject", Size: 360, Max: 200, Count: 0x2ed8, Items: 0x2ed0}, freeLists(0x29b8, 0x2738)},
			TupleItems: 0x2648, Tuples: 0x26e8}},
	11: {Minor: 11,
		Runtime:     Runtime{Current: 576, Key: 592, Interpreters: 40},
		Interpreter: Interpreter{Next: 0, Threads: 16, ID: 48, Modules: 888, Sys: 904, GC: 648},
		Thread:      Thread{Next: 8, ID: 152, Native: 160, Frame: 8, CFrame: 56, OnStack: 56},
		GC:          gc,
		Frame: Frame{Size: 72, Previous: 48, Code: 32, Instruction: 56, Resume: 2, Owner: 69, Entry: 68, Locals: 24, Fast: 72,
			Globals: 8, Builtins: 16, StackTop: 64, References: []int{0, 24, 32, 40}},
		FrameObject: FrameObject{Frame: 24, Embedded: 48, References: []int{16, 32}},
		Code: Code{Size: 192, Name: 120, Qualname: 128, File: 112, FirstLine: 72, Lines: 136, Flags: 48, Consts: 24, Exceptions: 40,
			Instructions: 184, FirstTraceable: 168, Locals: 76, Stack: 68, Names: 96, Kinds: 104, Extra: 176, Weak: 144, Cached: 152},
		Generator: Generator{Frame: 80, Embedded: true, State: 75, Qualname: 40, Finished: 1},
		Task:      Task{State: 88, Waiter: 128, Coroutine: 136, Name: 144},
		Function:  function310,
		HeapType:  HeapType{Static: 408, Size: 904, Name: 848, Slots: 856, Qualname: 864, CachedKeys: 872, Module: 880},
		Text:      text38, Int: Int{Digits: 24}, Keys: keys311, Exception: exception311,
		Managed: Managed{Flags: ManagedDict, Dict: 24, Values: 32, OrderBefore: true},
		Weakref: Weakref{Object: 16, Callback: 24, Size: 64}, Objects: objects(16),
		Pymalloc: pymalloc311,
		FreeLists: FreeLists{Lists: []FreeList{freeDicts(0x1428, 0x11a8), freeFloats(0xe18), freeLists(0x11a0, 0xf20)},
			TupleItems: 0xe30, Tuples: 0xed0, FirstTuple: 1}},
	12: {Minor: 12,
		Runtime:     Runtime{Allocators: 176, Key: 1544, Interpreters: 40},
		Interpreter: Interpreter{Next: 0, Threads: 72, ID: 8, Modules: 944, Sys: 352, Lock: 384, GC: 112},
		Thread:      Thread{Next: 8, ID: 136, Native: 144, Frame: 0, CFrame: 56, OnStack: 56},
		Lock:        lock, GC: gc, Frame: frame312,
		FrameObject: FrameObject{Frame: 24, Embedded: 48, References: []int{16, 32}},
		Code: Code{Size: 200, Name: 120, Qualname: 128, File: 112, FirstLine: 68, Lines: 136, Flags: 48, Consts: 24, Exceptions: 40,
			Instructions: 192, FirstTraceable: 176, Locals: 72, Stack: 64, Names: 96, Kinds: 104, Extra: 184, Weak: 144, Cached: 152, CachedParts: 4},
		Generator: Generator{Frame: 72, Embedded: true, State: 67, Qualname: 32, Finished: 1},
		Task:      Task{State: 88, Waiter: 128, Coroutine: 136, Name: 144},
		Function:  function310,
		HeapType:  HeapType{Static: 416, Size: 920, Name: 856, Slots: 864, Qualname: 872, CachedKeys: 880, Module: 888},
		Text:      text312, Int: Int{Digits: 24, Tagged: true}, Keys: keys311, Exception: exception311,
		Managed: Managed{Flags: ManagedDict | ManagedWeak, Dict: 24, Tagged: true, OrderBefore: true},
		Weakref: Weakref{Object: 16, Callback: 24, Size: 64}, Objects: immortal312(),
		Pymalloc: pymalloc312,
		FreeLists: FreeLists{Lists: []FreeList{freeDicts(0x42690, 0x42190), freeFloats(0x41490), freeLists(0x42178, 0x41ef8)},
			TupleItems: 0x41e08, Tuples: 0x41ea8, FirstTuple: 1}},
	13: {Minor: 13,
		Runtime:     Runtime{Allocators: 784, Key: 2160, Interpreters: 632},
		Interpreter: Interpreter{Next: 7264, Threads: 7344, ID: 7272, Modules: 7656, Sys: 7640, Lock: 16, GC: 7400},
		Thread:      Thread{Next: 8, ID: 152, Native: 160, Frame: 72},
		Lock:        lock, GC: gc, Frame: frame313(),
		FrameObject: FrameObject{Frame: 24, Embedded: 64, References: []int{16, 32, 48, 56}},
		Code: Code{Size: 208, Name: 120, Qualname: 128, File: 112, FirstLine: 68, Lines: 136, Flags: 48, Consts: 24, Exceptions: 40,
			Instructions: 200, FirstTraceable: 184, Locals: 72, Stack: 64, Names: 96, Kinds: 104, Extra: 192, Weak: 144, Cached: 160, CachedParts: 4},
		Generator: Generator{Frame: 72, Embedded: true, State: 67, Qualname: 32, Finished: 1},
		Task:      Task{State: 96, Waiter: 112, Coroutine: 120, Name: 128},
		Function:  function310,
		HeapType:  HeapType{Static: 416, Size: 928, Name: 856, Slots: 864, Qualname: 872, CachedKeys: 880, Module: 888},
		Text:      text312, Int: Int{Digits: 24, Tagged: true}, Keys: keys311, Exception: exception311,
		Managed: Managed{Flags: ManagedDict | ManagedWeak, Dict: 24, InlineHead: 8, InlineValid: 3},
		Weakref: Weakref{Object: 16, Callback: 24, Size: 64}, Objects: immortal312(),
		Pymalloc: pymalloc312,
		FreeLists: FreeLists{Lists: []FreeList{freeDicts(0x2ac8+1544, 0x2ac8+904),
			{Class: "PyDictKeysObject", Size: 32, Max: 80, Count: 0x2ac8 + 2192, Items: 0x2ac8 + 1552, Array: true},
			freeFloats(0x2ac8), freeLists(0x2ac8+896, 0x2ac8+256)},
			TupleItems: 0x2ac8 + 16, Tuples: 0x2ac8 + 176, FirstTuple: 1}},
}

// frame313 is Frame of 3.13: a suspended frame has the instruction where it continues.
func frame313() Frame {
	f := frame312
	f.Resume = 0
	return f
}

// Known names the versions that have a layout: "3.8 to 3.13".
func Known() string {
	minors := slices.Sorted(maps.Keys(versions))
	return fmt.Sprintf("3.%d to 3.%d", minors[0], minors[len(minors)-1])
}
