package breakpoints

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"hdb/annotations"
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/cond"
	"hdb/internal/modkind"
)

// Groups of functions, for filters: a stop on "alloc" means all but VM.
const (
	GroupC    = "c"    // malloc and its family, under any prefix
	GroupCXX  = "c++"  // operator new and delete
	GroupVM   = "vm"   // mmap and its family
	GroupGo   = "go"   // the Go runtime
	GroupUser = "user" // named by alloc add

	// GroupPool is allocators of the program's own that it describes, see poolFunctions.
	GroupPool = "pool"

	// GroupPython is the tables of CPython's allocators, see PythonFunctions.
	GroupPython = "python"
)

// A Function is an allocator function: what its arguments and result mean.
type Function struct {
	Name   string // as shown and typed: "malloc", "operator new[]"; of several at one address: "free/operator delete"
	Symbol string // linker's name: "malloc", "_Znam"
	Kind   capture.Kind
	Size   Operand // bytes, or bytes per element with Count
	Count  Operand // elements
	Align  Operand // bytes
	Old    Operand // block that is resized
	Pool   Operand // of whose blocks it is one
	Heap   Operand // mimalloc's first-class heap that the block comes from; events do not keep it
	Mode   Operand // protection of pages; mremap: the old size
	Flags  Operand // of mmap
	Ptr    Operand // block freed (an argument) or returned (Result or *argument)
	Result Result
	Group  string
	Whole  bool     // a call concerns a whole pool or heap, whose address is in Ptr: it is not an event, and no stop wants it
	Also   []string // names and linker's names of others at the same address: which one was meant cannot be known
}

// An Operand says where a value of a call is found.
type Operand struct {
	From  Origin
	Index int    // argument or register, 0-based
	Value uint64 // of Constant
}

// An Origin is a kind of place.
type Origin uint8

// The places of values. Arguments are the integer arguments of the System V
// ABI for x86-64, section 3.2.3; Go registers those of Go's internal ABI.
const (
	Nowhere    Origin = iota // the call has no such value
	Argument                 // argument Index, at entry
	Pointed                  // the 8 bytes that argument Index points to, after return
	Returned                 // the result
	Constant                 // Value
	GoRegister               // integer argument Index in Go's register order, at entry
	TextLength               // bytes of the C string that is the result, its NUL included
)

// Result says when a call has failed.
type Result uint8

// The tests of success.
const (
	NotNull     Result = iota // the block's address is not NULL
	NullIsFreed               // the same, but the old block is freed all the same: reallocf
	NotMinus1                 // the result is not -1: MAP_FAILED, (void *) -1
	IsZero                    // the int result is 0
	NoTest                    // there is nothing to test, or nothing to wait for
)

// arg is the n-th argument as ParseFunction counts, from 1.
func arg(n int) Operand { return Operand{From: Argument, Index: n - 1} }

var (
	returned = Operand{From: Returned}
	pointed1 = Operand{From: Pointed, Index: 0}
)

// Is reports whether pattern, in which * represents any text, names the function: by its name, its
// linker's name, another that it has, or the word for its kind.
func (f Function) Is(pattern string) bool {
	return cond.Match(pattern, f.Name) || cond.Match(pattern, f.Symbol) || pattern == f.Kind.String() ||
		slices.ContainsFunc(f.Also, func(name string) bool { return cond.Match(pattern, name) })
}

// OfKind reports whether pattern names the kind of f's calls: by its name, its linker's
// name, or the word for its kind. Functions of one name are one kind, and which of several
// names at one address was called is not known: an event knows the names alone.
func (f Function) OfKind(pattern string) bool {
	if pattern == f.Kind.String() {
		return true
	}
	if f.Group == GroupUser {
		return cond.Match(pattern, f.Name) || cond.Match(pattern, f.Symbol)
	}
	return slices.ContainsFunc(Names(f.Name), func(name string) bool {
		return cond.Match(pattern, name) || slices.ContainsFunc(byName()[name], func(g Function) bool { return cond.Match(pattern, g.Symbol) })
	})
}

// Alias gives f the names of g, which is the same code. Its name tells both if it may be either
// that a program has called.
func (f *Function) Alias(g Function) {
	for _, name := range []string{g.Symbol, g.Name} {
		if name != f.Symbol && name != f.Name && !slices.Contains(f.Also, name) {
			f.Also = append(f.Also, name)
		}
	}
	if names := Names(f.Name); portable(names[0]) && portable(g.Name) && !slices.Contains(names, g.Name) {
		f.Name += nameSeparator + g.Name
	}
}

// nameSeparator is between the names of functions at one address.
const nameSeparator = "/"

// Names are the names that an event's function has: several if it is the same code as others, as free,
// operator delete and operator delete[] are in some allocators. Which was called is not known then.
func Names(function string) []string { return strings.Split(function, nameSeparator) }

// portable reports whether a name is one that programs call whatever the allocator is: those that an
// allocator has for the same under a prefix tell nothing else. cfree, which free is in the C library,
// can be called by old programs only.
func portable(name string) bool { return portables()[name] && name != "cfree" }

// Own reports whether all that is allocated inside of a call is its own affair, wherever
// that is done.
func (f Function) Own() bool { return f.Group == GroupUser || f.Group == GroupPython }

// Frees reports whether a call takes a block back.
func (f Function) Frees() bool { return f.Kind == capture.Free || f.Kind == capture.Unmap }

// MayUnmap reports whether the sign of an argument decides if a call maps or unmaps memory, as of sbrk.
func (f Function) MayUnmap() bool { return f.Symbol == "sbrk" }

// ByOwners reports whether calls from the C library's own module are its affair, and no events: the
// guard pages of threads and its heaps. library is the function's own module.
func (f Function) ByOwners(library string) bool {
	return f.Kind == capture.Protect && modkind.IsCLibrary(library)
}

// MapAux is the Aux of an event of the function, which has a Mode: of these operands.
func (f Function) MapAux(mode, flags uint64) uint64 {
	if f.Old.From != Nowhere {
		return mode // mremap's old size
	}
	return uint64(capture.NewMapMode(mode, flags))
}

// atEntry reports whether all there is to know is known at the entry.
func (f Function) atEntry() bool { return f.Result == NoTest }

// frees reports whether a call ends a block at its entry, and may have others do the work.
func (f Function) frees() bool { return f.Kind == capture.Free && f.atEntry() && f.Group != GroupGo }

// FreedBlock is the block that a call of the function ends, from the registers at its entry; false if
// it is not a function that frees at its entry.
func (f Function) FreedBlock(regs inferior.Registers) (block uint64, ok bool) {
	if !f.frees() {
		return 0, false
	}
	call := newCall(&site{Site: Site{Function: f}}, 0, regs)
	return call.Event.Addr, true
}

// Catalogue lists the allocator functions known by name. Where a module has
// several of them at one address, the first one listed gives the name.
func Catalogue() []Function { return slices.Clone(catalogue()) }

// IsAllocatorLibrary reports whether a file is an allocator's library by its base name:
// all its functions are the allocator's, also those that the catalogue has not got.
func IsAllocatorLibrary(base string) bool {
	return slices.ContainsFunc([]string{"libjemalloc", "libtcmalloc", "libmimalloc"}, func(begin string) bool { return strings.HasPrefix(base, begin) })
}

// Named is the first function of the catalogue with that name. Of several names at one address the
// first tells what its arguments are.
func Named(name string) (Function, bool) {
	if all := named(name); len(all) > 0 {
		return all[0], true
	}
	return Function{}, false
}

// named are the functions of the catalogue that an event with a name may be a call of, with that name.
func named(name string) []Function {
	first, rest, several := strings.Cut(name, nameSeparator)
	all := byName()[first]
	if !several || len(all) == 0 {
		return byName()[name]
	}
	for _, other := range Names(rest) {
		if len(byName()[other]) == 0 {
			return nil
		}
	}
	all = slices.Clone(all)
	for i := range all {
		all[i].Name = name
	}
	return all
}

// Recalled is the function of the catalogue that an event with a name was a call of. If there are
// several, as forms of operator new, the event's count or alignment says whether it was one that
// has such an argument.
func Recalled(name string, aux uint64) (Function, bool) {
	if aux == 0 {
		return Named(name)
	}
	all := named(name)
	for _, f := range all {
		if f.Align.From != Nowhere || f.Count.From != Nowhere {
			return f, true
		}
	}
	return Named(name)
}

// LinkedAs are the linker's names of the functions that events call by that name. A
// function that the user added is known by its own.
func LinkedAs(name string) []string {
	if len(named(name)) == 0 {
		return []string{name}
	}
	var names []string
	for _, one := range Names(name) {
		for _, f := range byName()[one] {
			names = append(names, f.Symbol)
		}
	}
	return names
}

// The catalogue is made once, because each event that is shown or filtered asks
// for its function.
var (
	catalogue = sync.OnceValue(func() []Function {
		return slices.Concat(cFunctions(), cxxFunctions(), vmFunctions(),
			jemallocFunctions(), tcmallocFunctions(), mimallocFunctions(), aliasFunctions(), goFunctions(), poolFunctions())
	})
	byName = sync.OnceValue(func() map[string][]Function {
		named := map[string][]Function{}
		for _, f := range append(Catalogue(), PythonFunctions()...) {
			named[f.Name] = append(named[f.Name], f)
		}
		return named
	})
	portables = sync.OnceValue(func() map[string]bool {
		is := map[string]bool{}
		for _, f := range slices.Concat(cFunctions(), cxxFunctions()) {
			is[f.Name] = true
		}
		return is
	})
)

// The constructors name the usual shapes. All that allocate return the block.

func allocFn(name string, size Operand) Function {
	return Function{Name: name, Symbol: name, Kind: capture.Alloc, Size: size, Ptr: returned, Group: GroupC}
}

func countedFn(name string, count, size Operand) Function {
	f := allocFn(name, size)
	f.Count = count
	return f
}

func alignedFn(name string, align, size Operand) Function {
	f := allocFn(name, size)
	f.Align = align
	return f
}

func reallocFn(name string, old, size Operand) Function {
	f := allocFn(name, size)
	f.Kind, f.Old = capture.Realloc, old
	return f
}

// reallocfFn is realloc of the BSDs, which frees the block when it fails.
func reallocfFn(name string) Function {
	f := reallocFn(name, arg(1), arg(2))
	f.Result = NullIsFreed
	return f
}

func recountedFn(name string, old, count, size Operand) Function {
	f := reallocFn(name, old, size)
	f.Count = count
	return f
}

func freeFn(name string, ptr Operand) Function {
	return Function{Name: name, Symbol: name, Kind: capture.Free, Ptr: ptr, Result: NoTest, Group: GroupC}
}

func sizedFreeFn(name string, ptr, size Operand) Function {
	f := freeFn(name, ptr)
	f.Size = size
	return f
}

func memalignFn(name string) Function {
	f := alignedFn(name, arg(2), arg(3))
	f.Ptr, f.Result = pointed1, IsZero
	return f
}

// cFunctions are ISO C23 section 7.24.3, POSIX and glibc's malloc(3),
// posix_memalign(3). strdup and its kin call malloc and need no entry.
func cFunctions() []Function {
	return []Function{
		allocFn("malloc", arg(1)),
		countedFn("calloc", arg(1), arg(2)),
		reallocFn("realloc", arg(1), arg(2)),
		recountedFn("reallocarray", arg(1), arg(2), arg(3)),
		freeFn("free", arg(1)),
		freeFn("cfree", arg(1)),
		sizedFreeFn("free_sized", arg(1), arg(2)),
		sizedFreeFn("free_aligned_sized", arg(1), arg(3)),
		alignedFn("aligned_alloc", arg(1), arg(2)),
		alignedFn("memalign", arg(1), arg(2)),
		memalignFn("posix_memalign"),
		allocFn("valloc", arg(1)),
		allocFn("pvalloc", arg(1)),
		reallocfFn("reallocf"),
	}
}

// cxxFunctions are the replaceable forms of ISO C++ [new.delete], mangled by
// the Itanium C++ ABI section 5.1.5 with std::size_t = unsigned long.
func cxxFunctions() []Function {
	all := make([]Function, 0, 2*4+2*6)
	for _, form := range []struct{ code, array string }{{"w", ""}, {"a", "[]"}} {
		name := "operator new" + form.array
		for _, suffix := range []string{"", "RKSt9nothrow_t"} {
			plain := allocFn(name, arg(1))
			plain.Symbol = "_Zn" + form.code + "m" + suffix
			aligned := alignedFn(name, arg(2), arg(1))
			aligned.Symbol = "_Zn" + form.code + "mSt11align_val_t" + suffix
			all = append(all, plain, aligned)
		}
	}
	for _, form := range []struct{ code, array string }{{"l", ""}, {"a", "[]"}} {
		for _, suffix := range []string{"", "RKSt9nothrow_t", "m", "St11align_val_t",
			"St11align_val_tRKSt9nothrow_t", "mSt11align_val_t"} {
			f := freeFn("operator delete"+form.array, arg(1))
			f.Symbol = "_Zd" + form.code + "Pv" + suffix
			if suffix != "" && suffix[0] == 'm' {
				f.Size = arg(2)
			}
			all = append(all, f)
		}
	}
	for i := range all {
		all[i].Group = GroupCXX
	}
	return all
}

// vmFunctions are mmap(2), mremap(2), mprotect(2) and sbrk(2). munmap is reported at its
// entry, as frees are; the others when they return. A brk event has no size,
// because the break before it is not known.
func vmFunctions() []Function {
	mmap := Function{Name: "mmap", Symbol: "mmap", Kind: capture.Map, Size: arg(2), Ptr: returned, Result: NotMinus1, Mode: arg(3), Flags: arg(4), Group: GroupVM}
	mmap64 := mmap
	mmap64.Symbol = "mmap64"
	return []Function{
		mmap, mmap64,
		{Name: "munmap", Symbol: "munmap", Kind: capture.Unmap, Size: arg(2), Ptr: arg(1), Result: NoTest, Group: GroupVM},
		{Name: "mremap", Symbol: "mremap", Kind: capture.Map, Old: arg(1), Size: arg(3), Ptr: returned, Result: NotMinus1, Mode: arg(2), Group: GroupVM},
		{Name: "mprotect", Symbol: "mprotect", Kind: capture.Protect, Size: arg(2), Ptr: arg(1), Result: IsZero, Mode: arg(3), Group: GroupVM},
		{Name: "brk", Symbol: "brk", Kind: capture.Map, Ptr: arg(1), Result: IsZero, Group: GroupVM},
		{Name: "sbrk", Symbol: "sbrk", Kind: capture.Map, Size: arg(1), Ptr: returned, Result: NotMinus1, Group: GroupVM},
	}
}

// jemallocFunctions are jemalloc(3)'s non-standard API.
func jemallocFunctions() []Function {
	return []Function{
		allocFn("mallocx", arg(1)),
		reallocFn("rallocx", arg(1), arg(2)),
		freeFn("dallocx", arg(1)),
		sizedFreeFn("sdallocx", arg(1), arg(2)),
	}
}

// tcmallocFunctions are those of gperftools/tcmalloc.h that are no plain prefix.
func tcmallocFunctions() []Function {
	all := []Function{
		allocFn("tc_malloc_skip_new_handler", arg(1)),
		allocFn("tc_new", arg(1)), allocFn("tc_new_nothrow", arg(1)),
		allocFn("tc_newarray", arg(1)), allocFn("tc_newarray_nothrow", arg(1)),
		alignedFn("tc_new_aligned", arg(2), arg(1)), alignedFn("tc_new_aligned_nothrow", arg(2), arg(1)),
		alignedFn("tc_newarray_aligned", arg(2), arg(1)), alignedFn("tc_newarray_aligned_nothrow", arg(2), arg(1)),
	}
	for _, form := range []string{"tc_delete", "tc_deletearray"} {
		all = append(all, freeFn(form, arg(1)), freeFn(form+"_nothrow", arg(1)),
			sizedFreeFn(form+"_sized", arg(1), arg(2)), freeFn(form+"_aligned", arg(1)),
			freeFn(form+"_aligned_nothrow", arg(1)), sizedFreeFn(form+"_sized_aligned", arg(1), arg(2)))
	}
	return all
}

// mimallocFunctions are those of mimalloc.h that are no plain prefix. Most have
// a twin mi_heap_* with the heap as first argument. Not among them are the
// forms that return the block through a pointer they also read (reallocarr),
// and those for wide strings and the environment, made for Windows.
func mimallocFunctions() []Function {
	text := Operand{From: TextLength}
	all := []Function{
		allocFn("mi_new", arg(1)), allocFn("mi_new_nothrow", arg(1)), countedFn("mi_new_n", arg(1), arg(2)),
		alignedFn("mi_new_aligned", arg(2), arg(1)), alignedFn("mi_new_aligned_nothrow", arg(2), arg(1)),
		reallocFn("mi_new_realloc", arg(1), arg(2)), recountedFn("mi_new_reallocn", arg(1), arg(2), arg(3)),
		sizedFreeFn("mi_free_size", arg(1), arg(2)), freeFn("mi_free_aligned", arg(1)),
		sizedFreeFn("mi_free_size_aligned", arg(1), arg(2)),
		recountedFn("mi_aligned_recalloc", arg(1), arg(2), arg(3)),
		recountedFn("mi_aligned_offset_recalloc", arg(1), arg(2), arg(3)),
		alignedFn("_aligned_malloc", arg(1), arg(2)), freeFn("vfree", arg(1)),
		wholeHeapFn(HeapDestroy), wholeHeapFn(HeapDelete), wholeHeapFn(HeapSetDefault),
	}
	for _, f := range []Function{allocFn("mi_heap_alloc_new", arg(2)), countedFn("mi_heap_alloc_new_n", arg(2), arg(3))} {
		f.Heap = arg(1)
		all = append(all, f)
	}
	twins := []Function{
		allocFn("malloc", arg(1)), allocFn("malloc_small", arg(1)),
		allocFn("zalloc", arg(1)), allocFn("zalloc_small", arg(1)),
		countedFn("calloc", arg(1), arg(2)), countedFn("mallocn", arg(1), arg(2)),
		reallocFn("realloc", arg(1), arg(2)), reallocFn("rezalloc", arg(1), arg(2)), reallocfFn("reallocf"),
		recountedFn("reallocn", arg(1), arg(2), arg(3)), recountedFn("recalloc", arg(1), arg(2), arg(3)),
		allocFn("strdup", text), allocFn("strndup", text),
	}
	for _, at := range []string{"_aligned", "_aligned_at"} {
		twins = append(twins,
			alignedFn("malloc"+at, arg(2), arg(1)), alignedFn("zalloc"+at, arg(2), arg(1)),
			countedFn("calloc"+at, arg(1), arg(2)), reallocFn("realloc"+at, arg(1), arg(2)),
			reallocFn("rezalloc"+at, arg(1), arg(2)), recountedFn("recalloc"+at, arg(1), arg(2), arg(3)))
	}
	standard := cFunctions()
	for _, f := range twins {
		same := func(g Function) bool { return g.Name == f.Name }
		if !slices.ContainsFunc(standard, same) { // aliasFunctions has those
			all = append(all, f.renamed("mi_"))
		}
		heap := f.renamed("mi_heap_")
		heap.Heap = arg(1)
		for _, o := range []*Operand{&heap.Size, &heap.Count, &heap.Align, &heap.Old} {
			if o.From == Argument {
				o.Index++
			}
		}
		all = append(all, heap)
	}
	return all
}

// renamed is f with a prefix.
func (f Function) renamed(prefix string) Function {
	f.Name, f.Symbol = prefix+f.Name, prefix+f.Symbol
	return f
}

// aliasFunctions are the standard functions under the names that allocators give them, in addition
// to the standard ones or instead.
func aliasFunctions() []Function {
	prefixes := []string{"__libc_", "je_", "tc_", "mi_", "__rtld_"}
	standard := cFunctions()
	all := make([]Function, 0, (len(prefixes)+1)*len(standard))
	for _, f := range standard {
		for _, prefix := range prefixes {
			all = append(all, f.renamed(prefix))
		}
	}
	for _, f := range jemallocFunctions() {
		all = append(all, f.renamed("je_"))
	}
	return all
}

// PythonFunctions are what the entries of CPython's tables of allocators do
// (PyMemAllocatorEx in Include/cpython/pymem.h): their first argument is the table's
// context. They go by the names of the functions that programs call (Objects/obmalloc.c), in
// the order of domains raw, mem and obj, and in each malloc, calloc, realloc and free. They
// are not part of the catalogue, as no code of these names is to be watched.
func PythonFunctions() []Function {
	var all []Function
	for _, domain := range []string{"PyMem_Raw", "PyMem_", "PyObject_"} {
		all = append(all, allocFn(domain+"Malloc", arg(2)), countedFn(domain+"Calloc", arg(2), arg(3)),
			reallocFn(domain+"Realloc", arg(2), arg(3)), freeFn(domain+"Free", arg(2)))
	}
	for i := range all {
		all[i].Group = GroupPython
	}
	return all
}

// The names of the functions of group GroupPool, as programs call them.
const (
	PoolCreate  = "HDB_POOL_CREATE"
	PoolDestroy = "HDB_POOL_DESTROY"
	PoolFree    = "HDB_FREE"
)

// poolFunctions are those by which a program describes an allocator of its own, a pool
// (annotations/hdb.h). They return the block, their second argument, which is NULL if the allocator
// has failed. PoolCreate and PoolDestroy are given the pool as the block that they free: they end
// all of its blocks.
func poolFunctions() []Function {
	named := func(f Function, name, symbol string) Function {
		f.Name, f.Symbol, f.Group = name, symbol, GroupPool
		return f
	}
	alloc, realloc := allocFn("", arg(3)), reallocFn("", arg(3), arg(4))
	alloc.Pool, realloc.Pool = arg(1), arg(1)
	whole := freeFn("", arg(1))
	whole.Whole = true
	return []Function{
		named(alloc, "HDB_ALLOC", annotations.Alloc),
		named(realloc, "HDB_REALLOC", annotations.Realloc),
		named(freeFn("", arg(2)), PoolFree, annotations.Free),
		named(whole, PoolCreate, annotations.PoolCreate),
		named(whole, PoolDestroy, annotations.PoolDestroy),
	}
}

// goFunctions are those of the Go runtime since its register ABI (Go 1.17). Stacks of goroutines
// move, and goroutines change threads, so the return is not awaited: the events have a size and no
// address. The size-specialized forms are called directly by the compiler in runtimes with such
// forms.
func goFunctions() []Function {
	size := Operand{From: GoRegister, Index: 0}
	f := Function{Name: goMalloc, Symbol: goMalloc, Kind: capture.Alloc, Size: size, Result: NoTest, Group: GroupGo}
	forms := []string{"TinySize", "TinySC", "SmallNoScanSC", "SmallScanNoHeaderSC"} // Go 1.26 has the first, 1.27 the second
	all := append(make([]Function, 0, 2+len(forms)*goSmallClasses), f)
	for _, form := range forms {
		for class := range goSmallClasses {
			f.Name = goMalloc + form + strconv.Itoa(class)
			f.Symbol = f.Name
			all = append(all, f)
		}
	}
	return append(all, Function{Name: "runtime.sweep", Symbol: goSweep, Kind: capture.Free, Ptr: Operand{From: GoRegister}, Result: NoTest, Group: GroupGo})
}

// Sweeps reports whether a call of the function frees many blocks at once, which is known
// only inside of it: plain breakpoints do not follow it.
func (f Function) Sweeps() bool { return f.Symbol == goSweep }
