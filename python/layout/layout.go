package layout

// A Layout is where things are in the structures of one minor version.
type Layout struct {
	Minor int // 11 of 3.11

	Runtime     Runtime
	Interpreter Interpreter
	Thread      Thread
	Lock        Lock
	GC          GC

	Frame       Frame
	FrameObject FrameObject
	Code        Code
	Generator   Generator
	Task        Task
	Function    Function

	HeapType  HeapType
	Text      Text
	Int       Int
	Keys      Keys
	Managed   Managed
	Exception Exception
	Weakref   Weakref
	Objects

	Pymalloc  Pymalloc
	FreeLists FreeLists
}

// Runtime is of _PyRuntimeState.
type Runtime struct {
	Current      int // the thread state that holds the lock, up to 3.11
	Key          int // of the thread-specific data that holds each thread's state: struct _Py_tss_t
	Interpreters int // the first of a list
	Allocators   int // the table of domain obj, from 3.12 on
	GC           int // up to 3.8
}

// Interpreter is of PyInterpreterState.
type Interpreter struct {
	Next, Threads, ID int
	Modules, Sys      int // sys.modules, and the variables of sys
	Lock              int // the pointer to its global interpreter lock, from 3.12 on
	GC                int // from 3.9 on
}

// Thread is of PyThreadState.
type Thread struct {
	Next, ID, Native int // pthread_self(), and the kernel's number, from 3.11 on
	Frame            int // the innermost frame, or the struct that points to it
	CFrame           int // where that struct does; 0 if there is none
	OnStack          int // a pointer to a struct of the interpreter's loop, on the stack of the thread that runs it; 0 if there is none
}

// Lock is of struct _gil_runtime_state: who took it last, and whether it is taken.
type Lock struct{ Holder, Taken int }

// GC is of struct _gc_runtime_state, and of PyGC_Head, which is before an object.
type GC struct {
	Head                        int // bytes of PyGC_Head: the pointers to the next and to the previous one
	Next, Previous              int
	Enabled, Debug, Generations int
	Generation                  int // bytes of one: a head, a threshold, a count
	Threshold, Count            int
	Permanent, Stats            int
	Stat                        int // bytes of one: collections, collected, uncollectable
	Collecting, Garbage         int
	Size                        int
}

// Frame is of PyFrameObject up to 3.10, of _PyInterpreterFrame from 3.11 on.
type Frame struct {
	Size           int
	Previous, Code int
	Instruction    int // f_lasti, an index of Units bytes; or a pointer
	Units          int // bytes that one f_lasti counts; 0: it is a pointer
	Resume         int // from the instruction of a suspended frame to the one where it continues
	Owner          int // who the frame belongs to, from 3.11 on
	Shim           int // the owner of frames that represent the C code which called the interpreter, from 3.12 on
	Entry          int // of 3.11: whether C called the interpreter for it
	Locals, Fast   int // the dict of a module's or class's variables, and those of a function

	Globals, Builtins int // their dicts
	StackTop          int // where the value on top is: a pointer up to 3.9, from 3.11 on an index of what is at Fast
	StackDepth        int // of 3.10: how many values are at the pointer ValueStack
	ValueStack        int // up to 3.10
	State             int // of 3.10
	References        []int
}

// IsShim reports whether a frame, whose struct is b, represents the C code which called the
// interpreter: FRAME_OWNED_BY_CSTACK.
func (f *Frame) IsShim(b []byte) bool { return f.Shim != 0 && int(b[f.Owner]) == f.Shim }

// GeneratorOwner is FRAME_OWNED_BY_GENERATOR.
const GeneratorOwner = 1

// FrameObject is of PyFrameObject from 3.11 on.
type FrameObject struct {
	Frame      int // the pointer to its frame
	Embedded   int // the frame that it owns
	References []int
}

// Code is of PyCodeObject.
type Code struct {
	Size                                   int
	Name, Qualname, File, FirstLine, Lines int
	Flags                                  int
	Consts, Exceptions                     int
	Bytecode                               int // the pointer to a bytes object, up to 3.10
	Instructions, FirstTraceable           int // the bytecode itself, from 3.11 on
	Locals, Stack                          int // how many variables, with cells and free ones from 3.11 on; temporary values
	Names                                  int // a tuple of the names of variables, from 3.11 on all
	Cells, Free                            int // up to 3.10, of those that functions share
	Kinds                                  int // of the variables, from 3.11 on
	Extra, Weak                            int
	CellArguments                          int // up to 3.10, co_cell2arg
	Opcache                                int // up to 3.10; the number of entries is 12 bytes behind
	Cached                                 int // from 3.11 on: _co_code, or a struct
	CachedParts                            int // references in that struct, _PyCoCached, from 3.12 on
}

// Fields is how many bytes the struct has without the instructions.
func (c *Code) Fields() int {
	if c.Instructions != 0 {
		return c.Instructions
	}
	return c.Size
}

// Generator is of PyGenObject, which coroutines and asynchronous generators share.
type Generator struct {
	Frame    int  // its frame
	Embedded bool // which is in it, from 3.11 on; before, a pointer
	State    int  // of its frame: gi_running up to 3.9, 0 in 3.10, where the frame has it
	Qualname int

	Running, Finished int // states: below the first it is suspended, from the second on its frame has nothing any more
}

// Task is of TaskObj of Modules/_asynciomodule.c, whose beginning is FutureObj.
type Task struct{ State, Waiter, Coroutine, Name int }

// Function is of PyFunctionObject.
type Function struct {
	Code, Globals, Builtins, Defaults, KwDefaults, Closure int
	Doc, Name, Dict, Module, Annotations, Qualname         int
}

// HeapType is of PyHeapTypeObject.
type HeapType struct {
	Static                        int // bytes of PyTypeObject
	Size                          int
	Name, Slots, Qualname, Module int
	CachedKeys                    int // the keys that instances share
}

// Exception is of PyBaseExceptionObject.
type Exception struct{ Args, Notes, Traceback, Context, Cause int }

// Weakref is of PyWeakReference.
type Weakref struct{ Object, Callback, Size int }

// Of returns the layout of 3.minor with the global interpreter lock, nil if it is not known.
func Of(minor int) *Layout { return versions[minor] }
