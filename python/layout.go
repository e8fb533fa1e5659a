package python

// A layout is where things lie in the structures of one minor version, in bytes. Fields
// that a version does not have are 0.
type layout struct {
	minor int

	// _PyRuntimeState
	current     int // the thread state that holds the lock, up to 3.11
	key         int // of the thread-specific data that holds each thread's state: struct _Py_tss_t
	interpreter int // the first of a list
	allocators  int // the table of domain obj, from 3.12 on

	// PyInterpreterState
	nextInterpreter, threads, id int
	modules, sysDict             int // sys.modules, and the variables of sys
	lock                         int // the pointer to its global interpreter lock, from 3.12 on

	// PyThreadState
	nextThread, threadID, nativeID int
	frame                          int // the innermost frame, or the struct that points to it
	cframe                         int // where that struct does; 0 if there is none

	frames frameLayout
	code   codeLayout
	text   textLayout

	cachedKeys   int // PyHeapTypeObject: the keys that instances share
	functionName int // PyFunctionObject: its name; its qualified name
	functionQual int

	generator generatorLayout
	task      taskLayout
}

// A generatorLayout is of PyGenObject, which coroutines and asynchronous generators share.
type generatorLayout struct {
	frame    int  // its frame
	embedded bool // which is in it, from 3.11 on; before, a pointer
	state    int  // of its frame: gi_running up to 3.9, 0 in 3.10, where the frame has it
	qualname int
}

// A taskLayout is of TaskObj of Modules/_asynciomodule.c, whose beginning is FutureObj.
type taskLayout struct{ state, waiter, coroutine, name int }

// A frameLayout is of PyFrameObject up to 3.10, of _PyInterpreterFrame from 3.11 on.
type frameLayout struct {
	size           int
	previous, code int
	instruction    int // f_lasti, an index of units bytes; or a pointer
	units          int // bytes that one f_lasti counts; 0: it is a pointer
	owner          int // who the frame belongs to, from 3.11 on
	locals, fast   int // the dict of a module's or class's variables, and those of a function
	entry          int // of 3.11: whether C called the interpreter for it

	globals, builtins int // their dicts
	stackTop          int // where the value on top is: a pointer up to 3.9, from 3.11 on an index of what is at fast
	stackDepth        int // of 3.10: how many values are at the pointer before, f_valuestack
	valueStack        int
	state             int // of 3.10
}

// codeLayout is of PyCodeObject.
type codeLayout struct {
	size                                   int
	name, qualname, file, firstLine, lines int
	bytecode, firstTraceable               int // from 3.11 on
	flags                                  int
	names, cells, free                     int // up to 3.10
	localsplusnames, localKind             int // from 3.11 on
}

// textLayout is of the structs of str objects.
type textLayout struct{ ascii, compact int }

// shimOwner is FRAME_OWNED_BY_CSTACK: a frame of 3.12 and later that stands for the C code
// which called the interpreter.
const shimOwner = 3

// generatorOwner is FRAME_OWNED_BY_GENERATOR.
const generatorOwner = 1

var codeUpTo310 = codeLayout{size: 176, name: 112, file: 104, firstLine: 40, lines: 120,
	flags: 36, names: 72, cells: 88, free: 80}

var layouts = []layout{
	{minor: 8, current: 1368, key: 1392, interpreter: 32, nextInterpreter: 0, threads: 8, id: 16,
		nextThread: 8, threadID: 176, frame: 24,
		frames: frameLayout{size: 368, previous: 24, code: 32, instruction: 104, units: 1, locals: 56, fast: 360,
			globals: 48, builtins: 40, stackTop: 72},
		code: codeUpTo310, text: textLayout{48, 72},
		modules: 56, sysDict: 72, functionName: 64, functionQual: 104,
		generator: generatorLayout{frame: 16, state: 24, qualname: 56}, task: taskLayout{state: 72, waiter: 104, coroutine: 112, name: 120}},
	{minor: 9, current: 568, key: 584, interpreter: 32, nextInterpreter: 0, threads: 8, id: 24,
		nextThread: 8, threadID: 176, frame: 24,
		frames: frameLayout{size: 368, previous: 24, code: 32, instruction: 104, units: 1, locals: 56, fast: 360,
			globals: 48, builtins: 40, stackTop: 72},
		code: codeUpTo310, text: textLayout{48, 72},
		modules: 856, sysDict: 872, functionName: 64, functionQual: 104,
		generator: generatorLayout{frame: 16, state: 24, qualname: 56}, task: taskLayout{state: 80, waiter: 144, coroutine: 152, name: 160}},
	{minor: 10, current: 568, key: 584, interpreter: 32, nextInterpreter: 0, threads: 8, id: 24,
		nextThread: 8, threadID: 176, frame: 24,
		frames: frameLayout{size: 360, previous: 24, code: 32, instruction: 96, units: 2, locals: 56, fast: 352,
			globals: 48, builtins: 40, valueStack: 64, stackDepth: 80, state: 108},
		code: codeUpTo310, text: textLayout{48, 72},
		modules: 856, sysDict: 872, functionName: 32, functionQual: 40,
		generator: generatorLayout{frame: 16, state: 0, qualname: 48}, task: taskLayout{state: 88, waiter: 152, coroutine: 160, name: 168}},
	{minor: 11, current: 576, key: 592, interpreter: 40, nextInterpreter: 0, threads: 16, id: 48,
		nextThread: 8, threadID: 152, nativeID: 160, frame: 8, cframe: 56,
		frames: frameLayout{size: 72, previous: 48, code: 32, instruction: 56, owner: 69, entry: 68, locals: 24, fast: 72,
			globals: 8, builtins: 16, stackTop: 64},
		code: codeLayout{size: 192, name: 120, qualname: 128, file: 112, firstLine: 72, lines: 136, bytecode: 184, firstTraceable: 168,
			flags: 48, localsplusnames: 96, localKind: 104},
		text: textLayout{48, 72}, cachedKeys: 872,
		modules: 888, sysDict: 904, functionName: 32, functionQual: 40,
		generator: generatorLayout{frame: 80, embedded: true, state: 75, qualname: 40}, task: taskLayout{state: 88, waiter: 128, coroutine: 136, name: 144}},
	{minor: 12, allocators: 176, key: 1544, interpreter: 40, nextInterpreter: 0, threads: 72, id: 8,
		nextThread: 8, threadID: 136, nativeID: 144, frame: 0, cframe: 56,
		frames: frameLayout{size: 72, previous: 8, code: 0, instruction: 56, owner: 70, locals: 40, fast: 72,
			globals: 24, builtins: 32, stackTop: 64},
		code: codeLayout{size: 200, name: 120, qualname: 128, file: 112, firstLine: 68, lines: 136, bytecode: 192, firstTraceable: 176,
			flags: 48, localsplusnames: 96, localKind: 104},
		text: textLayout{40, 56}, cachedKeys: 880,
		modules: 944, sysDict: 352, lock: 384, functionName: 32, functionQual: 40,
		generator: generatorLayout{frame: 72, embedded: true, state: 67, qualname: 32}, task: taskLayout{state: 88, waiter: 128, coroutine: 136, name: 144}},
	{minor: 13, allocators: 784, key: 2160, interpreter: 632, nextInterpreter: 7264, threads: 7344, id: 7272,
		nextThread: 8, threadID: 152, nativeID: 160, frame: 72,
		frames: frameLayout{size: 72, previous: 8, code: 0, instruction: 56, owner: 70, locals: 40, fast: 72,
			globals: 24, builtins: 32, stackTop: 64},
		code: codeLayout{size: 208, name: 120, qualname: 128, file: 112, firstLine: 68, lines: 136, bytecode: 200, firstTraceable: 184,
			flags: 48, localsplusnames: 96, localKind: 104},
		text: textLayout{40, 56}, cachedKeys: 880,
		modules: 7656, sysDict: 7640, lock: 16, functionName: 32, functionQual: 40,
		generator: generatorLayout{frame: 72, embedded: true, state: 67, qualname: 32}, task: taskLayout{state: 96, waiter: 112, coroutine: 120, name: 128}},
}
