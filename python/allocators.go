package python

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"

	"golang.org/x/arch/x86/x86asm"
)

// CPython calls its allocators by tables of pointers, PyMemAllocatorEx of
// Include/cpython/pymem.h: a context, malloc, calloc, realloc and free. There is one for
// each domain: raw, which needs no lock, mem and obj, which pymalloc serves unless
// PYTHONMALLOC says otherwise. tracemalloc and the debug hooks put functions of their own there. Builds with
// link-time optimization have copies of pymalloc in their other functions, but read the
// tables all the same.

// An Allocators has the addresses of the tables of a process.
type Allocators struct {
	Raw, Mem, Obj addr.Run
}

// maxAllocators bounds the bytes that are read to find the tables.
const maxAllocators = 8 << 20

// allocatorEntries is how many pointers to functions a table has.
const allocatorEntries = 4

// Entries are where the pointers to malloc, calloc, realloc and free are, of raw, mem and
// obj in this order.
func (a Allocators) Entries() (all []addr.Run) {
	for _, table := range []addr.Run{a.Raw, a.Mem, a.Obj} {
		for i := range addr.Run(allocatorEntries) {
			all = append(all, table+layout.AllocatorMalloc+8*i)
		}
	}
	return all
}

// Allocators finds the tables. executable tells what is code: until the dynamic linker has
// filled the tables there are none.
func (in *Interpreter) Allocators(symbols Symbols, executable func(addr.Run) bool) (a Allocators, err error) {
	bounded := in.mem.Bounded(maxAllocators)
	if at := in.layout.Runtime.Allocators; at != 0 {
		a.Obj = in.runtime + addr.Run(at)
		a.Mem, a.Raw = a.Obj-layout.AllocatorSize, a.Obj-2*layout.AllocatorSize
		for _, table := range []addr.Run{a.Raw, a.Mem, a.Obj} {
			if !isTable(bounded, table, executable) {
				return a, fmt.Errorf("CPython %s: no table of allocators is at %v", in.version, table)
			}
		}
		return a, nil
	}
	for _, d := range []struct {
		name  string
		table *addr.Run
	}{{"PyMem_RawMalloc", &a.Raw}, {"PyMem_Malloc", &a.Mem}, {"PyObject_Malloc", &a.Obj}} {
		at, ok := symbols(d.name)
		if !ok {
			return a, fmt.Errorf("CPython %s: it does not export %s", in.version, d.name)
		}
		if *d.table, ok = allocatorTable(bounded, at, executable); !ok {
			return a, fmt.Errorf("CPython %s: %s at %v does not read a table of allocators", in.version, d.name, at)
		}
	}
	if a.Raw == a.Mem || a.Mem == a.Obj || a.Raw == a.Obj {
		return a, fmt.Errorf("CPython %s: its tables of allocators cannot be distinguished", in.version)
	}
	return a, nil
}

// isTable reports whether a context and four functions are at an address.
func isTable(r *inspect.Reader, at addr.Run, executable func(addr.Run) bool) bool {
	b, err := r.Read(at, layout.AllocatorSize)
	if err != nil || at%8 != 0 || executable(pointerIn(b, 0)) {
		return false
	}
	for i := range allocatorEntries {
		if !executable(pointerIn(b, layout.AllocatorMalloc+8*i)) {
			return false
		}
	}
	return true
}

// maxTableLoad is how far into a function the load of its table is looked for, in bytes.
const maxTableLoad = 64

// allocatorTable is the table that a function reads: its first loads, relative to the program
// counter, are those of the context and of malloc.
func allocatorTable(r *inspect.Reader, function addr.Run, executable func(addr.Run) bool) (addr.Run, bool) {
	code, err := r.Read(function, maxTableLoad+16)
	if err != nil {
		return 0, false
	}
	for at := 0; at < maxTableLoad; {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil || inst.Len == 0 {
			return 0, false
		}
		at += inst.Len
		for _, arg := range inst.Args {
			m, ok := arg.(x86asm.Mem)
			if !ok || m.Base != x86asm.RIP || inst.Op != x86asm.MOV && inst.Op != x86asm.JMP {
				continue
			}
			to := function + addr.Run(at) + addr.Run(m.Disp)
			for _, table := range []addr.Run{to, to - layout.AllocatorMalloc} {
				if isTable(r, table, executable) {
					return table, true
				}
			}
		}
		if inst.Op == x86asm.RET {
			return 0, false
		}
	}
	return 0, false
}

// Pymalloc reports whether objects come from pymalloc, whose arenas hide them from the C library,
// or something like it: from another function than what the raw domain has.
func (in *Interpreter) Pymalloc(a Allocators) bool {
	raw, err := in.mem.Word(a.Raw + layout.AllocatorMalloc)
	obj, err2 := in.mem.Word(a.Obj + layout.AllocatorMalloc)
	return err == nil && err2 == nil && raw != obj
}

// Started reports whether the interpreter has been started: there is a state of a thread.
func (in *Interpreter) Started() bool {
	first, err := in.mem.Field(in.runtime, in.layout.Runtime.Interpreters)
	return err == nil && first != 0
}
